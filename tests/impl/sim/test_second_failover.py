"""A process that starts and ends while its predecessor with the same epoch is recovered needs a recovery of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.broker import failover_worker
from impl.sim.case_file import read_case
from impl.sim.check import check

RUN = Path(__file__).parent / "runs" / "second_failover.json"
"""The controller assigns the failed process to the node that still recovers the one before. Its last answer is lost, so
it ends a minute late, and the assignment, by node and epoch, is the same again.
"""


def test_the_same_assignment_again_is_another_recovery() -> None:
    """The metadata show that a stream is still open, so the node recovers again, and the stream gets an owner."""
    assert check(read_case(RUN, RUN.name).question()).violations == ()


def test_a_node_that_counts_it_as_done_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the stream stays open on the dead process for ever."""
    monkeypatch.setattr(failover_worker, "AGAIN_MS", 10**9)
    found = check(read_case(RUN, RUN.name).question()).violations
    assert [(each.oracle, each.message) for each in found] == [
        ("heal", "at the end, without further faults, streams are not open")
    ]
