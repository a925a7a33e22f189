"""The shape of the code: short files, a docstring for every module and every test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("holdfast", "impl", "models", "reports", "spark", "tests")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
LONGEST = 500
"""Lines. A file that grows beyond this usually holds two ideas; split it where they part."""


def name(path: Path) -> str:
    """The path as it is shown."""
    return path.relative_to(ROOT).as_posix()


def undocumented(source: str, *, tests: bool) -> Iterator[str]:
    """What lacks a docstring: the module, and in test files each test function."""
    tree = ast.parse(source)
    if tree.body and not ast.get_docstring(tree):
        yield "the module"
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    for function in functions:
        if tests and function.name.startswith("test_") and not ast.get_docstring(function):
            yield function.name


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_everything_says_what_it_is(path: Path) -> None:
    """Every module has a docstring, and every test function a sentence that states the behaviour."""
    assert list(undocumented(path.read_text(), tests=path.name.startswith("test_"))) == []


@pytest.mark.parametrize("path", [path for path in SOURCES if "tests" not in path.parts], ids=name)
def test_files_are_short(path: Path) -> None:
    """No file of the engine or the models is longer than five hundred lines."""
    assert len(path.read_text().splitlines()) <= LONGEST


def test_missing_docstrings_are_seen() -> None:
    """The test itself names a module and a test function without docstrings, and no helper."""
    source = "def test_it():\n    pass\n\ndef helper():\n    pass\n"
    assert list(undocumented(source, tests=True)) == ["the module", "test_it"]
    assert list(undocumented(source, tests=False)) == ["the module"]
