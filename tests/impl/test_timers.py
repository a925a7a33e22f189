"""Election timers (reassignment.md 4)."""

from __future__ import annotations

from typing import Any

import pytest

from impl.controller.partitions import alter
from impl.controller.timers import Timer, Timers
from impl.records import Partition
from tests.impl.partitioned import Cluster


def _moved(**profile: Any) -> Cluster:
    cluster = Cluster(elastic=(0,), **profile)
    cluster.alter("e-0", [1])
    return cluster


def test_a_timer_elects_the_target() -> None:
    """EL-01, EL-02: a timer fires after ten seconds, and not earlier."""
    cluster = _moved()
    assert (cluster.tick(9_999), cluster.row("e-0").leader) == ([], -1)
    assert (cluster.tick(1), cluster.row("e-0").leader) == (["e-0"], 1)
    assert cluster.tick(60_000) == []


def test_the_wheel_ticks_every_second() -> None:
    """EL-02: a timer that is armed between two ticks fires up to one second late."""
    cluster = Cluster(elastic=(0,))
    cluster.now = 300
    cluster.alter("e-0", [1])
    assert cluster.tick(10_699) == []
    assert cluster.tick(1) == ["e-0"]


def test_timers_fire_in_order() -> None:
    """EL-02: timers fire by deadline, and equal ones in the order in which they were armed."""
    cluster = Cluster(elastic=(0, 0, 0))
    cluster.alter("e-2", [1])
    cluster.alter("e-1", [1])
    cluster.tick(3_000)
    cluster.alter("e-0", [1])
    assert cluster.tick(20_000) == ["e-2", "e-1", "e-0"]


def test_an_election_disarms() -> None:
    """EL-13: once the partition has a leader its timer is gone."""
    cluster = _moved()
    cluster.elect("e-0")
    assert (cluster.timers.armed, cluster.tick(20_000)) == ({}, [])


def test_a_failed_election_does_not_disarm() -> None:
    """EL-13: 80 leaves the timer as it is."""
    cluster = _moved()
    cluster.broker(1, "shutting_down")
    cluster.tick(5_000)
    cluster.elect("e-0")
    cluster.broker(1, "active")
    assert (cluster.tick(5_000), cluster.row("e-0").leader) == (["e-0"], 1)


def test_a_second_start_has_a_timer_of_its_own() -> None:
    """EL-12, EL-13: the second start has a new leader epoch, so the first timer is removed."""
    cluster = _moved()
    cluster.tick(5_000)
    cluster.alter("e-0", [2])
    assert (cluster.tick(5_000), cluster.tick(4_999)) == ([], [])
    assert (cluster.tick(1), cluster.row("e-0").leader) == (["e-0"], 2)


def test_a_timer_that_elects_nobody_is_armed_again() -> None:
    """EL-12: the timer is armed again until the target is active."""
    cluster = _moved()
    cluster.broker(1, "shutting_down")
    assert (cluster.tick(10_000), cluster.tick(10_000)) == (["e-0"], ["e-0"])
    cluster.broker(1, "active")
    assert (cluster.tick(10_000), cluster.row("e-0").leader) == (["e-0"], 1)


def test_a_timer_of_an_earlier_epoch_elects_nobody() -> None:
    """EL-12: the tag is compared when the controller looks at a timer that has fired. The later epoch has its own."""
    cluster = _moved()
    cluster.now += 10_000
    cluster.timers.expire(cluster.now)
    cluster.alter("e-0", [2])
    assert (cluster.tick(0), cluster.row("e-0").leader) == ([], -1)
    assert (cluster.tick(10_000), cluster.row("e-0").leader) == (["e-0"], 2)


def test_fencing_arms_a_timer() -> None:
    """EL-12: any change that leaves nobody to lead."""
    cluster = Cluster(elastic=(0,))
    cluster.broker(0, "fenced")
    assert list(cluster.timers.armed) == [("e", 0)]
    cluster.tick(10_000)
    assert cluster.row("e-0").leader == cluster.row("e-0").replicas[0]


def test_another_controller_arms_timers() -> None:
    """EL-12: for every elastic partition without a leader, and for no other."""
    cluster = Cluster(elastic=(0, 0), lists=([0],))
    cluster.alter("e-1", [1])
    cluster.broker(0, "fenced")
    cluster.tick(4_000)
    cluster.fail_over()
    assert set(cluster.timers.armed) == {("e", 0), ("e", 1)}
    assert (cluster.tick(9_999), len(cluster.tick(1))) == ([], 2)


def test_lists_of_replicas_have_no_timer() -> None:
    """EL-12: only elastic partitions have timers."""
    cluster = Cluster(lists=([0],))
    cluster.broker(0, "fenced")
    assert (cluster.row("k-0").leader, cluster.timers.armed) == (-1, {})


@pytest.mark.parametrize("timer", ["epoch", "automq"])
def test_g1_arms_nothing(timer: str) -> None:
    """EL-07: in G1 neither a start nor another controller arms a timer."""
    cluster = _moved(handshake="G1", timer=timer)
    assert cluster.timers.armed == {}
    cluster.fail_over()
    assert cluster.tick(20_000) == []


def test_as_built_any_request_disarms() -> None:
    """EL-04: a request that is refused with 80 does so too."""
    cluster = _moved(timer="automq")
    cluster.broker(1, "shutting_down")
    cluster.elect("e-0")
    assert cluster.tick(20_000) == []


def test_as_built_a_timer_fires_once() -> None:
    """EL-03: its election fails, and it is not armed again."""
    cluster = _moved(timer="automq")
    cluster.broker(1, "shutting_down")
    assert (cluster.tick(10_000), cluster.row("e-0").leader, cluster.tick(60_000)) == (["e-0"], -1, [])


def test_as_built_an_old_timer_elects_early() -> None:
    """EL-05: the first timer elects the second target, and removes the entry of the second timer, which fires too."""
    cluster = _moved(timer="automq")
    cluster.tick(6_000)
    cluster.alter("e-0", [2])
    assert (cluster.tick(4_000), cluster.row("e-0").leader) == (["e-0"], 2)
    assert cluster.timers.armed == {}
    cluster.elect("e-0")
    assert cluster.tick(6_000) == ["e-0"]


def test_as_built_fencing_arms_nothing() -> None:
    """EL-01: starts and evictions arm, fencing does not."""
    cluster = Cluster(elastic=(0,), timer="automq")
    cluster.broker(0, "fenced")
    assert cluster.timers.armed == {}


def test_as_built_another_controller_has_no_timers() -> None:
    """EL-06: they are in memory only."""
    cluster = _moved(timer="automq")
    cluster.fail_over()
    assert cluster.tick(20_000) == []


def test_the_parts_of_the_built_timer_are_switches() -> None:
    """EL-03 and EL-06 alone: the timer has its tag, and still fires once, or is lost with its controller."""
    once = Cluster(elastic=(0,), as_built=frozenset({"EL-03"}))
    once.alter("e-0", [1])
    once.broker(1, "shutting_down")
    assert (once.tick(10_000), once.tick(10_000)) == (["e-0"], [])
    lost = Cluster(elastic=(0,), as_built=frozenset({"EL-06"}))
    lost.alter("e-0", [1])
    lost.fail_over()
    assert lost.tick(20_000) == []


def test_a_timer_is_armed_before_the_commit() -> None:
    """RA-07: the records of a start arm the timer, even uncommitted."""
    cluster = Cluster(elastic=(0,))
    timers = Timers(cluster.profile)
    outcome = alter(cluster.view, {"e": {0: [1]}})
    for record in outcome.records:
        cluster.image.apply(record)
    timers.observe(outcome.records, cluster.image, 0)
    assert timers.armed[("e", 0)] == Timer(10_000, 1, ("e", 0), 1)


def test_a_registration_without_a_leader_arms_a_timer() -> None:
    """EL-12: a registration that is read whole, as from an injected record, is watched too; as built it is not."""
    row = Partition("e", 0, (1,), (1,), -1, 4, 4)
    cluster = Cluster(elastic=(0,))
    cluster.apply(row)
    assert cluster.timers.armed[("e", 0)].leader_epoch == 4
    built = Cluster(elastic=(0,), timer="automq")
    built.apply(row)
    assert built.timers.armed == {}
