"""The records of one stream in random objects, some of which are unnamed, gone, short or damaged, and their metadata.

A run of reads uses them (``object_reading``). The run knows each record that was written and each defect.
"""

from __future__ import annotations

from collections.abc import Sequence

from impl import records as r
from impl.broker.object_format import encode, object_key
from impl.broker.wal_format import WalRecord
from impl.controller.nodes import pack_ranges
from impl.metadata.image import Image
from impl.records import ObjectState, StreamState
from impl.sim.tape import Draw, one
from impl.store.memory import MemoryStore

NODES = (0, 1)
STREAM, OTHER, NOWHERE = 0, 1, 9
"""The stream that is read, a stream that shares its objects, and one that does not exist."""
ALONE, NAMED, INDEXED = "alone", "named", "indexed"
"""A stream object; a stream set object whose ranges the metadata have; and one with ranges only in its index."""
WHOLE, GONE, SHORT, DAMAGED = "whole", "gone", "short", "damaged"
"""An object with all its records; one that the store lacks; one that lacks a record; one with a flipped bit."""
SOUND, UNNAMED, DOUBLED = 0.85, 0.15, 0.15
"""The probabilities that an object is whole, that no metadata name it at first, and that another one has the same."""
PIECES, BATCHES, WIDEST = 6, 3, 3
"""The most objects, batches of an object, and offsets of a batch."""
BLOCK_BYTES = 64
HEAD_BYTES = 28
"""Where the payload of the first record of an object begins."""


class RecordHolder:
    """An object with batches of the stream. ``node``: who wrote it. ``defect``: WHOLE, GONE, SHORT or DAMAGED.

    ``is_named``: whether the metadata name the object. ``replaces``: the objects that it replaces once it is named.
    """

    def __init__(self, number: int, kind: str, node: int, records: Sequence[WalRecord]) -> None:
        self.number, self.kind, self.node, self.records = number, kind, node, tuple(records)
        self.start, self.end = records[0].base, records[-1].end
        self.defect, self.is_named = WHOLE, False
        self.replaces: tuple[RecordHolder, ...] = ()


class ObjectShelf:
    """``records``: all batches that were written, without a gap. ``start``, ``end``: of the stream.

    ``holders``: the objects that the metadata name or may name later.
    """

    def __init__(self, draw: Draw) -> None:
        self.image, self.store = Image(), MemoryStore()
        self.records: list[WalRecord] = []
        self.holders: list[RecordHolder] = []
        self._owners: list[tuple[int, int, int]] = []
        """The parts of the stream, each with its start, its end and the node that wrote it."""
        self._numbers = 0
        self.start = 0
        for _ in range(1 + int(draw() * PIECES)):
            self._write_piece(draw)
        self.end = self.records[-1].end
        if draw() < 0.5:
            self.start = int(draw() * self.end)
        self._describe_stream()
        for holder in self.holders:
            if draw() > UNNAMED:
                self._name(holder)

    def overlapping(self, begin: int, end: int) -> list[WalRecord]:
        """The batches that have an offset of [begin, end)."""
        return [each for each in self.records if each.base < end and each.end > begin]

    # Objects ----------------------------------------------------------------------------------------------------

    def _write_piece(self, draw: Draw) -> None:
        """Append some batches to the stream, in an object of a node, or in two objects of different kinds."""
        node, base, written = one(draw, NODES), self.records[-1].end if self.records else 0, list[WalRecord]()
        for _ in range(1 + int(draw() * BATCHES)):
            count = 1 + int(draw() * WIDEST)
            written.append(WalRecord(STREAM, 0, base, count, b"batch %d" % base))
            base += count
        self.records += written
        self._owners.append((written[0].base, base, node))
        self._put(draw, one(draw, (ALONE, NAMED, INDEXED)), node, written)
        if draw() < DOUBLED:
            self._put(draw, one(draw, (ALONE, NAMED)), node, written)

    def _put(self, draw: Draw, kind: str, node: int, records: Sequence[WalRecord]) -> None:
        """Put an object, and draw its defect."""
        self._numbers += 1
        holder = RecordHolder(self._numbers, kind, node, records)
        if draw() > SOUND:
            holder.defect = one(draw, (GONE, SHORT, SHORT, DAMAGED))
        self._store(holder, int(draw() * len(records)))
        self.holders.append(holder)

    def _store(self, holder: RecordHolder, lost: int) -> None:
        """Store the bytes of an object. ``lost``: the place of the batch that a short object lacks."""
        kept = [each for place, each in enumerate(holder.records) if holder.defect != SHORT or place != lost]
        others = [] if holder.kind == ALONE else [WalRecord(OTHER, 0, holder.start, 1, b"other")]
        data = bytearray(encode([*kept, *others], BLOCK_BYTES))
        if holder.defect == DAMAGED:
            data[HEAD_BYTES] ^= 1
        if holder.defect != GONE:
            self.store.objects[object_key(holder.number)] = bytes(data)

    # Metadata ---------------------------------------------------------------------------------------------------

    def change(self, draw: Draw) -> None:
        """One change of the metadata: an object gets its name, the stream is trimmed, or an object replaces two."""
        how, unnamed = draw(), [each for each in self.holders if not each.is_named]
        if how < 0.4 and unnamed:
            self._name(one(draw, unnamed))
        elif how < 0.55:
            self.start += int(draw() * (self.end - self.start + 1))
            self._describe_stream()
        else:
            self._replace(draw)

    def _name(self, holder: RecordHolder) -> None:
        """Add an object to the metadata, and remove the objects that it replaces."""
        holder.is_named = True
        for each in holder.replaces:
            self.holders.remove(each)
            if each.kind == ALONE:
                self.image.apply(r.RemoveS3StreamObject(STREAM, each.number))
            else:
                self.image.apply(r.RemoveStreamSetObject(each.node, each.number))
        size = len(self.store.objects.get(object_key(holder.number), b""))
        self.image.apply(r.S3Object(holder.number, size, ObjectState.COMMITTED, 0))
        if holder.kind == ALONE:
            self.image.apply(r.S3StreamObject(STREAM, holder.start, holder.end, holder.number))
            return
        spans = [(STREAM, holder.start, holder.end), (OTHER, holder.start, holder.start + 1)]
        ranges = pack_ranges(spans) if holder.kind == NAMED else b""
        self.image.apply(r.S3StreamSetObject(holder.node, holder.number, holder.number, 0, ranges))

    def _describe_stream(self) -> None:
        """The rows of the stream. Each run of parts of one node is a range; the newest one has no known end."""
        runs: list[tuple[int, int, int]] = []
        for start, end, node in self._owners:
            if runs and runs[-1][2] == node:
                runs[-1] = (runs[-1][0], end, node)
            else:
                runs.append((start, end, node))
        last = len(runs) - 1
        self.image.apply(r.S3Stream(STREAM, last, last, self.start, StreamState.OPENED))
        for index, (start, end, node) in enumerate(runs):
            self.image.apply(r.Range(STREAM, index, index, start, start if index == last else end, node))

    def _replace(self, draw: Draw) -> None:
        """A compaction: one stream object replaces two neighbours, which the store may lose at once.

        The metadata may name the new object later than that.
        """
        sound = [each for each in self.holders if each.is_named and each.defect == WHOLE]
        pairs = [(before, after) for before in sound for after in sound if before.end == after.start]
        if not pairs:
            return
        pair = one(draw, pairs)
        self._numbers += 1
        successor = RecordHolder(self._numbers, ALONE, pair[0].node, [*pair[0].records, *pair[1].records])
        successor.replaces = pair
        self._store(successor, 0)
        self.holders.append(successor)
        is_late = draw() < 0.4
        for each in pair:
            if is_late or draw() < 0.5:
                del self.store.objects[object_key(each.number)]
                each.defect = GONE
        if not is_late:
            self._name(successor)
