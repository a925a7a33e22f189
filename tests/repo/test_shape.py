"""The shape of the code: short files, a docstring for every module and every test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("holdfast", "impl", "models", "reports", "spark", "tests")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
LONGEST = 400
"""The limit of lines. A longer file usually holds two ideas; split it where they part."""

LOOSE = {"holdfast/check": 12, "spark": 4}
"""The limit of files directly in a package; each of its verbs has a folder."""


def name(path: Path) -> str:
    """The path as it is shown."""
    return path.relative_to(ROOT).as_posix()


def undocumented(source: str, *, tests: bool) -> Iterator[str]:
    """The missing docstrings of a file: of the module, and in test files of each test function."""
    tree = ast.parse(source)
    if tree.body and not ast.get_docstring(tree):
        yield "the module"
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    for function in functions:
        if tests and function.name.startswith("test_") and not ast.get_docstring(function):
            yield function.name


def test_everything_says_what_it_is() -> None:
    """Every module has a docstring, and every test function a sentence that states the behaviour."""
    found = {name(path): list(undocumented(path.read_text(), tests=path.name.startswith("test_"))) for path in SOURCES}
    assert {path: missing for path, missing in found.items() if missing} == {}


def test_files_are_short() -> None:
    """No file is longer than four hundred lines."""
    lengths = {name(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def test_few_files_lie_loose() -> None:
    """Most files of a package lie in a folder for what they do."""
    loose = {folder: len(list((ROOT / folder).glob("*.py"))) for folder in LOOSE}
    assert {folder: count for folder, count in loose.items() if count > LOOSE[folder]} == {}


def test_missing_docstrings_are_seen() -> None:
    """The test finds a module and a test function without docstrings, and ignores helpers."""
    source = "def test_it():\n    pass\n\ndef helper():\n    pass\n"
    assert list(undocumented(source, tests=True)) == ["the module", "test_it"]
    assert list(undocumented(source, tests=False)) == ["the module"]
