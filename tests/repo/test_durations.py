"""The report of the slowest test files."""

from __future__ import annotations

import json

from tests.durations import as_json, slowest


def test_the_slowest_come_first() -> None:
    """At most ten files are shown, with their recorded times. Equally slow files are sorted by name."""
    seconds = {f"tests/{number}.py": float(number) for number in range(12)} | {"tests/a.py": 11.0}
    lines = slowest(seconds, {"tests/11.py": 4.0})
    assert len(lines) == 10
    assert lines[:3] == [
        "  11.0  (recorded 4)  tests/11.py",
        "  11.0  (not recorded)  tests/a.py",
        "  10.0  (not recorded)  tests/10.py",
    ]


def test_the_record_has_files_that_are_there_and_take_long() -> None:
    """The record leaves out files that are gone, and files that take less than a second."""
    this = "tests/repo/test_durations.py"
    assert json.loads(as_json({"tests/gone.py": 9.0, this: 1.0, "tests/durations.py": 0.9})) == {this: 1.0}
