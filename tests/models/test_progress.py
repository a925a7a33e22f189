"""The guards of progress: the table in docs/live.md, its pinned results, and the lassos that kill the mutants."""

from __future__ import annotations

import json
import re
from pathlib import Path

import itf_py
import pytest

from holdfast.check.verify.manifest import ManifestEntry, read_manifest
from holdfast.cli.app import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
PINNED = {entry.configuration.command: entry for entry in read_manifest(ROOT / "models")}
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `(holdfast live [^`]+)` \| (\d+) steps \|$", PAGE, re.MULTILINE)
"""The rows of the table: the guard, what starves without it, the command, and the length of the run."""

NAMED = {
    *("G-10", "G-11", "G-21", "G-28", "G-29", "G-48", "G-50"),
    "RG-14",
    *("re-elect timer", "unlimited 506 retry", "waiter abort", "disarm only on success", "re-arm after a failover"),
    *("EL-03, EL-04", "EL-06"),
}
"""The guards that the table must have: those of streams.md and reassignment.md, and the timer as built."""


def entry(command: str) -> ManifestEntry:
    """The pinned result of a command."""
    return PINNED[command]


def test_every_guard_of_progress_is_in_the_table() -> None:
    """Every guard is in the table, by its id or its words."""
    assert {name for name in NAMED if any(name in guard for guard, _, _, _ in ROWS)} == NAMED


@pytest.mark.parametrize(("starves", "command", "steps"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_table_says_what_is_pinned(starves: str, command: str, steps: str) -> None:
    """Each command ends with 13, by that property, after N steps, and `holdfast verify` repeats it."""
    expected = entry(command).expected
    assert expected is not None
    assert (expected.exit_code, expected.steps) == (13, int(steps))
    assert f"`{expected.property}`" in starves


def test_nothing_starves_with_all_rules() -> None:
    """With all its rules each model of the table meets its leads-to properties in the same scope."""
    for _, _, command, _ in ROWS:
        place = entry(command).configuration
        if place.scope == "live" or place.model == "stream_log":
            narrowed = f" --property {place.properties[0]}" if place.properties else ""
            kept = "".join(f" --variant {name}" for name in place.variants if place.without)
            whole = entry(f"holdfast live {place.model} --scope {place.scope}{kept}{narrowed}").expected
            assert whole is not None
            assert whole.exit_code == 0, command


def test_the_finding_is_pinned() -> None:
    """EX-07 with ST-24: if opens arrive late, a move may never end."""
    expected = entry("holdfast live reassignment --scope tiny").expected
    assert expected is not None
    assert (expected.exit_code, expected.property) == (13, "move_ends")


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("stream_log", "--without", "CS-01", "--property", "LV-01"), marks=pytest.mark.slow),
        pytest.param(("stream_log", "--without", "CS-03", "--property", "LV-03"), marks=pytest.mark.slow),
        pytest.param(("stream_log", "--without", "RC-06", "--property", "recovery_ends"), marks=pytest.mark.slow),
        pytest.param(
            ("stream_log", "--without", "ST-31", "--property", "crashed_streams_close"), marks=pytest.mark.slow
        ),
        ("reassignment", "--without", "EL-13", "--property", "LP-02"),
    ],
    ids=["CS-01", "CS-03", "RC-06", "ST-31", "EL-13"],
)
def test_a_lasso_is_shown_and_read(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Five rules removed: each ends with 13, `holdfast show` prints the file, and itf-py loads it."""
    path = tmp_path / "run.itf.json"
    assert main(["live", *options, "--scope", "tiny", "--itf", str(path)]) == 13
    capsys.readouterr()

    assert main(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "for ever" in shown or "nothing happens any more" in shown
    raw = json.loads(path.read_text(encoding="utf-8"))
    read = itf_py.trace_from_json(raw)
    assert len(read.states) == len(raw["states"])
    assert 0 <= raw["loop"] < len(raw["states"])
