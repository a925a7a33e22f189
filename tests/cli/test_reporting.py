"""``--junit``, ``--sarif`` and ``--github`` on the command line."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.cli.samples import COUNTER

BROKEN = COUNTER.replace("self.value[n] > Count(0) for n", "self.value[n] < Count(2) for n")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a model that holds, counter.py, and one that does not, broken.py."""
    monkeypatch.chdir(tmp_path)
    Path("counter.py").write_text(COUNTER)
    Path("broken.py").write_text(BROKEN)
    return tmp_path


@pytest.mark.parametrize("verb", [["check"], ["walk", "--runs", "50", "--scope", "tiny"]])
def test_reports_say_what_the_command_says(holdfast: Run, verb: list[str]) -> None:
    """All three reports are written at once, and the text and its exit code stay the same."""
    ran = holdfast(*verb, "broken.py", "--junit", "r.xml", "--sarif", "r.sarif", "--github")
    assert ran.code == 12
    assert "violated after" in ran.out
    assert ran.out.count("::error file=broken.py,line=") == 1
    assert ET.parse("r.xml").getroot().get("failures") == "1"  # noqa: S314 - written just now
    (found,) = json.loads(Path("r.sarif").read_text())["runs"][0]["results"]
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "broken.py", "uriBaseId": "SRCROOT"}


def test_every_scope_is_a_suite(holdfast: Run) -> None:
    """The JUnit file has a suite for each scope, in the order of the searches."""
    assert holdfast("check", "counter.py", "--junit", "r.xml").code == 0
    suites = ET.parse("r.xml").getroot().findall("testsuite")  # noqa: S314 - written just now
    assert [suite.get("name") for suite in suites] == [
        "holdfast check counter.py tiny",
        "holdfast check counter.py default",
    ]


def test_an_expected_violation_is_no_failure(holdfast: Run) -> None:
    """An expected violation is no failure in the reports, so its CI job passes."""
    assert holdfast("check", "broken.py", "--expect", "violated", "--junit", "r.xml", "--github").code == 0
    assert ET.parse("r.xml").getroot().get("failures") == "0"  # noqa: S314 - written just now


def test_a_report_that_cannot_be_written_is_refused_first(holdfast: Run) -> None:
    """If the report file cannot be written, the command ends with one line before it searches."""
    ran = holdfast("check", "counter.py", "--junit", "no/such/folder/r.xml")
    assert (ran.code, ran.out) == (2, "")
    assert "no/such/folder/r.xml: cannot be written" in ran.err


def test_annotations_do_not_mix_with_json(holdfast: Run) -> None:
    """--github is refused with --json, since both write to standard output."""
    ran = holdfast("check", "counter.py", "--github", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "choose one" in ran.err
