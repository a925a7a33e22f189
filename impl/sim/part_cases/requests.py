"""Random requests to a controller, about the rows that random metadata have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from impl import wire
from impl.controller.commits import CommittedObject, SetCommit, StreamCommit
from impl.controller.continuity import CommittedRange
from impl.controller.objects import InputTreatment
from impl.items import CloseItem, CreateItem, OpenItem, TrimItem
from impl.metadata.image import Image
from impl.sim.part_cases.metadata import (
    ELASTIC,
    LISTS,
    NODES,
    OBJECTS,
    PARTITIONS,
    STREAMS,
    some_epoch,
    some_replicas,
    some_state,
    tags_of,
)
from impl.sim.tape import Draw, one

FITS = 0.8
"""The probability that a part of a request is as the metadata have it."""


def random_request(draw: Draw, image: Image) -> wire.Body:
    """A request. Most of its parts fit the metadata."""
    return one(draw, _MAKERS)(draw, image)


def _sender(draw: Draw, image: Image) -> tuple[int, int]:
    """A node and its epoch."""
    node = one(draw, NODES)
    row = image.nodes.get(node)
    return node, row.epoch if row is not None and draw() < FITS else some_epoch(draw)


def _epoch(draw: Draw, image: Image, stream: int) -> int:
    """The epoch of a stream, or one that is near."""
    row = image.streams.get(stream)
    return (0 if row is None else row.epoch) + (0 if draw() < FITS else one(draw, (-1, 1)))


def _offset(draw: Draw, image: Image, stream: int) -> int:
    """An offset of a stream: its start, its end, an end of what a node has to commit, or any."""
    row = image.streams.get(stream)
    known = [] if row is None else [row.start, row.end]
    for entries in image.entries.values():
        if stream in entries:
            known += [entries[stream].start, entries[stream].to]
    return one(draw, known) if known and draw() < FITS else int(draw() * 22)


def _owner_of(draw: Draw, image: Image, stream: int) -> tuple[int, int]:
    """The node that owns a stream, mostly, and its epoch."""
    newest = image.current_range(stream)
    if newest is None or draw() > FITS:
        return _sender(draw, image)
    row = image.nodes.get(newest.node)
    return newest.node, some_epoch(draw) if row is None else row.epoch


def _get_opening(draw: Draw, image: Image) -> wire.Body:
    return wire.GetOpeningStreams(*_sender(draw, image), failover=draw() < 0.2)


def _create(draw: Draw, image: Image) -> wire.Body:
    tags = tags_of(ELASTIC, one(draw, PARTITIONS)) if draw() < 0.5 else ()
    return wire.CreateStreams(*_sender(draw, image), (CreateItem(tags),))


def _open(draw: Draw, image: Image) -> wire.Body:
    stream = one(draw, STREAMS)
    tags = tags_of(ELASTIC, one(draw, PARTITIONS)) if draw() < 0.5 else ()
    item = OpenItem(stream, _epoch(draw, image, stream) + one(draw, (0, 1, 1)), tags)
    return wire.OpenStreams(*_sender(draw, image), (item,))


def _close(draw: Draw, image: Image) -> wire.Body:
    stream = one(draw, STREAMS)
    end = -1 if draw() < 0.3 else _offset(draw, image, stream) + one(draw, (0, 0, 3))
    item = CloseItem(stream, _epoch(draw, image, stream), end)
    return wire.CloseStreams(*_owner_of(draw, image, stream), (item,))


def _trim(draw: Draw, image: Image) -> wire.Body:
    stream = one(draw, STREAMS)
    item = TrimItem(stream, _epoch(draw, image, stream), _offset(draw, image, stream))
    return wire.TrimStreams(*_owner_of(draw, image, stream), (item,))


def _delete(draw: Draw, image: Image) -> wire.Body:
    return wire.DeleteStreams(*_sender(draw, image), (one(draw, STREAMS),))


def _describe(draw: Draw, _: Image) -> wire.Body:
    how = draw()
    if how < 0.3:
        return wire.DescribeStreams(stream=one(draw, STREAMS))
    if how < 0.6:
        return wire.DescribeStreams(node=one(draw, NODES))
    return wire.DescribeStreams(topic=ELASTIC, partition=one(draw, PARTITIONS)) if how < 0.9 else wire.DescribeStreams()


def _prepare(draw: Draw, _: Image) -> wire.Body:
    return wire.PrepareObjects(1 + int(draw() * 3), int(draw() * 60_000))


def _commit_set(draw: Draw, image: Image) -> wire.Body:
    """An upload of some streams, or a compaction of objects of the node."""
    node, epoch = _sender(draw, image)
    streams = [one(draw, STREAMS) for _ in range(1 + int(draw() * 2))]
    held = sorted(image.set_objects.get(node, {}))
    output = -1 if draw() < 0.1 else one(draw, OBJECTS)
    compacted = _inputs(draw, held, output) if draw() < 0.4 else ()
    others = [each for each in OBJECTS if each != output and each not in compacted]
    return wire.CommitStreamSetObject(
        SetCommit(
            node,
            epoch,
            output,
            order=one(draw, (-1, 3)),
            failover=draw() < 0.2,
            ranges=() if compacted else tuple(_committed(draw, image, stream) for stream in dict.fromkeys(streams)),
            stream_objects=tuple(
                CommittedObject(one(draw, others), each.stream, each.start, each.end)
                for each in (_committed(draw, image, one(draw, STREAMS)),)
                if draw() < 0.3
            ),
            compacted=compacted,
        )
    )


def _inputs(draw: Draw, held: Sequence[int], output: int) -> tuple[int, ...]:
    """The inputs of a compaction: the output itself, to change its attributes, or up to two other objects."""
    if draw() < 0.1:
        return (output,)
    others = [one(draw, held if held and draw() < FITS else OBJECTS) for _ in range(2)]
    return tuple(dict.fromkeys(each for each in others if each != output))


def _committed(draw: Draw, image: Image, stream: int) -> CommittedRange:
    entries = [each[stream] for each in image.entries.values() if stream in each]
    if entries and draw() < 0.4:
        entry = one(draw, entries)
        return CommittedRange(stream, entry.start, entry.to)
    start = _offset(draw, image, stream)
    end = _offset(draw, image, stream)
    return CommittedRange(stream, start, end if end > start else start + 1 + int(draw() * 4))


def _commit_stream(draw: Draw, image: Image) -> wire.Body:
    stream = one(draw, STREAMS)
    held = sorted(image.stream_objects.get(stream, {}))
    output = one(draw, OBJECTS)
    sources = _inputs(draw, held, output)
    start = _offset(draw, image, stream)
    node, node_epoch = _owner_of(draw, image, stream)
    epoch = -1 if draw() < 0.2 else _epoch(draw, image, stream)
    return wire.CommitStreamObject(
        StreamCommit(
            node, node_epoch, output, 1, stream, epoch, start, start + 2,
            sources, 0, tuple(one(draw, tuple(InputTreatment)) for _ in sources),
        )
    )  # fmt: skip


def _register(draw: Draw, _: Image) -> wire.Body:
    return wire.RegisterNode(one(draw, NODES), some_epoch(draw), "wal", {"a": "b"} if draw() < 0.5 else {})


def _unregister(draw: Draw, _: Image) -> wire.Body:
    return wire.UnregisterNode(one(draw, NODES))


def _set_broker(draw: Draw, _: Image) -> wire.Body:
    return wire.SetBroker(one(draw, NODES), some_state(draw))


def _heartbeat(draw: Draw, _: Image) -> wire.Body:
    return wire.Heartbeat(one(draw, NODES))


def _create_topic(draw: Draw, _: Image) -> wire.Body:
    topic = one(draw, ("new", ELASTIC, LISTS))
    elastic = draw() < 0.5
    replicas = tuple(some_replicas(draw, ELASTIC if elastic else LISTS) for _ in range(2))
    if draw() < 0.1:
        replicas = (one(draw, ((), (0, 0))), *replicas)
    return wire.CreateTopic(topic, replicas, elastic)


def _reassign(draw: Draw, _: Image) -> wire.Body:
    topic = one(draw, (ELASTIC, LISTS, LISTS, "none"))
    rows = {partition: None if draw() < 0.5 else some_replicas(draw, topic) for partition in PARTITIONS if draw() < 0.7}
    return wire.AlterReassignments({topic: rows or {0: None}})


def _alter_partition(draw: Draw, image: Image) -> wire.Body:
    topic, partition = one(draw, (ELASTIC, LISTS, LISTS)), one(draw, PARTITIONS)
    row = image.partitions.get((topic, partition))
    sender, isr = one(draw, NODES), some_replicas(draw, topic)
    if row is not None and draw() < FITS:
        sender = row.leader
        isr = tuple(each for each in row.replicas if each == sender or draw() < 0.7) or isr
    near = None if row is None or draw() < FITS else row.leader_epoch + one(draw, (-1, 1))
    version = one(draw, (1, 3))
    return wire.AlterPartition(topic, partition, sender, isr, near, None, version, one(draw, (None, None, 0, 1, 2)))


def _elect(draw: Draw, _: Image) -> wire.Body:
    topic = one(draw, (ELASTIC, LISTS))
    return wire.ElectLeader(topic, one(draw, PARTITIONS), one(draw, ("preferred", "unclean")))


_MAKERS: tuple[Callable[[Draw, Image], wire.Body], ...] = (
    *(_get_opening, _create, _open, _open, _close, _trim, _delete, _describe, _prepare, _commit_set, _commit_set),
    *(
        _commit_set,
        _commit_stream,
        _register,
        _unregister,
        _set_broker,
        _set_broker,
        _heartbeat,
        _create_topic,
        _reassign,
        _reassign,
    ),
    *(_alter_partition, _elect),
)
