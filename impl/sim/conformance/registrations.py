"""The lines of a partition's registration: the changes that the leading controller made, and their causes.

    REASSIGN, CANCEL           an operator asked for it
    REASSIGN:leaving           the target is in controlled shutdown
    ELECT_LEADER               somebody asked for an election, and there was one
    ELECT_LEADER:source        the broker that has closed the partition; in G1, the one that serves it
    ELECT_LEADER:late          a broker whose reason is gone: the registration has changed since it asked, its
                               process has ended, or somebody has opened a stream that it had closed
    ELECT_LEADER:idle          a broker that had nothing to close
    ELECT_LEADER:timer         the timer of the controller
    RENEW_EPOCH                the replica asked for another leader epoch
    DRAIN                      a broker that shuts down had its partitions moved away
    BROKER_FENCED, BROKER_ACTIVE, BROKER_LEAVING
                               the state of a broker, with what that changes of the partition
    CONTROLLER                 another controller leads

Requests that changed nothing have no lines.
"""

from __future__ import annotations

from typing import Any

from impl import wire
from impl.broker.partition.assignments import Key
from impl.metadata.image import Image
from impl.records import BrokerRegistration, Partition, PartitionChange
from impl.sim.conformance.hosts import Hosts
from impl.sim.conformance.lines import LineCollector
from impl.sim.event_log import AppendedBatch, ExecutedRequest

STATES = {"active": "BROKER_ACTIVE", "fenced": "BROKER_FENCED", "gone": "BROKER_FENCED"}
"""The lines of the states of a broker; the line of any other is BROKER_LEAVING."""


class Registrations:
    """Adds the lines of one partition. ``hosts``: the processes, and their states in regard to that partition."""

    def __init__(self, lines: LineCollector, key: Key, hosts: Hosts) -> None:
        self._lines, self._key, self._hosts = lines, key, hosts
        self._brokers: set[int] = set()
        """The brokers that have ever been active."""

    def begin(self, image: Image) -> None:
        """Note that the partition exists from now on."""
        self._brokers.update(image.brokers)

    def elected(self, index: int) -> None:
        """Another controller leads."""
        self._lines.add(index, "CONTROLLER", {})

    def write(self, index: int, written: AppendedBatch, cause: ExecutedRequest | None, image: Image) -> None:
        """Add the lines of a batch. ``image``: after the batch. ``cause``: the request behind it; None for none."""
        records = written.batch.records
        changed = any(
            isinstance(each, Partition | PartitionChange) and (each.topic, each.partition) == self._key
            for each in records
        )
        row = image.partitions[self._key]
        for record in records:
            if isinstance(record, BrokerRegistration):
                kind = STATES.get(record.state, "BROKER_LEAVING")
                if kind == "BROKER_ACTIVE" and not (cause and self._hosts.may_come_back(cause.sender)):
                    kind = "BROKER_ACTIVE:late"
                if record.broker_id not in self._brokers:
                    # To the models all brokers are there from the start, so one that joins was fenced until now.
                    self._brokers.add(record.broker_id)
                    self._lines.add(
                        index, "BROKER_FENCED", {"node": record.broker_id}, to=record.broker_id, state=state_of(row)
                    )
                to = row.replicas[0] if changed else record.broker_id
                self._lines.add(index, kind, {"node": record.broker_id}, to=to, state=state_of(row))
                return
        if not changed or any(isinstance(each, Partition) for each in records):
            return
        kind = "ELECT_LEADER:timer" if cause is None else self._kind(cause, row)
        if kind == "REASSIGN" and image.brokers[row.replicas[0]] == "shutting_down":
            kind = "REASSIGN:leaving"
        node = row.replicas[0]
        more = {"direct": row.leader >= 0} if kind == "CANCEL" else {}
        if kind in ("ELECT_LEADER:source", "RENEW_EPOCH", "DRAIN"):
            assert cause is not None, "somebody has asked"
            node = self._hosts.node_of(cause.sender)
        self._lines.add(index, kind, {"node": node}, **more, state=state_of(row))

    def _kind(self, cause: ExecutedRequest, row: Partition) -> str:
        topic, partition = self._key
        match cause.request.body:
            case wire.AlterReassignments(topics):
                return "CANCEL" if topics[topic][partition] is None else "REASSIGN"
            case wire.RenewEpoch():
                return "RENEW_EPOCH"
            case wire.DrainBroker():
                return "DRAIN"
            case wire.ElectLeader():
                # The election has raised the leader epoch by one.
                return f"ELECT_LEADER{self._hosts.reason(cause, row.leader_epoch - 1, row.replicas[0])}"
            case body:
                raise TypeError(f"no line says that {type(body).__name__} changes a partition")


def state_of(row: Partition) -> dict[str, Any]:
    """The registration after a line."""
    leader = None if row.leader < 0 else row.leader
    return {"replica": row.replicas[0], "leader": leader, "leaderEpoch": row.leader_epoch}
