"""Why no state allows an event: the ways in which the model could have taken it, and the reason against each."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import attrs

from holdfast.check.conform.judge.event_facts import Facts
from holdfast.check.conform.judge.event_trial import Args, EventTrial, Expected, counted_on
from holdfast.check.conform.judge.world import World
from holdfast.check.conform.logs.events import UNKNOWN
from holdfast.ir.errors import Place
from holdfast.ir.system import Action
from holdfast.ir.types import NatType, OptionalType, Scalar, SortType
from holdfast.lower.layout import Field
from holdfast.lower.outcome import Cut, Outcome, Refused, Taken

MOST = 400
"""The limit of states, and of choices of unknown arguments, that are tried."""

CELLS = 4
"""The limit of differing cells that one reason names."""

GUARD = "wrong: the model (the guard is too strict), the code (it lacks the guard), or the log (an event is missing)"
FREE = "wrong: the model (a guard is missing), the code (it refused without need), or the log (its outcome)"
CELL = "wrong: the model (its effect), the code (the value it stored), or the log (the value, or an event is missing)"


@attrs.frozen
class Candidate:
    """A reason, with the number of states in which it holds. ``at``: the guard of the model, if one refuses.

    ``kind``: the label of this guard, or else the text without elements and values: reasons of one kind have one cause.
    ``blame``: for each of model, code and log, the mistake that it would have made.
    """

    text: str
    kind: str
    blame: str
    states: int
    at: Place | None = None


@attrs.frozen
class _Reason:
    """A candidate before its states are counted."""

    text: str
    kind: str
    blame: str
    at: Place | None = None


class _Difference(NamedTuple):
    """How a state differs from the log, and the kind of this reason; both are empty if it does not."""

    text: str
    kind: str


def candidates(world: World, facts: Facts) -> list[Candidate]:
    """The reasons why no state allows the event, the most frequent first."""
    trial = world.trial(facts)
    if trial is None:
        return []
    found: Counter[_Reason] = Counter()
    for state in itertools.islice(sorted(world.before), MOST):
        # Count each reason once a state, however many choices of arguments give it.
        found.update({reason for reason in _reasons(world, trial, state) if reason.text})
    # Sets have no fixed order across processes. By the kind first: logs with other names then have the same order.
    ranked = sorted(found.items(), key=lambda each: (-each[1], each[0].kind, each[0].text, str(each[0].at)))
    return [Candidate(reason.text, reason.kind, reason.blame, count, reason.at) for reason, count in ranked]


def _reasons(world: World, trial: EventTrial, state: bytes) -> Iterator[_Reason]:
    """The reasons against the event in one state, for each choice of its unknown arguments."""
    before = _differences(world, state, world.expected(trial.pre), "before the event")
    if before.text:
        yield _Reason(*before, CELL)
        return
    post = world.expected(trial.post)
    action, outcome = trial.action, trial.facts.event.outcome
    if action is None or (trial.own and world.cannot_judge(trial.facts)):
        yield _Reason(*_differences(world, state, post, "after the event"), CELL)
        return
    for args in itertools.islice(world.completions(action, trial.facts), MOST):
        if trial.span is not None and outcome is None:
            yield from _of_span(world, trial, action, state, args)
        else:
            yield from _of_step(world, trial, action, state, world.ground.machine.step(action)(state, args))


def _of_step(world: World, trial: EventTrial, action: Action, state: bytes, outcome: Outcome) -> Iterator[_Reason]:
    logged = trial.facts.event.outcome
    post = world.expected(trial.post)
    match outcome:
        case Refused(label, error, at) if logged in (None, UNKNOWN):
            yield _Reason(f"{label} refuses {action.name}{f' with {error}' if error else ''}", label, GUARD, at)
        case Refused(label, error, at) if error != logged:
            answer = f"answers {error}" if error else "forbids the request"
            yield _Reason(f"{label} {answer}, the log has {logged}", label, GUARD, at)
        case Refused():
            yield _Reason(*_differences(world, state, post, "after the refusal"), CELL)
        case Taken() if logged not in (None, UNKNOWN):
            said = f"the model allows {action.name}, the log has {logged}"
            yield _Reason(said, said, FREE, action.at)
        case Taken(after):
            yield _Reason(*_differences(world, after, post, "after the step"), CELL)
        case Cut(bound):
            said = f"{action.name} counts {bound} past all numbers of the log"
            yield _Reason(said, said, CELL, action.at)
    if logged == UNKNOWN:
        yield _Reason(*_differences(world, state, post, "without the step"), CELL)


def _of_span(world: World, trial: EventTrial, action: Action, state: bytes, args: Args) -> Iterator[_Reason]:
    """The reason against the first step of a span that is not possible, or against the state after all steps."""
    assert trial.span is not None, "only an event with a span is asked"
    (nat, base), (_, end) = trial.span
    field = world.ground.counted(action.name)[0]
    step = world.ground.machine.step(action)
    for number in [each for each in world.windows.values[nat] if base <= each < end]:
        code = world.windows.code(nat, number)
        outcome = step(state, args)
        after = None if code is None else counted_on(outcome, state, field, code)
        if after is None and isinstance(outcome, Refused):
            yield _Reason(f"{outcome.label} refuses {action.name} at {number}", outcome.label, GUARD, outcome.at)
            return
        if after is None:
            changed = (
                [state[cell] for cell in _range(field) if state[cell] != outcome.state[cell]]
                if isinstance(outcome, Taken)
                else []
            )
            values = ", ".join(shown_code(world, field.type, each) for each in changed) or "nothing"
            counts = f"{action.name} counts {field.name} on from"
            text = f"{counts} {values} in the model and from {number} in the log"
            yield _Reason(text, f"{counts} another number", CELL)
            return
        state = after
    yield _Reason(*_differences(world, state, world.expected(trial.post), "after the span"), CELL)


def _range(field: Field) -> range:
    return range(field.offset, field.offset + field.count)


def _differences(world: World, state: bytes, expected: Iterable[Expected], when: str) -> _Difference:
    """The cells in which a state differs from the log."""
    differing = [each for each in expected if state[each[0]] != each[1]]
    texts = [_difference(world, state, each, when) for each in differing[:CELLS]]
    more = [f"{len(differing) - CELLS} more cells differ"] if len(differing) > CELLS else []
    names = sorted({told.var.name for _, _, told in differing})
    kind = f"{', '.join(names)} {when} is another in the log" if names else ""
    return _Difference("; ".join([*texts, *more]), kind)


def _difference(world: World, state: bytes, expected: Expected, when: str) -> str:
    cell, _, told = expected
    names = world.ground.names
    keys = [names.text(kind, key) for kind, key in zip(told.var.keys, told.keys, strict=True)]
    name = f"{told.var.name}[{', '.join(keys)}]" if keys else told.var.name
    field = world.ground.layout.field(told.var.name)
    logged = names.text(told.var.value, told.value)
    return f"{name} {when} is {shown_code(world, field.type, state[cell])} in the model and {logged} in the log"


def shown_code(world: World, kind: Scalar, code: int) -> str:
    """The value of a code as the log writes it."""
    names = world.ground.names
    match kind:
        case OptionalType(of):
            return "null" if code == 0 else shown_code(world, of, code - 1)
        case NatType(name):
            value = world.windows.value(name, code)
            return f"above {world.windows.values[name][-1]}" if value is None else str(value)
        case SortType(name) if name == world.ground.sort:
            return next((names.called(name)[stream] for stream, slot in world.slots.items() if slot == code), "?")
        case _:
            return names.text(kind, code)
