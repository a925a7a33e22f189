"""Rules and folds: the functions that the methods of a model call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum

from holdfast.ir.marks import MARK

_removed: ContextVar[tuple[frozenset[str], str]] = ContextVar("holdfast_removed", default=(frozenset(), ""))
"""The labels of the removed rules, and the action that runs."""


class Refused(Exception):
    """An action was refused. ``label``: the rule. ``error``: the error that the system answers, or None."""

    def __init__(self, label: str, error: Enum | None) -> None:
        self.label = label
        self.error = error
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


def require(cond: bool, label: str, error: Enum | None = None) -> None:
    """Refuse the action unless ``cond``. ``label``: the rule's id. ``error``: the error that the system answers."""
    if not cond and not _is_removed(label):
        raise Refused(label, error)


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
