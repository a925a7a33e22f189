"""Two systems in lockstep: which steps does one take that the other does not, after a run that both can take?

The comparison goes breadth-first over the runs that both systems can take, and looks for every visible step of one
system in the other (``compared_system.py``). So the first difference found has a shortest run. The systems may differ
in invisible parts, for one may have an additional field or parameter. So a run is kept with all states that each system
may be in after it. There is one such state if both systems have the same cells and parameters.

States are compared without renaming. There is one exception: if both systems have the same layout and are in the same
state, its canonical state stands for all its renamings. A difference in one of them is a difference in all, under other
names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated, Literal

import attrs

from holdfast.check.budget import Meter
from holdfast.check.diff.compared_system import (
    Arguments,
    ComparedSystem,
    States,
    StepAnswer,
    VisibleStep,
    align,
    alike,
    same_action,
)
from holdfast.check.json_values import OMITTED, written_by
from holdfast.lower.layout import Value
from holdfast.lower.outcome import Outcome, Taken
from holdfast.lower.symmetry import group_of, unrenamed
from holdfast.trace.trace import Trace

Side = Literal["A", "B"]


@attrs.frozen
class Difference:
    """The steps of one action that ``side`` takes and the other system, for the reason ``answer``, does not.

    - ``steps``: their number.
    - ``idle``: whether none of them changes anything.
    - ``run``: a shortest run to one of them; if not all are idle, to one that changes something.

    A different initial state has the action ``init`` and a run without steps.
    """

    side: Annotated[Side, OMITTED]
    action: str
    answer: StepAnswer
    steps: int
    idle: bool
    run: Trace


@attrs.frozen
class OtherAnswer:
    """The requests of one action that both systems deny, with different answers ``a`` and ``b``.

    ``requests`` is their number, ``run`` a shortest run to one of them, and ``arguments`` are its arguments.
    """

    action: str
    arguments: Annotated[tuple[tuple[str, Value], ...], written_by(dict, "args")]
    a: StepAnswer
    b: StepAnswer
    requests: int
    run: Trace


@attrs.frozen
class LockstepResult:
    """The result of a comparison.

    - ``states``: number of pairs of states that were compared; ``waiting``: number of pairs that were not.
    - ``depth``: the length of the longest run.
    - ``group_order``: number of renamings that count as one state; 1 without symmetry.
    """

    differences: Annotated[tuple[Difference, ...], OMITTED]
    answers: Annotated[tuple[OtherAnswer, ...], OMITTED]
    states: int
    waiting: int
    depth: int
    group_order: int

    def of(self, side: Side) -> tuple[Difference, ...]:
        """The differences in which ``side`` takes the steps: first those that change something, then by run length."""
        found = (difference for difference in self.differences if difference.side == side)
        return tuple(sorted(found, key=lambda difference: (difference.idle, difference.run.length)))


@attrs.frozen(eq=False)
class _CommonRun:
    """The states ``a`` and ``b`` that both systems may be in after a common run.

    The run is a linked list: the pair ``before``, and the visible step ``seen`` from it (None at the start).
    """

    a: States
    b: States
    before: _CommonRun | None
    seen: VisibleStep | None
    depth: int

    def run(self, side: Side) -> list[tuple[States, VisibleStep | None]]:
        """The entries of the run in one of the systems, for ``ComparedSystem.trace``."""
        found: list[tuple[States, VisibleStep | None]] = []
        here: _CommonRun | None = self
        while here is not None:
            found.append((here.a if side == "A" else here.b, here.seen))
            here = here.before
        return found[::-1]


@attrs.define
class _Group:
    """The differences of one action with the same reason: their number, and the first one of the least rank.

    ``rank`` is whether the step changes nothing, and its depth.
    """

    rank: tuple[bool, int]
    pair: _CommonRun
    seen: VisibleStep
    reached: States
    times: int = 0


class Lockstep:
    """The comparison of two systems."""

    def __init__(self, a: ComparedSystem, b: ComparedSystem, meter: Meter) -> None:
        self.a = a
        self.b = b
        self.meter = meter
        align(a, b)
        same_layout = (a.layout.fields, a.layout.given, a.layout.elements) == (
            b.layout.fields, b.layout.given, b.layout.elements
        )  # fmt: skip
        self.group = group_of(a.layout) if same_layout else None
        self.canonical: Callable[[bytes], bytes] = (
            unrenamed if self.group is None else lru_cache(1 << 16)(self.group.canonical)
        )
        theirs = {action.name: action for action in b.system.actions}
        self.equal = frozenset(
            action.name
            for action in a.system.actions
            if same_layout and action.name in theirs and same_action(action, theirs[action.name])
        )
        """The actions that have the same steps and answers in both systems, wherever these are in one state."""
        self.answering = [
            action.name
            for action in a.system.actions
            if action.name in theirs
            and {param.name for param in action.params} == {param.name for param in theirs[action.name].params}
            and action.name not in self.equal
        ]
        """The actions whose answers to denied requests may differ."""
        self._known: set[object] = set()
        self._steps: dict[tuple[Side, str, StepAnswer], _Group] = {}
        self._answers: dict[tuple[str, StepAnswer, StepAnswer], _Group] = {}
        self._generated = self._compared = self._waiting = self._depth = 0
        self._level = list(self._starts())
        """The runs to compare next."""

    def compare(self) -> LockstepResult:
        """Compare the systems until the budget is spent."""
        self.advance()
        return self.result()

    def advance(self, most: int | None = None) -> bool:
        """Go on with the comparison until it is complete or the budget is spent. Return whether one of both is so.

        With ``most`` it stops after the level of runs in which more pairs than that have been compared.
        """
        while self._level and not self._waiting:
            if most is not None and self._compared > most:
                return False
            following: list[_CommonRun] = []
            for position, pair in enumerate(self._level):
                queue = len(self._level) - position + len(following)
                if self.meter.tick(self._depth, len(self._known), self._generated, queue):
                    self._waiting = queue
                    break
                following += self._expand(pair)
                self._compared += 1
            self._level = following
            self._depth += bool(following) and not self._waiting
        return True

    def result(self) -> LockstepResult:
        """The differences that were found, and how much was compared."""
        return LockstepResult(
            tuple(self._difference(*found) for found in self._steps.items()),
            tuple(self._other_answer(*found) for found in self._answers.items()),
            self._compared,
            self._waiting,
            self._depth,
            1 if self.group is None else self.group.order,
        )

    # Exploring ------------------------------------------------------------------------------------------------

    def _starts(self) -> Iterator[_CommonRun]:
        mine, theirs = _by_sight(self.a), _by_sight(self.b)
        for cells, states in mine.items():
            pair = _CommonRun(states, theirs.get(cells, ()), None, None, 0)
            if cells not in theirs:
                self._note_step("A", pair, ("init", (), cells), states, StepAnswer("start"))
            elif self._is_new(pair.a, pair.b):
                yield pair
        for cells, states in theirs.items():
            if cells not in mine:
                self._note_step(
                    "B", _CommonRun((), states, None, None, 0), ("init", (), cells), states, StepAnswer("start")
                )

    def _expand(self, pair: _CommonRun) -> Iterator[_CommonRun]:
        """Note the differences after a run. Yield the runs that are one step longer."""
        # Of equal actions in one state the steps of A are also those of B.
        equal: frozenset[str] = self.equal if pair.a == pair.b else frozenset()
        mine, theirs = self.a.steps(pair.a), self.b.steps(pair.b, equal)
        self._generated += len(mine)
        for seen, reached in mine.items():
            if seen[0] in equal:
                if self._is_new(reached, reached):
                    yield _CommonRun(reached, reached, pair, seen, pair.depth + 1)
            elif seen not in theirs:
                self._note_step("A", pair, seen, reached, self.b.answer(pair.b, *seen[:2]))
            elif self._is_new(reached, theirs[seen]):
                yield _CommonRun(reached, theirs[seen], pair, seen, pair.depth + 1)
        for seen, reached in theirs.items():
            if seen not in mine:
                self._note_step("B", pair, seen, reached, self.a.answer(pair.a, *seen[:2]))
        # With several possible states, which of them answers is unknown.
        if len(pair.a) == len(pair.b) == 1:
            self._compare_answers(pair)

    def _is_new(self, a: States, b: States) -> bool:
        # Only a common state may be renamed. In (a, b) the two systems would need the same renaming.
        key: object = self.canonical(a[0]) if a == b and len(a) == 1 else (a, b)
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def _compare_answers(self, pair: _CommonRun) -> None:
        """Note the requests that both deny with different answers. ``_expand`` compares the steps that one takes."""
        for action in self.answering:
            for arguments in self.a.calls[action]:
                (mine,) = self.a.outcomes(pair.a, action, arguments)
                theirs = self.b.outcomes(pair.b, action, arguments)
                if theirs and not alike(mine, theirs[0]):
                    self._note_answer(pair, action, arguments, mine, theirs[0])

    # Noting and answering -------------------------------------------------------------------------------------

    def _note_step(self, side: Side, pair: _CommonRun, seen: VisibleStep, reached: States, answer: StepAnswer) -> None:
        half, before = (self.a, pair.a) if side == "A" else (self.b, pair.b)
        # False ranks before True: a step that changes something is preferred, then the shorter run.
        rank = (any(half.seen(state) == seen[2] for state in before), pair.depth)
        found = self._steps.setdefault((side, seen[0], answer), _Group(rank, pair, seen, reached))
        if rank < found.rank:
            found.rank, found.pair, found.seen, found.reached = rank, pair, seen, reached
        found.times += 1

    def _note_answer(self, pair: _CommonRun, action: str, arguments: Arguments, mine: Outcome, theirs: Outcome) -> None:
        if isinstance(mine, Taken) or isinstance(theirs, Taken):
            return
        key = (action, StepAnswer.denied(mine), StepAnswer.denied(theirs))
        found = self._answers.setdefault(key, _Group((False, pair.depth), pair, (action, arguments, ""), pair.a))
        found.times += 1

    def _difference(self, key: tuple[Side, str, StepAnswer], group: _Group) -> Difference:
        side, action, answer = key
        half = self.a if side == "A" else self.b
        last = [] if answer.kind == "start" else [(group.reached, group.seen)]
        return Difference(side, action, answer, group.times, group.rank[0], half.trace([*group.pair.run(side), *last]))

    def _other_answer(self, key: tuple[str, StepAnswer, StepAnswer], group: _Group) -> OtherAnswer:
        action, mine, theirs = key
        (args, *_) = self.a.calls[action][group.seen[1]]
        named = self.a.layout.decode_args(self.a.system.action(action), args)
        return OtherAnswer(action, tuple(named.items()), mine, theirs, group.times, self.a.trace(group.pair.run("A")))


def _by_sight(half: ComparedSystem) -> dict[str, States]:
    """The initial states by their visible cells."""
    found: dict[str, list[bytes]] = {}
    for state in half.starts:
        found.setdefault(half.seen(state), []).append(state)
    return {cells: tuple(sorted(states)) for cells, states in found.items()}
