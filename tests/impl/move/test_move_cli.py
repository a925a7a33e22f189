"""``holdfast simulate --scenario migrate``: its report, its files, and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from holdfast.cli.app import main
from tests.docs.fences import ROOT

Captured = pytest.CaptureFixture[str]
SMALL = ("--tail", "2MiB", "--history", "1GB,10TB")


def migrate(*argv: str) -> int:
    """The exit code of the command."""
    return main(["simulate", "--scenario", "migrate", *argv])


@pytest.mark.slow
def test_a_report(capsys: Captured) -> None:
    """A table for each variant, the terms of the formula, and the copies. Two runs give equal bytes."""
    outputs = []
    for _ in range(2):
        assert migrate(*SMALL) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    heads = [line for line in outputs[0].splitlines() if line.startswith(("G0", "G1"))]
    assert [line.partition(":")[0] for line in heads] == ["G0, legacy", "G1, legacy", "G1, V6"]
    assert "100 MB/s for a day are 8.64 TB: 19.2 h if producers stop, 96.0 h while they go on." in outputs[0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("--generation", "G1"), [("G1", "legacy"), ("G1", "V6")]),
        (("--version", "legacy"), [("G0", "legacy"), ("G1", "legacy")]),
        (("--generation", "G0", "--version", "V6"), [("G0", "V6")]),
    ],
)
def test_json(capsys: Captured, given: tuple[str, ...], expected: list[tuple[str, str]]) -> None:
    """The JSON has the times of all steps, for the requested variants."""
    assert migrate(*SMALL, "--json", *given) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(dict.fromkeys((each["generation"], each["version"]) for each in found["moves"])) == expected
    for each in found["moves"]:
        assert sum(each["durations"].values()) == each["done_at"]["serves"]
        assert each["uploaded"] > found["tail"] == 2 << 20
    assert [round(each["producers_stop"]) for each in found["copies"]] == [8, 80_000, 69_120]


def test_a_plot(capsys: Captured, tmp_path: Path) -> None:
    """The plot has a curve for each variant and way of copying. If producers use all bandwidth, theirs is missing."""
    path = tmp_path / "move.svg"
    assert migrate(*SMALL, "--bandwidth", "800Mbps", "--plot", str(path)) == 0
    assert "for ever" in capsys.readouterr().out
    picture = ET.fromstring(path.read_text())  # noqa: S314 - our own file
    curves = [each.get("points", "") for each in picture.iter("{http://www.w3.org/2000/svg}polyline")]
    assert [len(each.split()) for each in curves] == [0, 2, 2, 2, 2]


@pytest.mark.slow
def test_the_plot_of_the_page(capsys: Captured, tmp_path: Path, update_golden: bool) -> None:
    """docs/move.svg equals the command's plot."""
    path, kept = tmp_path / "move.svg", ROOT / "docs/move.svg"
    assert migrate("--plot", str(path)) == 0
    capsys.readouterr()
    if update_golden:
        kept.write_text(path.read_text())
    assert path.read_text() == kept.read_text(), "renew it with `--update-golden`"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--scenario", "migrat"), "--scenario: unknown scenario migrat; did you mean migrate?"),
        (("--scenario", "migrate", "--history", "5XB"), "--history 5XB: it is no number above 0 with a unit"),
        (("--scenario", "migrate", "--history", "1GB,"), "--history : it is no number above 0 with a unit"),
        (("--scenario", "migrate", "--history", "50TB"), "--history 50TB: out of range; give sizes up to 18TB"),
        (
            ("--scenario", "migrate", "--tail", "-1"),
            "--tail -1: it is no number above 0 with a unit; write one such as 500MiB",
        ),
        (("--scenario", "migrate", "--tail", "0MiB"), "--tail 0MiB: it is no number above 0"),
        (
            ("--scenario", "migrate", "--tail", "2GiB"),
            "--tail 2GiB: it does not fit into one segment; give 1MiB to 1000MiB",
        ),
        (
            ("--scenario", "migrate", "--bandwidth", "1GB"),
            "--bandwidth 1GB: it is no number above 0 with a unit; write one such as",
        ),
        (("--scenario", "migrate", "--bandwidth", "1Mbps"), "--bandwidth 1Mbps: the tail takes more than 100 s"),
        (("--scenario", "migrate", "--seed", "1"), "--seed: it belongs to runs under faults"),
        (("--scenario", "migrate", "--no-shrink"), "--no-shrink: it belongs to runs under faults"),
        (("--scenario", "migrate", "--budget", "1s"), "--budget: it belongs to runs under faults"),
        (("--scenario", "migrate", "a.json"), "FILE: it belongs to runs under faults"),
        (("--scenario", "migrate", "--junit", "a.xml"), "--junit: a move has no verdict; leave it out"),
        (("--scenario", "migrate", "--plot", "no/such/folder.svg"), "no/such/folder.svg: cannot be written"),
        (("--tail", "5MiB"), "--tail: it belongs to --scenario migrate; leave it out"),
        (("--generation", "G0"), "--generation: only --partitions are elected; leave it out"),
        (("--plot", "a.svg"), "--plot: it belongs to --scenario migrate; leave it out"),
    ],
)
def test_refusals(capsys: Captured, argv: tuple[str, ...], message: str) -> None:
    """A wrong argument is one line with the value and the remedy."""
    assert main(["simulate", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert message in err
