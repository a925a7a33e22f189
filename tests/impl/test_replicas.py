"""Reassignments of lists of replicas, and AlterPartition (reassignment.md 6)."""

from __future__ import annotations

from typing import Any

import pytest

from impl.errors import E
from impl.records import PartitionChange
from tests.impl.partitioned import Cluster, written

REFUSED = "INVALID_REPLICA_ASSIGNMENT"


def _lists(cluster: Cluster) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    row = cluster.row("k-0")
    return row.replicas, row.adding_replicas, row.removing_replicas


# Starts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cancel", ["H", "K"])
def test_a_start_puts_the_new_list_in_front(cancel: str) -> None:
    """RA-41: removed and added replicas ascend; the leader stays, and so does its epoch."""
    cluster = Cluster(lists=([2, 1, 0],), cancel=cancel)
    error, change = cluster.alter("k-0", [1, 4, 3])
    assert (error, written(change)) == ("NONE", {"replicas", "adding_replicas", "removing_replicas"})
    assert _lists(cluster) == ((1, 4, 3, 0, 2), (3, 4), (0, 2))
    assert cluster.epochs("k-0") == (0, 1)


@pytest.mark.parametrize("replicas", [[], [9], [-1], [1, 1]], ids=str)
def test_a_list_names_registered_brokers_once(replicas: list[int]) -> None:
    """RA-42."""
    assert Cluster(lists=([0, 1],)).alter("k-0", replicas) == (REFUSED, None)


def test_a_list_may_name_fenced_brokers() -> None:
    """RA-43: unlike the target of an elastic partition."""
    cluster = Cluster(lists=([0, 1],))
    cluster.broker(5, "fenced")
    assert cluster.alter("k-0", [0, 5])[0] == "NONE"


def test_a_new_order_completes_at_once() -> None:
    """RA-44: all of the new list are in sync, so that the start is the completion; no epoch but the partition's."""
    cluster = Cluster(lists=([0, 1, 2],))
    assert cluster.alter("k-0", [2, 0, 1]) == ("NONE", PartitionChange("k", 0, replicas=(2, 0, 1)))
    assert (cluster.row("k-0").leader, cluster.epochs("k-0"), cluster.listed()) == (0, (0, 1), {})


def test_a_shorter_list_completes_at_once() -> None:
    """RA-44, RA-45: a replica is dropped, so that the same leader is written."""
    cluster = Cluster(lists=([0, 1, 2],))
    change = PartitionChange("k", 0, isr=(0, 1), leader=0, replicas=(0, 1))
    assert cluster.alter("k-0", [0, 1]) == ("NONE", change)
    assert cluster.row("k-0").original is None


def test_completion_waits_for_all_of_the_list() -> None:
    """RA-44, RA-45: one new replica in sync is not enough; the last one completes, and the leader moves."""
    cluster = Cluster(lists=([0, 1],))
    cluster.alter("k-0", [2, 3])
    assert cluster.isr("k-0", [0, 1, 2]).error is E.NONE
    assert _lists(cluster) == ((2, 3, 0, 1), (2, 3), (0, 1))
    outcome = cluster.isr("k-0", [0, 1, 2, 3])
    assert outcome.error is E.NEW_LEADER_ELECTED
    row = cluster.row("k-0")
    assert (_lists(cluster), row.isr, row.leader, row.original) == (((2, 3), (), ()), (2, 3), 2, None)
    assert cluster.epochs("k-0") == (1, 3)


def test_an_old_version_learns_of_the_new_leader_by_a_fence() -> None:
    """RA-46: 74 instead of 108, with the record."""
    cluster = Cluster(lists=([0],))
    cluster.alter("k-0", [1])
    outcome = cluster.isr("k-0", [0, 1], version=1)
    assert (outcome.error, len(outcome.records), cluster.row("k-0").leader) == (E.FENCED_LEADER_EPOCH, 1, 1)


def test_adding_alone_raises_no_leader_epoch() -> None:
    """RA-45: nobody is dropped and the leader stays."""
    cluster = Cluster(lists=([0],))
    cluster.alter("k-0", [0, 1])
    outcome = cluster.isr("k-0", [0, 1])
    assert (outcome.error, _lists(cluster)) == (E.NONE, ((0, 1), (), ()))
    assert cluster.epochs("k-0") == (0, 2)


def test_completion_never_keeps_a_removed_leader() -> None:
    """RA-45: without an acceptable member of the list nobody leads."""
    cluster = Cluster(lists=([0, 1],))
    cluster.broker(1, "shutting_down")
    error, change = cluster.alter("k-0", [1])
    assert (error, change) == ("NONE", PartitionChange("k", 0, isr=(1,), leader=-1, replicas=(1,)))


def test_an_overlapping_start_loses_marks_as_shipped() -> None:
    """RA-48: the whole present list is the old one, with the brokers that the first start was adding."""
    cluster = Cluster(lists=([0, 1, 2],), cancel="K")
    cluster.alter("k-0", [3, 4, 5])
    cluster.alter("k-0", [5, 6, 7])
    assert _lists(cluster) == ((5, 6, 7, 0, 1, 2, 3, 4), (6, 7), (0, 1, 2, 3, 4))


def test_marks_may_contradict_each_other_as_shipped() -> None:
    """RA-49: an empty list is not written, so that the older one survives."""
    cluster = Cluster(lists=([0, 1, 2],), cancel="K")
    cluster.broker(2, "fenced")
    cluster.alter("k-0", [0, 1, 3])
    cluster.alter("k-0", [0, 1, 2])
    assert _lists(cluster) == ((0, 1, 2, 3), (3,), (3,))


def test_an_overlapping_start_keeps_the_original_list() -> None:
    """CA-27: it is stored at the first start; marks are judged by it."""
    cluster = Cluster(lists=([2, 1, 0],))
    cluster.alter("k-0", [3, 4, 5])
    cluster.alter("k-0", [5, 6, 0])
    assert _lists(cluster) == ((5, 6, 0, 1, 2, 3, 4), (5, 6), (1, 2, 3, 4))
    assert cluster.row("k-0").original == (2, 1, 0)


def test_a_start_without_an_original_list_guesses_none() -> None:
    """CA-04: what runs without an original list gets none from a second start, so that it stays pending."""
    cluster = Cluster(lists=([0, 1],))
    cluster.apply(PartitionChange("k", 0, replicas=(0, 2, 1), adding_replicas=(2,), removing_replicas=(1,)))
    cluster.alter("k-0", [0, 3])
    assert _lists(cluster) == ((0, 3, 1, 2), (3,), (1, 2))
    assert cluster.row("k-0").original is None


# AlterPartition -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("isr", "more", "error"),
    [
        ([0, 1], {"leader_epoch": 3}, E.NOT_CONTROLLER),
        ([0, 1], {"partition_epoch": 3}, E.NOT_CONTROLLER),
        ([0, 1], {"partition_epoch": 3, "leader_epoch": 0}, E.NOT_CONTROLLER),
        ([0, 1], {"leader_epoch": 1}, E.FENCED_LEADER_EPOCH),
        ([0, 1], {"leader_epoch": 1, "broker": 1}, E.FENCED_LEADER_EPOCH),
        ([0, 1], {"broker": 1}, E.INVALID_REQUEST),
        ([0, 1], {"broker": 1, "partition_epoch": 1}, E.INVALID_REQUEST),
        ([0, 9], {"partition_epoch": 1}, E.INVALID_UPDATE_VERSION),
        ([0, 9], {}, E.INVALID_REQUEST),
        ([1, 2], {}, E.INVALID_REQUEST),
        ([0, 1], {"recovery": 1}, E.INVALID_REQUEST),
        ([0, 1], {"recovery": 7}, E.INVALID_REQUEST),
        ([0, 1, 2], {}, E.INELIGIBLE_REPLICA),
        ([0, 1, 2], {"version": 1}, E.OPERATION_NOT_ATTEMPTED),
        ([0, 1], {"leader_epoch": 2, "partition_epoch": 2}, E.NONE),
    ],
    ids=str,
)
def test_what_is_refused_to_a_leader(isr: list[int], more: dict[str, Any], error: E) -> None:
    """RA-47, in its order. Broker 2 is fenced; two elections have made both epochs 2."""
    cluster = Cluster(lists=([0, 1, 2],))
    for broker in (0, 2):
        cluster.broker(broker, "fenced")
    cluster.broker(0, "active")
    cluster.isr("k-0", [1, 0])
    cluster.elect("k-0")
    cluster.apply(PartitionChange("k", 0, isr=(0,)))
    row = cluster.row("k-0")
    assert (row.leader, row.isr, row.leader_epoch, row.partition_epoch) == (0, (0,), 2, 5)
    if more.get("partition_epoch") == 3:
        more = {**more, "partition_epoch": 6}
    if more.get("partition_epoch") == 2:
        more = {**more, "partition_epoch": 5}
    outcome = cluster.isr("k-0", isr, **more)
    assert (outcome.error, len(outcome.records)) == (error, int(error is E.NONE))


@pytest.mark.parametrize("state", ["fenced", "shutting_down", "gone"])
def test_members_of_the_isr_are_active(state: str) -> None:
    """RA-47: 107 for every broker that is not."""
    cluster = Cluster(lists=([0, 1],))
    cluster.apply(PartitionChange("k", 0, isr=(0,)))
    cluster.broker(1, state)
    assert cluster.isr("k-0", [0, 1]).error is E.INELIGIBLE_REPLICA


@pytest.mark.parametrize(
    ("name", "version", "error"),
    [
        ("x-0", 3, E.UNKNOWN_TOPIC_ID),
        ("x-0", 1, E.UNKNOWN_TOPIC_OR_PARTITION),
        ("k-9", 3, E.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_unknown_partitions(name: str, version: int, error: E) -> None:
    """RA-47: versions from 2 name topics by their ids."""
    assert Cluster(lists=([0],)).isr(name, [0], broker=0, version=version).error is error


def test_nobody_sends_for_a_partition_without_a_leader() -> None:
    """RA-47: no sender is the leader then, whatever it calls itself."""
    cluster = Cluster(lists=([0],))
    cluster.broker(0, "fenced")
    assert cluster.isr("k-0", [0], broker=-1).error is E.INVALID_REQUEST


def test_the_same_isr_is_no_record() -> None:
    """Section 1, step 6."""
    outcome = Cluster(lists=([0, 1],)).isr("k-0", [0, 1])
    assert (outcome.error, outcome.records) == (E.NONE, ())


@pytest.mark.parametrize("isr", [[], [0, 1]], ids=str)
def test_an_elastic_isr_has_one_member(isr: list[int]) -> None:
    """RA-10: the request fails before anything else is checked."""
    assert Cluster(elastic=(0,)).isr("e-0", isr).error is E.INVALID_REPLICA_ASSIGNMENT


def test_a_recovered_leader_says_so() -> None:
    """RA-47: RECOVERING may end, and not begin."""
    cluster = Cluster(lists=([0],))
    cluster.apply(PartitionChange("k", 0, leader_recovery_state=1))
    assert cluster.isr("k-0", [0], recovery=1).records == ()
    assert cluster.isr("k-0", [0], recovery=0).records == (PartitionChange("k", 0, leader_recovery_state=0),)
