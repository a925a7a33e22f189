"""Topics, and the requests of an operator: reassign, cancel, list (reassignment.md 2, 6).

The other requests that concern partitions are re-exported: AlterPartition, ElectLeaders, and the states of brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from impl.controller.cancel import cancel
from impl.controller.elections import balance, elect
from impl.controller.fencing import drain, set_broker
from impl.controller.nodes import owner_of
from impl.controller.registration import (
    RECOVERED,
    build,
    exists,
    find,
    in_progress,
    is_elastic,
    is_registered,
    label,
    nobody,
    target,
)
from impl.controller.replicas import alter_partition, start
from impl.controller.streams import partition_of
from impl.controller.view import OperationResult, View
from impl.errors import E
from impl.records import MetadataRecord, Partition, PartitionChange, Topic
from impl.rules import RefusedError, require, rule

__all__ = [
    "alter",
    "alter_partition",
    "balance",
    "create_topic",
    "drain",
    "elect",
    "list_reassignments",
    "move_back",
    "set_broker",
]

BATCH_CAP = 50_000
"""The most records that one request may append (RA-08)."""


def create_topic(view: View, topic: str, partitions: Sequence[Sequence[int]], elastic: bool = False) -> OperationResult:
    """Create a topic. ``partitions``: the replicas of each. All are in sync, the first one leads, both epochs are 0."""
    if any(name == topic for name, _ in view.image.partitions):
        return OperationResult(error=E.TOPIC_ALREADY_EXISTS)
    records: list[MetadataRecord] = [Topic(topic, elastic)]
    for number, replicas in enumerate(partitions):
        require(bool(replicas), "RA-42.empty", E.INVALID_REPLICA_ASSIGNMENT)
        require(len(replicas) == 1 or not elastic, "PT-01", E.INVALID_REPLICA_ASSIGNMENT)
        require(len(set(replicas)) == len(replicas), "RA-42.twice", E.INVALID_REPLICA_ASSIGNMENT)
        registered = all(is_registered(view.image, broker) for broker in replicas)
        require(registered, "RA-42.registered", E.INVALID_REPLICA_ASSIGNMENT)
        records.append(Partition(topic, number, tuple(replicas), tuple(replicas), replicas[0]))
    return OperationResult(tuple(records))


# AlterPartitionReassignments ------------------------------------------------------------------------------------


def alter(view: View, topics: Mapping[str, Mapping[int, Sequence[int] | None]]) -> OperationResult:
    """RA-01, RA-08. Start reassignments, or cancel them where the replicas are None.

    The answer has a row with the error of each partition. The records of the partitions without an error are one batch.
    """
    changes: list[PartitionChange] = []
    rows: dict[str, str] = {}
    for topic, partitions in topics.items():
        for partition, replicas in partitions.items():
            error = E.NONE
            try:
                change = _alter_one(view, topic, partition, replicas)
                changes += [change] if change is not None else []
            except RefusedError as refused:
                if not rule("RA-08.rows"):
                    raise
                error = refused.error
            rows[label(topic, partition)] = error.name
    require(len(changes) <= BATCH_CAP, "RA-08.cap", E.INVALID_REQUEST)
    return OperationResult(tuple(changes), values={"topics": set(topics), "rows": rows})


def _alter_one(view: View, topic: str, partition: int, replicas: Sequence[int] | None) -> PartitionChange | None:
    require(exists(view.image, topic, partition), "RA-01", E.UNKNOWN_TOPIC_OR_PARTITION)
    row = find(view.image, topic, partition)
    if replicas is None:
        return cancel(view, row)
    if is_elastic(view.image, row):
        return start_move(view, row, tuple(replicas))
    return start(view, row, tuple(replicas))


def start_move(view: View, row: Partition, replicas: tuple[int, ...]) -> PartitionChange | None:
    """RA-02 to RA-06. The record that assigns an elastic partition to another broker, and leaves it without a leader.

    None if the broker has the partition already (RA-03). So a repeated request does not end a wait for a leader.
    """
    require(len(replicas) == 1, "RA-02.size", E.INVALID_REPLICA_ASSIGNMENT)
    state = view.image.brokers.get(replicas[0], "gone")
    require(state != "gone", "RA-02.registered", E.INVALID_REPLICA_ASSIGNMENT)
    require(state != "fenced", "RA-02.fenced", E.INVALID_REPLICA_ASSIGNMENT)
    leaving = state == "shutting_down" and view.profile.handshake == "G0"
    require(not leaving, "RA-02.leaving", E.INVALID_REPLICA_ASSIGNMENT)
    if rule("RA-03", replicas == row.replicas):
        return None
    wish = target(row, isr=replicas, replicas=replicas, recovery=RECOVERED, **_origin(view, row, replicas))
    return build(row, wish, nobody if rule("RA-04") else lambda broker: broker in replicas)


def _origin(view: View, row: Partition, replicas: tuple[int, ...]) -> dict[str, Any]:
    """CA-41. The fields of the target that record the origin of a move, and the leader epoch that begins with the move.

    A start during another move keeps the origin of the first one (CA-53). A move back to that origin leaves nothing to
    cancel.
    """
    if view.profile.cancel != "H":
        return {}
    original = row.original if rule("CA-53", row.marker is not None) else row.replicas
    if rule("CA-20.returned", original == replicas):
        return {"original": None, "marker": None}
    # The record of the move raises the leader epoch by one.
    return {"original": original, "marker": row.leader_epoch + 1}


def move_back(view: View, stream: int) -> OperationResult:
    """ST-16. Move the partition of a stream back to its locked owner, whose WAL alone may hold the newest data."""
    topic, number = partition_of(view.image.streams[stream])
    return alter(view, {topic: {number: [owner_of(view.image, stream)]}})


# ListPartitionReassignments -------------------------------------------------------------------------------------


def list_reassignments(view: View, topics: Mapping[str, Iterable[int]] | None = None) -> OperationResult:
    """RA-40. The running reassignments of all partitions, or of the given ones as far as they exist.

    A move of an elastic partition shows its target as added and its origin as removed (CA-41).
    """
    if topics is None:
        rows = [row for _, row in sorted(view.image.partitions.items())]
    else:
        named = [(topic, partition) for topic, partitions in topics.items() for partition in partitions]
        rows = [find(view.image, *each) for each in named if exists(view.image, *each)]
    listed = {}
    for row in rows:
        if not in_progress(view.image, row):
            continue
        replicas, adding, removing = row.replicas, row.adding_replicas, row.removing_replicas
        if is_elastic(view.image, row):
            adding, removing = row.replicas, row.original or ()
            replicas = adding + removing
        listed[label(row.topic, row.partition)] = {
            "replicas": list(replicas),
            "adding": set(adding),
            "removing": set(removing),
        }
    return OperationResult(values={"reassignments": listed})
