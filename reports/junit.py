"""JUnit XML, as CI servers read it: a test suite for each model and scope, a test case for each property.

A violation is a ``failure``; a question that the budget left open is an ``error``, so that no reader takes it for a
success. The only time in the file is the duration of a check: equal answers give equal files, except for ``time``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from holdfast.ir.printable import printable
from holdfast.records.record import Case, Record, Status

FORBIDDEN = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML 1.0 does not allow."""


def render(records: Sequence[Record]) -> str:
    """The records as one JUnit file."""
    totals = _totals([case for record in records for case in record.cases])
    # The schema allows no attribute `skipped` at the root element.
    root = ET.Element("testsuites", {name: value for name, value in totals.items() if name != "skipped"})
    root.set("name", "holdfast")
    for record in records:
        _suite(root, record)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, record: Record) -> None:
    suite = ET.SubElement(root, "testsuite", _totals(record.cases), name=clean(record.title))
    if record.seconds is not None:
        suite.set("time", f"{record.seconds:.3f}")
    properties = ET.SubElement(suite, "properties")
    for name, value in (("verdict", record.verdict), ("exit_code", str(record.exit_code)), *record.figures):
        ET.SubElement(properties, "property", name=clean(name), value=clean(value))
    for case in record.cases:
        _case(suite, record, case)


def _case(suite: ET.Element, record: Record, case: Case) -> None:
    named = f"{case.name} ({', '.join(case.ids)})" if case.ids else case.name
    group = ".".join(part for part in (record.model, record.scope) if part)
    found = ET.SubElement(suite, "testcase", classname=clean(group), name=clean(named))
    if case.status in ("failed", "unanswered"):
        tag = "failure" if case.status == "failed" else "error"
        problem = ET.SubElement(found, tag, message=clean(case.message), type=clean(case.kind))
        said = case.text or case.sentence
        replay = f"\n\n{case.replay}" if case.replay and case.replay not in said else ""
        problem.text = clean(f"{said}{replay}")
    elif case.status == "skipped":
        ET.SubElement(found, "skipped", message=clean(case.message))
    else:
        # A passed case also says why it passed: a green report without reasons shows nothing.
        ET.SubElement(found, "system-out").text = clean(case.message)


def _totals(cases: Sequence[Case]) -> dict[str, str]:
    of = [case.status for case in cases]
    named: dict[str, Status] = {"failures": "failed", "errors": "unanswered", "skipped": "skipped"}
    return {"tests": str(len(of))} | {name: str(of.count(status)) for name, status in named.items()}


def clean(text: str) -> str:
    """The text with escapes for characters that are not shown, and U+FFFD for others that XML does not allow."""
    return FORBIDDEN.sub("\ufffd", printable(text))
