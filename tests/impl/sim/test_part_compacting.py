"""Runs of compactions: random ones are sound, and the lack of a rule is noticed."""

from __future__ import annotations

import pytest

from impl.broker.compaction import Compactor
from impl.rules import decided, missed, without
from impl.sim.part_cases.registry import judged_run
from tests.impl.sim.part_findings import findings

PART = "compacting"
SETS = "CP-01: a compaction loses a batch that could be read"
MERGES = "CP-02: a compaction loses a batch that could be read"
WRITES = "CP-02: a node puts objects, or asks the controller, for a stream that it does not own"
REPLACES = "CP-02: a node replaces objects of a stream that it does not own"


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("CP-01.sanity", {SETS}),
        ("CP-02.owner", {WRITES}),
        ("CP-01.live", {SETS}),
        ("CP-02.live", {MERGES}),
        ("CP-02.contiguous", {MERGES}),
    ],
)
def test_a_missing_rule_is_noticed(label: str, expected: set[str]) -> None:
    """Each rule has a finding of its own, and the same seeds give the same runs again."""
    with without(label):
        assert findings(PART) == expected
        runs = [judged_run(PART, seed) for seed in range(50)]
        assert [judged_run(PART, seed) for seed in range(50)] == runs


def test_a_merge_checks_its_output_too() -> None:
    """CP-01.sanity. The index of an object says that a block ends before it begins."""
    assert judged_run(PART, 477) is None
    with without("CP-01.sanity"):
        found = judged_run(PART, 477)
    assert found is not None
    assert f"{found.label}: {found.message}" == MERGES


def test_the_controller_protects_the_objects_of_an_owner() -> None:
    """Without CP-02.owner a node works for nothing, since CO-03 refuses its commit. Without both it has an effect."""
    with without("CO-03"):
        assert findings(PART) == set()
    with without("CP-02.owner", "CO-03"):
        assert findings(PART) == {WRITES, REPLACES}


def test_the_judge_decides_nothing() -> None:
    """It reads with the reader of the broker, whose rules belong to the part object-reading."""
    before = decided["PL-13.gap"]
    with without("PL-13.gap"):
        found = [judged_run(PART, seed) for seed in range(50)]
        assert not missed
    assert found == [judged_run(PART, seed) for seed in range(50)]
    assert decided["PL-13.gap"] == before


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("compact_sets", "CP-01: a compaction of several objects commits nothing"),
        ("compact_stream", "CP-02: a compaction of objects next to each other commits nothing"),
    ],
)
def test_a_compaction_that_does_nothing_is_noticed(method: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It loses nothing either."""

    async def nothing(*_: object) -> bool:
        return False

    monkeypatch.setattr(Compactor, method, nothing)
    assert said in findings(PART)
