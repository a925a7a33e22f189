"""The metadata records, with AutoMQ's names and fields (streams.md 15). An image changes only by applying records.

``KIND``: the short name of a record in scenario files. ``TYPE``: its name in a dump of the log.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Union

import msgspec

_PAIR = struct.Struct(">qq")


class StreamState(IntEnum):
    """Whether an owner may append."""

    CLOSED = 0
    OPENED = 1


class ObjectState(IntEnum):
    """The life of an object. DESTROYED is never stored: the record is removed."""

    UNINITIALIZED = 0
    PREPARED = 1
    COMMITTED = 2
    MARK_DESTROYED = 3
    DESTROYED = 4


class MetadataRecord(msgspec.Struct, frozen=True, gc=False, rename="camel", tag=True):
    """A metadata record. Encoded, it carries a tag as ``type``, the name of its class if the class gives none."""

    KIND: ClassVar[str]
    TYPE: ClassVar[str]


class Tag(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A tag of a stream: a key with a value."""

    key: str
    value: str


TOPIC_TAG, PARTITION_TAG = "topic", "partition"
"""The keys of the tags that name the partition of a stream; the partition is a decimal number."""


class AssignedStreamId(MetadataRecord, frozen=True, gc=False):
    """The last stream id that was given out."""

    KIND, TYPE = "ASID", "ASSIGNED_STREAM_ID_RECORD"
    assigned_stream_id: int


class S3Stream(MetadataRecord, frozen=True, gc=False):
    """A stream, without its ranges and objects. A start below the stored one is ignored (ID-05)."""

    KIND, TYPE = "STREAM", "S3_STREAM_RECORD"
    stream_id: int
    epoch: int
    range_index: int
    start_offset: int
    stream_state: StreamState
    tags: tuple[Tag, ...] = ()


class RemoveS3Stream(MetadataRecord, frozen=True, gc=False):
    """A stream is gone, with its ranges."""

    KIND, TYPE = "RMSTREAM", "REMOVE_S3_STREAM_RECORD"
    stream_id: int


class Range(MetadataRecord, frozen=True, gc=False):
    """Offsets that one node owned under one epoch. Applying it lifts the stream's end to ``end_offset`` (ID-05)."""

    KIND, TYPE = "RANGE", "RANGE_RECORD"
    stream_id: int
    epoch: int
    range_index: int
    start_offset: int
    end_offset: int
    node_id: int


class RemoveRange(MetadataRecord, frozen=True, gc=False):
    """A range is gone."""

    KIND, TYPE = "RMRANGE", "REMOVE_RANGE_RECORD"
    stream_id: int
    range_index: int


class S3StreamObject(MetadataRecord, frozen=True, gc=False):
    """An object with data of one stream. The record lifts the end of the stream to the object's end."""

    KIND, TYPE = "SO", "S3_STREAM_OBJECT_RECORD"
    stream_id: int
    start_offset: int
    end_offset: int
    object_id: int


class RemoveS3StreamObject(MetadataRecord, frozen=True, gc=False):
    """An object is no part of a stream any more."""

    KIND, TYPE = "RMSO", "REMOVE_S3_STREAM_OBJECT_RECORD"
    stream_id: int
    object_id: int


class S3StreamSetObject(MetadataRecord, frozen=True, gc=False):
    """An object with data of many streams, which belongs to one node."""

    KIND, TYPE = "SSO", "S3_STREAM_SET_OBJECT_RECORD"
    node_id: int
    object_id: int
    order_id: int
    data_time_in_ms: int
    ranges: bytes = b""


class RemoveStreamSetObject(MetadataRecord, frozen=True, gc=False):
    """An object is no part of a node's data any more."""

    KIND, TYPE = "RMSSO", "REMOVE_STREAM_SET_OBJECT_RECORD"
    node_id: int
    object_id: int


class S3Object(MetadataRecord, frozen=True, gc=False):
    """The state of an object. ``timestamp``: its deadline while PREPARED, else the time of its change of state."""

    TYPE = "S3_OBJECT_RECORD"
    object_id: int
    object_size: int
    object_state: ObjectState
    timestamp: int
    attributes: int = 0

    @property
    def KIND(self) -> str:  # type: ignore[override]  # noqa: N802 - the state decides it for this record
        """PREP, OBJ+ or OBJX."""
        return {ObjectState.PREPARED: "PREP", ObjectState.COMMITTED: "OBJ+"}.get(self.object_state, "OBJX")


class RemoveS3Object(MetadataRecord, frozen=True, gc=False):
    """An object is gone, also from the object store."""

    KIND, TYPE = "RMOBJ", "REMOVE_S3_OBJECT_RECORD"
    object_id: int


class AssignedS3ObjectId(MetadataRecord, frozen=True, gc=False):
    """The last object id that was given out."""

    KIND, TYPE = "AOID", "ASSIGNED_S3_OBJECT_ID_RECORD"
    assigned_s3_object_id: int


class NodeWALMetadata(MetadataRecord, frozen=True, gc=False):
    """The newest process of a node, and whether another node fails over for it."""

    KIND, TYPE = "NODEWAL", "NODE_WALMETADATA_RECORD"
    node_id: int
    node_epoch: int
    failover_mode: bool = False


class S3StreamEndOffsets(MetadataRecord, frozen=True, gc=False):
    """The committed ends of streams: one byte 1, then for each stream int64 id and int64 end, big-endian."""

    KIND, TYPE = "ENDOFF", "S3_STREAM_END_OFFSETS_RECORD"
    end_offsets: bytes


class UncommittedOffsets(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An entry: offsets of a stream that a node has to commit. start < end stores it, start == end removes it."""

    stream_id: int
    start_offset: int
    end_offset: int


class NodeWALUncommittedOffsets(MetadataRecord, frozen=True, gc=False):
    """Entries of a node. The node's entries of other streams stay unchanged."""

    KIND, TYPE = "UNC", "NODE_WALUNCOMMITTED_OFFSETS_RECORD"
    node_id: int
    entries: tuple[UncommittedOffsets, ...]


class KeyValue(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A key with its bytes."""

    key: str
    value: bytes


class KV(MetadataRecord, frozen=True, gc=False):
    """Keys with their values: node registrations, failover contexts, the meta streams of partitions."""

    KIND, TYPE = "KV", "KVRECORD"
    key_values: tuple[KeyValue, ...]


class RemoveKV(MetadataRecord, frozen=True, gc=False):
    """Keys are gone."""

    KIND, TYPE = "RMKV", "REMOVE_KVRECORD"
    keys: tuple[str, ...]


# Brokers, topics, partitions ------------------------------------------------------------------------------------


class BrokerRegistration(MetadataRecord, frozen=True, gc=False, tag="Broker"):
    """The registration of a broker. ``state`` is active, fenced, shutting_down or gone."""

    KIND, TYPE = "BROKER", "BROKER_REGISTRATION_CHANGE_RECORD"
    broker_id: int
    state: str


class Topic(MetadataRecord, frozen=True, gc=False):
    """A topic. A partition of an elastic topic has one replica, and its data in streams."""

    KIND, TYPE = "TOPIC", "TOPIC_RECORD"
    name: str
    elastic: bool = False


class Partition(MetadataRecord, frozen=True, gc=False):
    """The whole registration of a partition. ``original`` (CA-27) and ``marker`` (CA-41): None if none is pending."""

    KIND, TYPE = "PARTITION", "PARTITION_RECORD"
    topic: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    original: tuple[int, ...] | None = None
    marker: int | None = None


class PartitionChange(MetadataRecord, frozen=True, gc=False):
    """A change of a partition; a field that is None keeps its value. Each change raises the partition epoch. A change
    that writes the leader, even to the same node, also raises the leader epoch (reassignment.md 1).
    """

    KIND, TYPE = "PARTITION", "PARTITION_CHANGE_RECORD"
    topic: str
    partition: int
    isr: tuple[int, ...] | None = None
    leader: int | None = None
    replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    leader_recovery_state: int | None = None
    original: tuple[int, ...] | None = None
    """Stored if it is given; () clears it."""
    marker: int | None = None
    """Stored if it is given; -1 clears it."""


KINDS = (
    *(AssignedStreamId, S3Stream, RemoveS3Stream, Range, RemoveRange, S3StreamObject, RemoveS3StreamObject),
    *(S3StreamSetObject, RemoveStreamSetObject, S3Object, RemoveS3Object, AssignedS3ObjectId, NodeWALMetadata),
    *(S3StreamEndOffsets, NodeWALUncommittedOffsets, KV, RemoveKV, BrokerRegistration, Topic, Partition),
    PartitionChange,
)
"""All kinds of records."""
if TYPE_CHECKING:
    AnyRecord = MetadataRecord
else:
    AnyRecord = Union[KINDS]  # noqa: UP007 - the members are a tuple
    """The union of all kinds of records, for msgspec to decode."""

BY_TYPE: dict[str, type[MetadataRecord]] = {kind.TYPE: kind for kind in KINDS}


def pack_end_offsets(ends: dict[int, int]) -> bytes:
    """The bytes of S3StreamEndOffsets for the committed ends of streams, in the order of the dictionary."""
    return b"\x01" + b"".join(_PAIR.pack(stream, end) for stream, end in ends.items())


def unpack_end_offsets(data: bytes) -> dict[int, int]:
    """The committed ends of streams. Raises ValueError for bytes of another version or length."""
    if data[:1] != b"\x01" or (len(data) - 1) % _PAIR.size:
        raise ValueError(f"end offsets of {len(data)} bytes that begin with {data[:1]!r}; version 1 is known")
    return dict(_PAIR.iter_unpack(data[1:]))
