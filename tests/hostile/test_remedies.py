"""Every error that the source raises for a user says what to do, by the rule of the judge."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.judgement import has_remedy
from tests.hostile.running import ROOT

PACKAGES = ("holdfast", "impl", "spark", "reports")

ERRORS = {
    *("UsageError", "ImpossibleError", "TlcError", "NoAnswerError", "StorageError", "LostSparkError", "TaskError"),
    *("ClusterError", "ClusterSilenceError", "DamagedLineError", "CaseError", "MalformedError", "LimitError"),
    *("SimulationError", "ViolatedMixError"),
}
"""The errors whose text is the line that the user reads."""

ELSEWHERE = {"error", "said", "problem", "message", "last", "text", "fault"}
"""Names at the end of a text that hold a whole message, which is judged where it is made."""

MAKERS = {"unknown", "unknown_id", "_why", "_printable", "_message", "_too_small", "_unpaired", "str"}
"""Functions at the end of a text that return a message with its remedy."""

WITHOUT = {"holdfast/trace/itf_values.py", "holdfast/trace/tla_values.py"}
"""Modules that know neither the file nor its format's source: who calls them adds both, and the remedy."""


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of each such error in a file; a value in the text is shown as ``…``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            name = node.exc.func.id if isinstance(node.exc.func, ast.Name) else ""
            last = node.exc.args[-1]
            if name in ERRORS and not is_made_elsewhere(last):
                yield node.lineno, text_of(last)


def is_made_elsewhere(text: ast.expr) -> bool:
    """Whether the text, or its end, is a message of another place."""
    if isinstance(text, ast.JoinedStr):
        end = text.values[-1]
        return isinstance(end, ast.FormattedValue) and is_made_elsewhere(end.value)
    if isinstance(text, ast.Name):
        return text.id in ELSEWHERE
    if isinstance(text, ast.Call):
        return (text.func.attr if isinstance(text.func, ast.Attribute) else ast.unparse(text.func)) in MAKERS
    return False


def text_of(expression: ast.expr) -> str:
    """The text of an expression, as far as it stands in the source."""
    match expression:
        case ast.Constant(str() as text):
            return text
        case ast.JoinedStr(values):
            return "".join(text_of(value) for value in values)
        case ast.BinOp(left, ast.Add(), right):
            return text_of(left) + text_of(right)
    return "…"


def test_every_error_has_a_remedy() -> None:
    """Each text ends with a remedy, or with a message that is made elsewhere."""
    found = {
        f"{path.relative_to(ROOT)}:{line}": text
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.relative_to(ROOT).as_posix() not in WITHOUT
        for line, text in messages(path)
    }
    assert len(found) > 400
    assert {place: text for place, text in found.items() if not has_remedy(text)} == {}


@pytest.mark.parametrize(
    "raised",
    [
        'raise UsageError("no model")',
        'raise UsageError(f"{path}: cannot be read: {error.strerror}") from None',
        'raise MalformedError(file, 1, "the file is not UTF-8")',
        'raise UsageError(f"{name}: " "two " + f"parts {excerpt(name)}")',
    ],
)
def test_an_error_without_a_remedy_is_noticed(tmp_path: Path, raised: str) -> None:
    """A text without a remedy is found, in each form in which one is written."""
    (tmp_path / "a.py").write_text(raised)
    [(_, text)] = messages(tmp_path / "a.py")
    assert not has_remedy(text)
