"""Runs of one partition under some leaders, which close its log or crash, while clients append and read.

The clients judge the answers: an acknowledged batch stays, a batch that is sent again keeps its offset, and a log that
is being closed answers nobody, nor does a broker that is not elected. The streams tell whether a leader scans the log.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec

from impl import records as r
from impl.broker.messages import Command, CommandAnswer, Consume, FindLeaders, Identity, OfPartition, Produce
from impl.broker.partition.api import Api
from impl.broker.partition.host import Host, HostedPartition
from impl.broker.partition.log import PartitionLog
from impl.broker.partition.opening import open_log
from impl.errors import E
from impl.metadata.image import Image
from impl.sim.part_cases.leader_streams import META, DurableStream, LeaderStreams, has_clean_flag, write_older_flag
from impl.sim.tape import Draw, one
from impl.sim.violation import PartViolation
from impl.tasks import Gate

TOPICS, UNKNOWN = ("t", "u"), "none"
KEY, NODE = (TOPICS[0], 0), 1
"""The partition that the clients use, and the broker that has opened its log."""
LEADERS, STEPS = 4, 24
PRODUCERS = (-1, 5, 6)
"""A client without numbers, and two idempotent producers."""
REMEMBERED = 5
"""The number of batches of a producer that a log knows again (I-8)."""
OLDER = 0.5
"""The probability that a process of AutoMQ 1.0 has closed the log."""
ROLL_BYTES = (150, 1 << 30)
"""The size of a segment: a few batches, or all of them."""


class HostOfOneLog(Host):
    """The partitions of a broker that has opened one log. ``image``: which broker leads."""

    def __init__(self, log: PartitionLog, image: Image) -> None:
        hosted = HostedPartition()
        hosted.row, hosted.log = image.partitions[KEY], log
        self.hosted = {KEY: hosted}
        self._identity, self._image = Identity(NODE, 0), lambda: image


class SentBatch(msgspec.Struct, eq=False):
    """A batch of a client. ``base``: its offset, once it is acknowledged. ``leader``: the last one that got it."""

    producer: int
    sequence: int
    values: tuple[bytes, ...]
    base: int | None = None
    leader: int = -1


class PendingCommand(msgspec.Struct, eq=False):
    """A command without an answer. ``barred``: who had to refuse it when it came, in words; "" if nobody.

    ``batch``: what is sent, if anything. ``known``: the batches that were acknowledged by then.
    """

    body: OfPartition
    barred: str
    batch: SentBatch | None
    known: list[SentBatch]


class PartitionClients:
    """The clients of the partition. ``sent``: all batches, in the order of their first sends."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self.sent: list[SentBatch] = []

    def acknowledged(self) -> list[SentBatch]:
        """The batches that have an offset, in the order of their sends."""
        return [each for each in self.sent if each.base is not None]

    def next_batch(self, leader: int) -> SentBatch:
        """What a client sends next: its oldest batch without an answer, one that was answered, or a new one."""
        producer = one(self._draw, PRODUCERS)
        mine = [each for each in self.sent if each.producer == producer]
        if producer >= 0:
            unanswered = [each for each in mine if each.base is None]
            earlier = [each for each in unanswered if each.leader != leader]
            answered = [each for each in mine[-REMEMBERED:] if each.base is not None]
            if earlier:
                return earlier[0]
            if answered and self._draw() < 0.3:
                return one(self._draw, answered)
            if len(unanswered) == REMEMBERED:
                producer, mine = -1, []
        number = len(self.sent)
        values = tuple(b"%d.%d" % (number, place) for place in range(1 + int(self._draw() * 3)))
        sequence = sum(len(each.values) for each in mine) if producer >= 0 else -1
        self.sent.append(SentBatch(producer, sequence, values))
        return self.sent[-1]


class Leadership:
    """A leader whose log is open, and the commands that it gets. ``has_closed``: whether its close has ended."""

    def __init__(
        self, draw: Draw, clients: PartitionClients, streams: LeaderStreams, log: PartitionLog, leader: int
    ) -> None:
        self._draw, self._clients, self._streams, self._log, self._leader = draw, clients, streams, log, leader
        self._image = _some_image(draw)
        self._elect(NODE)
        self._api = Api(streams.tasks, HostOfOneLog(log, self._image), lambda: self._image)
        self._closing: Gate[None] | None = None
        self._pending: dict[int, PendingCommand] = {}
        self._numbers = 0

    @property
    def has_closed(self) -> bool:
        """Whether the log was closed in order."""
        return self._closing is not None and self._closing.happened

    def read_all(self) -> PartViolation | None:
        """Read the whole log."""
        return self._ask(Consume(TOPICS[0], 0, 0, 1_000_000)) or self._settle()

    def serve(self) -> PartViolation | None:
        """Make the steps of the leader, up to its crash or to the end of its close."""
        for _ in range(int(self._draw() * STEPS)):
            found = self._step()
            if found is not None:
                return found
        if self._closing is not None and self._draw() < 0.8:
            # Commands come in late, before the streams are closed too.
            return self._settle() or self._ask_something() or self._ask_something() or self._settle()
        return None

    def _step(self) -> PartViolation | None:
        how = self._draw()
        if how < 0.5:
            return self._ask_something()
        if how < 0.6 and self._closing is None:
            self._closing = self._streams.tasks.start(self._log.close())
        elif how < 0.65:
            self._elect(one(self._draw, (NODE, NODE, 2, -1)))
        else:
            self._streams.go_on(self._draw)
        return self._run()

    def _elect(self, broker: int) -> None:
        """The metadata name this leader, or nobody (-1). The log stays open, as it is before an election."""
        self._image.apply(r.PartitionChange(*KEY, leader=broker))

    def _settle(self) -> PartViolation | None:
        """End all that is under way."""
        found = self._run()
        while found is None and self._streams.go_on(self._draw):
            found = self._run()
        if found is None and self._pending:
            return PartViolation("LV-07", "a leader does not answer a command, though nothing is under way")
        return found

    # Commands ---------------------------------------------------------------------------------------------------

    def _ask_something(self) -> PartViolation | None:
        how = self._draw()
        if how < 0.1:
            return self._ask(FindLeaders(one(self._draw, (*TOPICS, UNKNOWN))))
        if how < 0.4:
            ends = [each.base or 0 for each in self._clients.acknowledged()]
            return self._ask(Consume(TOPICS[0], 0, one(self._draw, ends) if ends else 0, 1 + int(self._draw() * 8)))
        batch = self._clients.next_batch(self._leader)
        batch.leader = self._leader
        epoch = -1 if batch.producer < 0 else 0
        return self._ask(Produce(TOPICS[0], 0, batch.values, batch.producer, epoch, batch.sequence), batch)

    def _ask(self, body: OfPartition, batch: SentBatch | None = None) -> PartViolation | None:
        self._numbers += 1
        barred = "" if isinstance(body, FindLeaders) else self._barred()
        self._pending[self._numbers] = PendingCommand(body, barred, batch, self._clients.acknowledged())
        self._streams.tasks.start(self._api.run(Command(0, self._numbers, body), body))
        found = self._run()
        if found is None and barred and self._numbers in self._pending:
            return _not_refused(barred, body)
        return found

    def _barred(self) -> str:
        """Who has to refuse a command that comes now (RA-16), in words; "" if nobody."""
        if self._image.partitions[KEY].leader != NODE:
            return "a broker that does not lead"
        return "" if self._closing is None else "a log that is being closed"

    def _run(self) -> PartViolation | None:
        """Let the leader run until it waits, and judge its answers."""
        for answer in self._streams.tasks.run(0):
            assert isinstance(answer, CommandAnswer), "a log sends nothing else"
            found = self._judge(self._pending.pop(answer.id), answer)
            if found is not None:
                return found
        return None

    # The facts --------------------------------------------------------------------------------------------------

    def _judge(self, asked: PendingCommand, answer: CommandAnswer) -> PartViolation | None:
        if asked.barred:
            if asked.batch is not None:
                asked.batch.leader = -1  # To be sent again before any later one.
            return None if answer.error is E.NOT_LEADER_OR_FOLLOWER else _not_refused(asked.barred, asked.body)
        match asked.body:
            case FindLeaders(topic):
                return _judged_leaders(self._image, topic, answer)
            case Consume():
                return self._judged_read(asked.body, asked.known, answer)
            case Produce():
                assert asked.batch is not None, "a client sends a batch"
                return self._judged_append(asked.batch, answer)

    def _judged_append(self, batch: SentBatch, answer: CommandAnswer) -> PartViolation | None:
        """An append is refused only by a log that is being closed. A repetition gets the offset of the first copy."""
        if answer.error is not E.NONE:
            is_closing = self._closing is not None and answer.error is E.NOT_LEADER_OR_FOLLOWER
            return None if is_closing else PartViolation("I-8", "a leader refuses the next batch of a producer")
        offset: int = answer.values["offset"]
        if batch.base not in (None, offset):
            return PartViolation("I-8", "a batch that is sent again gets another offset")
        if batch.base is None and has_clean_flag(self._streams.disk[META]):
            return PartViolation("SP-09", "a batch is acknowledged while the log is said to be closed in order")
        batch.base = offset
        return None

    def _judged_read(self, body: Consume, known: list[SentBatch], answer: CommandAnswer) -> PartViolation | None:
        """A read has each batch of its range that was acknowledged before, and nothing that nobody sent, once each."""
        if answer.error is not E.NONE:
            return PartViolation("INV-01", "a leader does not answer a read of acknowledged batches")
        found: list[tuple[int, tuple[bytes, ...]]] = answer.values["batches"]
        sent = {each.values for each in self._clients.sent}
        if not all(values in sent for _, values in found) or len({values for _, values in found}) < len(found):
            return PartViolation("I-8", "a log has a batch twice, or one that nobody sent")
        if any(base + len(values) != after for (base, values), (after, _) in pairwise(found)):
            return PartViolation("PL-13", "a read of a partition has a hole")
        for each in known:
            base = each.base or 0
            is_within = base < body.begin + body.most and base + len(each.values) > body.begin
            if is_within and (base, each.values) not in found:
                return PartViolation("INV-01", "a read lacks an acknowledged batch")
        return None


def _not_refused(barred: str, body: OfPartition) -> PartViolation:
    what = "a read" if isinstance(body, Consume) else "an append"
    return PartViolation("RA-16", f"{barred} does not refuse {what}")


def _some_image(draw: Draw) -> Image:
    """Metadata with the partitions of two topics."""
    image = Image()
    for topic in TOPICS:
        for partition in range(1 + int(draw() * 2)):
            leader = one(draw, (-1, 1, 2))
            image.apply(r.Partition(topic, partition, (1,), (1,), leader, int(draw() * 5)))
    return image


def _judged_leaders(image: Image, topic: str, answer: CommandAnswer) -> PartViolation | None:
    """A broker names all leaders of a topic, and refuses a topic without partitions."""
    rows = {number: row for (name, number), row in image.partitions.items() if name == topic}
    if not rows:
        is_refused = answer.error is E.UNKNOWN_TOPIC_OR_PARTITION
        return None if is_refused else PartViolation("RA-01", "a broker does not refuse an unknown topic")
    leaders = {number: (row.leader, row.leader_epoch) for number, row in rows.items()}
    if answer.error is not E.NONE or answer.values["leaders"] != leaders:
        return PartViolation("RA-01", "a broker does not name the leaders of a topic")
    return None


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of leaders, one after the other, and tell the first violation; None if there is none."""
    clients, disk, was_closed = PartitionClients(draw), dict[int, DurableStream](), False
    leaders = 1 + int(draw() * LEADERS)
    for leader in range(leaders + 1):
        streams = LeaderStreams(disk)
        job = open_log(streams.tasks, streams.stream(META), leader, streams, one(draw, ROLL_BYTES))
        opening = streams.tasks.start(job)
        streams.tasks.run(0)
        while streams.go_on(draw):
            streams.tasks.run(0)
        if was_closed and streams.scans:
            return PartViolation("SP-09", "a leader scans a log that was closed in order")
        leadership = Leadership(draw, clients, streams, opening.result(), leader)
        found = leadership.read_all()
        if found is None and leader < leaders:
            found = leadership.serve()
        if found is not None:
            return found
        was_closed = leadership.has_closed
        streams.crash(draw)
        disk = streams.disk
        if was_closed and draw() < OLDER:
            write_older_flag(disk[META], one(draw, [0, *(each.base or 0 for each in clients.acknowledged())]))
    return None
