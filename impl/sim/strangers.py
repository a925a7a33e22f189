"""Strangers: programs that send controllers and brokers a request which nobody should have sent.

A process that everybody takes for dead, an old tool, an operator with a wrong list: any of them may ask for anything at
any time, and the models let them. Here a stranger knows the metadata, and asks for something that the rules refuse, or
that changes nothing. So a run with strangers has to go on as if they were not there.

It waits for no answer. But a broker must refuse each of its commands, and a controller each request that names what
never exists, whatever the state is: an oracle objects to any other answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from impl import wire
from impl.broker.messages import Append, Command, CommandAnswer, CommandBody, Fetch, Trim
from impl.controller.commits import SetCommit, StreamCommit
from impl.controller.continuity import CommittedRange
from impl.controller.nodes import has_opening, owner_of, stored_registration
from impl.errors import E
from impl.items import CloseItem, OpenItem, TrimItem
from impl.metadata.image import Image, StreamRange
from impl.records import ObjectState, StreamState
from impl.sim.cluster import ControllerCluster
from impl.sim.faults import STRANGER, TICK_MS
from impl.sim.partitions.metadata import TOPIC
from impl.sim.queue import Queue
from impl.sim.tape import Draw, Tape, one, stream

NOBODY = 1_000
"""The number of a node, a partition, a stream or an object that does not exist."""
ABSENT = 1_000_000
TO_BROKERS, SEIZED = 0.15, 0.3
"""The share of requests that go to a broker, and the share that asks for what can be asked for seldom, if it can."""
IDS = frozenset(
    ("node", "stream", "object", "compacted", "sources", "topics", "partition", "partitions", "isr", "broker")
)
"""The fields of requests that have ids."""
BELOW = 0.5
"""Of the fetches beyond what is there, the share that begins below every start instead."""


class Stranger:
    """The sender of these requests. It is no process of a broker."""

    name = "stranger"


Tell = Callable[[int, Command], None]
"""Sends a command to the newest process of a node, which may be dead."""


class Strangers:
    """Decides every ``TICK_MS`` whether a stranger sends a request."""

    def __init__(self, queue: Queue, tape: Tape, cluster: ControllerCluster, tell: Tell) -> None:
        self._queue, self._tape, self._cluster, self._tell = queue, tape, cluster, tell
        self._sender = Stranger()
        self._number = 0
        self._sent: dict[int, CommandBody | wire.Body] = {}
        """The commands and requests, by number."""
        self.taken: list[str] = []
        """Those that had to be refused and were not, in words."""

    def begin(self) -> None:
        """Begin to decide."""
        fault = self._tape.site("strangers", tuple(STRANGER)).decide(self._queue.now)
        leader = self._cluster.leader
        if fault is not None and leader is not None and leader.term is not None:
            self._number += 1
            self._tape.happened(fault)
            seed = int(fault.value * 2**53)
            self._ask(leader.image, stream(seed, "stranger"), stream(seed, "stranger's choice"))
        if not self._tape.is_quiet:
            self._queue.at(self._queue.now + TICK_MS, self.begin)

    def _ask(self, image: Image, draw: Draw, choice: Draw) -> None:
        """Ask a broker, or a controller. A sequence of its own decides which, and for which kind of thing."""
        chosen = choice()
        commands = list(_commands(image, choice)) if chosen < TO_BROKERS else []
        if commands:
            node, body = one(choice, commands)
            if isinstance(body, Fetch) and body.end == ABSENT and choice() < BELOW:
                body = Fetch(body.stream, -1, 0)
            self._sent[self._number] = body
            self._tell(node, Command(NOBODY, self._number, body))
            return
        seldom = list(_seldom(image)) if chosen < TO_BROKERS + SEIZED else []
        body_of_controller = one(choice, seldom) if seldom else one(draw, list(_requests(image, draw)))
        self._sent[self._number] = body_of_controller
        request = wire.Request(0, self._number, body_of_controller)
        self._cluster.arrive(self._sender, self._cluster.home, request)

    def answered(self, broker: str, done: CommandAnswer) -> None:
        """Take the answer of a broker. A timeout says that it has tried."""
        if done.error in (E.NONE, E.REQUEST_TIMED_OUT):
            self.taken.append(f"{broker} answers {done.error.name} to a stranger's {self._sent[done.id]}")

    def replied(self, reply: wire.Reply) -> None:
        """Take the answer of a controller."""
        body = self._sent[reply.id]
        if is_taken(body, reply.answers):
            self.taken.append(f"a controller does not refuse a stranger's {body}")


def is_taken(body: object, answers: Sequence[wire.ItemAnswer]) -> bool:
    """Whether a controller has not refused a request that names what never exists."""
    # A stream that is gone may be deleted again.
    if isinstance(body, wire.DeleteStreams) or not _names_absent(msgspec.to_builtins(body)):
        return False
    # The answer to a reassignment has an error for each partition.
    rows = [each.values.get("rows") or {"": each.error.name} for each in answers if each.error is E.NONE]
    return any(E.NONE.name in each.values() for each in rows)


def _names_absent(value: object, *, is_id: bool = False) -> bool:
    """Whether a message names a node, a partition, a stream or an object that never exists.

    Only fields with ids count: an offset or an epoch may be the same number.
    """
    match value:
        case dict():
            named = ((key, is_id or key in IDS, each) for key, each in value.items())
            return any((is_id and key == NOBODY) or _names_absent(each, is_id=of_id) for key, of_id, each in named)
        case list() | tuple():
            return any(_names_absent(each, is_id=is_id) for each in value)
    return is_id and value in (NOBODY, ABSENT)


def _commands(image: Image, draw: Draw) -> Iterator[tuple[int, CommandBody]]:
    """Commands to the owner of a stream that no client may give: for no record, or beyond what is there."""
    owned = [each for each in sorted(image.streams) if image.current_range(each) is not None]
    if not owned:
        return
    number = one(draw, owned)
    owner, begin = owner_of(image, number), image.streams[number].start
    yield owner, Append(number, 0, b"")
    yield owner, Fetch(number, begin + 1, begin)
    yield owner, Fetch(number, begin, ABSENT)
    yield owner, Trim(number, ABSENT)


def _seldom(image: Image) -> Iterator[wire.Body]:
    """Requests that are possible for a moment only: opens of a stream whose seal its owner still has to commit.

    One open has the next epoch (ST-15), the other the epoch of the stream (ST-22).
    """
    for number in sorted(image.streams):
        owner, row = owner_of(image, number), image.streams[number]
        if row.state is StreamState.CLOSED and image.active_entry(owner, number) is not None:
            yield wire.OpenStreams(owner, _epoch(image, owner), (OpenItem(number, row.epoch + 1),))
            yield wire.OpenStreams(owner, _epoch(image, owner), (OpenItem(number, row.epoch),))


def _requests(image: Image, draw: Draw) -> Iterator[wire.Body]:
    """Requests about one node and one stream, of which the rules refuse each that would change something."""
    yield wire.DescribeStreams()
    yield wire.DeleteStreams(NOBODY, 0, (ABSENT,))
    yield from _of_topics()
    if image.partitions:
        yield from _of_partition(image, draw)
    if image.nodes:
        node = one(draw, sorted(image.nodes))
        yield from _of_node(image, node)
        owned = [each for each in sorted(image.streams) if image.current_range(each) is not None]
        unopened = [each for each in sorted(image.streams) if image.current_range(each) is None]
        if unopened:
            epoch, row = image.nodes[node].epoch, image.streams[unopened[0]]
            yield wire.OpenStreams(node, epoch, (OpenItem(unopened[0], row.epoch),))
            yield wire.CloseStreams(node, epoch, (CloseItem(unopened[0], row.epoch),))
        if owned:
            chosen = one(draw, owned)
            current = image.current_range(chosen)
            assert current is not None, "the stream has an owner"
            yield from _of_stream(image, node, chosen, current)


def _of_node(image: Image, node: int) -> Iterator[wire.Body]:
    epoch = image.nodes[node].epoch
    yield wire.GetOpeningStreams(node, epoch - 1)
    stored = stored_registration(image, node)
    if stored is not None and stored.epoch:
        yield wire.RegisterNode(node, stored.epoch - 1)
    if has_opening(image, node):
        yield wire.UnregisterNode(node)
    yield wire.OpenStreams(node, epoch, (OpenItem(ABSENT, 1),))
    yield wire.CloseStreams(node, epoch, (CloseItem(ABSENT, 1),))
    yield from _of_objects(image, node, epoch)


def _of_objects(image: Image, node: int, epoch: int) -> Iterator[wire.Body]:
    """Commits of objects in a wrong state, and compactions of objects that are not there."""
    held = [each for other, objects in sorted(image.set_objects.items()) if other != node for each in sorted(objects)]
    compacted = [(ABSENT,), (held[0],) if held else ()]
    for number in (ABSENT, *_first_in(image, ObjectState.MARK_DESTROYED)):
        yield wire.CommitStreamSetObject(SetCommit(node, epoch, number, 0))
        yield wire.CommitStreamObject(StreamCommit(node, epoch, number, 0, ABSENT, -1, 0, 1))
    for number in (ABSENT, *_first_in(image, ObjectState.PREPARED)):
        yield wire.CommitStreamSetObject(SetCommit(node, epoch, number, 0, compacted=(number,)))
        yield wire.CommitStreamObject(StreamCommit(node, epoch, number, 0, ABSENT, -1, 0, 1, (number,)))
    for sources in filter(None, compacted):
        yield wire.CommitStreamSetObject(SetCommit(node, epoch, -1, 0, compacted=sources))
    yield wire.CommitStreamObject(StreamCommit(node, epoch, -1, 0, ABSENT, -1, 0, 1, (ABSENT,)))


def _first_in(image: Image, state: ObjectState) -> list[int]:
    return [number for number, row in sorted(image.objects.items()) if row.state is state][:1]


def _of_stream(image: Image, node: int, number: int, current: StreamRange) -> Iterator[wire.Body]:
    row, owner = image.streams[number], owner_of(image, number)
    epoch = image.nodes[node].epoch
    is_open = row.state is StreamState.OPENED
    yield wire.OpenStreams(NOBODY, epoch, (OpenItem(number, row.epoch + 1),))
    yield wire.OpenStreams(node, epoch - 1, (OpenItem(number, row.epoch + 1),))
    yield wire.OpenStreams(node, epoch, (OpenItem(number, row.epoch - 1),))
    if is_open:
        yield wire.OpenStreams(node, epoch, (OpenItem(number, row.epoch + 1),))
        yield wire.DeleteStreams(node, epoch, (number,))
    if node != owner:
        yield wire.OpenStreams(node, epoch, (OpenItem(number, row.epoch),))
        yield wire.CloseStreams(node, epoch, (CloseItem(number, row.epoch),))
        yield wire.TrimStreams(node, epoch, (TrimItem(number, row.epoch, row.end),))
    for other in (row.epoch - 1, row.epoch + 1):
        yield wire.CloseStreams(owner, _epoch(image, owner), (CloseItem(number, other),))
        yield wire.TrimStreams(owner, _epoch(image, owner), (TrimItem(number, other, row.end),))
        yield wire.CommitStreamObject(StreamCommit(owner, _epoch(image, owner), -1, 0, number, other, 0, 1))
    yield wire.TrimStreams(owner, _epoch(image, owner), (TrimItem(number, row.epoch, row.start - 1),))
    yield wire.TrimStreams(owner, _epoch(image, owner), (TrimItem(number, row.epoch, row.start),))
    if not is_open:
        yield wire.TrimStreams(owner, _epoch(image, owner), (TrimItem(number, row.epoch, row.end + 1),))
        yield wire.CloseStreams(owner, _epoch(image, owner), (CloseItem(number, row.epoch, current.end + 1),))
    elif row.end:
        yield wire.CloseStreams(owner, _epoch(image, owner), (CloseItem(number, row.epoch, row.end - 1),))
    if image.active_entry(owner, number) is not None:
        for same_or_next in (row.epoch, row.epoch + 1):
            yield wire.OpenStreams(owner, _epoch(image, owner), (OpenItem(number, same_or_next),))
    yield from _commits(image, node, number)
    yield from _commits(image, owner, number)


def _epoch(image: Image, node: int) -> int:
    """The node epoch that the controllers have of a node."""
    return image.nodes[node].epoch if node in image.nodes else 0


def _commits(image: Image, node: int, number: int) -> Iterator[wire.Body]:
    """Commits of ranges that do not continue what is committed. No object belongs to them."""
    row, epoch = image.streams[number], _epoch(image, node)
    entry = image.active_entry(node, number)
    starts = [row.end + 1, row.end - 1] if entry is None else [entry.start + 1, entry.start]
    ends = [start + 1 for start in starts] if entry is None else [entry.to, entry.to + 1]
    for start, end in zip(starts, ends, strict=True):
        if row.start < end and start < end:
            ranges = (CommittedRange(number, start, end),)
            yield wire.CommitStreamSetObject(SetCommit(node, epoch, -1, 0, ranges=ranges))


def _of_topics() -> Iterator[wire.Body]:
    """Topics with wrong lists of brokers, and requests about partitions that do not exist."""
    lists: tuple[tuple[tuple[int, ...], bool], ...] = (((), True), ((1, 2), True), ((1, 1), False), ((NOBODY,), True))
    for brokers, elastic in lists:
        yield wire.CreateTopic("stranger", (brokers,), elastic)
    yield wire.AlterReassignments({TOPIC: {NOBODY: (1,)}})
    yield wire.ElectLeader(TOPIC, NOBODY)
    yield wire.RenewEpoch(1, ABSENT, TOPIC, NOBODY, 0)
    yield wire.AlterPartition(TOPIC, NOBODY, 1, (1,))
    yield wire.AlterPartition("stranger", 0, 1, (1,))


def _of_partition(image: Image, draw: Draw) -> Iterator[wire.Body]:
    """Moves, elections and changes of the ISR that are not possible now."""
    (topic, number), row = one(draw, sorted(image.partitions.items()))
    wrong: list[tuple[int, ...]] = [(), (1, 2), (NOBODY,)]
    wrong += [(broker,) for broker, state in sorted(image.brokers.items()) if state == "fenced"]
    yield from (wire.AlterReassignments({topic: {number: brokers}}) for brokers in wrong)
    if row.marker is None and not row.original:
        yield wire.AlterReassignments({topic: {number: None}})
    if row.leader < 0 and not any(image.brokers.get(broker) in ("active", "shutting_down") for broker in row.replicas):
        yield wire.ElectLeader(topic, number)
        yield wire.ElectLeader(topic, number, "unclean")
    if row.leader >= 0:
        yield wire.ElectLeader(topic, number, "unclean")
        others = [broker for broker in sorted(image.brokers) if broker != row.leader] or [NOBODY]
        yield wire.AlterPartition(topic, number, row.leader, (row.leader, others[0]))
        yield wire.AlterPartition(topic, number, others[0], (row.leader,))
        yield wire.AlterPartition(topic, number, row.leader, (others[0],))
        for add in (-1, 1):
            yield wire.AlterPartition(topic, number, row.leader, (row.leader,), row.leader_epoch + add)
            yield wire.AlterPartition(topic, number, row.leader, (row.leader,), None, row.partition_epoch + add)
