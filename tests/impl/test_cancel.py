"""Cancels of reassignments (reassignment.md 6 and 7)."""

from __future__ import annotations

from typing import Any

import pytest

from impl.records import PartitionChange, StreamState
from tests.impl.partitioned import Cluster, written

REFUSED = "INVALID_REPLICA_ASSIGNMENT"
IDLE = "NO_REASSIGNMENT_IN_PROGRESS"
OPENED, CLOSED = StreamState.OPENED, StreamState.CLOSED


def _moving(**profile: Any) -> Cluster:
    cluster = Cluster(elastic=(0,), **profile)
    cluster.alter("e-0", [1])
    return cluster


# Elastic partitions ---------------------------------------------------------------------------------------------


def test_a_cancel_is_one_more_record() -> None:
    """CA-40, CA-41: the origin has the partition again under new epochs, and the marker is gone."""
    cluster = _moving()
    error, change = cluster.alter("e-0", None)
    assert (error, change) == ("NONE", PartitionChange("e", 0, (0,), 0, (0,), original=(), marker=-1))
    assert cluster.epochs("e-0") == (2, 2)
    assert (cluster.row("e-0").original, cluster.row("e-0").marker) == (None, None)


@pytest.mark.parametrize(
    ("streams", "leader"),
    [
        ([], 0),
        ([(0, OPENED), (0, OPENED)], 0),
        ([(0, CLOSED), (0, CLOSED)], 0),
        ([(0, CLOSED), (0, OPENED)], -1),
        ([(1, OPENED), (1, OPENED)], -1),
        ([(1, OPENED), (0, OPENED)], -1),
    ],
    ids=str,
)
def test_the_origin_leads_what_is_whole(streams: list[tuple[int, StreamState]], leader: int) -> None:
    """CA-44, CA-42: only if it has every stream OPENED, or every stream is CLOSED."""
    cluster = _moving()
    cluster.stream(90, "e-1", 1, OPENED)
    for stream, (node, state) in enumerate(streams):
        cluster.stream(stream, "e-0", node, state)
    assert cluster.alter("e-0", None)[0] == "NONE"
    assert cluster.row("e-0").leader == leader


def test_nothing_runs_after_the_election() -> None:
    """CA-42, CA-52: after the election a cancel is refused with 85."""
    cluster = _moving()
    cluster.elect("e-0")
    assert cluster.alter("e-0", None) == (IDLE, None)
    again = _moving()
    again.alter("e-0", None)
    assert again.alter("e-0", None) == (IDLE, None)


def test_as_built_no_elastic_cancel_is_accepted() -> None:
    """CA-20, RA-09."""
    assert _moving(cancel="K").alter("e-0", None) == (IDLE, None)


@pytest.mark.parametrize("state", ["fenced", "shutting_down"])
def test_an_origin_that_is_not_active_is_refused(state: str) -> None:
    """CA-43: while the target is active."""
    cluster = _moving()
    cluster.broker(0, state)
    assert cluster.alter("e-0", None) == (REFUSED, None)


def test_if_neither_is_active_the_origin_is_as_good() -> None:
    """CA-43, CA-05: then nobody leads, and another broker may take the partition over."""
    cluster = _moving()
    cluster.broker(0, "fenced")
    cluster.broker(1, "shutting_down")
    assert cluster.alter("e-0", None)[0] == "NONE"
    assert (cluster.row("e-0").replicas, cluster.row("e-0").leader) == ((0,), -1)


def test_an_origin_that_is_gone_is_refused() -> None:
    """CA-43, RA-02: it is unknown, also where nobody is active."""
    cluster = _moving()
    cluster.broker(0, "gone")
    cluster.broker(1, "shutting_down")
    assert cluster.alter("e-0", None) == (REFUSED, None)


def test_overlapping_moves_go_back_to_the_first_origin() -> None:
    """CA-53: a cancel goes back to the origin of the first move."""
    cluster = _moving()
    cluster.alter("e-0", [2])
    cluster.alter("e-0", None)
    assert cluster.row("e-0").replicas == (0,)
    assert cluster.epochs("e-0") == (3, 3)


def test_a_cancel_arms_a_timer_of_its_own() -> None:
    """CA-51: ten seconds from the cancel, for the origin."""
    cluster = _moving()
    cluster.stream(0, "e-0", 0, OPENED)
    cluster.stream(1, "e-0", 0, CLOSED)
    cluster.tick(5_000)
    cluster.alter("e-0", None)
    assert cluster.timers.armed[("e", 0)].leader_epoch == 2
    assert (cluster.tick(5_000), cluster.tick(5_000), cluster.row("e-0").leader) == ([], ["e-0"], 0)


def test_a_cancel_that_elects_needs_no_timer() -> None:
    """CA-51, EL-13."""
    cluster = _moving()
    cluster.alter("e-0", None)
    assert cluster.tick(20_000) == []


def test_a_late_election_elects_the_origin() -> None:
    """CA-48: a request of the cancelled move finds the origin, and its answer is 84 or its election."""
    cluster = _moving()
    cluster.stream(0, "e-0", 0, OPENED)
    cluster.stream(1, "e-0", 0, CLOSED)
    cluster.alter("e-0", None)
    cluster.elect("e-0")
    assert (cluster.row("e-0").leader, cluster.row("e-0").leader_epoch) == (0, 3)


def test_an_origin_that_dies_after_the_cancel_has_failed_over() -> None:
    """CA-54: another broker gets the partition, and there is nothing to cancel."""
    cluster = _moving()
    cluster.alter("e-0", None)
    cluster.broker(0, "fenced")
    assert cluster.row("e-0").replicas != (0,)
    assert cluster.alter("e-0", None) == (IDLE, None)


def test_a_move_without_its_origin_stays_pending() -> None:
    """CA-04: a marker alone does not say where to go back to."""
    cluster = Cluster(elastic=(0,))
    cluster.apply(PartitionChange("e", 0, leader=-1, marker=1))
    assert cluster.alter("e-0", None) == (REFUSED, None)


# Lists of replicas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cancel", ["H", "K"])
def test_an_idle_list_has_nothing_to_cancel(cancel: str) -> None:
    """CA-20."""
    assert Cluster(lists=([0, 1],), cancel=cancel).alter("k-0", None) == (IDLE, None)


def test_the_original_order_is_restored() -> None:
    """CA-27, SP-13: exactly the list before the first start, and the lists are cleared."""
    cluster = Cluster(lists=([3, 2, 1],))
    cluster.alter("k-0", [0, 2, 1])
    assert cluster.alter("k-0", None)[0] == "NONE"
    row = cluster.row("k-0")
    assert (row.replicas, row.isr, row.leader, row.original) == ((3, 2, 1), (3, 2, 1), 3, None)
    assert (row.adding_replicas, row.removing_replicas) == ((), ())


@pytest.mark.parametrize("profile", [{"cancel": "K"}, {"as_built": frozenset({"CA-23"})}], ids=["K", "switch"])
def test_as_shipped_the_order_changes(profile: dict[str, Any]) -> None:
    """CA-21, CA-23: the added replicas go, and the others keep the list's present order."""
    cluster = Cluster(lists=([3, 2, 1],), **profile)
    cluster.alter("k-0", [0, 2, 1])
    cluster.alter("k-0", None)
    assert cluster.row("k-0").replicas == (2, 1, 3)


def test_as_shipped_the_set_changes_after_two_starts() -> None:
    """CA-23: brokers stay that no list had before."""
    cluster = Cluster(lists=([0, 1, 2],), cancel="K")
    cluster.alter("k-0", [3, 4, 5])
    cluster.alter("k-0", [5, 6, 7])
    cluster.alter("k-0", None)
    assert cluster.row("k-0").replicas == (5, 0, 1, 2, 3, 4)


def test_overlapping_starts_go_back_to_the_first_list() -> None:
    """CA-27, SP-13."""
    cluster = Cluster(lists=([0, 1, 2],))
    cluster.alter("k-0", [3, 4, 5])
    cluster.alter("k-0", [5, 6, 7])
    cluster.alter("k-0", None)
    assert cluster.row("k-0").replicas == (0, 1, 2)


def test_a_cancel_that_removes_raises_no_leader_epoch() -> None:
    """CA-24: the start only removed, and nobody is dropped by its cancel."""
    cluster = Cluster(lists=([0, 1, 2],))
    cluster.apply(PartitionChange("k", 0, isr=(0, 2)))
    cluster.alter("k-0", [0, 1])
    error, change = cluster.alter("k-0", None)
    assert (error, written(change)) == ("NONE", {"removing_replicas"})
    assert cluster.epochs("k-0") == (0, 3)


def test_a_cancel_that_drops_raises_the_leader_epoch() -> None:
    """CA-24: the leader stays, and is written."""
    cluster = Cluster(lists=([0, 1],))
    cluster.alter("k-0", [0, 2])
    assert cluster.alter("k-0", None)[0] == "NONE"
    assert (cluster.row("k-0").leader, cluster.epochs("k-0")) == (0, (1, 2))


def _only_added_in_sync(**profile: Any) -> Cluster:
    """The original list is [0]. Broker 1, which is being added beside 2, is the only ISR member and leads."""
    cluster = Cluster(lists=([0],), **profile)
    cluster.alter("k-0", [1, 2])
    cluster.isr("k-0", [0, 1])
    cluster.broker(0, "fenced")
    assert (cluster.row("k-0").isr, cluster.row("k-0").leader) == ((1,), 1)
    cluster.broker(0, "active")
    return cluster


@pytest.mark.parametrize("cancel", ["H", "K"])
def test_an_unclean_revert_is_refused(cancel: str) -> None:
    """CA-22: no original replica is in sync."""
    cluster = _only_added_in_sync(cancel=cancel)
    before = cluster.row("k-0")
    assert cluster.alter("k-0", None) == (REFUSED, None)
    assert cluster.row("k-0") == before


@pytest.mark.parametrize(
    ("profile", "recovery"), [({}, 1), ({"cancel": "K"}, 0), ({"as_built": frozenset({"CA-25"})}, 0)], ids=str
)
def test_an_unclean_revert_is_marked(profile: dict[str, Any], recovery: int) -> None:
    """CA-22, CA-25: if it is allowed, the first replica leads. As shipped nothing tells which records it lacks."""
    cluster = _only_added_in_sync(unclean_election=True, **profile)
    assert cluster.alter("k-0", None)[0] == "NONE"
    row = cluster.row("k-0")
    assert (row.replicas, row.isr, row.leader, row.leader_recovery_state) == ((0,), (0,), 0, recovery)


@pytest.mark.parametrize(("cancel", "error"), [("H", REFUSED), ("K", "NONE")])
def test_a_cancel_costs_no_leader(cancel: str, error: str) -> None:
    """CA-26, CA-05: as shipped nobody leads after it (CA-25)."""
    cluster = _only_added_in_sync(cancel=cancel, unclean_election=True)
    cluster.configure(unclean_election=True)
    cluster.broker(0, "fenced")
    assert cluster.alter("k-0", None)[0] == error
    assert cluster.row("k-0").leader == (1 if cancel == "H" else -1)


@pytest.mark.parametrize(("cancel", "error"), [("H", REFUSED), ("K", "NONE")])
def test_a_cancel_costs_no_min_isr(cancel: str, error: str) -> None:
    """CA-26: two are in sync and two are needed; without broker 2 there would be one."""
    cluster = Cluster(lists=([0, 1],), cancel=cancel, min_insync=2)
    cluster.alter("k-0", [2, 3])
    cluster.isr("k-0", [0, 1, 2])
    cluster.broker(1, "fenced")
    assert cluster.row("k-0").isr == (0, 2)
    assert cluster.alter("k-0", None)[0] == error


def test_an_isr_that_is_too_small_already_does_not_hold_a_cancel_up() -> None:
    """CA-26 compares with the present ISR."""
    cluster = Cluster(lists=([0, 1],), min_insync=3)
    cluster.alter("k-0", [0, 2])
    assert cluster.alter("k-0", None)[0] == "NONE"


def test_if_all_are_down_the_list_is_restored() -> None:
    """CA-05: the originals are as good as the others."""
    cluster = Cluster(lists=([0],))
    cluster.alter("k-0", [1])
    cluster.broker(1, "fenced")
    cluster.broker(0, "fenced")
    assert cluster.alter("k-0", None)[0] == "NONE"
    assert (cluster.row("k-0").replicas, cluster.row("k-0").leader) == ((0,), -1)


@pytest.mark.parametrize(("cancel", "error"), [("H", REFUSED), ("K", "NONE")])
def test_what_lacks_its_original_list_stays_pending(cancel: str, error: str) -> None:
    """CA-04: KRaft stores none and needs none."""
    cluster = Cluster(lists=([0, 1],), cancel=cancel)
    cluster.apply(PartitionChange("k", 0, replicas=(0, 2, 1), adding_replicas=(2,), removing_replicas=(1,)))
    assert cluster.alter("k-0", None)[0] == error
    assert set(cluster.listed()) == ({"k-0"} if cancel == "H" else set())


def test_a_list_of_added_replicas_cannot_be_reverted() -> None:
    """CA-22: as shipped nobody would be left."""
    cluster = Cluster(lists=([0],), cancel="K", unclean_election=True)
    cluster.apply(PartitionChange("k", 0, adding_replicas=(0,)))
    assert cluster.alter("k-0", None) == (REFUSED, None)
