"""Rules and folds: the functions that the methods of a model call."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from holdfast.ir.marks import MARK

_removed: ContextVar[tuple[frozenset[str], str]] = ContextVar("holdfast_removed", default=(frozenset(), ""))
"""The labels of the removed rules, and the action that runs."""


@dataclass(frozen=True)
class CallPlace:
    """Where a guard without a label stands: the path of the file, the line, and the column, from 1."""

    file: str
    line: int
    column: int


class Refused(Exception):
    """An action was refused.

    ``label``: the rule, or FILE:LINE of a guard without a label. ``error``: the error that the system answers, or None.
    ``at``: the place of a guard without a label, otherwise None.
    """

    def __init__(self, label: str, error: Enum | None, at: CallPlace | None = None) -> None:
        self.label = label
        self.error = error
        self.at = at
        super().__init__(f"{label}{': ' + error.name if error is not None else ''}")


@contextmanager
def without(labels: Iterable[str], action: str) -> Iterator[None]:
    """Remove the rules ``LABEL`` and ``LABEL@action`` within this context. ``action``: the action that runs."""
    token = _removed.set((frozenset(labels), action))
    try:
        yield
    finally:
        _removed.reset(token)


def _is_removed(label: str) -> bool:
    labels, action = _removed.get()
    return bool(labels) and (label in labels or f"{label}@{action}" in labels)


def require(cond: bool, label: str | None = None, error: Enum | None = None) -> None:
    """Refuse the action unless ``cond``. ``error``: the error that the system answers.

    ``label``: the rule. Without one it is a guard, which no mutant removes, and which is named by its place.
    """
    if cond:
        return
    if label is None:
        at = _calling_place()
        raise Refused(f"{Path(at.file).name}:{at.line}", error, at)
    if not _is_removed(label):
        raise Refused(label, error)


def _calling_place() -> CallPlace:
    """The place of the call to ``require`` that is under way."""
    frame = sys._getframe(2)
    places = list(frame.f_code.co_positions())
    line, _, column, _ = places[frame.f_lasti // 2]
    return CallPlace(frame.f_code.co_filename, line or frame.f_lineno, (column or 0) + 1)


def rule(label: str, cond: bool = True) -> bool:
    """The test of a labelled ``if``: a labelled condition, or a labelled effect if ``cond`` is not given.

    It is False if the rule is removed.
    """
    return cond and not _is_removed(label)


def count(conditions: Iterable[bool]) -> int:
    """The number of conditions that hold."""
    return sum(1 for cond in conditions if cond)


# The compiler recognises these functions by their marks, under any name that a model imports them as.
for _function in (require, rule, count):
    setattr(_function, MARK, _function.__name__)
