"""One of two systems that are compared, and how it is seen: as far as the other one has the same parts.

What is seen of a step is the action, its arguments, and the state that it leads to, as far as both systems have these
parameters and cells. Ghosts and budgets are not seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import attrs

from holdfast.ir.stmt import Stmt
from holdfast.ir.system import Action, Scope, System
from holdfast.lower.outcome import Cut, Outcome, Refused, Taken
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.trace.trace import Origin, Step, Trace

Arguments = tuple[str, ...]
"""The arguments of a call that are seen, as Python writes them, in the order of their names."""

Seen = tuple[str, Arguments, str]
"""A step as it is seen: the action, the arguments, and the cells of the state that it leads to."""

States = tuple[bytes, ...]
"""The states that a system may be in after a run, in order; nearly always one."""


@attrs.frozen
class StepAnswer:
    """Why a system does not do what the other does, or what it answers to a request that neither grants.

    ``refused`` by the rule ``what`` with an ``error``; ``cut`` by the bound ``what``; ``elsewhere``: the step is
    possible and leads to another state; ``absent``: it has no such action (then ``what`` is empty), or the action
    ``what`` takes no such argument in its scope; ``start``: no initial state is this one.
    """

    kind: Literal["refused", "cut", "elsewhere", "absent", "start"]
    what: str = ""
    error: str | None = None

    @classmethod
    def denied(cls, outcome: Refused | Cut) -> StepAnswer:
        """The answer to a request that is not granted."""
        if isinstance(outcome, Cut):
            return cls("cut", outcome.bound)
        return cls("refused", outcome.label, outcome.error)


class ComparedSystem:
    """One of the two systems, and how it is seen."""

    def __init__(self, system: System, scope: Scope, target: str) -> None:
        self.system = system
        self.machine = Interpreter(system, scope, ghosts=frozenset(), properties=())
        self.layout = self.machine.layout
        self.origin = Origin(system, self.layout, target, None)
        self.starts = dict(self.machine.starts())
        self.calls: dict[str, dict[Arguments, list[Args]]] = {}
        """For each action its arguments in codes, by what is seen of them."""
        self._arguments: dict[str, dict[Args, Arguments]] = {}
        self._signs: list[tuple[int, str]] = []
        """The cells that are seen: where each stands, and a character for each of its codes."""
        # Most steps lead to states met not long before.
        self.seen = lru_cache(1 << 16)(self._seen)
        """The cells of a state that are seen, a character each."""

    def look_at(self, cells: Mapping[str, str], params: Mapping[str, set[str]]) -> None:
        """See these cells, each of which has a character for every value, and these parameters of each action."""
        places = {cell.name: index for index, cell in enumerate(self.layout.cells)}
        self._signs = [(places[name], signs) for name, signs in cells.items()]
        for action in self.system.actions:
            codes = (range(self.layout.codes(param.type)) for param in action.params)
            mine = self._arguments[action.name] = {
                args: self._named(action, args, params[action.name]) for args in itertools.product(*codes)
            }
            calls = self.calls[action.name] = {}
            for args, named in mine.items():
                calls.setdefault(named, []).append(args)

    def values(self) -> dict[str, list[str]]:
        """Every cell that can be seen, with the values of its codes."""
        return {
            cell.name: [repr(self.layout.decode_value(cell.field.type, code)) for code in range(cell.field.codes)]
            for cell in self.layout.cells
            if not cell.field.hidden
        }

    def _named(self, action: Action, args: Args, seen: set[str]) -> Arguments:
        named = self.layout.decode_args(action, args)
        return tuple(repr(named[name]) for name in sorted(named) if name in seen)

    def _seen(self, state: bytes) -> str:
        return "".join([signs[state[index]] for index, signs in self._signs])

    def steps(self, states: States) -> dict[Seen, States]:
        """Every step that is possible in one of the states, as it is seen, with the states that it may lead to."""
        found: dict[Seen, States] = {}
        for state in states:
            for action, successors in zip(self.system.actions, self.machine.successors, strict=True):
                named = self._arguments[action.name]
                for new, args in successors(state):
                    seen = (action.name, named[args], self.seen(new))
                    before = found.get(seen)
                    found[seen] = (new,) if before is None else tuple(sorted({*before, new}))
        return found

    def outcomes(self, states: States, action: str, arguments: Arguments) -> list[Outcome]:
        """What becomes of a call in each of the states; there is none for a call that this half does not have."""
        calls = self.calls.get(action, {}).get(arguments, [])
        return [self.machine.step(state, action, args) for state in states for args in calls]

    def answer(self, states: States, action: str, arguments: Arguments) -> StepAnswer:
        """Why this half does not do what the other one does."""
        outcomes = self.outcomes(states, action, arguments)
        if not outcomes:
            return StepAnswer("absent", action if action in self.calls else "")
        # Of several outcomes that which comes nearest to the step tells most.
        return min((_answered(outcome) for outcome in outcomes), key=lambda answer: NEARNESS.index(answer.kind))

    def trace(self, run: Sequence[tuple[States, Seen | None]]) -> Trace:
        """The least run that is seen so; each entry has the states it may have come to, and the step to them."""
        state = min(run[-1][0])
        steps: list[Step] = []
        for (states, _), (_, seen) in zip(run[-2::-1], run[:0:-1], strict=True):
            assert seen is not None, "only a start comes without a step"
            action, arguments, _ = seen
            before, args = min(
                (old, args)
                for old in states
                for args in self.calls[action][arguments]
                if self.machine.step(old, action, args) == Taken(state)
            )
            steps.append(self.origin.step(action, args, state))
            state = before
        return self.origin.trace(None, [self.origin.start(state, self.starts[state]), *steps[::-1]])


def align(a: ComparedSystem, b: ComparedSystem) -> None:
    """Let both see what they have in common: cells of one name, and parameters of actions of one name."""
    others = b.values()
    signs: dict[str, dict[str, str]] = {}
    for name, values in a.values().items():
        if name in others:
            signs[name] = {value: chr(place) for place, value in enumerate(dict.fromkeys([*values, *others[name]]))}
    theirs = {action.name: {param.name for param in action.params} for action in b.system.actions}
    mine = {action.name: {param.name for param in action.params} for action in a.system.actions}
    both = {name: mine.get(name, params) & theirs.get(name, params) for name, params in (mine | theirs).items()}
    for half in (a, b):
        values_of = half.values()
        half.look_at({name: "".join(sign[value] for value in values_of[name]) for name, sign in signs.items()}, both)


NEARNESS = ("elsewhere", "cut", "refused")


def _answered(outcome: Outcome) -> StepAnswer:
    return StepAnswer("elsewhere") if isinstance(outcome, Taken) else StepAnswer.denied(outcome)


def alike(one: Outcome, two: Outcome) -> bool:
    """Whether both grant a request, or deny it with the same answer."""
    match one, two:
        case Refused(), Refused():
            return (one.label, one.error) == (two.label, two.error)
        case Cut(), Cut():
            return one.bound == two.bound
        case _:
            return isinstance(one, Taken) and isinstance(two, Taken)


def same_action(one: Action, two: Action) -> bool:
    """Whether two actions do the same, wherever they stand in the source."""
    return (one.name, one.params, _shape(one.body)) == (two.name, two.params, _shape(two.body))


def _shape(part: object) -> object:
    """A body without places."""
    if isinstance(part, tuple):
        return tuple(_shape(each) for each in part)
    if isinstance(part, Stmt):
        fields = attrs.fields(type(part))
        return type(part), tuple(_shape(getattr(part, field.name)) for field in fields if field.name != "at")
    return part
