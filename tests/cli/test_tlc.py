"""``holdfast tlc``: its output and its exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from holdfast.check.tlc.agreement import SecondOpinion
from holdfast.check.tlc.answer import TlcAnswer, TlcError
from holdfast.check.tlc.process import NoAnswerError, Tools
from holdfast.cli import tlc as verb
from holdfast.ir.errors import HoldfastError
from tests.cli.running import Run
from tests.cli.samples import COUNTER
from tests.tla.conftest import tools

__all__ = ["tools"]


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: Tools) -> str:
    """The name of a model file in the working directory; needs a machine with TLC."""
    (tmp_path / "counter.py").write_text(COUNTER)
    monkeypatch.chdir(tmp_path)
    assert tools.jar.is_file()
    return "counter.py"


def test_agreement_ends_with_0(holdfast: Run, counter: str) -> None:
    """If TLC agrees the command ends with 0, and both results are printed, one below the other."""
    found = holdfast("tlc", counter)
    assert (found.code, found.err) == (0, "")
    assert found.out == (
        "counter.py, scope tiny: both agree\n"
        "  search  exhausted, 9 states, depth 2\n"
        "  TLC     exhausted, 9 states, depth 2\n"
    )


def test_disagreement_ends_with_1(holdfast: Run, counter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If TLC counts differently, both figures are shown, and the code is 1."""
    monkeypatch.setattr(SecondOpinion, "ask", lambda _: TlcAnswer("exhausted", distinct=8, depth=2))
    found = holdfast("tlc", counter)
    assert found.code == 1
    assert found.out == (
        "counter.py, scope tiny: THEY DISAGREE\n"
        "  search  exhausted, 9 states, depth 2\n"
        "  TLC     exhausted, 8 states, depth 2\n"
        "  states: search 9, TLC 8\n"
    )
    said = json.loads(holdfast("tlc", counter, "--json").out)
    assert (said["verdict"], said["exit_code"], said["tlc"]["states"]) == ("disagrees", 1, 8)


@pytest.mark.parametrize(
    ("error", "code"), [(TlcError("TLC contradicts itself; report it"), 1), (NoAnswerError("TLC ended; try again"), 20)]
)
def test_an_error_of_tlc_has_a_code(
    holdfast: Run, counter: str, monkeypatch: pytest.MonkeyPatch, error: HoldfastError, code: int
) -> None:
    """A faulty module, or an answer that contradicts itself, ends with 1; a TLC without an answer ends with 20."""

    def ask(_: object) -> TlcAnswer:
        raise error

    monkeypatch.setattr(SecondOpinion, "ask", ask)
    found = holdfast("tlc", counter)
    assert (found.code, found.out) == (code, "")
    assert str(error) in found.err


def test_a_violation_can_be_replayed(holdfast: Run, counter: str, tmp_path: Path) -> None:
    """TLC's run has a line that replays it, and is written to a file like other runs."""
    text = Path(counter).read_text()
    assert "self.value[n] > Count(0) for" in text
    Path(counter).write_text(text.replace("self.value[n] > Count(0) for", "self.value[n] > Count(2) for"))
    found = holdfast("tlc", counter, "--itf", tmp_path / "run.itf.json")
    assert found.code == 0
    assert "  TLC     violated after 1 step: grown_is_positive\n  TLC's run: holdfast replay '" in found.out
    line = found.out.partition("holdfast replay '")[2].partition("'")[0]
    assert holdfast("replay", line).code == 12
    assert holdfast("replay", tmp_path / "run.itf.json", "--model", counter).code == 12


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["--implements", "--live"], "--implements and --live ask for different runs; choose one of them"),
        (["--limit", "0"], "limit"),
        (["--scope", "huge"], "has no scope 'huge'"),
        (["--without", "XX-01"], "has no rule 'XX-01'"),
    ],
)
def test_wrong_arguments_are_one_line(holdfast: Run, counter: str, argv: list[str], problem: str) -> None:
    """Each wrong argument ends with 2 and one line."""
    refused = holdfast("tlc", counter, *argv)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert problem in refused.err


def test_a_model_that_implements_nothing_says_so(holdfast: Run, counter: str) -> None:
    """If a model implements no module or has no liveness property, --implements and --live say so."""
    assert holdfast("tlc", counter, "--implements").out == (
        "counter.py, scope tiny: it implements no module of spec/ in this scope\n"
    )
    assert holdfast("tlc", counter, "--live").out == "counter.py, scope tiny: it has no liveness property\n"


def test_liveness_is_compared(holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: Tools) -> None:
    """--live prints both answers on each property; a difference ends with 1."""
    shutil.copy(Path(__file__).parents[1] / "tla" / "models" / "lamp.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert tools.jar.is_file()
    agreed = holdfast("tlc", "lamp.py", "--live")
    assert (agreed.code, agreed.out.partition("  TLC's run: holdfast replay 'lamp.py tiny ")[0]) == (
        0,
        (
            "lamp.py, scope tiny: both agree\n"
            "  live    holds: shines; violated only where a bound cuts: ages\n"
            "  TLC     holds: shines; violated: ages\n"
        ),
    )
    monkeypatch.setattr(verb, "ask_liveness", lambda _: ())
    found = holdfast("tlc", "lamp.py", "--live")
    assert (found.code, found.out) == (
        1,
        (
            "lamp.py, scope tiny: THEY DISAGREE\n"
            "  live    holds: shines; violated only where a bound cuts: ages\n"
            "  TLC     holds: shines, ages\n"
            "  ages: live: violated only where a bound cuts; TLC: holds\n"
        ),
    )
    said = json.loads(holdfast("tlc", "lamp.py", "--live", "--json").out)
    assert (said["exit_code"], said["liveness"]["verdict"], said["liveness"]["live"]["only_if_cut"]) == (
        1,
        "disagrees",
        ["ages"],
    )
