"""The measurements of one run of the benchmark, by name, and the blanks where one failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from benchmarks.programs import AbsentProgram
from holdfast.ir.errors import UsageError

T = TypeVar("T")


@attrs.frozen
class Blank:
    """Why a measurement is not there. ``absent``: a program is not installed, which is no fault of what is measured."""

    reason: str
    absent: bool = False

    @property
    def outcome(self) -> str:
        """The word for the table."""
        return "not measured" if self.absent else "failed"


@attrs.define
class Measurements:
    """By name: every value that was measured, and a blank for every other that was tried.

    A name is that of the task, such as ``walks``, or of a scope and a checker, such as ``one_word.tlc``.
    ``interrupted``: whether Ctrl-C ended the run early, so that not everything was tried.
    """

    values: dict[str, Any] = attrs.field(factory=dict)
    blanks: dict[str, Blank] = attrs.field(factory=dict)
    interrupted: bool = False

    def attempt(self, name: str, measure: Callable[[], T], *, cost: Callable[[T], float] = lambda _: 0.0) -> None:
        """Measure once. Of several measurements of one name, the first with the least cost counts.

        If one of them fails, the name has a blank, whatever the others were, and is not measured again.
        """
        if name in self.blanks:
            return
        try:
            value = measure()
        except Exception as error:  # noqa: BLE001 - a failure is a row of the table; the others are still measured
            self.fail(name, _line(error), absent=isinstance(error, AbsentProgram))
        else:
            self.values[name] = min(self.values[name], value, key=cost) if name in self.values else value

    def fail(self, name: str, reason: str, *, absent: bool = False) -> None:
        """Let a name have a blank, and no value."""
        self.values.pop(name, None)
        self.blanks[name] = Blank(reason, absent)

    @property
    def complete(self) -> bool:
        """Whether nothing failed. A program that is not installed is no failure."""
        return all(blank.absent for blank in self.blanks.values())


def _line(error: Exception) -> str:
    """An error as one line; a class of Python that users do not know is named."""
    said = " ".join(str(error).split())
    return said if isinstance(error, (UsageError, RuntimeError)) and said else f"{type(error).__name__}: {said}"
