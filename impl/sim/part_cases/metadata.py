"""Random metadata for a controller. Most rows fit each other, and some do not, as in metadata of another version."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from impl import records as r
from impl.records import MetadataRecord, ObjectState, StreamState
from impl.sim.tape import Draw, one

NODES, STREAMS, OBJECTS = (0, 1, 2), (0, 1, 2, 3), range(10)
ELASTIC, LISTS = "elastic", "lists"
"""The topics: one whose partitions have one replica, and one with lists of replicas."""
PARTITIONS = (0, 1)
ODD = 0.08
"""The probability that a row does not fit the others."""
SECOND_MS = 1_000
START_MS = 100_000
"""The time of the metadata. Processes have started before."""
_SPAN = 5


def random_metadata(draw: Draw) -> tuple[MetadataRecord, ...]:
    """The records of random metadata, in an order in which they can be applied."""
    return tuple(_records(draw))


def _records(draw: Draw) -> Iterator[MetadataRecord]:
    for node in NODES:
        yield r.BrokerRegistration(node, one(draw, ("active", "active", "fenced", "shutting_down", "gone")))
        if draw() < 0.9:
            yield r.NodeWALMetadata(node, some_epoch(draw), failover_mode=draw() < 0.1)
        if draw() < 0.85:
            yield _registered(draw, node)
    yield r.AssignedStreamId(STREAMS[-1])
    yield r.AssignedS3ObjectId(OBJECTS[-1])
    for number in OBJECTS:
        if draw() > ODD:
            state = one(draw, (ObjectState.PREPARED, ObjectState.COMMITTED, ObjectState.MARK_DESTROYED))
            yield r.S3Object(number, 1, state, START_MS + int((draw() - 0.5) * 60 * SECOND_MS))
    for stream in STREAMS:
        if draw() > ODD:
            yield from _stream(draw, stream)
    for number in OBJECTS:
        if draw() < 0.5:
            yield _set_object(draw, number)
    for topic in (ELASTIC, LISTS):
        if draw() > ODD:
            yield from _topic(draw, topic)


def some_epoch(draw: Draw) -> int:
    """The epoch of a process: the time at which it started, in milliseconds."""
    return START_MS - int(draw() * 4) * 30 * SECOND_MS


def some_state(draw: Draw) -> str:
    """The state of a broker."""
    return one(draw, ("active", "fenced", "shutting_down", "gone"))


def _registered(draw: Draw, node: int) -> MetadataRecord:
    tags = {"CIRCUIT_BREAKER": one(draw, ("OPEN", "OPEN", "CLOSED"))} if draw() < 0.4 else {}
    row = {"i": node, "e": some_epoch(draw), "w": "", "t": tags}
    return r.KV((r.KeyValue(f"__automq_node/{node}", json.dumps(row).encode()),))


def tags_of(topic: str, partition: int) -> tuple[r.Tag, ...]:
    """The tags of a stream of a partition."""
    return r.Tag(r.TOPIC_TAG, topic), r.Tag(r.PARTITION_TAG, str(partition))


def _stream(draw: Draw, stream: int) -> Iterator[MetadataRecord]:
    """A stream with its ranges, from the oldest on, its objects, and what its former owners still have to commit."""
    index = int(draw() * 4) - 1
    bounds = sorted(int(draw() * _SPAN * 4) for _ in range(index + 2)) if index >= 0 else [0, 0]
    tags = tags_of(ELASTIC, stream % 2) if draw() < 0.7 else ()
    opened = index >= 0 and draw() < 0.6
    state = StreamState.OPENED if opened or draw() < ODD else StreamState.CLOSED
    start = int(draw() * (bounds[-1] + 1)) if draw() < 0.3 else bounds[0]
    yield r.S3Stream(stream, max(index, 0), index, start, state, tags)
    node, sealed = one(draw, NODES), list[tuple[int, int, int]]()
    for number in range(index + 1):
        begin, end, is_newest = bounds[number], bounds[number + 1], number == index
        if number and draw() < 0.2:  # Once more the range before.
            begin, end = bounds[number - 1], bounds[number]
        else:
            node = one(draw, NODES)
        if draw() > ODD:
            # The end of the newest range is that at its open, or the one of a fast close.
            yield r.Range(stream, number, number, begin, begin if is_newest and opened else end, node)
            sealed.append((node, begin, end))
    committed = int(draw() * (bounds[-1] + 1)) if draw() < 0.4 else bounds[-1]
    if draw() < 0.7:
        yield r.S3StreamObject(stream, bounds[0], committed, one(draw, OBJECTS))
    for node in NODES:
        ranges = [(begin, end) for owner, begin, end in sealed if owner == node]
        if ranges and draw() < 0.4:
            begin, end = one(draw, ranges)
            begin += int(draw() * (end - begin))
        else:
            begin, end = committed, bounds[-1] + (int(draw() * 6) if draw() < 0.3 else 0)
        if draw() < 0.4:
            yield r.NodeWALUncommittedOffsets(node, (r.UncommittedOffsets(stream, begin, end),))


def _set_object(draw: Draw, number: int) -> MetadataRecord:
    ranges = [(one(draw, STREAMS), int(draw() * 20)) for _ in range(1 + int(draw() * 2))]
    packed = b"\x01" + b"".join(
        each.to_bytes(8, "big") for stream, begin in ranges for each in (stream, begin, begin + _SPAN)
    )
    return r.S3StreamSetObject(one(draw, NODES), number, int(draw() * 5), START_MS - int(draw() * 1000), packed)


def _topic(draw: Draw, topic: str) -> Iterator[MetadataRecord]:
    yield r.Topic(topic, elastic=topic == ELASTIC)
    for partition in PARTITIONS:
        if draw() > ODD:
            yield (_elastic if topic == ELASTIC else _with_list)(draw, topic, partition)


def some_replicas(draw: Draw, topic: str) -> tuple[int, ...]:
    """A list of replicas: of one broker, mostly, for an elastic partition."""
    if (topic == ELASTIC) == (draw() > ODD):
        return (one(draw, NODES),)
    return tuple(dict.fromkeys(one(draw, (*NODES, 3) if draw() < ODD else NODES) for _ in range(1 + int(draw() * 3))))


def _elastic(draw: Draw, topic: str, partition: int) -> r.Partition:
    broker, epoch = one(draw, NODES), int(draw() * 3)
    row = r.Partition(topic, partition, (broker,), (broker,), broker, epoch, epoch)
    if draw() < 0.5:
        others = [node for node in NODES if node != broker]
        origin = None if draw() < ODD else (one(draw, others),)
        # A leader ends the move, and with it the mark of its origin (CA-41).
        return msgspec.structs.replace(row, leader=-1, original=origin, marker=int(draw() * (epoch + 1)))
    return row


def _with_list(draw: Draw, topic: str, partition: int) -> r.Partition:
    replicas = some_replicas(draw, topic)
    isr = tuple(each for each in replicas if draw() < 0.7) or replicas[:1]
    row = r.Partition(topic, partition, replicas, isr, one(draw, isr), int(draw() * 3), int(draw() * 3))
    if draw() < 0.6:
        adding = tuple(sorted(each for each in replicas if draw() < 0.5))
        removing = tuple(sorted(each for each in replicas if each not in adding and draw() < 0.5))
        if adding or removing:
            kept = tuple(each for each in replicas if each not in adding)
            original = kept if kept and draw() < 0.8 else None
            return msgspec.structs.replace(row, adding_replicas=adding, removing_replicas=removing, original=original)
    return row
