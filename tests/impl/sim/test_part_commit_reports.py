"""Runs of the commit manager of a main: random ones are sound, and the lack of a rule is noticed."""

from __future__ import annotations

import pytest

from impl.rules import without
from impl.sim.part_cases.commit_reports import CommitRun
from impl.sim.part_cases.registry import judged_run
from impl.sim.violation import PartViolation

PART = "commit-reports"


@pytest.mark.parametrize(
    ("label", "violated"),
    [
        ("ZR-63", "ZR-63"),
        ("M-01", "I-3"),
        ("M-02", "I-5"),
        ("M-03", "I-5"),
        ("M-05", "ZR-60"),
        ("M-06", "ZR-60"),
        ("M-23", "I-3"),
    ],
)
def test_a_missing_rule_is_noticed(label: str, violated: str) -> None:
    """Without it some main reports too much, too early or too little, or takes a fenced request."""
    with without(label):
        found = [judged_run(PART, seed) for seed in range(500)]
    assert {each.label for each in found if each is not None} == {violated}
    with without(label):
        assert [judged_run(PART, seed) for seed in range(500)] == found


def late_request() -> list[PartViolation | None]:
    """A main reports epoch 5. A request of epoch 3 is refused, while one of epoch 6 is in flight."""
    run = CommitRun()
    found = [run.learn(5), run.tick(), run.end_stage(ok=True), run.end_stage(ok=True)]
    found += [run.admit(6), run.admit(3), run.tick(), run.end_stage(ok=True), run.end_stage(ok=True)]
    assert run.reports == [5]
    return found


def test_a_late_request_does_not_set_the_report_back() -> None:
    """Without ZR-63 the main reports epoch 3 after epoch 5."""
    assert set(late_request()) == {None}
    with without("ZR-63"):
        *before, last = late_request()
    assert (set(before), last) == ({None}, PartViolation("ZR-63", "a main reports an older epoch than before"))


def test_a_main_that_never_reports_is_noticed() -> None:
    """Where nobody looks at the end, the fenced epoch is not reported, and the judge says so (V-1)."""

    class IdleRun(CommitRun):
        """A run in which the ticks do not reach the main."""

        def tick(self) -> PartViolation | None:
            return None

    found = IdleRun().settle()
    assert found is not None
    assert found.label == "V-1"
    assert CommitRun().settle() is None
