"""The messages of a controller: inputs, outputs, and the requests and answers inside them (streams.md 2).

A request carries its node and node epoch once, and may arrive more than once (EX-07). The controller copies
``Request.id`` and ``Request.to`` into the answer, so that the sender can match the two.
"""

from __future__ import annotations

from typing import Any

import msgspec

from impl.controller.commits import SetCommit, StreamCommit
from impl.errors import E
from impl.items import CloseItem, CreateItem, OpenItem, TrimItem
from impl.metadata.log import MetadataBatch


class WireMessage(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The content of a frame. The frame carries the name of the class."""


# Requests: about streams, objects, nodes, and partitions ---------------------------------------------------------


class GetOpeningStreams(WireMessage, frozen=True, gc=False):
    """Register a process of a node, and get the streams that it has to recover (ND-01)."""

    node: int
    node_epoch: int
    failover: bool = False


class CreateStreams(WireMessage, frozen=True, gc=False):
    """Create streams; one event for each item (EX-06)."""

    node: int
    node_epoch: int
    items: tuple[CreateItem, ...]


class OpenStreams(WireMessage, frozen=True, gc=False):
    """Open streams; one event for all items (EX-05)."""

    node: int
    node_epoch: int
    items: tuple[OpenItem, ...]


class CloseStreams(WireMessage, frozen=True, gc=False):
    """Close streams; one event for all items (EX-05)."""

    node: int
    node_epoch: int
    items: tuple[CloseItem, ...]


class TrimStreams(WireMessage, frozen=True, gc=False):
    """Trim streams; one event for each item (EX-06)."""

    node: int
    node_epoch: int
    items: tuple[TrimItem, ...]


class DeleteStreams(WireMessage, frozen=True, gc=False):
    """Delete streams; one event for each item (EX-06). Node and epoch are not checked."""

    node: int
    node_epoch: int
    streams: tuple[int, ...]


class PrepareObjects(WireMessage, frozen=True, gc=False):
    """Reserve ids of objects (OB-01)."""

    count: int
    ttl_ms: int


class CommitStreamSetObject(WireMessage, frozen=True, gc=False):
    """Commit an upload of a node's WAL, or a compaction (CS)."""

    commit: SetCommit


class CommitStreamObject(WireMessage, frozen=True, gc=False):
    """Commit a compaction of one stream (CO)."""

    commit: StreamCommit


class RegisterNode(WireMessage, frozen=True, gc=False):
    """Store the WAL configuration and the tags of a node (ND-10)."""

    node: int
    node_epoch: int
    wal_config: str = ""
    tags: dict[str, str] = {}


class UnregisterNode(WireMessage, frozen=True, gc=False):
    """Remove the registration of a node (ND-11)."""

    node: int


class PutIfAbsent(WireMessage, frozen=True, gc=False):
    """Store a value under a key, unless the key has one. The answer has the ``value`` of the key after that."""

    key: str
    value: bytes


class ReportRouteEpoch(WireMessage, frozen=True, gc=False):
    """A process reports the route epoch that its node has committed (ZR-60)."""

    node: int
    node_epoch: int
    epoch: int


class DescribeStreams(WireMessage, frozen=True, gc=False):
    """List streams by id, by node, or by partition (ST-60)."""

    stream: int | None = None
    node: int | None = None
    topic: str | None = None
    partition: int | None = None


class SetBroker(WireMessage, frozen=True, gc=False):
    """Set the state of a broker: active, fenced, shutting_down or gone."""

    node: int
    state: str


class Heartbeat(WireMessage, frozen=True, gc=False):
    """A broker reports that it is alive (ND-31). The answer has its ``state``."""

    node: int


class DrainBroker(WireMessage, frozen=True, gc=False):
    """Move elastic partitions away from a broker that shuts down."""

    node: int


class CreateTopic(WireMessage, frozen=True, gc=False):
    """Create a topic. ``partitions``: the replicas of each partition."""

    topic: str
    partitions: tuple[tuple[int, ...], ...]
    elastic: bool = False


class AlterReassignments(WireMessage, frozen=True, gc=False):
    """Start or cancel moves; one event for all partitions (RA-08).

    ``topics``: by topic and partition, the target replicas; None cancels the move of the partition.
    """

    topics: dict[str, dict[int, tuple[int, ...] | None]]


class ListReassignments(WireMessage, frozen=True, gc=False):
    """List the moves in progress, of all topics or of some partitions."""

    topics: dict[str, tuple[int, ...]] | None = None


class AlterPartition(WireMessage, frozen=True, gc=False):
    """A leader changes the ISR of its partition. ``recovery``: the recovery state that it gives, if it gives one."""

    topic: str
    partition: int
    broker: int
    isr: tuple[int, ...]
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    version: int = 3
    recovery: int | None = None


class RenewEpoch(WireMessage, frozen=True, gc=False):
    """Give a partition of this node the next leader epoch, if it still has ``leader_epoch`` (CA-47)."""

    node: int
    node_epoch: int
    topic: str
    partition: int
    leader_epoch: int


class ElectLeader(WireMessage, frozen=True, gc=False):
    """Elect the leader of a partition; ``kind`` is preferred or unclean."""

    topic: str
    partition: int
    kind: str = "preferred"


OfStreams = CreateStreams | OpenStreams | CloseStreams | TrimStreams | DeleteStreams | DescribeStreams
OfObjects = PrepareObjects | CommitStreamSetObject | CommitStreamObject
OfNodes = GetOpeningStreams | RegisterNode | UnregisterNode | SetBroker | Heartbeat | DrainBroker
OfKeys = PutIfAbsent | ReportRouteEpoch
OfPartitions = CreateTopic | AlterReassignments | ListReassignments | AlterPartition | ElectLeader | RenewEpoch
Body = OfStreams | OfObjects | OfNodes | OfKeys | OfPartitions


# Inputs -----------------------------------------------------------------------------------------------------------


class Request(WireMessage, frozen=True, gc=False):
    """A request of the client ``to``. ``id``: the number that the client gave to it."""

    to: int
    id: int
    body: Body


class CommitNotice(WireMessage, frozen=True, gc=False):
    """The quorum has committed the leader's batches below ``end`` in this term."""

    term: int
    end: int


class LearnedBatches(WireMessage, frozen=True, gc=False):
    """Committed batches, from index ``begin`` on. The controller ignores batches that it has already."""

    begin: int
    batches: tuple[MetadataBatch, ...]


class ElectionNotice(WireMessage, frozen=True, gc=False):
    """The controller leads from now on. All committed batches were sent to it before."""

    term: int


class ResignationNotice(WireMessage, frozen=True, gc=False):
    """Another controller leads in this term, or none."""

    term: int


class WakeNotice(WireMessage, frozen=True, gc=False):
    """The time of the newest ``Wake`` has come."""


class DeletionNotice(WireMessage, frozen=True, gc=False):
    """The objects of a ``DeleteObjects`` are no longer in the object store (OB-05)."""

    objects: tuple[int, ...]


Input = Request | CommitNotice | LearnedBatches | ElectionNotice | ResignationNotice | WakeNotice | DeletionNotice


# Outputs ----------------------------------------------------------------------------------------------------------


class ItemAnswer(msgspec.Struct, frozen=True):
    """The answer to an item of a request, or to a whole request: an error, and further values by name."""

    error: E = E.NONE
    values: dict[str, Any] = {}


class Reply(WireMessage, frozen=True):
    """The answers to a request, in the order of its items. A request without items has one answer."""

    to: int
    id: int
    answers: tuple[ItemAnswer, ...]


class QuorumAppend(WireMessage, frozen=True, gc=False):
    """A batch for the quorum, to be appended at ``index`` of the metadata log."""

    index: int
    batch: MetadataBatch


class Wake(WireMessage, frozen=True, gc=False):
    """``WakeNotice`` is due at this time, in milliseconds. A later ``Wake`` replaces it."""

    at: int


class DeleteObjects(WireMessage, frozen=True, gc=False):
    """Delete objects from the object store. When all are gone, the driver answers with ``DeletionNotice`` (OB-05)."""

    objects: tuple[int, ...]


Output = Reply | QuorumAppend | Wake | DeleteObjects
