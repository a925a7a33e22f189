"""Partitions with several replicas: how a reassignment starts, and how it completes (reassignment.md 6)."""

from __future__ import annotations

from collections.abc import Sequence

from impl.controller.registration import (
    NO_LEADER,
    RECOVERED,
    RECOVERING,
    TargetRegistration,
    acceptable,
    automatic,
    build,
    exists,
    find,
    in_progress,
    is_active,
    is_elastic,
    is_registered,
    target,
)
from impl.controller.view import OperationResult, Profile, View
from impl.errors import E
from impl.records import Partition, PartitionChange
from impl.rules import require, rule


def keeps_origin(profile: Profile) -> bool:
    """Whether starts and cancels follow CA-27, which records the original replicas, and not KRaft (RA-41, CA-21)."""
    return profile.cancel == "H" and "CA-23" not in profile.as_built


# Starts ---------------------------------------------------------------------------------------------------------


def start(view: View, row: Partition, replicas: tuple[int, ...]) -> PartitionChange | None:
    """RA-41 to RA-48. The record that starts a reassignment to ``replicas``; None if nothing changes.

    Another reassignment may be running. Fenced brokers are accepted (RA-43).
    """
    require(bool(replicas), "RA-42.empty", E.INVALID_REPLICA_ASSIGNMENT)
    # One ascending scan for both checks, as in KRaft: the first broker that fails one decides which rule refuses.
    for place, broker in enumerate(sorted(replicas)):
        require(is_registered(view.image, broker), "RA-42.registered", E.INVALID_REPLICA_ASSIGNMENT)
        twice = place > 0 and sorted(replicas)[place - 1] == broker
        require(not twice, "RA-42.twice", E.INVALID_REPLICA_ASSIGNMENT)
    wish = _with_origin(view, row, replicas) if keeps_origin(view.profile) else _as_shipped(row, replicas)
    return build(row, wish, acceptable(view), automatic(view.profile))


def _as_shipped(row: Partition, replicas: tuple[int, ...]) -> TargetRegistration:
    """RA-41. The target by KRaft. An empty list is not written, so the list of an older start survives (RA-49)."""
    removing = tuple(sorted(set(row.replicas) - set(replicas)))
    adding = tuple(sorted(set(replicas) - set(row.replicas)))
    return target(
        row,
        replicas=replicas + removing,
        removing=removing or row.removing_replicas,
        adding=adding or row.adding_replicas,
    )


def _with_origin(view: View, row: Partition, replicas: tuple[int, ...]) -> TargetRegistration:
    """CA-27. The target with the original replicas: those before the first of several overlapping starts.

    If the running reassignment has no original replicas (CA-04), none are stored. Then the replicas that are not being
    added count as original.
    """
    running = in_progress(view.image, row)
    original = row.original if rule("CA-27", running) else row.replicas
    before = original or [broker for broker in row.replicas if broker not in row.adding_replicas]
    removing = tuple(sorted(set(row.replicas) - set(replicas)))
    adding = tuple(broker for broker in replicas if broker not in before)
    return target(row, replicas=replicas + removing, removing=removing, adding=tuple(sorted(adding)), original=original)


# AlterPartition -------------------------------------------------------------------------------------------------


def alter_partition(
    view: View,
    topic: str,
    partition: int,
    broker: int,
    isr: Sequence[int],
    leader_epoch: int | None = None,
    partition_epoch: int | None = None,
    version: int = 3,
    recovery: int | None = None,
) -> OperationResult:
    """RA-47. Change the ISR, as ``broker`` asks, which has to be the leader. ``version``: the version of the request.

    Epochs and a recovery state that are None stand for the present ones.
    """
    row = find(view.image, topic, partition)
    known_topic = topic in view.image.topics
    require(known_topic or version <= 1, "RA-47.topic", E.UNKNOWN_TOPIC_ID)
    require(exists(view.image, topic, partition), "RA-47.partition", E.UNKNOWN_TOPIC_OR_PARTITION)
    single = len(isr) == 1 or not is_elastic(view.image, row)
    require(single, "RA-10", E.INVALID_REPLICA_ASSIGNMENT)
    _check_epochs(row, broker, leader_epoch, partition_epoch)
    _check_isr(view, row, tuple(isr), recovery, version)
    wish = target(row, isr=tuple(isr), recovery=row.leader_recovery_state if recovery is None else recovery)
    change = build(row, wish, acceptable(view), automatic(view.profile))
    if change is None:
        return OperationResult()
    if rule("RA-46", change.leader is not None and change.leader != row.leader):
        return OperationResult((change,), E.NEW_LEADER_ELECTED if version >= 2 else E.FENCED_LEADER_EPOCH)
    return OperationResult((change,))


def _check_epochs(row: Partition, broker: int, leader_epoch: int | None, partition_epoch: int | None) -> None:
    """RA-47. A sender with higher epochs knows more than this controller. One with lower epochs has to catch up."""
    leader_epoch = row.leader_epoch if leader_epoch is None else leader_epoch
    partition_epoch = row.partition_epoch if partition_epoch is None else partition_epoch
    ahead = leader_epoch > row.leader_epoch or partition_epoch > row.partition_epoch
    require(not ahead, "RA-47.ahead", E.NOT_CONTROLLER)
    require(leader_epoch >= row.leader_epoch, "RA-47.leader_epoch", E.FENCED_LEADER_EPOCH)
    require(broker == row.leader != NO_LEADER, "RA-47.leader", E.INVALID_REQUEST)
    require(partition_epoch >= row.partition_epoch, "RA-47.partition_epoch", E.INVALID_UPDATE_VERSION)


def _check_isr(view: View, row: Partition, isr: tuple[int, ...], recovery: int | None, version: int) -> None:
    """RA-47. The ISR is part of the replicas, and has the leader; its members are active."""
    require(set(isr) <= set(row.replicas), "RA-47.replicas", E.INVALID_REQUEST)
    require(row.leader in isr, "RA-47.lacks_leader", E.INVALID_REQUEST)
    valid = recovery in (None, RECOVERED) or (recovery == RECOVERING == row.leader_recovery_state)
    require(valid, "RA-47.recovery", E.INVALID_REQUEST)
    eligible = all(is_active(view.image, member) for member in isr)
    require(eligible, "RA-47.active", E.INELIGIBLE_REPLICA if version >= 2 else E.OPERATION_NOT_ATTEMPTED)
