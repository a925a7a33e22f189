"""``holdfast live``: exit codes, files, and wrong arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.cli.samples import COUNTER
from tests.live.asking import LEASE

STARVED = ("live", LEASE, "--scope", "tiny", "--without", "LS-08")


def test_what_holds_ends_0(holdfast: Run) -> None:
    """If liveness holds in tiny and default, the command ends 0."""
    ran = holdfast("live", LEASE)
    assert ran.code == 0
    assert "Lease, scope tiny: exhausted, nothing violated" in ran.out
    assert "Lease, scope default: exhausted, nothing violated" in ran.out
    assert "default: 576 states in " in ran.err


def test_a_violation_ends_13_and_replays(holdfast: Run, tmp_path: Path) -> None:
    """A violation ends 13, and so does replaying its line or file; the file can be shown but not shrunk."""
    path = tmp_path / "run.itf.json"
    ran = holdfast(*STARVED, "--property", "LV-02", "--itf", path)
    assert ran.code == 13
    assert "why the run is fair" in ran.out
    line = next(line for line in ran.out.splitlines() if line.startswith("replay:"))
    assert "reproduce: holdfast live " in ran.out
    for what in ([line.partition("'")[2].rstrip("'")], [path, "--model", STARVED[1]]):
        again = holdfast("replay", *what)
        assert again.code == 13
        assert "violated by 2 steps, after which nothing happens: freed (LV-02)" in " ".join(again.out.split())
    assert json.loads(path.read_text())["loop"] == 2
    for option in ("--full", "--diagram"):
        assert holdfast("show", path, option, "--model", STARVED[1]).code == 0
    shrunk = holdfast("shrink", path, "--model", STARVED[1])
    assert (shrunk.code, shrunk.out) == (2, "")
    why = holdfast("show", path, "--why", "--model", STARVED[1])
    assert why.code == 2
    assert "the run violates freed as a whole" in why.err


def test_a_violation_ends_the_scopes(holdfast: Run) -> None:
    """After a violation the remaining scopes are not checked, and the output names them."""
    ran = holdfast("live", LEASE, "--without", "LS-08")
    assert ran.code == 13
    assert "Not looked at: scope default." in ran.out


def test_json_is_one_line_a_scope(holdfast: Run) -> None:
    """JSON output has one line for each scope, with the reasons for fairness, and nothing else."""
    ran = holdfast(*STARVED, "--json")
    (line,) = ran.out.splitlines()
    found = json.loads(line)
    assert (found["verdict"], found["exit_code"], len(found["findings"]), len(found["fair"])) == ("violated", 13, 2, 2)


def test_nothing_is_written_without_a_violation(holdfast: Run, tmp_path: Path) -> None:
    """Without a violation no file is written, and the output says so."""
    ran = holdfast("live", LEASE, "--scope", "tiny", "--itf", tmp_path / "run.itf.json")
    assert ran.code == 0
    assert "nothing is violated" in ran.err
    assert not (tmp_path / "run.itf.json").exists()


def test_a_limit_ends_20(holdfast: Run) -> None:
    """A limit ends the command with 20, and the larger scope is not started."""
    ran = holdfast("live", LEASE, "--budget", "10states")
    assert ran.code == 20
    assert "states: more than 10" in ran.out


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        ((), "no model is named"),
        ((LEASE, "no_such_model"), "there is no model 'no_such_model'"),
        ((LEASE, "--property", "LV-9"), "Lease has no liveness property 'LV-9'"),
        ((LEASE, "--scope", "huge"), "Lease has no scope 'huge'"),
        ((LEASE, "--itf", "/nowhere/run.itf.json"), "/nowhere/run.itf.json: cannot be written"),
        ((LEASE, "--budget", "soon"), "'soon' is not a limit"),
        ((LEASE, "--without", "ZZ-1"), "Lease has no rule 'ZZ-1'"),
    ],
)
def test_a_wrong_argument_is_one_line(holdfast: Run, argv: tuple[object, ...], problem: str) -> None:
    """A wrong argument gives one line before any check starts."""
    ran = holdfast("live", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert ran.err.count("\n") == 1


def test_a_model_without_liveness_is_refused(holdfast: Run, tmp_path: Path) -> None:
    """A model without liveness properties is refused: a success would mean nothing."""
    (tmp_path / "counter.py").write_text(COUNTER)
    ran = holdfast("live", LEASE, tmp_path / "counter.py")
    assert (ran.code, ran.out) == (2, "")
    assert "Counter has no liveness property" in ran.err
