"""The builder of change records (reassignment.md 1)."""

from __future__ import annotations

from impl.controller.registration import ElectionKind, build, target
from impl.metadata.image import Image
from impl.records import Partition, PartitionChange


def _row(replicas: tuple[int, ...] = (0, 1, 2), isr: tuple[int, ...] = (0, 1, 2), leader: int = 0) -> Partition:
    return Partition("k", 0, replicas, isr, leader, 5, 9)


def _anybody(broker: int) -> bool:
    return broker >= 0


def _after(row: Partition, change: PartitionChange | None) -> Partition:
    image = Image()
    image.apply(row)
    if change is not None:
        image.apply(change)
    return image.partitions["k", 0]


def test_nothing_written_is_no_record() -> None:
    """Step 6: a target that is the registration gives no record."""
    assert build(_row(), target(_row()), _anybody) is None


def test_the_leader_stays_if_it_may() -> None:
    """Step 2: the current leader comes before the first replica, and an unchanged leader is not written."""
    row = _row(leader=1)
    change = build(row, target(row, isr=(1, 2)), _anybody)
    assert change == PartitionChange("k", 0, isr=(1, 2))
    assert (_after(row, change).leader_epoch, _after(row, change).partition_epoch) == (5, 10)


def test_the_first_replica_in_sync_follows_a_leader_that_may_not_lead() -> None:
    """Step 2: replicas are tried in their order; a new leader raises both epochs."""
    row = _row(replicas=(2, 0, 1))
    change = build(row, target(row), lambda broker: broker != 0)
    assert change == PartitionChange("k", 0, leader=2)
    assert (_after(row, change).leader_epoch, _after(row, change).partition_epoch) == (6, 10)


def test_a_preferred_election_tries_the_first_replica_first() -> None:
    """Step 2, PREFERRED: the first replica, then the current leader, then the others."""
    row = _row(leader=1)
    assert build(row, target(row), _anybody, ElectionKind.PREFERRED) == PartitionChange("k", 0, leader=0)
    assert build(row, target(row), lambda broker: broker != 0, ElectionKind.PREFERRED) is None
    assert build(row, target(row), lambda broker: broker == 2, ElectionKind.PREFERRED) == PartitionChange(
        "k", 0, leader=2
    )


def test_a_clean_election_stays_in_the_isr() -> None:
    """Step 2: without an acceptable member of the ISR nobody leads."""
    row = _row(isr=(0,))
    assert build(row, target(row), lambda broker: broker != 0) == PartitionChange("k", 0, leader=-1)


def test_an_unclean_election_takes_the_first_acceptable_replica() -> None:
    """Step 2, UNCLEAN: the ISR becomes the leader alone, and the recovery state RECOVERING."""
    row = _row(isr=(0,))
    change = build(row, target(row), lambda broker: broker != 0, ElectionKind.UNCLEAN)
    assert change == PartitionChange("k", 0, leader=1, isr=(1,), leader_recovery_state=1)


def test_an_unclean_election_prefers_the_isr() -> None:
    """Step 2, UNCLEAN: an acceptable member of the ISR is elected cleanly."""
    row = _row(isr=(0, 2))
    change = build(row, target(row), lambda broker: broker != 0, ElectionKind.UNCLEAN)
    assert change == PartitionChange("k", 0, leader=2)


def test_a_dropped_replica_raises_the_leader_epoch() -> None:
    """Step 3, RA-05: the same leader is written when an old replica is no replica any more."""
    row = _row()
    change = build(row, target(row, replicas=(0, 1), isr=(0, 1)), _anybody)
    assert change == PartitionChange("k", 0, leader=0, replicas=(0, 1), isr=(0, 1))


def test_no_leader_is_written_again_when_a_replica_is_dropped() -> None:
    """Step 3, RA-05: a partition without a leader gets a new leader epoch with its new replica."""
    row = _row((0,), (0,), leader=-1)
    change = build(row, target(row, replicas=(1,), isr=(1,)), lambda _: False)
    assert change == PartitionChange("k", 0, leader=-1, replicas=(1,), isr=(1,))


def test_an_empty_isr_is_not_written() -> None:
    """Step 4: the last members stay in the ISR, and nobody leads."""
    row = _row((0,), (0,))
    assert build(row, target(row, isr=()), lambda _: False) == PartitionChange("k", 0, leader=-1)


def test_a_reassignment_completes_when_all_that_stay_are_in_sync() -> None:
    """Step 1, RA-44: the removed replicas leave the replicas and the ISR, the order of the others is kept."""
    row = _row((3, 1, 0, 2), (0, 3, 1))
    wish = target(row, adding=(3,), removing=(0, 2))
    change = build(row, wish, _anybody)
    assert change == PartitionChange("k", 0, leader=3, isr=(3, 1), replicas=(3, 1))


def test_a_reassignment_waits_for_every_replica() -> None:
    """Step 1, RA-44: one replica that lags behind holds the completion up."""
    row = _row((3, 1, 0), (0, 3))
    change = build(row, target(row, adding=(3,), removing=(0,)), _anybody)
    assert change == PartitionChange("k", 0, adding_replicas=(3,), removing_replicas=(0,))


def test_a_reassignment_does_not_remove_all_replicas() -> None:
    """Step 1: if nobody would stay, nothing completes."""
    row = _row((0, 1), (0, 1))
    change = build(row, target(row, removing=(0, 1)), _anybody)
    assert change == PartitionChange("k", 0, removing_replicas=(0, 1))


def test_completion_clears_the_original_list() -> None:
    """CA-27: the list before the first start goes with the lists."""
    row = Partition("k", 0, (0, 1, 2), (0, 1), 0, 5, 9, adding_replicas=(2,), original=(0, 1))
    change = build(row, target(row, isr=(0, 1, 2)), _anybody)
    assert change == PartitionChange("k", 0, isr=(0, 1, 2), adding_replicas=(), original=())
    assert _after(row, change).original is None


def test_a_leader_clears_the_marker() -> None:
    """CA-41: the record that sets a leader ends the move."""
    row = Partition("k", 0, (1,), (1,), -1, 5, 9, original=(0,), marker=5)
    change = build(row, target(row), _anybody)
    assert change == PartitionChange("k", 0, leader=1, original=(), marker=-1)
    assert (_after(row, change).original, _after(row, change).marker) == (None, None)
