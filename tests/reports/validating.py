"""The published schemas, and a reader of reports that checks them.

``schemas/`` holds the schemas as published: SARIF 2.1.0 (OASIS), and the JUnit XML that Jenkins reads.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import xmlschema

SCHEMAS = Path(__file__).with_name("schemas")
SARIF = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))
JUNIT = xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")

STATUS = {"failure": "failed", "error": "unanswered", "skipped": "skipped", "system-out": "passed"}
"""The status of a test case, by the element in it."""


@attrs.frozen
class Files:
    """The two reports of one command: JUnit's element at the root, and the run of the SARIF file."""

    junit: ET.Element
    sarif: dict[str, Any]

    @property
    def suites(self) -> list[str]:
        """The names of the test suites."""
        return [suite.get("name", "") for suite in self.junit.findall("testsuite")]

    @property
    def cases(self) -> dict[str, str]:
        """The status of each test case."""
        return {case.get("name", ""): STATUS[case[0].tag] for case in self.junit.iter("testcase")}

    def said(self, name: str) -> tuple[str, str]:
        """The message of a test case and its text."""
        case = next(case for case in self.junit.iter("testcase") if case.get("name") == name)
        return case[0].get("message", ""), case[0].text or ""

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """The results of the SARIF file by the names of their rules."""
        return {result["ruleId"]: result for result in self.sarif["results"]}

    @property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprint of each result."""
        found = {name: result["partialFingerprints"]["holdfastFinding/v1"] for name, result in self.results.items()}
        assert len(found) == len(set(found.values())) == len(self.sarif["results"])
        return found

    def line(self, name: str) -> tuple[str, int]:
        """The file and the line of a result."""
        (place,) = (each["physicalLocation"] for each in self.results[name]["locations"])
        return place["artifactLocation"]["uri"], place["region"]["startLine"]


def read(junit: str | Path = "r.xml", sarif: str | Path = "r.sarif") -> Files:
    """Read two reports. Fails unless each follows its schema, and both have the same cases."""
    JUNIT.validate(junit)
    written = json.loads(Path(sarif).read_text(encoding="utf-8"))
    jsonschema.validate(written, SARIF)
    files = Files(ET.parse(junit).getroot(), written["runs"][0])  # noqa: S314 - written just now
    bad = sorted(_levels(files))
    assert sorted((result["ruleId"], result["level"]) for result in files.sarif["results"]) == bad
    return files


def _levels(files: Files) -> Iterator[tuple[str, str]]:
    """The rule and level of each case that did not pass. JUnit's name ends with the rule's ids."""
    for case in files.junit.iter("testcase"):
        if case[0].tag in ("failure", "error"):
            yield case.get("name", "").partition(" (")[0], "error" if case[0].tag == "failure" else "warning"
