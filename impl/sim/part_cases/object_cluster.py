"""A controller, a bucket, and the streams of two nodes, which upload without a broker: what compactions work on.

Some objects have a defect: a block is damaged, a batch is lost, or the index says that a block ends before it begins.
"""

from __future__ import annotations

from collections.abc import Iterable

from impl import wire
from impl.broker.object_format import encode, object_key, pack
from impl.broker.object_index import DataBlock, decode_index
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
from impl.rules import judging
from impl.sim.tape import Draw, one
from impl.store.bucket import Bucket
from impl.store.memory import MemoryStore
from impl.tasks import FailedError, Tasks

NODES = (0, 1)
HOUR_MS = 3_600_000
BLOCK_BYTES = 64
"""So few that each batch has a block of its own."""
TORN, SHORT, BACKWARD = "torn", "short", "backward"


class ObjectCluster:
    """``records``: by stream, the batches that were uploaded and committed. Deleted streams are left out."""

    def __init__(self, draw: Draw) -> None:
        self.store, self.controller = MemoryStore(), Controller()
        self.records: dict[int, list[WalRecord]] = {}
        self._draw = draw
        self._alone, self._rate = one(draw, (0.1, 0.4, 0.9)), one(draw, (0.0, 0.1, 0.4))
        """The probabilities that a stream gets an object of its own, and that an object has the defect of the run."""
        self._defect = one(draw, (TORN, SHORT, BACKWARD, BACKWARD, BACKWARD))
        for node in NODES:
            self._ask(wire.GetOpeningStreams(node, 1))
        for _ in range(1 + int(draw() * 3)):
            self._create(one(draw, NODES))

    @property
    def has_defects(self) -> bool:
        """Whether an object may have the defect of the run."""
        return self._rate > 0

    @property
    def image(self) -> Image:
        """The newest metadata."""
        return self.controller.image

    def answer(self, body: wire.Body) -> wire.ItemAnswer:
        """The answer of the controller to a request. Its records are committed at once."""
        ((operation,),) = events_of(body)
        outcome = self.controller.execute(operation)
        return wire.ItemAnswer(outcome.error, outcome.values)

    def owner(self, stream: int) -> tuple[int, int]:
        """The node that owns a stream, and the epoch."""
        current = self.image.current_range(stream)
        assert current is not None, f"stream {stream} has no current range, though it was opened"
        return current.node, self.image.streams[stream].epoch

    # Events -----------------------------------------------------------------------------------------------------

    def change(self) -> None:
        """An upload, mostly, or a change of a stream."""
        how, stream = self._draw(), one(self._draw, sorted(self.records)) if self.records else None
        if stream is None or how < 0.6:
            self._upload(one(self._draw, NODES))
        elif how < 0.7:
            row = self.image.streams[stream]
            to = row.start + int(self._draw() ** 3 * (row.end - row.start + 1))
            node, epoch = self.owner(stream)
            self._ask(wire.TrimStreams(node, 1, (TrimItem(stream, epoch, to),)))
        elif how < 0.85:
            self._close(stream)
            self._open(stream, one(self._draw, NODES))
        elif how < 0.88:
            self._close(stream)
            self._ask(wire.DeleteStreams(0, 1, (stream,)))
            del self.records[stream]
        elif how < 0.95:
            self.controller.advance(one(self._draw, (1_000, HOUR_MS, 3 * HOUR_MS)))
        else:
            self.sweep()

    def sweep(self) -> None:
        """Delete the objects that the controller has marked (OB-05)."""
        for number, row in self.image.objects.items():
            if row.state is ObjectState.MARK_DESTROYED:
                self.store.objects.pop(object_key(number), None)

    def _ask(self, body: wire.Body) -> wire.ItemAnswer:
        answer = self.answer(body)
        assert answer.error is E.NONE, f"the controller refuses {type(body).__name__} with {answer.error.name}"
        return answer

    def _create(self, node: int) -> None:
        stream: int = self._ask(wire.CreateStreams(node, 1, (CreateItem(),))).values["stream"]
        self.records[stream] = []
        self._open(stream, node)

    def _open(self, stream: int, node: int) -> None:
        self._ask(wire.OpenStreams(node, 1, (OpenItem(stream, self.image.streams[stream].epoch + 1),)))

    def _close(self, stream: int) -> None:
        node, epoch = self.owner(stream)
        self._ask(wire.CloseStreams(node, 1, (CloseItem(stream, epoch),)))

    # Uploads ----------------------------------------------------------------------------------------------------

    def _upload(self, node: int) -> None:
        """Upload batches of some streams of a node: those of some in objects of their own, the others in one set."""
        draw = self._draw
        opened = [each for each in sorted(self.records) if self.owner(each)[0] == node]
        opened = [each for each in opened if self.image.streams[each].state is StreamState.OPENED]
        batches = {each: self._batches(each) for each in opened if draw() < 0.8}
        alone = [each for each in batches if draw() < self._alone]
        together = [each for each in batches if each not in alone]
        if not batches:
            return
        first: int = self._ask(wire.PrepareObjects(len(alone) + 1, HOUR_MS)).values["first"]
        size = 0
        if together:
            size = self._put(first, [each for stream in together for each in batches[stream]])
        objects = tuple(
            CommittedObject(number, stream, *_span(batches[stream]), self._put(number, batches[stream]))
            for number, stream in enumerate(alone, first + 1)
        )
        ranges = tuple(CommittedRange(stream, *_span(batches[stream])) for stream in together)
        shared = first if together else -1
        self._ask(
            wire.CommitStreamSetObject(SetCommit(node, 1, shared, shared, size, ranges=ranges, stream_objects=objects))
        )
        for stream, written in batches.items():
            self.records[stream] += written

    def _batches(self, stream: int) -> list[WalRecord]:
        base, found = self.image.streams[stream].end, list[WalRecord]()
        for _ in range(1 + int(self._draw() * 3)):
            count = 1 + int(self._draw() * 3)
            found.append(WalRecord(stream, 0, base, count, b"%d/%d" % (stream, base)))
            base += count
        return found

    def _put(self, number: int, records: list[WalRecord]) -> int:
        """Put an object, which may have a defect. Returns its size."""
        defect = self._defect if self._draw() < self._rate else ""
        place = int(self._draw() * len(records))
        data = encode([each for at, each in enumerate(records) if defect != SHORT or at != place], BLOCK_BYTES)
        if defect == TORN:
            data = bytes([data[0] ^ 1]) + data[1:]
        if defect == BACKWARD:
            data = _backward(data, records[place], 1 + int(self._draw() * 4))
        self.store.objects[object_key(number)] = data
        return len(data)

    # Reads ------------------------------------------------------------------------------------------------------

    @judging()
    def readable(self) -> dict[tuple[int, int], int]:
        """By stream and base, the end of each batch that a read of its own returns now, as it was written."""
        tasks = Tasks(self.controller.now)
        reader = RecordReader(tasks, Bucket(tasks, lambda number, operation: (number, operation)), lambda: self.image)
        found: dict[tuple[int, int], int] = {}
        for each in (each for written in self.records.values() for each in written):
            start = self.image.streams[each.stream].start
            if each.end <= start:
                continue
            gate = tasks.start(reader.read(each.stream, max(start, each.base), each.end))
            while asked := tasks.run(tasks.now):
                for number, operation in asked:
                    tasks.answer(number, self.store.execute(operation))
            if gate.happened:
                try:
                    if gate.result() == [each]:
                        found[each.stream, each.base] = each.end
                except FailedError:
                    continue
        return found


def _backward(data: bytes, record: WalRecord, by: int) -> bytes:
    """An object whose index says that the block of a batch ends before it begins."""
    index = decode_index(data, len(data))
    blocks: Iterable[DataBlock] = (block for held in index.streams.values() for block in held)
    return pack(
        (
            DataBlock(block.stream, block.start, -by, 0, block.size, block.crc)
            if (block.stream, block.start) == (record.stream, record.base)
            else block,
            data[block.position : block.position + block.size],
        )
        for block in blocks
    )


def _span(records: list[WalRecord]) -> tuple[int, int]:
    return records[0].base, records[-1].end
