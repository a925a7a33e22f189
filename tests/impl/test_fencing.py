"""Brokers that are fenced, come back, shut down or leave (reassignment.md 3.3, FO-10)."""

from __future__ import annotations

from impl.controller.partitions import drain
from impl.records import BrokerRegistration, PartitionChange
from tests.impl.partitioned import Cluster


def _only(cluster: Cluster, *brokers: int) -> None:
    """Fence all brokers but the given ones, beginning with those that have no partition."""
    for broker in range(7, -1, -1):
        if broker not in brokers:
            cluster.broker(broker, "fenced")


def test_partitions_of_a_fenced_broker_go_elsewhere() -> None:
    """FO-10: each to an active broker, with nobody to lead it."""
    cluster = Cluster(elastic=(0, 0, 1))
    outcome = cluster.broker(0, "fenced")
    assert outcome.records[0] == BrokerRegistration(0, "fenced")
    for name in ("e-0", "e-1"):
        row = cluster.row(name)
        assert row.replicas == row.isr
        assert (row.leader, row.leader_epoch, row.partition_epoch) == (-1, 1, 1)
        assert row.replicas[0] in range(1, 8)
    assert cluster.row("e-0").replicas != cluster.row("e-1").replicas
    assert cluster.epochs("e-2") == (0, 0)


def test_a_target_that_is_fenced_is_replaced() -> None:
    """FO-10, CA-54: the move has failed over, so that there is nothing to cancel."""
    cluster = Cluster(elastic=(0,))
    cluster.alter("e-0", [1])
    _only(cluster, 0, 1, 2)
    cluster.broker(0, "fenced")
    cluster.broker(1, "fenced")
    row = cluster.row("e-0")
    assert (row.replicas, row.leader, row.original, row.marker) == ((2,), -1, None, None)
    assert cluster.epochs("e-0") == (2, 2)
    assert cluster.alter("e-0", None) == ("NO_REASSIGNMENT_IN_PROGRESS", None)


def test_without_another_broker_the_assignment_is_kept() -> None:
    """FO-10: nobody leads; the marker of a move stays."""
    cluster = Cluster(elastic=(0,))
    _only(cluster, 0)
    assert cluster.broker(0, "fenced").records == (BrokerRegistration(0, "fenced"), PartitionChange("e", 0, leader=-1))
    moving = Cluster(elastic=(0,))
    _only(moving, 0, 1)
    moving.alter("e-0", [1])
    moving.broker(0, "fenced")
    assert moving.broker(1, "fenced").records == (BrokerRegistration(1, "fenced"),)
    assert moving.row("e-0").marker == 1


def test_a_broker_that_is_back_takes_what_no_active_broker_has() -> None:
    """Section 3.3, main line: it becomes the replica, and does not lead yet."""
    cluster = Cluster(elastic=(0,))
    _only(cluster, 0)
    cluster.broker(0, "fenced")
    change = PartitionChange("e", 0, isr=(3,), leader=-1, replicas=(3,))
    assert cluster.broker(3, "active").records == (BrokerRegistration(3, "active"), change)


def test_a_broker_that_is_back_steals_nothing() -> None:
    """Section 3.3, main line: a move to an active broker goes on."""
    cluster = Cluster(elastic=(0,))
    cluster.broker(3, "fenced")
    cluster.alter("e-0", [1])
    assert cluster.broker(3, "active").records == (BrokerRegistration(3, "active"),)
    assert cluster.row("e-0").replicas == (1,)


def test_a_replica_that_is_back_waits_for_its_election() -> None:
    """Section 3.3, main line: nobody leads until the log is open."""
    cluster = Cluster(elastic=(0,))
    _only(cluster, 0)
    cluster.broker(0, "fenced")
    assert cluster.broker(0, "active").records == (BrokerRegistration(0, "active"),)


def test_the_isr_loses_a_fenced_broker() -> None:
    """Of several replicas the next one in sync leads, and the list stays."""
    cluster = Cluster(lists=([0, 1, 2],))
    change = PartitionChange("k", 0, isr=(1, 2), leader=1)
    assert cluster.broker(0, "fenced").records == (BrokerRegistration(0, "fenced"), change)
    assert cluster.row("k-0").replicas == (0, 1, 2)


def test_the_last_member_stays_in_the_isr() -> None:
    """Section 1, step 4: the partition waits for it, and it leads again when it is back."""
    cluster = Cluster(lists=([0, 1],))
    cluster.broker(1, "fenced")
    cluster.broker(0, "fenced")
    assert (cluster.row("k-0").isr, cluster.row("k-0").leader) == ((0,), -1)
    assert cluster.broker(1, "active").records == (BrokerRegistration(1, "active"),)
    assert cluster.broker(0, "active").records == (BrokerRegistration(0, "active"), PartitionChange("k", 0, leader=0))


def test_unclean_elections_are_a_setting() -> None:
    """Section 1, UNCLEAN: if the setting allows it, an active replica leads, marked RECOVERING."""
    cluster = Cluster(lists=([0, 1],), unclean_election=True)
    cluster.broker(1, "fenced")
    cluster.broker(0, "fenced")
    change = PartitionChange("k", 0, isr=(1,), leader=1, leader_recovery_state=1)
    assert cluster.broker(1, "active").records == (BrokerRegistration(1, "active"), change)


def test_a_reassignment_goes_on_without_the_broker_that_it_removes() -> None:
    """RA-44: fencing that broker completes nothing, the ISR that has all others does."""
    cluster = Cluster(lists=([0, 1],))
    cluster.alter("k-0", [1, 2])
    cluster.broker(0, "fenced")
    assert (cluster.row("k-0").replicas, cluster.row("k-0").isr) == ((1, 2, 0), (1,))
    cluster.isr("k-0", [1, 2])
    assert (cluster.row("k-0").replicas, cluster.row("k-0").adding_replicas) == ((1, 2), ())


def test_a_broker_that_leaves_is_treated_as_fenced() -> None:
    """A broker that is unregistered has no partitions; it is unknown to starts."""
    cluster = Cluster(elastic=(0,))
    cluster.broker(0, "gone")
    assert cluster.row("e-0").replicas != (0,)
    assert cluster.alter("e-0", [0])[0] == "INVALID_REPLICA_ASSIGNMENT"


def test_a_state_that_does_not_change_is_no_record() -> None:
    """Nothing happens to the partitions either."""
    assert Cluster(elastic=(0,)).broker(0, "active").records == ()


def test_a_controlled_shutdown_alone_moves_nothing() -> None:
    """Only drain evicts."""
    cluster = Cluster(elastic=(0,))
    assert cluster.broker(0, "shutting_down").records == (BrokerRegistration(0, "shutting_down"),)


def test_drain_evicts_a_hundred_at_once() -> None:
    """One pass moves up to 100 elastic partitions, each with nobody to lead it."""
    cluster = Cluster(elastic=(0,) * 120, lists=([0, 1],))
    assert cluster.run(lambda view: drain(view, 0)).values == {"moved": 0}
    cluster.broker(0, "shutting_down")
    first = cluster.run(lambda view: drain(view, 0))
    assert (first.values, len(first.records)) == ({"moved": 100}, 100)
    second = cluster.run(lambda view: drain(view, 0))
    assert second.values == {"moved": 20}
    rows = [cluster.row(f"e-{number}") for number in range(120)]
    assert all(row.replicas != (0,) and row.leader == -1 for row in rows)
    assert cluster.row("k-0").leader == 0


def test_drain_without_another_broker_takes_the_leader_away() -> None:
    """The partitions keep their broker, so that nothing has moved."""
    cluster = Cluster(elastic=(0, 0))
    _only(cluster, 0)
    cluster.broker(0, "shutting_down")
    outcome = cluster.run(lambda view: drain(view, 0))
    assert outcome.values == {"moved": 0}
    assert outcome.records == (PartitionChange("e", 0, leader=-1), PartitionChange("e", 1, leader=-1))
    assert cluster.run(lambda view: drain(view, 0)).records == ()


def test_an_eviction_arms_a_timer_also_as_built() -> None:
    """EL-01: the eviction of a controlled shutdown does."""
    cluster = Cluster(elastic=(0,), timer="automq")
    cluster.broker(0, "shutting_down")
    cluster.run(lambda view: drain(view, 0))
    assert list(cluster.timers.armed) == [("e", 0)]
