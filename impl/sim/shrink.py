"""Makes a failing run small: it leaves faults and operations out, as long as the same oracle objects.

Each candidate is replayed from its tape and its script, so that leaving out a part changes only its consequences. First
whole kinds of faults go, then streams and clients, then chunks, then single faults and operations (Zeller, Hildebrandt
2002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from impl.sim.check import CheckResult, Question, check
from impl.sim.tape import Fault

Ask = Callable[[Question], CheckResult]
RUNS = 2_000
"""The most runs of one shrinking."""
MOVABLE, STEPS = 8, 12
"""The most faults of a run in which faults are moved, and the most steps by which a fault is moved."""
WEATHERS = 4
"""The number of weathers in which each candidate is tried, once no candidate fails in its own weather."""


class SmallestRun(msgspec.Struct, frozen=True):
    """The smallest failing run found. ``runs``: the number of runs made. ``complete``: no single part can go."""

    question: Question
    runs: int
    complete: bool


class _Shrinker:
    def __init__(self, question: Question, oracle: str, ask: Ask, most: int, go_on: Callable[[], bool]) -> None:
        self.question, self.oracle = question, oracle
        self.runs = 0
        self._weathers = 1
        """The number of runs with the same parts, each in another weather."""
        self._ask, self._most, self._go_on = ask, most, go_on

    @property
    def spent(self) -> bool:
        return self.runs >= self._most or not self._go_on()

    def run(self) -> SmallestRun:
        """Leave out parts in the same weather, then in other weathers, and at last with another fault moved."""
        drops = self._drop_kinds, self._drop_groups, self._drop_chunks
        self._repeat(*drops)
        self._weathers = WEATHERS
        self._repeat(*drops)
        self._weathers = 1
        self._repeat(self._drop_and_move, self._drop_chunks)
        return SmallestRun(self.question, self.runs, not self.spent)

    def _repeat(self, *drops: Callable[[], None]) -> None:
        """Repeat the drops until a round of them leaves nothing out."""
        before = -1
        while before != (size := _size(self.question)) and not self.spent:
            before = size
            for drop in drops:
                drop()

    def _drop_kinds(self) -> None:
        """Leave out each kind of fault in turn."""
        for kind in sorted({fault.kind for fault in self.question.options.recorded or ()}):
            left = tuple(fault for fault in self.question.options.recorded or () if fault.kind != kind)
            self._holds(recorded=left)

    def _drop_groups(self) -> None:
        """Leave out all operations on a stream, then all operations of a client."""
        for name in ("key", "client"):
            for group in sorted({getattr(each, name) for each in _parts(self.question, "operations_of")}):
                left = [each for each in _parts(self.question, "operations_of") if getattr(each, name) != group]
                self._holds(operations_of=tuple(left))

    def _drop_chunks(self) -> None:
        """Leave out halves of the operations and of the faults, then quarters, and so on to single ones."""
        part = 2
        while not self.spent:
            sizes = {name: max(1, len(_parts(self.question, name)) // part) for name in ("operations_of", "recorded")}
            for name, size in sizes.items():
                # The last chunk is tried first: without it, the run is shorter.
                place = len(_parts(self.question, name)) - size
                while place > -size:
                    # The last chunk to try, at the beginning, may be smaller.
                    parts, begin = _parts(self.question, name), max(0, place)
                    self._holds(**{name: parts[:begin] + parts[place + size :]})
                    place -= size
            if max(sizes.values()) == 1:
                return
            part *= 2

    def _drop_and_move(self) -> None:
        """Leave out each fault in turn, and move another one by some steps of its site.

        The place of a fault on the tape is a number, such as the 34th message of a link. Without a crash that came
        before, the same message has another number.
        """
        number = 0
        while number < len(faults := self.question.options.recorded or ()) <= MOVABLE and not self.spent:
            left = faults[:number] + faults[number + 1 :]
            number = 0 if self._moves(left) else number + 1  # After a success the list is another one.

    def _moves(self, left: tuple[Fault, ...]) -> bool:
        """Whether the oracle objects to these faults, with one of them moved."""
        for number, fault in enumerate(left):
            for steps in sorted(range(-STEPS, STEPS + 1), key=abs):
                moved = msgspec.structs.replace(fault, index=max(0, fault.index + steps))
                if self._holds(recorded=(*left[:number], moved, *left[number + 1 :])):
                    return True
        return False

    def _holds(self, **changed: Sequence[object]) -> bool:
        """Whether the oracle objects to a smaller run, too. If so, keep it as the smallest run so far.

        With recorded faults and a script, the seed decides only the *weather*: how long messages and operations of the
        store take without a fault. When a part of the run is gone, a race may need another weather.
        """
        smaller = _with(self.question, **changed)
        if _size(smaller) == _size(self.question):
            return False
        for number in range(self._weathers):
            if self.spent:
                return False
            self.runs += 1
            question = msgspec.structs.replace(smaller, seed=smaller.seed + number)
            if any(violation.oracle == self.oracle for violation in self._ask(question).violations):
                self.question = question
                return True
        return False


def shrink(
    question: Question,
    oracle: str,
    ask: Ask = check,
    *,
    most: int = RUNS,
    go_on: Callable[[], bool] = lambda: True,
) -> SmallestRun:
    """The smallest run that ``oracle`` objects to, from a question with a script and recorded faults.

    ``go_on`` is asked before each run; if it says no, the smallest run so far is the answer.
    """
    return _Shrinker(question, oracle, ask, most, go_on).run()


def _parts(question: Question, name: str) -> tuple[Any, ...]:
    found: tuple[Any, ...] = getattr(question.options, name) or ()
    return found


def _with(question: Question, **changed: Sequence[object]) -> Question:
    options = msgspec.structs.replace(question.options, **changed)
    return msgspec.structs.replace(question, options=options)


def _size(question: Question) -> int:
    return len(question.options.recorded or ()) + len(question.options.operations_of or ())
