"""Guards: ``require`` refuses a request, ``rule`` decides a branch, and each carries the id of its rule.

The id is a literal, and a page of ``docs/protocol`` explains the rule. A test can switch a rule off (``without``).
Every refusal and every decisive branch is counted, because a guard that never decided anything was not tested.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from impl.errors import E

ROOT = Path(__file__).parent


class RefusedError(Exception):
    """A guard refused a request: the rule's label, and the error to answer with."""

    def __init__(self, label: str, error: E) -> None:
        super().__init__(f"{label}: {error.name}")
        self.label = label
        self.error = error


_removed: set[str] = set()
decided: Counter[str] = Counter()
"""By rule: how often it refused a request or decided a branch."""
refused: Counter[str] = Counter()
"""By rule: how often it refused a request."""
missed: list[str] = []
"""The switched-off rules that would have refused a request or decided a branch, each once. Drivers empty the list."""


def require(met: bool, label: str, error: E) -> None:
    """Raise RefusedError unless the condition is met, or the rule is switched off."""
    if met:
        return
    # Only now, so that switching rules off costs nothing on the passing path.
    if label in _removed:
        _miss(label)
        return
    decided[label] += 1
    refused[label] += 1
    raise RefusedError(label, error)


def rule(label: str, met: bool = True) -> bool:
    """Whether the rule takes effect: the condition is met, and the rule is not switched off."""
    if not met:
        return False
    if label in _removed:
        _miss(label)
        return False
    decided[label] += 1
    return True


def _miss(label: str) -> None:
    if label not in missed:
        missed.append(label)


@contextmanager
def without(*labels: str) -> Iterator[None]:
    """Switch rules off within the block. Raises ValueError for a label that no guard has."""
    # The source is not read for nothing.
    unknown = set(labels) - set(guards()) if labels else set[str]()
    if unknown:
        raise ValueError(f"no guard has the label {', '.join(sorted(unknown))}")
    # Without the labels of an outer block, which stay off when this block ends.
    added = set(labels) - _removed
    _removed.update(added)
    try:
        yield
    finally:
        _removed.difference_update(added)
        missed.clear()


@contextmanager
def judging() -> Iterator[None]:
    """Within the block all rules are on and nothing is counted: for a judge that uses code of what it judges."""
    removed, counts = set(_removed), [(each, each.copy()) for each in (decided, refused)]
    _removed.clear()
    try:
        yield
    finally:
        _removed.update(removed)
        for each, before in counts:
            each.clear()
            each.update(before)


@cache
def guards() -> dict[str, tuple[tuple[str, int], ...]]:
    """The places of each guard, by label, sorted. A place is a file, relative to the folder of ``impl``, and a line.

    The labels are read from the source. Raises ValueError for a label that is no literal.
    """
    found: dict[str, list[tuple[str, int]]] = {}
    for name, source in sources():
        for node in ast.walk(ast.parse(source)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            place = {"require": 1, "rule": 0}.get(node.func.id)
            if place is None:
                continue
            label = node.args[place] if len(node.args) > place else None
            if not (isinstance(label, ast.Constant) and isinstance(label.value, str)):
                raise ValueError(f"{name}:{node.lineno}: the label of a guard must be a literal")
            found.setdefault(label.value, []).append((name, node.lineno))
    return {label: tuple(found[label]) for label in sorted(found)}


def sources() -> Iterator[tuple[str, str]]:
    """The files of Python in ``impl``, each with its text, sorted by their paths, which are relative to ``impl``.

    The package may lie in an archive, from which Python imports it too.
    """
    yield from sorted(_sources(files(__package__), ""))


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _sources(each, f"{path}{each.name}/")
        elif each.name.endswith(".py"):
            yield path + each.name, each.read_text(encoding="utf-8")
