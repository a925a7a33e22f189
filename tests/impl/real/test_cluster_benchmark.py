"""The benchmark of a cluster of processes: how the time of a move follows from the metadata, and what it prints."""

from __future__ import annotations

from benchmarks.cluster import ClusterSpeed, gaps, lines
from impl.metadata.log import MetadataBatch
from impl.records import MetadataRecord, Partition, PartitionChange


def batch(time: int, *records: MetadataRecord) -> MetadataBatch:
    """A batch at a time."""
    return MetadataBatch(records, time=time)


def partition(number: int, leader: int) -> Partition:
    """A new partition."""
    return Partition(topic="t", partition=number, replicas=(1,), isr=(1,), leader=leader)


def change(number: int, leader: int) -> PartitionChange:
    """A change of the leader."""
    return PartitionChange(topic="t", partition=number, leader=leader)


def test_a_move_lasts_from_leader_to_leader() -> None:
    """A new partition waits for its first leader, which is no move; a later change while nobody leads ends none."""
    batches = [
        batch(0, partition(0, -1), partition(1, 2)),
        batch(10, change(0, 1)),
        batch(20, change(0, -1)),
        batch(25, change(1, -1)),
        batch(50, change(0, 2)),
        batch(95, change(1, 1)),
    ]
    assert list(gaps(batches)) == [30, 70]


def test_the_figures_are_named() -> None:
    """A line for the rates, one for the moves, if there were any, and one for what the run was bound by."""
    found = ClusterSpeed("V6", 30, 5000.4, 50.0, (100, 200, 900), busy=0.57, call_ms=10.0)
    assert list(lines(found)) == [
        "V6, 30 s: 5,000 records and 50 calls a second",
        "V6: 3 moves, median 200 ms, longest 900 ms",
        "V6: the processes use 57% of the cores; the store takes 10.0 ms a call, so it is busy 50% of the time",
    ]
    assert len(list(lines(ClusterSpeed("V6", 30, 1.0, 1.0, (), busy=0.5, call_ms=1.0)))) == 2
