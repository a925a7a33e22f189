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


@pytest.mark.parametrize("verb", [["check"], ["walk", "--traces", "50", "--scope", "tiny"]])
def test_reports_say_what_the_command_says(holdfast: Run, verb: list[str]) -> None:
    """All three at once, beside the text and with its exit code."""
    ran = holdfast(*verb, "broken.py", "--junit", "r.xml", "--sarif", "r.sarif", "--github")
    assert ran.code == 12
    assert "violated after" in ran.out
    assert ran.out.count("::error file=broken.py,line=") == 1
    assert ET.parse("r.xml").getroot().get("failures") == "1"  # noqa: S314 - written just now
    (found,) = json.loads(Path("r.sarif").read_text())["runs"][0]["results"]
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "broken.py", "uriBaseId": "SRCROOT"}


def test_every_scope_is_a_suite(holdfast: Run) -> None:
    """In the order in which they are searched."""
    assert holdfast("check", "counter.py", "--junit", "r.xml").code == 0
    suites = ET.parse("r.xml").getroot().findall("testsuite")  # noqa: S314 - written just now
    assert [suite.get("name") for suite in suites] == [
        "holdfast check counter.py tiny",
        "holdfast check counter.py default",
    ]


def test_an_expected_violation_is_no_failure(holdfast: Run) -> None:
    """A job that shows a known violation stays green."""
    assert holdfast("check", "broken.py", "--expect", "violated", "--junit", "r.xml", "--github").code == 0
    assert ET.parse("r.xml").getroot().get("failures") == "0"  # noqa: S314 - written just now


def test_a_report_that_cannot_be_written_is_refused_first(holdfast: Run) -> None:
    """Before anything is searched, in one line."""
    ran = holdfast("check", "counter.py", "--junit", "no/such/folder/r.xml")
    assert (ran.code, ran.out) == (2, "")
    assert "no/such/folder/r.xml: cannot be written" in ran.err


def test_annotations_do_not_mix_with_json(holdfast: Run) -> None:
    """Both would go to standard output."""
    ran = holdfast("check", "counter.py", "--github", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "choose one" in ran.err
