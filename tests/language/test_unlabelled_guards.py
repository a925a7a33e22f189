"""Guards without a label: named by their place, removed by nothing, and no part of what a system means."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.check.mutate.engine import mutants
from holdfast.cli.app import main
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.removal import remove_rules
from holdfast.lower.outcome import Refused
from holdfast.lower.python.interpreter import Interpreter
from tests.language.conftest import Build
from tests.language.writing import HEADER, compiled

MODEL = """
class M(Table):
    @action
    def open(self, s: Stream) -> None:
        require(not self.opened[s]); require(self.clock == Epoch(0), error=E.FENCED)
        require(self.phase == Phase.IDLE, "OP-01")
        self.opened[s] = True

    @action
    def never(self) -> None:
        require(self.clock <= Epoch(2))
        self.clock = Epoch(1)
"""


def test_a_refusal_names_the_place(build: Build) -> None:
    """FILE:LINE; two guards of one line differ by their columns. The folder does not count."""
    system = build(MODEL)
    assert [rule.label for rule in system.rules] == ["model.py:5", "model.py:5:38", "OP-01", "model.py:11"]
    assert [rule.has_label for rule in system.rules] == [False, False, True, False]
    machine = Interpreter(system, system.scopes["tiny"])
    opened = machine.successors[0](machine.initial()[0])[0][0]
    refused = {outcome for args in [(0,)] if isinstance(outcome := machine.step(opened, "open", args), Refused)}
    assert {(each.label, each.error, each.at.line, each.at.column) for each in refused} == {("model.py:5", None, 5, 9)}


def test_nothing_removes_a_guard(build: Build) -> None:
    """It is no mutant, no outcome of one, and ``--without`` does not know it."""
    system = build(MODEL)
    assert [each.name for each in mutants(system)] == ["OP-01"]
    with pytest.raises(UsageError, match=r"has no rule 'model.py:5'.*OP-01"):
        remove_rules(system, ["model.py:5"])
    assert len(remove_rules(system, ["OP-01"]).actions[0].body) == len(system.actions[0].body) - 1


def test_an_outcome_of_a_guard_is_refused(tmp_path: Path) -> None:
    """The declaration would never be looked at."""
    declared = 'class M(Table):\n    mutants = outcomes({"model.py:6": missing("nothing")})\n'
    with pytest.raises(ModelError, match=r"the model has no rule or variant 'model.py:6'"):
        compiled(tmp_path, MODEL.replace("class M(Table):\n", declared))


def test_a_fingerprint_has_no_lines(tmp_path: Path) -> None:
    """A model whose guards stand on other lines, or in another file, means the same; with another guard it does not."""
    texts = [MODEL, f"\n# Why.\n{MODEL}", MODEL.replace("Epoch(2)", "Epoch(1)")]
    found = []
    for number, text in enumerate(texts):
        (tmp_path / str(number)).mkdir()
        found.append(compiled(tmp_path / str(number), text).fingerprint)
    assert found[0] == found[1] != found[2]


def test_a_check_says_which_guard_never_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The search names it as it names a rule, and a run says what refused a step."""
    monkeypatch.chdir(tmp_path)
    Path("guarded.py").write_text(f"{HEADER}\n{MODEL.lstrip()}")
    for engine in ("interpreter", "kernel"):
        assert main(["check", "guarded.py", "--scope", "tiny", "--engine", engine]) == 0
        said = capsys.readouterr().out
        assert "never refused" in said
        assert "guarded.py:11" in said
        assert "guarded.py:5:" not in said
