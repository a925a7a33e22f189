"""The errors that Holdfast shows to its users.

A ``ModelError`` gives the place (file, line, column), the construct, the problem and the remedy, so that the user can
correct the model from the message alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

MOST_QUOTED = 300
"""Characters of the longest text of an exception that is quoted whole."""

MOST_TOLD = 20
"""How many errors of one model a message tells; it says how many more there are."""


@attrs.frozen
class Place:
    """A position in a model's source. Lines and columns count from one."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class HoldfastError(Exception):
    """An error that the user can correct. Its text is the whole message; no traceback is shown for it."""

    exit_code: ClassVar[int]
    """The exit code of a command that ends with this error."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The message, one line for each error that it tells."""
        return (str(self),)


class ModelError(HoldfastError):
    """The model is outside the language (exit code 150).

    The parts of the message are attributes too: ``place``, ``construct`` (the source text or the name concerned),
    ``problem`` and ``remedy``.
    """

    exit_code = 150

    def __init__(self, place: Place, construct: str, problem: str, remedy: str) -> None:
        self.place = place
        self.construct = construct
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{place}: {construct}: {problem}; {remedy}")

    @property
    def errors(self) -> tuple[ModelError, ...]:
        """All errors that it tells: itself, or the parts of a ``ModelErrors``."""
        return (self,)

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is pickled with its text alone, and this one is made from the parts of the text.
        return type(self), (self.place, self.construct, self.problem, self.remedy)


class ModelErrors(ModelError):
    """Several errors of one model, in the order of the source. Its parts are those of the first one.

    Its text has a line for each of the first ``MOST_TOLD`` errors, and a line with the number of the others.
    """

    def __init__(self, errors: Sequence[ModelError]) -> None:
        first = errors[0]
        super().__init__(first.place, first.construct, first.problem, first.remedy)
        self._errors = tuple(errors)
        self.args = ("\n".join(self.lines),)

    @property
    def errors(self) -> tuple[ModelError, ...]:
        """All of them."""
        return self._errors

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the text."""
        told = [str(error) for error in self.errors[:MOST_TOLD]]
        more = len(self.errors) - MOST_TOLD
        if more > 0:
            told.append(f"{self.place.file}: {more} more error{'s' if more > 1 else ''}; mend these first")
        return tuple(told)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.errors,)


class UsageError(HoldfastError):
    """A wrong name, option or file was given (exit code 2)."""

    exit_code = 2


def unreadable(path: object, error: OSError) -> UsageError:
    """The error for a file that the system does not let the command read."""
    return UsageError(f"{path}: cannot be read: {error.strerror or error}; make it readable, or name another file")


def described(error: BaseException) -> str:
    """The class of an exception and the first line of its text, also if the text raises an exception itself."""
    try:
        text = next(iter(str(error).strip().splitlines()), "")
    except BaseException:  # noqa: BLE001 - the exception of a model may do anything
        text = "its text cannot be made"
    text = text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 3]}..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
