"""Makes a failing run small: it leaves faults and operations out, as long as the same oracle objects.

A run is replayed from its tape and its script, so that what is left out changes nothing else than what follows from it.
First whole kinds of faults go, then streams and clients, then chunks, then single faults and operations (Zeller,
Hildebrandt 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from impl.sim.check import Checked, Question, check

Ask = Callable[[Question], Checked]
RUNS = 2_000
"""The most runs of one shrinking."""


class Shrunk(msgspec.Struct, frozen=True):
    """The smallest run that was found. ``runs``: how many were made. ``complete``: whether no single part can go."""

    question: Question
    runs: int
    complete: bool


class _Shrinker:
    def __init__(self, question: Question, oracle: str, ask: Ask, most: int, go_on: Callable[[], bool]) -> None:
        self.question, self.oracle = question, oracle
        self.runs = 0
        self._ask, self._most, self._go_on = ask, most, go_on

    @property
    def spent(self) -> bool:
        return self.runs >= self._most or not self._go_on()

    def holds(self, question: Question) -> bool:
        """Whether the oracle objects to this run as well; then it is the smallest one so far."""
        if self.spent:
            return False
        self.runs += 1
        found = self._ask(question)
        if not any(violation.oracle == self.oracle for violation in found.violations):
            return False
        self.question = question
        return True

    def drop_kinds(self) -> None:
        """Leave out each kind of fault in turn."""
        for kind in sorted({fault.kind for fault in self.question.options.recorded or ()}):
            left = tuple(fault for fault in self.question.options.recorded or () if fault.kind != kind)
            self.holds(_with(self.question, recorded=left))

    def drop_groups(self) -> None:
        """Leave out all operations on a stream, then all operations of a client."""
        for name in ("key", "client"):
            for group in sorted({getattr(each, name) for each in _parts(self.question, "operations_of")}):
                left = tuple(each for each in _parts(self.question, "operations_of") if getattr(each, name) != group)
                self.holds(_with(self.question, operations_of=left))

    def drop_parts(self, name: str) -> None:
        """Leave out chunks of the faults or of the operations, smaller and smaller ones."""
        size = max(1, len(_parts(self.question, name)) // 2)
        while not self.spent:
            place = 0
            while place < len(parts := _parts(self.question, name)):
                if not self.holds(_with(self.question, **{name: parts[:place] + parts[place + size :]})):
                    place += size
            if size == 1:
                return
            size //= 2

    def run(self) -> Shrunk:
        before = -1
        while before != (size := _size(self.question)) and not self.spent:
            before = size
            self.drop_kinds()
            self.drop_groups()
            self.drop_parts("recorded")
            self.drop_parts("operations_of")
        return Shrunk(self.question, self.runs, not self.spent)


def shrink(
    question: Question,
    oracle: str,
    ask: Ask = check,
    *,
    most: int = RUNS,
    go_on: Callable[[], bool] = lambda: True,
) -> Shrunk:
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
