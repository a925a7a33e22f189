"""One of two compared systems, seen through the parts that both have in common.

Of a step, the comparison sees the action, the arguments whose parameters both systems have, and the cells of the new
state that both systems have. It never sees ghosts and budgets.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from typing import Literal

import attrs

from holdfast.ir.stmt import Stmt
from holdfast.ir.system import Action, Scope, System
from holdfast.lower.outcome import Cut, Outcome, Refused, Taken
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.lower.scope_limits import refuse_choices
from holdfast.trace.trace import Origin, Step, Trace

Arguments = tuple[str, ...]
"""The visible arguments of a call, as their ``repr``, in the order of the parameters' names."""

VisibleStep = tuple[str, Arguments, str]
"""The visible parts of a step: the action, the arguments, and the cells of the new state."""

States = tuple[bytes, ...]
"""The states that a system may be in after a run, sorted. Nearly always there is one."""


@attrs.frozen
class StepAnswer:
    """Why a system does not take a step that the other takes, or why it denies a request that both deny.

    - ``refused``: the rule ``what`` refuses it with ``error``.
    - ``cut``: the bound ``what`` cuts it.
    - ``elsewhere``: the step is possible, but leads to another state.
    - ``absent``: the system has no such action (``what`` is empty), or its action ``what`` takes no such argument in
      this scope.
    - ``start``: the system has no such initial state.
    """

    kind: Literal["refused", "cut", "elsewhere", "absent", "start"]
    what: str = ""
    error: str | None = None

    @classmethod
    def denied(cls, outcome: Refused | Cut) -> StepAnswer:
        """The answer for a step that a rule refuses or a bound cuts."""
        if isinstance(outcome, Cut):
            return cls("cut", outcome.bound)
        return cls("refused", outcome.label, outcome.error)


class ComparedSystem:
    """One of the two systems, and its visible parts. No part is visible before a call of ``look_at`` or ``align``."""

    def __init__(self, system: System, scope: Scope, target: str) -> None:
        self.system = system
        self.machine = Interpreter(system, scope, ghosts=frozenset(), properties=())
        self.layout = self.machine.layout
        self.origin = Origin(system, self.layout, target, None)
        refuse_choices(system.actions, scope, self.layout.codes)
        self.starts = dict(self.machine.starts())
        self.calls: dict[str, dict[Arguments, list[Args]]] = {}
        """For each action, its arguments in codes, by their visible part."""
        self._arguments: dict[str, dict[Args, Arguments]] = {}
        self._signs: list[tuple[int, str]] = []
        """The visible cells: the index of each, and a string with a character for each of its codes."""
        # Most steps lead to recent states.
        self.seen = lru_cache(1 << 16)(self._seen)
        """The visible cells of a state as a string, one character for each cell."""

    def look_at(self, cells: Mapping[str, str], params: Mapping[str, set[str]]) -> None:
        """Make these cells and parameters visible.

        ``cells`` maps the name of a cell to a string with a character for each of its codes. ``params`` has the
        parameters of each action.
        """
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
        """The cells that may become visible, each with the ``repr`` of the value of each of its codes."""
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

    def steps(self, states: States, without: Container[str] = ()) -> dict[VisibleStep, States]:
        """The visible steps from all of these states, each with the sorted states that it may lead to.

        ``without``: the names of actions to leave out.
        """
        found: dict[VisibleStep, States] = {}
        for state in states:
            for action, successors in zip(self.system.actions, self.machine.successors, strict=True):
                if action.name in without:
                    continue
                named = self._arguments[action.name]
                for new, args in successors(state):
                    seen = (action.name, named[args], self.seen(new))
                    before = found.get(seen)
                    found[seen] = (new,) if before is None else tuple(sorted({*before, new}))
        return found

    def outcomes(self, states: States, action: str, arguments: Arguments) -> list[Outcome]:
        """The outcomes of a call in each of the states. Empty if this system has no such call."""
        # Several calls look the same if they differ in invisible arguments only.
        calls = self.calls.get(action, {}).get(arguments, [])
        return [self.machine.step(state, action, args) for state in states for args in calls]

    def answer(self, states: States, action: str, arguments: Arguments) -> StepAnswer:
        """Why this system does not take a step that the other one takes."""
        outcomes = self.outcomes(states, action, arguments)
        if not outcomes:
            return StepAnswer("absent", action if action in self.calls else "")
        # Of several outcomes, the one nearest to the step tells most.
        return min((_answered(outcome) for outcome in outcomes), key=lambda answer: NEARNESS.index(answer.kind))

    def trace(self, run: Sequence[tuple[States, VisibleStep | None]]) -> Trace:
        """The least run with these visible steps. An entry has the states after a step, and the step (None: the start).

        It is built backwards from the least final state, because not every state of an entry has a way to the end.
        """
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
    """Make visible what both systems have in common: cells of the same name, and parameters of the same action.

    Parameters of an action that only one system has are visible too.
    """
    others = b.values()
    signs: dict[str, dict[str, str]] = {}
    for name, values in a.values().items():
        if name in others:
            # A value has the same character in both systems, whatever its code. Values are compared by their repr.
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
    """Whether both outcomes grant a request, or both deny it with the same answer."""
    match one, two:
        case Refused(), Refused():
            return (one.label, one.error) == (two.label, two.error)
        case Cut(), Cut():
            return one.bound == two.bound
        case _:
            return isinstance(one, Taken) and isinstance(two, Taken)


def same_action(one: Action, two: Action) -> bool:
    """Whether two actions have the same name, parameters and body. Places in the source do not count."""
    return (one.name, one.params, _shape(one.body)) == (two.name, two.params, _shape(two.body))


def _shape(part: object) -> object:
    """A body without its places in the source."""
    if isinstance(part, tuple):
        return tuple(_shape(each) for each in part)
    if isinstance(part, Stmt):
        fields = attrs.fields(type(part))
        return type(part), tuple(_shape(getattr(part, field.name)) for field in fields if field.name != "at")
    return part
