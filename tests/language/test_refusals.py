"""Golden refusals: the compiler's messages for models outside the language, word for word."""

from __future__ import annotations

import ast
import re
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast.ir
from holdfast.ir.compile import builtin_remedies
from holdfast.ir.compile.bodies import OUTSIDE
from holdfast.ir.errors import ModelError
from holdfast.lower.python.interpreter import Interpreter
from tests.language.cases import Case, read_cases, write_messages
from tests.language.writing import compiled

CASES = read_cases("refusals")
IR = Path(holdfast.ir.__path__[0])
COMPILER = [*sorted(IR.glob("compile/*.py")), IR / "load.py"]


def refuse(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModelError:
    """The error that compiling a case's model, or computing its initial states, ends with."""
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    try:
        system = compiled(folder, case.source)
        for scope in system.scopes.values():
            Interpreter(system, scope).initial()
    except ModelError as error:
        return error
    pytest.fail(f"{case.name}: nothing was refused")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refusal(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool) -> None:
    """The refusal equals the golden line: file, line, column, construct, problem and remedy."""
    message = str(refuse(case, tmp_path, monkeypatch))
    if update_golden:
        write_messages(case.file, {case.title: message})
    else:
        assert message == case.message, "rewrite the goldens with `pytest tests/language --update-golden -n0`"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refusal_helps(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every refusal names the marked line and a column within it, the construct, the problem and the remedy."""
    error = refuse(case, tmp_path, monkeypatch)

    line = Path("model.py").read_text().splitlines()[error.place.line - 1]
    assert (error.place.file, error.place.line) == ("model.py", case.marked_line)
    assert 1 <= error.place.column <= len(line)
    assert all(part.strip() for part in (error.construct, error.problem, error.remedy))
    assert "\n" not in str(error)


def test_cases_are_told_apart() -> None:
    """There are at least sixty cases, and no two of a file share a title."""
    assert len(CASES) >= 60
    assert [name for name, times in Counter(case.name for case in CASES).items() if times > 1] == []


# Completeness -------------------------------------------------------------------------------------------------


ELSEWHERE = {
    "its source file is unknown": "a class that no file holds is made by a program, and not by a file of cases",
    "an expression is nested too deeply, or helpers call one another too often": "its model is too long to read",
}
"""Problems that no case of a refusal shows, each with the reason; ``test_loading.py`` tests them."""


REFUSES = re.compile(r"([\w.]+\.)?_?refuse\(|raise (ModelError|_import_error)\(")


def sites(source: str) -> Iterator[tuple[str, range]]:
    """The places in a compiler source that refuse a model: the problem's text, and its line numbers."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and function.name not in ("refuse", "_refuse"):
            for node in ast.walk(function):
                if isinstance(node, ast.Call | ast.Raise) and REFUSES.match(ast.unparse(node)):
                    yield ast.unparse(node), range(node.lineno, (node.end_lineno or node.lineno) + 1)


def test_every_refusal_has_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case reaches each place in the compiler that refuses, except for the few that other files test."""
    reached = set()
    for number, case in enumerate(CASES):
        error = refuse(case, tmp_path / str(number), monkeypatch)
        frames = traceback.extract_tb(error.__traceback__)
        reached |= {(Path(frame.filename).name, frame.lineno) for frame in frames}
    unreached = [
        f"{path.name}:{lines.start}: {text}"
        for path in COMPILER
        for text, lines in sites(path.read_text())
        if not any((path.name, line) in reached for line in lines) and not any(problem in text for problem in ELSEWHERE)
    ]

    assert unreached == []


def test_refusals_in_the_source_are_seen() -> None:
    """The search for refusals finds each of their forms, and skips the functions that only pass one on."""
    source = """
def refuse(self, node, problem):
    raise ModelError(node, problem)

def check(module, node):
    if node:
        module.refuse(
            node, "this is wrong"
        )
    _refuse(node, "so is this")
    raise ModelError(node, "and this")
"""
    assert sorted(lines.start for _, lines in sites(source)) == [7, 10, 11]


def test_every_construct_has_a_case() -> None:
    """Each construct that the compiler suggests a replacement for has a case."""
    [outside] = [
        function
        for function in ast.walk(ast.parse(Path(builtin_remedies.__file__).read_text()))
        if isinstance(function, ast.FunctionDef) and function.name == "of_construct"
    ]
    problems = [problem for problem, _ in OUTSIDE.values()]
    problems += [
        ast.literal_eval(node.value.elts[0])
        for node in ast.walk(outside)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple)
    ]
    told = " ".join(case.message for case in CASES)

    assert [problem for problem in problems if f": {problem}; " not in told] == []
