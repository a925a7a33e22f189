"""``holdfast simulate --scenario balance``: its report, its plot, its exit codes, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli.app import main
from tests.docs.fences import ROOT

Captured = pytest.CaptureFixture[str]


def balance(*argv: str) -> int:
    """The exit code of the command."""
    return main(["simulate", "--scenario", "balance", *argv])


@pytest.mark.slow
def test_the_plot_of_the_page(capsys: Captured, tmp_path: Path, update_golden: bool) -> None:
    """docs/balance.svg equals the command's plot; the JSON names no broken promise."""
    path, kept = tmp_path / "balance.svg", ROOT / "docs/balance.svg"
    assert balance("--json", "--plot", str(path)) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["promises"]) == {"even", "kept", "fast", "one planner"}
    assert all(each["ms"] <= 10_000 for each in found["moves"])
    if update_golden:
        kept.write_text(path.read_text())
    assert path.read_text() == kept.read_text(), "renew it with `--update-golden`"


@pytest.mark.slow
def test_a_broken_promise(capsys: Captured) -> None:
    """The exit code is 12, and the JSON has all texts of the promise, and the rule that was switched off."""
    assert balance("--without", "BG-18", "--json") == 12
    found = json.loads(capsys.readouterr().out)
    assert found["without"] == ["BG-18"]
    assert len(found["promises"].pop("one planner")) > 4
    assert not any(found["promises"].values())


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--without", "leader-check"), "--without: unknown label leader-check"),
        (("--seeds", "0..3"), "--seeds: it belongs to runs under faults"),
        (("--faults", "none"), "--faults: it belongs to runs under faults"),
        (("--tail", "5MiB"), "--tail: it belongs to --scenario migrate; leave it out"),
        (("--history", "1GB"), "--history: it belongs to --scenario migrate; leave it out"),
        (("--version", "V6"), "--version: it belongs to --scenario migrate; leave it out"),
        (("--bandwidth", "1GB"), "--bandwidth 1GB: it is no number above 0 with a unit; write one such as 10Gbps"),
        (("--bandwidth", "5Mbps"), "--bandwidth 5Mbps: the brokers write more than that; give 1Gbps or more"),
        (("--plot", "no/such/folder.svg"), "no/such/folder.svg: cannot be written"),
    ],
)
def test_refusals(capsys: Captured, argv: tuple[str, ...], message: str) -> None:
    """A wrong argument is one line with the value and the remedy."""
    assert balance(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert message in err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--scenario", "migrate", "--balancer", "safe"), "--balancer: it belongs to --scenario balance; leave it out"),
        (("--scenario", "zones", "--balancer", "safe"), "--balancer: it belongs to another --scenario; leave it out"),
        (("--balancer", "safe"), "--balancer: it belongs to --scenario balance; leave it out"),
    ],
)
def test_the_balancer_belongs_to_its_scenario(capsys: Captured, argv: tuple[str, ...], message: str) -> None:
    """Other runs have no balancer, and no rule of it to switch off."""
    assert main(["simulate", *argv]) == 2
    assert message in capsys.readouterr().err
    assert main(["simulate", "--without", "BG-18"]) == 2
    assert "BG-18" in capsys.readouterr().err
