"""Folders of older versions of the tables are still read.

``version3.json`` holds the files of such a folder, in base64: 300 runs of `ownership` without ST-14, from seed 1;
``version4.json`` those of a campaign of four clusters without WL-05; ``version5.json`` those of a guided campaign of
four clusters.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import spark.cli.run
from spark.campaign.reading import read_campaign
from spark.campaign.summary import summarise
from spark.campaign.tables import OLDEST, VERSION
from spark.campaign.text import render_summary
from tests.cli.running import Run
from tests.spark.clusters import clusters, ran_clusters
from tests.spark.running import here, place

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def unpacked(version: int, folder: Path) -> Path:
    """A folder with tables of a version."""
    for name, data in json.loads((HERE / f"version{version}.json").read_text(encoding="utf-8")).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))
    return folder


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A folder with tables of version 3."""
    return unpacked(3, tmp_path / "older")


def test_tables_without_digests_are_added_up(tmp_path: Path) -> None:
    """Tables of version 4 have no digests. A finding has the case that repeats it, which is also a file."""
    folder = unpacked(4, tmp_path / "older")
    summary = summarise(place(folder))
    assert (read_campaign(place(folder)).version, summary.kind, summary.runs) == (4, "cluster", 4)
    assert any(each.runs for each in summary.situations)
    assert summary.circumstances == ()
    cases = [finding.shrunk.case for finding in summary.findings if finding.shrunk is not None]
    assert cases == [file.read_text(encoding="utf-8") for file in (folder / "cases").iterdir()]


def test_tables_of_clusters_are_added_up(tmp_path: Path) -> None:
    """Tables of version 5 have situations and moments, and no circumstances."""
    folder = unpacked(5, tmp_path / "older")
    summary = summarise(place(folder))
    assert (read_campaign(place(folder)).version, summary.kind, summary.runs) == (5, "cluster", 4)
    assert summary.moments
    assert any(each.runs for each in summary.situations)
    assert summary.circumstances == ()
    assert "circumstances" not in render_summary(summary)


def test_what_older_tables_do_not_count_is_no_difference(holdfast: Run, tmp_path: Path) -> None:
    """A campaign of version 5 has counted no circumstances, so a newer one does not have more of them."""
    new = ran_clusters(tmp_path / "new", clusters(traces=4, per_unit=2, steps=30, guided=True))
    assert summarise(new).circumstances
    for two in ((unpacked(5, tmp_path / "older"), new.name), (new.name, tmp_path / "older")):
        said = holdfast("campaign", "diff", *two).out
        assert "circumstances" not in said


def test_older_tables_are_added_up(older: Path) -> None:
    """All units and findings of tables of version 3 are read; what they lack is empty."""
    summary = summarise(place(older))
    assert (read_campaign(place(older)).version, summary.kind) == (3, "model")
    assert (summary.runs, summary.done, summary.situations) == (300, 3, ())
    assert summary.findings
    assert all(finding.shrunk is not None and finding.shrunk.case == "" for finding in summary.findings)


@pytest.mark.parametrize("verb", ["status", "diff", "plan"])
def test_older_tables_are_shown(holdfast: Run, older: Path, verb: str) -> None:
    """The verbs that read tables read those of version 3, too."""
    more: dict[str, list[object]] = {"diff": [older], "plan": ["--runs", "1e6", "--cores", 4]}
    ran = holdfast("campaign", verb, older, *more.get(verb, []))
    assert ran.code == (12 if verb == "status" else 0)
    assert ran.out


def test_older_tables_have_a_page(holdfast: Run, older: Path, tmp_path: Path) -> None:
    """A page is made of tables of version 3."""
    assert holdfast("campaign", "report", older, "--html", tmp_path / "page.html").code == 0
    assert "one_owner" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_page_names_the_versions() -> None:
    """The page of campaigns says which version is written, and which are read."""
    page = (ROOT / "docs" / "campaign.md").read_text(encoding="utf-8")
    assert f"The tables have version {VERSION}. Folders of versions {OLDEST} to {VERSION - 1} are read" in page


def test_older_tables_are_not_continued(holdfast: Run, older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To resume a campaign of version 3 is refused in one line, and changes nothing."""
    monkeypatch.setattr(spark.cli.run, "start_cluster", here)
    (older / "runs" / "0000000002.parquet").unlink()
    ran = holdfast("campaign", "resume", older)
    assert ran.code == 2
    assert "its tables have version 3, which are only read" in ran.err
    assert len(list((older / "runs").iterdir())) == 2
