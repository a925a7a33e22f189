"""Two systems side by side: what does one do that the other does not, after a run that both can do?

Breadth first over the runs that both can do, every step of one is looked for in the other, as far as it can be seen
(``check/half.py``). So the first difference found has a shortest run. What is not seen may differ, for one system may
have a field or a parameter more: so what is kept of a run is not one state of each system, but all that the run may
have led to. They are single states wherever both systems have the same cells and parameters.

States are compared as they are, with their names. Only where both systems have the same layout, and are in the same
state, one state stands for all renamings of it: there, what differs in one differs in all, under other names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal

import attrs

from holdfast.check.budget import Meter
from holdfast.check.diff.compared_system import (
    Arguments,
    ComparedSystem,
    Seen,
    States,
    StepAnswer,
    align,
    alike,
    same_action,
)
from holdfast.lower.layout import Value
from holdfast.lower.outcome import Outcome, Taken
from holdfast.lower.symmetry import group_of, unrenamed
from holdfast.trace.trace import Trace

Side = Literal["A", "B"]


@attrs.frozen
class Difference:
    """Steps that ``side`` does and the other one, for the reason ``answer``, does not: how many there are, and a
    shortest run to one that changes something or, where all are ``idle``, to one that does not. A difference at the
    start is a run without steps, and its action is ``init``.
    """

    side: Side
    action: str
    answer: StepAnswer
    steps: int
    idle: bool
    run: Trace


@attrs.frozen
class OtherAnswer:
    """Requests that neither side grants, but to which they answer otherwise: how many there are, and a shortest run
    to one, with its arguments.
    """

    action: str
    arguments: tuple[tuple[str, Value], ...]
    a: StepAnswer
    b: StepAnswer
    requests: int
    run: Trace


@attrs.frozen
class LockstepResult:
    """What a comparison found. ``states`` were compared, that runs of both lead to, and ``waiting`` were not;
    ``depth`` is the length of the longest run. ``group_order`` renamings count as one (1: no symmetry).
    """

    differences: tuple[Difference, ...]
    answers: tuple[OtherAnswer, ...]
    states: int
    waiting: int
    depth: int
    group_order: int

    def of(self, side: Side) -> tuple[Difference, ...]:
        """What that side alone does: first what changes something, and of that what has the shortest run."""
        found = (difference for difference in self.differences if difference.side == side)
        return tuple(sorted(found, key=lambda difference: (difference.idle, difference.run.length)))


@attrs.frozen(eq=False)
class _Pair:
    """Where a run that both can do may have led to, in each of them, and the run: the pair before, and the step."""

    a: States
    b: States
    before: _Pair | None
    seen: Seen | None
    depth: int

    def run(self, side: Side) -> list[tuple[States, Seen | None]]:
        """The entries of the run, as one of the halves saw it."""
        found: list[tuple[States, Seen | None]] = []
        here: _Pair | None = self
        while here is not None:
            found.append((here.a if side == "A" else here.b, here.seen))
            here = here.before
        return found[::-1]


@attrs.define
class _Group:
    """Differences for the same reason: how many, and where the first of least rank is."""

    rank: tuple[bool, int]
    pair: _Pair
    seen: Seen
    reached: States
    times: int = 0


class Lockstep:
    """The comparison of two halves."""

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
        self.answering = [
            action.name
            for action in a.system.actions
            if action.name in theirs
            and {param.name for param in action.params} == {param.name for param in theirs[action.name].params}
            # In equal states equal actions answer alike.
            and not (same_layout and same_action(action, theirs[action.name]))
        ]
        """The actions whose refusals may differ."""
        self._known: set[object] = set()
        self._steps: dict[tuple[Side, str, StepAnswer], _Group] = {}
        self._answers: dict[tuple[str, StepAnswer, StepAnswer], _Group] = {}
        self._generated = 0

    def compare(self) -> LockstepResult:
        """Compare, as far as the budget goes."""
        level, depth = list(self._starts()), 0
        compared = waiting = 0
        while level and not waiting:
            following: list[_Pair] = []
            for position, pair in enumerate(level):
                queue = len(level) - position + len(following)
                if self.meter.tick(depth, len(self._known), self._generated, queue):
                    waiting = queue
                    break
                following += self._expand(pair)
                compared += 1
            level = following
            depth += bool(following) and not waiting
        return LockstepResult(
            tuple(self._difference(*found) for found in self._steps.items()),
            tuple(self._other_answer(*found) for found in self._answers.items()),
            compared,
            waiting,
            depth,
            1 if self.group is None else self.group.order,
        )

    # Exploring ------------------------------------------------------------------------------------------------

    def _starts(self) -> Iterator[_Pair]:
        mine, theirs = _by_sight(self.a), _by_sight(self.b)
        for cells, states in mine.items():
            pair = _Pair(states, theirs.get(cells, ()), None, None, 0)
            if cells not in theirs:
                self._note_step("A", pair, ("init", (), cells), states, StepAnswer("start"))
            elif self._is_new(pair.a, pair.b):
                yield pair
        for cells, states in theirs.items():
            if cells not in mine:
                self._note_step("B", _Pair((), states, None, None, 0), ("init", (), cells), states, StepAnswer("start"))

    def _expand(self, pair: _Pair) -> Iterator[_Pair]:
        """Note what differs after a run; the runs that go on."""
        mine, theirs = self.a.steps(pair.a), self.b.steps(pair.b)
        self._generated += len(mine)
        for seen, reached in mine.items():
            if seen not in theirs:
                self._note_step("A", pair, seen, reached, self.b.answer(pair.b, *seen[:2]))
            elif self._is_new(reached, theirs[seen]):
                yield _Pair(reached, theirs[seen], pair, seen, pair.depth + 1)
        for seen, reached in theirs.items():
            if seen not in mine:
                self._note_step("B", pair, seen, reached, self.a.answer(pair.a, *seen[:2]))
        if len(pair.a) == len(pair.b) == 1:
            self._compare_answers(pair)

    def _is_new(self, a: States, b: States) -> bool:
        key: object = self.canonical(a[0]) if a == b and len(a) == 1 else (a, b)
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def _compare_answers(self, pair: _Pair) -> None:
        """Note what both refuse for other reasons. What one of them grants has been compared."""
        for action in self.answering:
            for arguments in self.a.calls[action]:
                (mine,) = self.a.outcomes(pair.a, action, arguments)
                theirs = self.b.outcomes(pair.b, action, arguments)
                if theirs and not alike(mine, theirs[0]):
                    self._note_answer(pair, action, arguments, mine, theirs[0])

    # Noting and answering -------------------------------------------------------------------------------------

    def _note_step(self, side: Side, pair: _Pair, seen: Seen, reached: States, answer: StepAnswer) -> None:
        half, before = (self.a, pair.a) if side == "A" else (self.b, pair.b)
        rank = (any(half.seen(state) == seen[2] for state in before), pair.depth)
        found = self._steps.setdefault((side, seen[0], answer), _Group(rank, pair, seen, reached))
        if rank < found.rank:
            found.rank, found.pair, found.seen, found.reached = rank, pair, seen, reached
        found.times += 1

    def _note_answer(self, pair: _Pair, action: str, arguments: Arguments, mine: Outcome, theirs: Outcome) -> None:
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
    """The initial states by what is seen of them."""
    found: dict[str, list[bytes]] = {}
    for state in half.starts:
        found.setdefault(half.seen(state), []).append(state)
    return {cells: tuple(sorted(states)) for cells, states in found.items()}
