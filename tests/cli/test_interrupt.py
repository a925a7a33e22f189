"""Ctrl-C, and an output pipe that the reader closes early."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from holdfast.check.tlc.agreement import Agreement, CheckerAnswer, SecondOpinion
from holdfast.check.tlc.process import Tools
from holdfast.cli.tlc import TlcReport
from holdfast.records.second_opinion import agreement_record
from tests.cli.running import Run
from tests.cli.samples import COUNTER, EXPLOSION

LIMIT = 60
"""Seconds within which a process must end."""

HOLDFAST = [sys.executable, "-m", "holdfast"]


@pytest.fixture
def explosion(tmp_path: Path) -> Path:
    """A model too large for any search to finish."""
    path = tmp_path / "explosion.py"
    path.write_text(EXPLOSION)
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_check_says_how_far_it_came(explosion: Path, number: signal.Signals) -> None:
    """Ctrl-C or SIGTERM during the search ends it with code 20, and the figures so far are printed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*HOLDFAST, "check", explosion, "--scope", "large"], stdout=subprocess.PIPE, stderr=theirs, text=True
    ) as process:
        os.close(theirs)
        # Progress is shown on a terminal alone, and not before the search has begun.
        assert os.read(ours, 1)
        process.send_signal(number)
        # An unread terminal would fill up and block; reading at its end is an error on Linux.
        while read_some(ours):
            pass
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    assert process.returncode == 20
    assert "interrupted" in out
    assert "states" in out


def read_some(terminal: int) -> bool:
    """Read some more output; False at the end."""
    try:
        return bool(os.read(terminal, 4096))
    except OSError:
        return False


def test_a_reader_that_goes_away_changes_nothing(tmp_path: Path) -> None:
    """A closed pipe, as after `| head`, does not change the exit code and prints no error."""
    path = tmp_path / "counter.py"
    path.write_text(COUNTER)
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [*HOLDFAST, "check", path, "--scope", "tiny", "--json"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, "")


def interrupted(*_: object) -> NoReturn:
    """What Ctrl-C does."""
    raise KeyboardInterrupt


def test_nothing_is_said_of_nothing_after_an_answer(holdfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the command says that there was nothing to report only if nothing was reported."""
    monkeypatch.setattr("holdfast.cli.models.load_model", interrupted)
    assert holdfast("models").err == "holdfast: interrupted before there was anything to report\n"
    monkeypatch.undo()
    monkeypatch.setattr("holdfast.cli.models.say", interrupted)
    ran = holdfast("models")
    assert (ran.code, ran.err) == (20, "holdfast: interrupted\n")


@pytest.mark.parametrize(
    ("function", "code", "said"),
    [
        # The mutant that survives is the graver answer.
        ("holdfast.cli.mutate.try_operators", 10, "ended early (interrupted)"),
        ("holdfast.check.mutate.engine.Mutation.broken", 20, "interrupted, before any mutant was tried"),
    ],
)
def test_mutate_reports_what_it_has_tried(
    holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, code: int, said: str
) -> None:
    """Ctrl-C between two searches ends the trials; their report is printed, with what was not tried."""
    path = tmp_path / "counter.py"
    path.write_text(COUNTER)
    monkeypatch.setattr(function, interrupted)
    ran = holdfast("mutate", path, "--operators", "--cores", "1")
    assert ran.code == code
    assert said in ran.out + ran.err


def test_tlc_says_how_many_models_it_has_compared(
    holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C during the second model: the answer of the first one is there, and no longer limit is advised."""
    path = tmp_path / "counter.py"
    path.write_text(COUNTER)

    def answers(_pool: object, opinions: Sequence[SecondOpinion]) -> Iterator[TlcReport]:
        answer = CheckerAnswer("exhausted", 1, 0)
        agreement = Agreement(*("counter", "tiny", (), ()), answer, answer, (), None)
        yield TlcReport("both agree", {}, agreement_record(opinions[0], agreement), ())
        raise KeyboardInterrupt

    monkeypatch.setattr("holdfast.cli.tlc.find_tools", lambda: Tools("java", Path("x.jar"), frozenset()))
    monkeypatch.setattr("holdfast.cli.tlc._agrees", answers)
    ran = holdfast("tlc", path, path)
    assert (ran.code, ran.out) == (20, "both agree\n")
    assert ran.err == "holdfast: interrupted: 1 of 2 models compared\n"


def test_no_run_is_made_by_half_for_a_killed_command(tmp_path: Path) -> None:
    """If `simulate --seeds` is killed, the processes that make its runs end by themselves."""
    ours, theirs = pty.openpty()
    words = ["simulate", "--seeds", "1..100000", "--steps", "5", "--jobs", "2"]
    with subprocess.Popen([*HOLDFAST, *words], cwd=tmp_path, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        # The first progress comes after the first runs.
        assert os.read(ours, 1)
        process.kill()
    # The end of the terminal: no process has it open any more.
    while select.select([ours], [], [], LIMIT)[0]:
        if not read_some(ours):
            break
    else:
        pytest.fail("a process of the killed command is left")
    os.close(ours)
