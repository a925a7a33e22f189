"""A controller, a bucket and the streams of two nodes, whose uploaded records can be checked at any time.

The world uploads without a broker. A process runs reads and compactions, and may crash at each of its outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl import wire
from impl.broker.calls import ControllerError
from impl.broker.compaction import CompactionLimits, Compactor
from impl.broker.messages import Identity
from impl.broker.object_format import encode, object_key
from impl.broker.object_lookup import InvalidReadError
from impl.broker.reader import RecordReader
from impl.broker.wal_format import WalRecord
from impl.controller.commits import CommittedObject, SetCommit
from impl.controller.continuity import CommittedRange
from impl.controller.node import Controller
from impl.controller.requests import events_of
from impl.errors import E
from impl.items import CloseItem, CreateItem, OpenItem, TrimItem
from impl.metadata.image import Image
from impl.records import ObjectState, StreamState
from impl.store.bucket import Bucket
from impl.store.interface import Answer, Operation
from impl.store.memory import MemoryStore
from impl.tasks import FailedError, Gate, Job, T, Tasks

NODES = (0, 1)
HOUR_MS = 3_600_000


class LostError(AssertionError):
    """A stream lacks a record, or has one too many."""


class CrashedError(Exception):
    """The process has crashed where the test asked for it."""


class World:
    """``records``: the uploaded records of each existing stream, by base."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.controller = Controller()
        self.records: dict[int, list[WalRecord]] = {}
        self.deleted: list[int] = []
        for node in NODES:
            self.ask(wire.GetOpeningStreams(node, 1))

    @property
    def image(self) -> Image:
        """The newest image."""
        return self.controller.image

    def ask(self, body: wire.Body) -> wire.ItemAnswer:
        """The controller's answer. Fails if it is an error."""
        answer = self.answer(body)
        assert answer.error is E.NONE, f"{body}: {answer.error}"
        return answer

    def answer(self, body: wire.Body) -> wire.ItemAnswer:
        """The controller's answer. Its records are committed at once."""
        ((operation,),) = events_of(body)
        outcome = self.controller.execute(operation)
        return wire.ItemAnswer(outcome.error, outcome.values)

    # Streams --------------------------------------------------------------------------------------------------

    def create(self, node: int = 0) -> int:
        """A new stream, opened by a node."""
        stream: int = self.ask(wire.CreateStreams(node, 1, (CreateItem(),))).values["stream"]
        self.records[stream] = []
        self.open(stream, node)
        return stream

    def open(self, stream: int, node: int) -> None:
        """Open a closed stream on a node, under the next epoch."""
        self.ask(wire.OpenStreams(node, 1, (OpenItem(stream, self.image.streams[stream].epoch + 1),)))

    def close(self, stream: int, end: int = -1) -> None:
        """Close a stream as its owner; with an end, by a fast close."""
        item = CloseItem(stream, self.image.streams[stream].epoch, end)
        self.ask(wire.CloseStreams(self.owner(stream), 1, (item,)))

    def move(self, stream: int, node: int) -> None:
        """Give a stream to another owner, or to the same one under another epoch."""
        self.close(stream)
        self.open(stream, node)

    def trim(self, stream: int, to: int) -> None:
        """Trim a stream as its owner."""
        item = TrimItem(stream, self.image.streams[stream].epoch, to)
        self.ask(wire.TrimStreams(self.owner(stream), 1, (item,)))

    def delete(self, stream: int) -> None:
        """Close and delete a stream."""
        self.close(stream)
        self.ask(wire.DeleteStreams(0, 1, (stream,)))
        del self.records[stream]
        self.deleted.append(stream)

    def owner(self, stream: int) -> int:
        """The node of the newest range of a stream."""
        current = self.image.current_range(stream)
        assert current is not None
        return current.node

    def owned(self, node: int) -> list[int]:
        """The streams to which a node can append."""
        return [
            each
            for each in self.records
            if self.owner(each) == node and self.image.streams[each].state is StreamState.OPENED
        ]

    def upload(
        self, node: int, counts: dict[int, list[int]], *, alone: tuple[int, ...] = (), at: int | None = None
    ) -> list[int]:
        """Upload batches of streams with these numbers of offsets, and return the object ids, the set's first.

        Streams in ``alone`` get an object each. Batches begin at the end of their stream, or at a given offset.
        """
        batches = {each: self._batches(each, counts[each], at) for each in sorted(counts)}
        first: int = self.ask(wire.PrepareObjects(len(alone) + 1, HOUR_MS)).values["first"]
        together = [record for each in batches if each not in alone for record in batches[each]]
        data = {first: encode(together, 64)} if together else {}
        objects = []
        for object_id, each in enumerate(sorted(alone), first + 1):
            data[object_id] = encode(batches[each], 64)
            objects.append(CommittedObject(object_id, each, *_span(batches[each]), len(data[object_id])))
        for object_id, content in data.items():
            self.store.objects[object_key(object_id)] = content
        ranges = tuple(CommittedRange(each, *_span(batches[each])) for each in batches if each not in alone)
        shared = first if together else -1
        size = len(data.get(first, b""))
        self.ask(
            wire.CommitStreamSetObject(
                SetCommit(node, 1, shared, shared, size, ranges=ranges, stream_objects=tuple(objects))
            )
        )
        for each, records in batches.items():
            self.records[each] = sorted([*self.records[each], *records], key=lambda record: record.base)
        return list(data)

    def _batches(self, stream: int, counts: list[int], at: int | None) -> list[WalRecord]:
        base = self.image.streams[stream].end if at is None else at
        found = []
        for count in counts:
            found.append(WalRecord(stream, self.image.streams[stream].epoch, base, count, b"%d/%d" % (stream, base)))
            base += count
        return found

    # What can be read -----------------------------------------------------------------------------------------

    def expected(self, stream: int) -> list[WalRecord]:
        """The records that a stream must still have."""
        start = self.image.streams[stream].start
        return [record for record in self.records[stream] if record.base + record.count > start]

    def check(self) -> None:
        """Read all streams. Raises LostError for a missing, doubled or undeleted record."""
        for stream in self.records:
            row = self.image.streams[stream]
            process = Process(self)
            gate = process.start(process.reader.read(stream, row.start, row.end))
            try:
                found = gate.result()
            except (FailedError, ValueError) as error:
                raise LostError(f"stream {stream} cannot be read: {error}") from error
            if found != self.expected(stream):
                raise LostError(f"stream {stream} has {found}")
        for stream in self.deleted:
            process = Process(self)
            gate = process.start(process.reader.read(stream, 0, 1))
            try:
                gate.result()
            except InvalidReadError:
                continue
            raise LostError(f"stream {stream} is deleted, and can be read")

    def sweep(self) -> None:
        """Delete all objects that the controller has marked, at once (OB-05)."""
        for object_id, stored in self.image.objects.items():
            if stored.state is ObjectState.MARK_DESTROYED:
                self.store.objects.pop(object_key(object_id), None)


class Process:
    """A process of a node, with a reader and a compactor. ``outputs``: the number answered or lost in the crash."""

    def __init__(self, world: World, node: int = 0, epoch: int = 1, *, indexes: int = 256, **limits: int) -> None:
        self.world = world
        self.tasks = Tasks(world.controller.now)
        self.outputs = 0
        self.sent: list[Operation | wire.Body] = []
        self.halted: list[str] = []
        bucket = Bucket(self.tasks, lambda number, operation: (number, operation))
        self.reader = RecordReader(self.tasks, bucket, lambda: world.image, indexes=indexes)
        self.compactor = Compactor(
            *(self.tasks, bucket, self, Identity(node, epoch), lambda: world.image, self.halted.append),
            limits=CompactionLimits(**limits),
        )

    async def call(self, body: wire.Body) -> wire.ItemAnswer:
        """Call the controller, once."""
        answer: wire.ItemAnswer = await self.tasks.ask(lambda number: (number, body))
        if answer.error is not E.NONE:
            raise ControllerError(answer.error)
        return answer

    def run(self, job: Job[T], **faults: Any) -> T:
        """The result of a task that needs no input from outside."""
        return self.start(job, **faults).result()

    def start(
        self,
        job: Job[T],
        *,
        crash_at: int | None = None,
        takes_effect: bool = False,
        before: Callable[[int], object] = lambda _: None,
        answer: Callable[[Operation | wire.Body, Any], Any] = lambda _, found: found,
    ) -> Gate[T]:
        """Run a task until it needs an input from outside.

        ``before`` is called with the number of each output before it takes effect, and ``answer`` may replace the
        answer. The process crashes at output ``crash_at``, before or after its effect: raises CrashedError.
        """
        gate = self.tasks.start(job)
        while True:
            sent = self.tasks.run(self.world.controller.now)
            if not sent:
                return gate
            for number, body in sent:
                before(self.outputs)
                crashes = self.outputs == crash_at
                self.outputs += 1
                self.sent.append(body)
                if crashes and not takes_effect:
                    self._crash()
                found = answer(body, self._deliver(body))
                if crashes:
                    self._crash()
                self.tasks.answer(number, found)

    def wake(self, ms: int) -> None:
        """Let time pass, and run the waiting tasks until they send an output."""
        self.world.controller.advance(ms)
        assert not self.tasks.run(self.world.controller.now)

    def _crash(self) -> None:
        self.tasks.crash()
        raise CrashedError

    def _deliver(self, body: Operation | wire.Body) -> Answer | wire.ItemAnswer:
        if isinstance(body, Operation):
            return self.world.store.execute(body)
        return self.world.answer(body)


def _span(records: list[WalRecord]) -> tuple[int, int]:
    return records[0].base, records[-1].base + records[-1].count
