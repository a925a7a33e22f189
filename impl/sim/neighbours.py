"""Neighbours: others who use the same controllers, for nodes, streams, objects and partitions of their own.

The controllers serve more than the brokers of a run have to ask for: nodes that were never registered or that are
locked, objects that nobody commits, and partitions with lists of replicas, whose log is not in streams. A neighbour
asks for these, and for nothing that belongs to the brokers or to the clients of the run. So a run has to go on as if it
were not there. It hears no answer, and reads in the metadata what it has.
"""

from __future__ import annotations

from collections.abc import Iterator

from impl import wire
from impl.controller.commits import SetCommit, StreamCommit
from impl.controller.continuity import CommittedRange
from impl.controller.nodes import LOCK_TAG, has_opening, is_locked, stored_registration
from impl.controller.objects import InputTreatment
from impl.items import CloseItem, CreateItem, OpenItem
from impl.metadata.image import Image
from impl.records import ObjectState, Partition, StreamState, Tag
from impl.sim.cluster import ControllerCluster
from impl.sim.faults import NEIGHBOUR, TICK_MS
from impl.sim.queue import Queue
from impl.sim.strangers import Stranger
from impl.sim.tape import Draw, Tape, one, stream

LONER, LOCKED = 900, 901
"""Two nodes without a broker. The loner is not registered; the other one is, and is locked."""
EPOCH = 1
"""The node epoch of both."""
LISTS = "lists"
"""The topic whose partitions have lists of replicas."""
TAG = "neighbour"
"""The key of the tag that the streams of neighbours have. Its value is the node that is to own the stream."""
KEPT_MS = 1_000_000_000
"""How long a prepared object of a neighbour is kept, if it is to be committed. No other object is kept as long."""
STEPS = 5
"""How often a step toward an unclean cancel stands among the requests of a draw."""
MANY = 2_500
"""The number of objects that one request prepares, which is more than one round of deletion takes (OB-05)."""


class Neighbour:
    """The sender of these requests. It is no process of a broker."""

    name = "neighbour"


OUTSIDERS = (Stranger, Neighbour)
"""The senders that are neither brokers nor clients of the run. Their requests are in no log that a model judges."""


class Neighbours:
    """Decides every ``TICK_MS`` whether a neighbour sends a request."""

    def __init__(self, queue: Queue, tape: Tape, cluster: ControllerCluster) -> None:
        self._queue, self._tape, self._cluster = queue, tape, cluster
        self._sender = Neighbour()
        self._number = 0

    def begin(self) -> None:
        """Begin to decide."""
        fault = self._tape.site("neighbours", tuple(NEIGHBOUR)).decide(self._queue.now)
        leader = self._cluster.leader
        if fault is not None and leader is not None and leader.term is not None:
            draw = stream(int(fault.value * 2**53), "neighbour")
            self._tape.happened(fault)
            self._number += 1
            request = wire.Request(0, self._number, one(draw, list(_requests(leader.image, draw))))
            self._cluster.arrive(self._sender, self._cluster.home, request)
        if not self._tape.is_quiet:
            self._queue.at(self._queue.now + TICK_MS, self.begin)


def is_of_neighbour(image: Image, number: int) -> bool:
    """Whether a stream belongs to a neighbour."""
    return any(each.key == TAG for each in image.streams[number].tags)


def _requests(image: Image, draw: Draw) -> Iterator[wire.Body]:
    yield from _of_nodes(image)
    yield from _of_objects(image)
    for node, wanted in ((LONER, 2), (LOCKED, 1)):
        if node in image.nodes:
            yield from _of_streams(image, node, wanted)
    if image.brokers:
        yield from _of_lists(image, draw)


def _of_nodes(image: Image) -> Iterator[wire.Body]:
    for node in (LONER, LOCKED):
        if node not in image.nodes:
            yield wire.GetOpeningStreams(node, EPOCH)
    if stored_registration(image, LOCKED) is None:
        yield wire.RegisterNode(LOCKED, EPOCH, tags={LOCK_TAG: "OPEN"})
    elif not has_opening(image, LOCKED):
        yield wire.UnregisterNode(LOCKED)


# Objects ----------------------------------------------------------------------------------------------------------


def _of_objects(image: Image) -> Iterator[wire.Body]:
    """Objects that expire at once, and some that are to be committed."""
    yield wire.PrepareObjects(1, 1)
    if len(image.objects) < MANY:
        yield wire.PrepareObjects(MANY, 1)
    if len(_prepared(image)) < 3:
        yield wire.PrepareObjects(3, KEPT_MS)


def _prepared(image: Image) -> list[int]:
    """The objects that a neighbour has prepared to commit them."""
    rows = sorted(image.objects.items())
    return [number for number, row in rows if row.state is ObjectState.PREPARED and row.timestamp >= KEPT_MS]


# Streams ----------------------------------------------------------------------------------------------------------


def _of_streams(image: Image, node: int, wanted: int) -> Iterator[wire.Body]:
    """The life of the streams of a node, which are written by nobody."""
    own = [number for number, row in sorted(image.streams.items()) if Tag(TAG, str(node)) in row.tags]
    if len(own) < wanted:
        yield wire.CreateStreams(node, EPOCH, (CreateItem((Tag(TAG, str(node)),)),))
    for number in own:
        row = image.streams[number]
        if row.state is StreamState.OPENED:
            yield wire.CloseStreams(node, EPOCH, (CloseItem(number, row.epoch),))
        else:
            yield wire.OpenStreams(node, EPOCH, (OpenItem(number, row.epoch + 1),))
            if is_locked(image, node) and row.epoch >= 0 and LONER in image.nodes:
                yield wire.OpenStreams(LONER, EPOCH, (OpenItem(number, row.epoch + 1),))
    if node == LONER and len(own) == wanted:
        yield from _of_stream_objects(image, *own)


def _of_stream_objects(image: Image, first: int, second: int) -> Iterator[wire.Body]:
    """Objects of both streams of the loner, and the deletion of the second one."""
    prepared = _prepared(image)
    if prepared:
        new, row = prepared[0], image.streams[first]
        for number in (first, second):
            yield wire.CommitStreamObject(StreamCommit(LONER, EPOCH, new, 8, number, -1, 0, 1))
        for number in (first, second):
            for old in sorted(image.stream_objects.get(number, {}))[:1]:
                kept = (InputTreatment.KEEP_DATA,)
                # An object of the first stream keeps the data. It may be an object of the second stream, too: nobody
                # checks that.
                yield wire.CommitStreamObject(
                    StreamCommit(LONER, EPOCH, new, 8, first, -1, 0, 1, (old,), 0, kept if number == first else ())
                )
        if row.state is StreamState.OPENED:
            ranges = (CommittedRange(first, row.end, row.end + 1),)
            yield wire.CommitStreamSetObject(SetCommit(LONER, EPOCH, new, new, 8, ranges=ranges))
    if image.streams[second].state is StreamState.CLOSED:
        yield wire.DeleteStreams(LONER, EPOCH, (second,))


# Partitions -------------------------------------------------------------------------------------------------------


def _of_lists(image: Image, draw: Draw) -> Iterator[wire.Body]:
    """Moves, cancels, elections and changes of the ISR of partitions with lists of replicas."""
    brokers = sorted(image.brokers)
    if LISTS not in image.topics:
        if all(state == "active" for state in image.brokers.values()):
            yield wire.CreateTopic(LISTS, (tuple(brokers), tuple(brokers[:1])))
        return
    number = int(draw() * 2)
    row = image.partitions[LISTS, number]
    for _ in range(STEPS):
        yield _toward_unclean(row, brokers)
    yield wire.AlterReassignments({LISTS: {number: _some(draw, brokers)}})
    yield wire.AlterReassignments({LISTS: {number: None}})
    yield wire.ElectLeader(LISTS, number, "unclean")
    yield wire.ElectLeader(LISTS, number)
    yield from _of_isr(row, draw)


def _toward_unclean(row: Partition, brokers: list[int]) -> wire.Body:
    """The next step to a cancel with none of the original replicas in sync, which seldom comes by chance."""
    topic, number, added = row.topic, row.partition, row.adding_replicas
    ready = [each for each in added if each in row.isr]
    if not added:
        others = tuple(each for each in brokers if each not in row.replicas)
        return wire.AlterReassignments({topic: {number: others or row.replicas[:1]}})
    if not ready:
        # Only one of them, so that the move goes on.
        return wire.AlterPartition(topic, number, row.leader, (*row.isr, row.replicas[0]))
    if row.leader not in ready:
        return wire.ElectLeader(topic, number)
    if len(ready) < len(row.isr):
        return wire.AlterPartition(topic, number, row.leader, tuple(ready))
    return wire.AlterReassignments({topic: {number: None}})


def _of_isr(row: Partition, draw: Draw) -> Iterator[wire.Body]:
    """Requests of a leader: all replicas are in sync, some are, only the leader is, or it is not itself."""
    others = tuple(each for each in row.replicas if each != row.leader)
    if row.leader >= 0:
        for isr in (row.replicas, (row.leader, *_some(draw, others)), (row.leader,), others):
            if isr:
                yield wire.AlterPartition(LISTS, row.partition, row.leader, isr)


def _some(draw: Draw, brokers: tuple[int, ...] | list[int]) -> tuple[int, ...]:
    """Some brokers in a drawn order, at least one."""
    left = list(brokers)
    found: list[int] = []
    while left and (not found or draw() < 0.6):
        found.append(left.pop(int(draw() * len(left))))
    return tuple(found)
