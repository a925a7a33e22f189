"""Rules and folds: the functions a model's bodies call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum

from holdfast.ir.marks import MARK

_removed: ContextVar[tuple[frozenset[str], str]] = ContextVar("holdfast_removed", default=(frozenset(), ""))


class Refused(Exception):
    """An action was refused: ``label`` is the rule, ``error`` what the system answers (or None)."""

    def __init__(self, label: str, error: Enum | None) -> None:
        self.label = label
        self.error = error
        super().__init__(f"{label}{': ' + error.name if error is not None else ''}")


@contextmanager
def without(labels: Iterable[str], action: str) -> Iterator[None]:
    """Within this context the rules ``LABEL`` and ``LABEL@action`` are removed."""
    token = _removed.set((frozenset(labels), action))
    try:
        yield
    finally:
        _removed.reset(token)


def _is_removed(label: str) -> bool:
    labels, action = _removed.get()
    return bool(labels) and (label in labels or f"{label}@{action}" in labels)


def require(cond: bool, label: str, error: Enum | None = None) -> None:
    """Refuse the action unless ``cond``. ``label`` is the rule's id; ``error`` is what the system answers."""
    if not cond and not _is_removed(label):
        raise Refused(label, error)


def rule(label: str, cond: bool = True) -> bool:
    """The test of a labelled ``if``: a condition, or without one a labelled effect. Without the rule it is False."""
    return cond and not _is_removed(label)


def count(conditions: Iterable[bool]) -> int:
    """How many of the conditions hold."""
    return sum(1 for cond in conditions if cond)


for _function in (require, rule, count):
    setattr(_function, MARK, _function.__name__)
