"""Runs of the tick of route epochs: random ones are sound, and the lack of a rule is noticed."""

from __future__ import annotations

import pytest

from impl.rules import without
from impl.sim.part_cases.registry import judged_run
from impl.sim.part_cases.route_epoch_ticks import ReportingNode, violation
from impl.zone.encodings import RouteEpochRecord

PART = "route-epoch-ticks"
BEFORE = RouteEpochRecord(committed=3, fenced=6, current=8, bumped_ms=0)


@pytest.mark.parametrize(
    ("label", "violated", "message"),
    [
        ("ZR-57.fenced", "ZR-57", "the committed epoch passes the fenced one"),
        ("ZR-57", "ZR-57", "the committed epoch falls"),
        ("M-08", "ZR-55", ""),
        ("M-09", "I-6", ""),
        ("M-10", "I-6", ""),
        ("M-11", "I-6", ""),
        ("M-11.active", "I-6", ""),
        ("M-12", "V-1", ""),
    ],
)
def test_a_missing_rule_is_noticed(label: str, violated: str, message: str) -> None:
    """Without it some record has another epoch than the reports and the clock say."""
    with without(label):
        found = [judged_run(PART, seed) for seed in range(500)]
    known = [each for each in found if each is not None]
    assert violated in {each.label for each in known}
    if message:
        assert {each.message for each in known} == {message}
    with without(label):
        assert [judged_run(PART, seed) for seed in range(500)] == found


@pytest.mark.parametrize(
    ("reports", "now", "written", "label"),
    [
        ((5, 4), 1_000, (4, 6, 8, 0), None),
        ((9, 9), 1_000, (6, 6, 8, 0), None),
        ((9, 9), 10_000, (6, 7, 9, 10_000), None),
        ((9, 9), 10_000, (7, 7, 9, 10_000), None),
        ((2,), 1_000, None, None),
        ((9, 9), 1_000, (9, 6, 8, 0), "ZR-57"),
        ((2,), 10_000, (2, 7, 9, 10_000), "ZR-57"),
        ((5, 4), 1_000, (5, 6, 8, 0), "I-6"),
        ((5, None), 1_000, (5, 6, 8, 0), "I-6"),
        ((), 1_000, (5, 6, 8, 0), "ZR-54"),
        ((5, 4), 1_000, None, "V-1"),
        ((9, 9), 10_000, (6, 8, 9, 10_000), "ZR-55"),
        ((2,), 10_000, None, "ZR-55"),
        ((2,), 1_000, (3, 6, 8, 0), "ZR-55"),
        ((2,), 10_000, (3, 7, 9, 9_000), "ZR-56"),
    ],
)
def test_the_judge_knows_right_and_wrong_records(
    reports: tuple[int | None, ...], now: int, written: tuple[int, int, int, int] | None, label: str | None
) -> None:
    """After a record with committed 3, fenced 6 and current 8, which was bumped at 0."""
    nodes = [ReportingNode(report=each) for each in reports]
    found = violation(BEFORE, nodes, now, None if written is None else RouteEpochRecord(*written))
    assert (None if found is None else found.label) == label
