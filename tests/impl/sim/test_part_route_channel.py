"""Runs of the channel of a proxy: random ones are sound, and the lack of a rule is noticed."""

from __future__ import annotations

import pytest

from impl.rules import without
from impl.sim.part_cases.registry import judged_run
from impl.sim.part_cases.route_channel import LOSS, ChannelRun

PART = "route-channel"


@pytest.mark.parametrize("label", ["ZR-20.newer", "M-13"])
def test_a_missing_rule_is_noticed(label: str) -> None:
    """Without it some records lie under a wrong epoch, and some trim deletes a record that a main may still read."""
    with without(label):
        found = [judged_run(PART, seed) for seed in range(500)]
    assert {each.label for each in found if each is not None} == {"ZR-20", LOSS}
    with without(label):
        assert [judged_run(PART, seed) for seed in range(500)] == found


def returned(*, to: int) -> ChannelRun:
    """A channel that has a record of epoch 5, hears of another epoch, and is trimmed up to epoch 2."""
    run = ChannelRun()
    run.switch(2)
    run.switch(5)
    run.begin(0)
    run.end([0])
    run.switch(to)
    run.begin(0)
    run.end([1])
    run.trim(2)
    return run


def test_a_return_to_an_older_epoch_loses_a_record() -> None:
    """Under the older epoch a trim takes the record of epoch 5 along, though only epoch 2 is committed."""
    assert returned(to=2).worst is None
    with without("ZR-20.newer"):
        found = returned(to=2)
        assert returned(to=6).worst is None
    assert [each.label for each in found.found[:2]] == ["ZR-20", LOSS]
    assert found.worst is not None
    assert found.worst.label == LOSS


def test_the_epoch_at_the_end_of_an_append_counts() -> None:
    """A record that begins under epoch 4 and ends under epoch 5 may not have epoch 4 (M-13)."""
    with without("M-13"):
        run = ChannelRun()
        run.switch(4)
        run.begin(2)
        run.switch(5)
        run.begin(1)
        run.end([0, 1])
        run.trim(4)
    assert [each.label for each in run.found] == ["ZR-20", LOSS, LOSS]
