"""Random runs of the assignment layer: what holds after every operation (reassignment.md 8)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from impl.controller.partitions import balance, drain
from impl.controller.timers import Operation
from impl.records import Partition
from tests.impl.partitioned import Cluster

BROKERS = 4
STATES = ("active", "active", "active", "fenced", "shutting_down", "gone")
PROFILES = [
    {"cancel": cancel, "handshake": handshake, "timer": timer, "unclean_election": unclean}
    for cancel in ("H", "K")
    for handshake in ("G0", "G1")
    for timer in ("epoch", "automq")
    for unclean in (False, True)
]


def _cluster(profile: dict[str, Any]) -> Cluster:
    cluster = Cluster(elastic=(0, 1), lists=([0, 1], [2, 0, 1]), **profile)
    for broker in range(BROKERS, 8):
        cluster.broker(broker, "gone")
    return cluster


def _step(cluster: Cluster, rng: random.Random) -> bool:
    """Perform one operation. Returns whether it was a cancel, which is judged at once (SP-13)."""
    name = rng.choice(("e-0", "e-1", "k-0", "k-1"))
    before = cluster.row(name)
    choice = rng.randrange(8)
    match choice:
        case 0 | 1:
            replicas = rng.sample(range(BROKERS), 1 if name[0] == "e" else rng.randint(1, 3))
            error, change = cluster.alter(name, replicas)
            assert change is None or error == "NONE"
        case 2:
            error, change = cluster.alter(name, None)
            assert (error == "NONE") == (change is not None)
            assert error != "NONE" or _is_cancelled(cluster, before)
        case 3:
            cluster.broker(rng.randrange(BROKERS), rng.choice(STATES))
        case 4:
            cluster.elect(name, rng.choice(("preferred", "unclean")))
        case 5:
            size = rng.randint(1, len(before.replicas))
            outcome = cluster.isr(name, rng.sample(before.replicas, size))
            assert not outcome.records or before.leader >= 0
        case 6:
            cluster.tick(rng.choice((500, 4_000, 11_000)))
        case 7:
            rng.choice((cluster.fail_over, lambda: cluster.run(balance), lambda: cluster.run(_drain(rng))))()
    return choice == 2


def _drain(rng: random.Random) -> Operation:
    broker = rng.randrange(BROKERS)
    return lambda view: drain(view, broker)


def _is_cancelled(cluster: Cluster, before: Partition) -> bool:
    """SP-13. The original replicas are back in their order; as shipped, no added replica remains."""
    after = cluster.row(f"{before.topic}-{before.partition}")
    if before.original is None:
        back = after.replicas == tuple(each for each in before.replicas if each not in before.adding_replicas)
    else:
        back = after.replicas == before.original
    return back and not after.adding_replicas and not after.removing_replicas and after.original is None


def _check(cluster: Cluster, before: dict[tuple[str, int], Partition], *, cancelled: bool) -> None:
    for key, row in cluster.image.partitions.items():
        old = before[key]
        assert set(row.isr) <= set(row.replicas), "SP-10"
        assert row.isr, "SP-13"
        assert set(row.adding_replicas) | set(row.removing_replicas) <= set(row.replicas), "SP-10"
        assert row.leader == -1 or row.leader in row.isr, "SP-10"
        assert row.leader in (-1, old.leader) or cluster.image.brokers[row.leader] == "active", "SP-12"
        assert row.leader_epoch >= old.leader_epoch, "SP-03"
        moved = (row.leader, row.replicas) != (old.leader, old.replicas)
        assert not moved or row.partition_epoch > old.partition_epoch, "SP-03"
        assert row.leader == old.leader or row.leader_epoch > old.leader_epoch, "SP-03"
        ended = _runs(old) and not _runs(row) and not cancelled
        assert not ended or set(row.replicas) == set(row.isr), "SP-11"
        if cluster.profile.cancel == "H":
            assert not set(row.adding_replicas) & set(row.removing_replicas), "SP-10"
            running = _runs(row) or row.marker is not None
            assert running == (row.original is not None), "CA-27, CA-41"
        if key[0] == "e":
            _check_elastic(cluster, key, row)


def _runs(row: Partition) -> bool:
    return bool(row.adding_replicas or row.removing_replicas)


def _check_elastic(cluster: Cluster, key: tuple[str, int], row: Partition) -> None:
    assert row.replicas == row.isr, "SP-10"
    assert len(row.replicas) == 1, "SP-10"
    assert row.adding_replicas == row.removing_replicas == (), "RA-04"
    assert row.marker is None or (row.leader == -1 and row.marker == row.leader_epoch), "CA-41"
    assert row.original != row.replicas, "CA-41"
    timer = cluster.timers.armed.get(key)
    if cluster.profile.handshake == "G1":
        assert timer is None, "EL-07"
    elif cluster.profile.timer == "epoch":
        assert (timer is not None) == (row.leader == -1), "LP-02, EL-13"
        assert timer is None or timer.leader_epoch == row.leader_epoch, "EL-12"


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: "-".join(map(str, profile.values())))
def test_random_operations_keep_the_invariants(profile: dict[str, Any]) -> None:
    """SP-03, SP-10 to SP-13, LP-02 by its timer: 20 runs of 120 operations each."""
    for seed in range(20):
        rng = random.Random(seed)
        cluster = _cluster(profile)
        for _ in range(120):
            before = dict(cluster.image.partitions)
            cancelled = _step(cluster, rng)
            _check(cluster, before, cancelled=cancelled)
