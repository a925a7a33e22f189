"""The guards of a rule in the reference implementation, whose code stands beside the models.

The source is parsed and never imported. So this also works if the implementation is not installed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import attrs

from holdfast.check.rules.book import ID

IMPLEMENTATION = "impl"
"""The folder of the implementation, beside the folder of the models."""

_LABEL_AT = {"require": 1, "rule": 0}
"""The functions whose calls are guards, and the index of the label among their arguments."""


@attrs.frozen
class CodeGuard:
    """A guard in a file of the implementation. ``function`` is the function around it; empty if there is none."""

    label: str
    file: str
    line: int
    function: str


def guards_in(folder: Path, root: Path) -> dict[str, tuple[CodeGuard, ...]]:
    """The guards below a folder, by rule id; empty if there is no such folder.

    File names are relative to ``root``. Files that Python cannot parse are skipped.
    """
    found: dict[str, list[CodeGuard]] = {}
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            continue
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
        for label, line, function in _guards(tree, ""):
            match = ID.fullmatch(label)
            if match is not None:
                found.setdefault(match["rule"], []).append(CodeGuard(label, name, line, function))
    return {rule: tuple(guards) for rule, guards in found.items()}


def _guards(node: ast.AST, function: str) -> Iterator[tuple[str, int, str]]:
    """The labels of the guards below a node, with their lines and functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name):
            # For other functions the place lies behind the last argument, so they have no label.
            place = _LABEL_AT.get(child.func.id, len(child.args))
            label = child.args[place] if place < len(child.args) else None
            if isinstance(label, ast.Constant) and isinstance(label.value, str):
                yield label.value, child.lineno, function
        inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        yield from _guards(child, inner)
