"""How long each test takes: prints the ten slowest beside the seconds recorded in ``tests/durations.json``.

The seconds of a test include its set-up and tear-down. ``--store-durations`` rewrites the record; a run of some of the
tests updates only their records. ``tests/tiers.py`` reads the record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

RECORD = Path(__file__).with_name("durations.json")
SHOWN = 10

SHORT = 0.4
"""Seconds: quicker tests are not recorded. It is less than ``tiers.LONG``, which decides on the recorded ones."""


class Durations:
    """A plugin that adds up the seconds of each test."""

    def __init__(self, *, store: bool) -> None:
        self.store = store
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one phase of one test."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the slowest tests, and write the record if it was asked for."""
        known = recorded()
        terminalreporter.write_sep("-", "slowest tests, in seconds")
        for line in slowest(self.seconds, known):
            terminalreporter.write_line(line)
        if self.store:
            RECORD.write_text(as_json({**known, **self.seconds}), encoding="utf-8")


def recorded() -> dict[str, float]:
    """The seconds by the name of the test, as pytest spells it: ``tests/repo/test_shape.py::test_x[case]``."""
    known: dict[str, float] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return known


def slowest(seconds: Mapping[str, float], known: Mapping[str, float]) -> list[str]:
    """A line for each of the slowest tests: its seconds, the recorded seconds, its name."""
    order = sorted(seconds.items(), key=lambda each: (-each[1], each[0]))
    lines = []
    for test, took in order[:SHOWN]:
        before = f"recorded {known[test]:.0f}" if test in known else "not recorded"
        lines.append(f"{took:6.1f}  ({before})  {test}")
    return lines


def as_json(seconds: Mapping[str, float]) -> str:
    """The record: a line for each test that is not short, if its file exists."""
    root = RECORD.parents[1]
    kept = {
        test: round(took, 1)
        for test, took in sorted(seconds.items())
        if took >= SHORT and (root / test.partition("::")[0]).exists()
    }
    return json.dumps(kept, indent=0) + "\n"
