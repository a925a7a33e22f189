"""Elections on request (reassignment.md 3, step 5; EL-08, EL-10)."""

from __future__ import annotations

from typing import Any

import pytest

from impl.controller.elections import balance
from impl.errors import E
from impl.records import PartitionChange
from tests.impl.partitioned import Cluster


def test_the_target_is_elected() -> None:
    """EL-08: the only member of the ISR leads, and both epochs grow by one more."""
    cluster = Cluster(elastic=(0,))
    cluster.alter("e-0", [1])
    outcome = cluster.elect("e-0")
    assert (outcome.error, cluster.row("e-0").leader) == (E.NONE, 1)
    assert cluster.epochs("e-0") == (2, 2)


def test_a_leader_is_not_elected_again() -> None:
    """EL-08: 84 where the first replica leads, without a record."""
    outcome = Cluster(elastic=(0,)).elect("e-0")
    assert (outcome.error, outcome.records) == (E.ELECTION_NOT_NEEDED, ())


def test_a_target_that_is_not_active_is_not_elected() -> None:
    """EL-08: 80 for a fenced target and one that shuts down, without a record."""
    cluster = Cluster(elastic=(0,))
    cluster.alter("e-0", [1])
    cluster.broker(1, "shutting_down")
    outcome = cluster.elect("e-0")
    assert (outcome.error, outcome.records) == (E.PREFERRED_LEADER_NOT_AVAILABLE, ())


def test_an_unknown_partition_has_no_election() -> None:
    """EL-08: 3."""
    cluster = Cluster(elastic=(0,))
    assert cluster.elect("e-1").error is E.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.elect("x-0", "unclean").error is E.UNKNOWN_TOPIC_OR_PARTITION


def test_a_late_request_elects_the_present_target() -> None:
    """Step 5: a request names no reassignment, so a late one elects the partition's present replica."""
    cluster = Cluster(elastic=(0,))
    cluster.alter("e-0", [1])
    cluster.alter("e-0", [2])
    cluster.elect("e-0")
    assert cluster.row("e-0").leader == 2


def test_a_preferred_election_needs_the_isr() -> None:
    """SP-12: a first replica that lags behind is not elected."""
    cluster = Cluster(lists=([0, 1],))
    cluster.broker(0, "fenced")
    cluster.broker(0, "active")
    assert (cluster.row("k-0").leader, cluster.row("k-0").isr) == (1, (1,))
    assert cluster.elect("k-0").error is E.PREFERRED_LEADER_NOT_AVAILABLE
    cluster.isr("k-0", [1, 0])
    assert cluster.elect("k-0").records == (PartitionChange("k", 0, leader=0),)


def test_an_unclean_election_leaves_the_isr() -> None:
    """Section 1, UNCLEAN: it is asked for by an operator, and needs no setting."""
    cluster = Cluster(lists=([0, 1],))
    cluster.broker(1, "fenced")
    cluster.broker(0, "fenced")
    assert cluster.elect("k-0", "unclean").error is E.ELIGIBLE_LEADERS_NOT_AVAILABLE
    cluster.broker(1, "active")
    assert cluster.row("k-0").leader == -1
    assert cluster.elect("k-0").error is E.PREFERRED_LEADER_NOT_AVAILABLE
    change = PartitionChange("k", 0, isr=(1,), leader=1, leader_recovery_state=1)
    assert cluster.elect("k-0", "unclean").records == (change,)
    assert cluster.elect("k-0", "unclean").error is E.ELECTION_NOT_NEEDED


def test_an_unclean_election_needs_a_partition_without_a_leader() -> None:
    """84 for a partition that has a leader, also where that leader is about to stop."""
    cluster = Cluster(lists=([0, 1],))
    cluster.broker(0, "shutting_down")
    assert cluster.elect("k-0", "unclean").error is E.ELECTION_NOT_NEEDED


def test_balancing_elects_first_replicas() -> None:
    """EL-10: a leaderless elastic partition gets its target, one that cannot be led stays; G1 does not balance."""
    cluster = Cluster(elastic=(0, 0), lists=([0, 1], [2, 1]))
    cluster.broker(0, "shutting_down")
    cluster.alter("e-0", [1])
    cluster.alter("e-1", [2])
    cluster.broker(2, "fenced")
    cluster.broker(2, "active")
    cluster.isr("k-1", [1, 2])
    outcome = cluster.run(balance)
    names = {(record.topic, record.partition) for record in outcome.records if isinstance(record, PartitionChange)}
    assert names >= {("e", 0), ("k", 1)}
    assert (cluster.row("e-0").leader, cluster.row("k-1").leader) == (1, 2)
    assert Cluster(handshake="G1").run(balance).records == ()


@pytest.mark.parametrize("profile", [{"handshake": "G1"}, {"handshake": "G0", "balances": False}])
def test_balancing_is_off(profile: dict[str, Any]) -> None:
    """EL-10: in G1, or if an operator turns balancing off, a leaderless partition waits for its target."""
    cluster = Cluster(elastic=(0,), **profile)
    cluster.alter("e-0", [1])
    assert cluster.run(balance).records == ()
