"""A number of the model that a scope has no element for is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli.app import USAGE, main
from holdfast.ir.errors import UsageError
from holdfast.ir.stmt import expressions
from holdfast.lower.layout import Layout
from holdfast.runs.explorer.expression import ExpressionCompiler
from tests.language.writing import compiled

MODEL = """
LAST = Epoch(9)

class M(Table):
    late: Rel[Epoch]

    @init
    def start_late(self) -> None:
        self.late.fill(False)

    @action
    def mark(self) -> None:
        {statement}

    @invariant
    def fine(self) -> bool:
        return {claim}
"""

PLACES = {
    "a key that is read": ("require(not self.late[Epoch(7)], 'ST-12')", "True", "13:31: Epoch(7): action mark"),
    "a key that is written": ("self.late[Epoch(7)] = True", "True", "13:19: Epoch(7): action mark"),
    "a constant of the module": ("self.late[LAST] = True", "True", "13:19: Epoch(9): action mark"),
    "a key of a property": ("pass", "all(not self.late[Epoch(3)] for n in Node)", "17:34: Epoch(3): property fine"),
}


@pytest.mark.parametrize("verb", ["check", "walk", "prove"])
@pytest.mark.parametrize(("statement", "claim", "told"), PLACES.values(), ids=PLACES.keys())
def test_the_place_is_told(
    verb: str,
    statement: str,
    claim: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each command names the file, line and column of the number, the number, the scope and the remedy."""
    monkeypatch.chdir(tmp_path)
    compiled(tmp_path, MODEL.format(statement=statement, claim=claim))

    assert main([verb, "model.py:M"]) == USAGE
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"holdfast: model.py:{told}: a key of late may be ")
    assert line.endswith("and Epoch ends at 2 in scope tiny; give the scope a larger Epoch")


def test_the_place_in_an_expression_is_its_column(tmp_path: Path) -> None:
    """An expression of the explorer is no file, so only the column is told."""
    system = compiled(tmp_path, MODEL.format(statement="pass", claim="True"))
    compiler = ExpressionCompiler(system, Layout(system, system.scopes["tiny"]))

    with pytest.raises(UsageError, match=r"^column 17: Epoch\(5\): the expression .*: a key of late may be 5"):
        compiler.compile("1 == 1 and late[Epoch(5)]")


def test_the_place_of_a_number_is_no_part_of_its_meaning(tmp_path: Path) -> None:
    """The same model a few lines further down has the same fingerprint."""
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    text = MODEL.format(statement="self.late[Epoch(1)] = True", claim="True")
    one, other = compiled(tmp_path / "one", text), compiled(tmp_path / "other", "\n\nA = 1\n" + text.strip())

    assert one.fingerprint == other.fingerprint
    assert [[*expressions(action.body)] for action in one.actions] == [
        [*expressions(action.body)] for action in other.actions
    ]
