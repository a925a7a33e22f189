"""How long each test file takes: prints the ten slowest beside the seconds recorded in ``tests/durations.json``.

The seconds of a file are the sum over its tests, set-up and tear-down included, on all workers. ``--store-durations``
rewrites the record; a run of some of the tests updates only the files that it ran.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

RECORD = Path(__file__).with_name("durations.json")
SHOWN = 10


class Durations:
    """A plugin that adds up the seconds of each file."""

    def __init__(self, *, store: bool) -> None:
        self.store = store
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one phase of one test."""
        file = report.nodeid.partition("::")[0]
        self.seconds[file] = self.seconds.get(file, 0.0) + report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the slowest files, and write the record if it was asked for."""
        recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        terminalreporter.write_sep("-", "slowest files, in seconds")
        for line in slowest(self.seconds, recorded):
            terminalreporter.write_line(line)
        if self.store:
            RECORD.write_text(as_json(recorded | {file: round(took, 1) for file, took in self.seconds.items()}))


def slowest(seconds: Mapping[str, float], recorded: Mapping[str, float]) -> list[str]:
    """A line for each of the slowest files: its seconds, the recorded seconds, its name."""
    order = sorted(seconds.items(), key=lambda each: (-each[1], each[0]))
    lines = []
    for file, took in order[:SHOWN]:
        before = f"recorded {recorded[file]:.0f}" if file in recorded else "not recorded"
        lines.append(f"{took:6.1f}  ({before})  {file}")
    return lines


def as_json(seconds: Mapping[str, float]) -> str:
    """The record: a line for each existing file that takes a second or more."""
    root = RECORD.parents[1]
    kept = {file: took for file, took in sorted(seconds.items()) if took >= 1 and (root / file).exists()}
    return json.dumps(kept, indent=0) + "\n"
