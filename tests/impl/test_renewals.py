"""New leader epochs for partitions of a process that starts anew (CA-47)."""

from __future__ import annotations

import pytest

from impl.controller.renewals import renew
from impl.controller.view import OperationResult
from impl.errors import E
from impl.records import NodeWALMetadata
from tests.impl.partitioned import Cluster


def renewed(
    cluster: Cluster, node: int = 0, node_epoch: int = 5, leader_epoch: int = 0, topic: str = "e"
) -> OperationResult:
    """Ask for a new leader epoch of partition 0."""
    return cluster.run(lambda view: renew(view, node, node_epoch, topic, 0, leader_epoch))


@pytest.fixture
def cluster() -> Cluster:
    """Broker 0 has partition 0, and is registered under node epoch 5."""
    found = Cluster(elastic=(0,))
    found.apply(NodeWALMetadata(0, 5), NodeWALMetadata(1, 5))
    return found


def test_the_leader_stays(cluster: Cluster) -> None:
    """Both epochs grow by one, and nothing else changes."""
    before = cluster.row("e-0")
    renewed(cluster)
    after = cluster.row("e-0")
    assert (after.leader, after.replicas, after.isr) == (before.leader, before.replicas, before.isr)
    assert cluster.epochs("e-0") == (1, 1)


def test_a_move_goes_on(cluster: Cluster) -> None:
    """A target without a leader stays the target, its move can be cancelled, and its timer has the new epoch."""
    cluster.alter("e-0", [1])
    renewed(cluster, node=1, leader_epoch=1)
    row = cluster.row("e-0")
    assert (row.leader, row.original, row.marker) == (-1, (0,), 1)
    assert cluster.epochs("e-0") == (2, 2)
    assert cluster.timers.armed["e", 0].leader_epoch == 2
    cluster.alter("e-0", None)
    assert cluster.row("e-0").replicas == (0,)


def test_a_copy_changes_nothing(cluster: Cluster) -> None:
    """The request has the epoch that it replaces, so a copy changes nothing."""
    renewed(cluster)
    outcome = renewed(cluster)
    assert (outcome.error, outcome.records) == (E.NONE, ())


def test_another_broker_changes_nothing(cluster: Cluster) -> None:
    """If the partition was moved away meanwhile, nothing changes."""
    outcome = renewed(cluster, node=1)
    assert (outcome.error, outcome.records) == (E.NONE, ())


def test_who_may_ask(cluster: Cluster) -> None:
    """Only the newest process of the node may ask, and only for an existing partition."""
    assert renewed(cluster, node_epoch=4).error is E.NODE_EPOCH_EXPIRED
    assert renewed(cluster, topic="x").error is E.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.epochs("e-0") == (0, 0)
