"""The command ``holdfast explore`` until its screen opens: the files and lines that it accepts and refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdfast.cli.app import main
from holdfast.cli.explore import open_session
from holdfast.ir.errors import UsageError
from holdfast.runs.explorer.session import Session
from holdfast.trace.line import to_line


def test_a_model_begins_at_its_start() -> None:
    """A model opens in scope tiny unless another is named, without the removed rules and with the named variants."""
    session, note = open_session("ownership", removed=("ST-14",))
    trace = session.trace()
    assert (trace.target, trace.scope, trace.removed, trace.length, note) == ("ownership", "tiny", ("ST-14",), 0, None)
    assert open_session("ownership", scope="default")[0].trace().scope == "default"


def test_a_file_and_its_line_are_one_run(counterexample: Path) -> None:
    """A file and its replay line open the same run."""
    trace = open_session(str(counterexample))[0].trace()
    again = open_session(to_line(trace))[0].trace()
    assert (again.steps, again.claim) == (trace.steps, trace.claim)


def test_a_line_may_begin_with_the_file_of_a_model(counterexample: Path) -> None:
    """Lines as ``holdfast conform --run`` prints them, beginning with a model file, open as runs and not as models."""
    trace = open_session(str(counterexample))[0].trace()
    file = f"{Path(__file__).parents[2] / 'models' / trace.target}.py:{trace.target.title()}"
    again = open_session(to_line(trace).replace(trace.target, file, 1))[0].trace()
    assert (again.target, again.steps) == (file, trace.steps)


def test_a_file_of_the_name_of_a_model_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare name means a model only if no file has that name."""
    monkeypatch.chdir(tmp_path)
    Path("ownership").write_text("no trace")
    with pytest.raises(UsageError, match=r"^ownership: "):
        open_session("ownership")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["nope"], "there is no model 'nope'"),
        (["nope.py"], "there is no model file nope.py"),
        (["nope.itf.json"], "there is no file 'nope.itf.json'"),
        (["ownership", "--scope", "huge"], "Ownership has no scope 'huge'; it has: tiny, default, large"),
        (["ownership", "--without", "ST-99"], "Ownership has no rule 'ST-99'"),
        (["ownership", "--model", "ownership"], "--model is for files and lines, and ownership is a model"),
        (["FILE", "--scope", "tiny"], "--scope, --variant and --without are for models"),
        (["ownership"], "holdfast explore needs a terminal, and standard input is none; try `holdfast show`"),
        (["FILE"], "holdfast explore needs a terminal, and standard input is none; try `holdfast show`"),
        (["FILE", "--at", "3"], "--at 3: the run has 2 steps; name one from 0 to 2"),
        (["ownership", "--at", "1"], "--at 1: the run has 0 steps; name one from 0 to 0"),
        (["FILE", "--at", "-1"], "--at"),
    ],
)
def test_one_line_and_exit_two(
    argv: list[str], said: str, counterexample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every error, and a missing terminal, gives one line on standard error; nothing is drawn."""
    code = main(["explore", *(str(counterexample) if word == "FILE" else word for word in argv)])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize(("at", "shown"), [("0", 0), ("1", 1), ("2", 2)])
def test_the_run_is_opened_at_a_step(
    at: str, shown: int, counterexample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first screen shows the state after that step, and the whole run beside it."""
    sessions: list[Session] = []

    class Screen:
        return_code = 0

        def __init__(self, session: Session, *_: object) -> None:
            sessions.append(session)

        def run(self) -> None:
            """Nothing is drawn."""

    monkeypatch.setattr("holdfast.cli.explore._check_terminal", lambda: None)
    monkeypatch.setattr("holdfast.cli.explorer.app.Explorer", Screen)
    assert main(["explore", str(counterexample), "--at", at]) == 0
    assert [(session.at, len(session.run)) for session in sessions] == [(shown, 3)]


def test_the_extra_is_named_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without textual installed, the command says which extra to install."""
    monkeypatch.setattr("holdfast.cli.explore._check_terminal", lambda: None)
    for name in [name for name in sys.modules if name.startswith(("textual", "holdfast.cli.explorer"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "textual", None)
    assert main(["explore", "ownership"]) == 2
    assert capsys.readouterr().err == "holdfast: holdfast explore needs textual; pip install 'holdfast[explore]'\n"
