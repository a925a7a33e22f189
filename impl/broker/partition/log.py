"""The log of a partition, on the streams that its leader has open: appends, reads, and the close of step 3.

A batch takes as many offsets of the data stream as of the partition, so the log knows the offset of a batch before it
is durable. Batches are confirmed in their order. ``opening`` makes a log from the streams of the leader before it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from impl.broker.partition.batches import Batch, decode, encode
from impl.broker.partition.epochs import Epochs
from impl.broker.partition.meta import MetaStream, OpenStream, Streams, append
from impl.broker.partition.meta_values import ABSENT, LogMeta, PartitionMeta, ProducerSnapshots, TimeEntry
from impl.broker.partition.producers import Producers, usable_snapshots
from impl.broker.partition.segment_metas import store
from impl.broker.partition.segments import LOG, NO_ENTRY, TIME, Segments, Span
from impl.errors import E
from impl.rules import require
from impl.tasks import Gate, Tasks

_TIME_ENTRY = struct.Struct(">qq")
Link = Callable[[Batch], bytes]
"""Makes the payload of a link from a batch that has its offset."""


class PartitionLog:
    """``leader_epoch``: the epoch under which the broker leads. ``ids``: by name, the id of a data stream; ABSENT if it
    is not created yet. ``opened``: by name, the data streams that are created; all of them are open.

    ``segments``, ``producers`` and ``epochs`` count a batch as soon as it has its offset, before it is durable.
    """

    def __init__(
        self,
        tasks: Tasks,
        meta: MetaStream,
        segments: Segments,
        producers: Producers,
        epochs: Epochs,
        leader_epoch: int,
        ids: dict[str, int],
        opened: dict[str, OpenStream],
        streams: Streams,
    ) -> None:
        self.meta, self.segments, self.producers, self.epochs = meta, segments, producers, epochs
        self.leader_epoch, self.ids, self.opened = leader_epoch, ids, opened
        self.is_frozen = False
        """Whether step 3 has begun: nothing is appended from then on."""
        self._tasks, self._streams = tasks, streams
        self._pending: dict[int, Gate[int]] = {}
        """By base offset: the appends that are not confirmed."""
        self._making: Gate[None] | None = None
        """Opens when the data streams are made."""
        self._newest = NO_ENTRY
        """The largest timestamp that was appended to the active segment, and the last offset of its batch."""
        self._snapshots = meta.get(ProducerSnapshots) or ProducerSnapshots({})

    @property
    def is_clean(self) -> bool:
        """The clean flag of the meta stream: whether the log was closed in order, and not appended to since."""
        found = self.meta.get(PartitionMeta)
        return found is not None and found.clean

    @property
    def confirmed(self) -> int:
        """The high watermark: all offsets below are durable."""
        # A durable batch behind a pending one is not confirmed yet.
        return min(self._pending, default=self.segments.end)

    async def lead(self, leader_epoch: int) -> None:
        """Go on under a newer leader epoch (RA-24). Raises the errors of the meta stream."""
        # An older epoch than the present one changes nothing.
        self.leader_epoch = max(leader_epoch, self.leader_epoch)
        if leader_epoch == self.leader_epoch and self.epochs.assign(leader_epoch, self.segments.end):
            await self.meta.put(self.epochs.checkpoint()).wait()

    # Append -----------------------------------------------------------------------------------------------------

    async def append(self, batch: Batch, link: Link | None = None, acks: int = -1) -> int:
        """Append a batch of a client, which has no offset yet. Returns its base offset, once it is durable.

        ``link``: makes the link that the WAL gets in place of a batch whose bytes are durable elsewhere. A copy of an
        earlier batch gets the offset of that one. With ``acks`` 1 the offset is returned before the batch is durable.
        Raises RefusedError if this broker leads no more, ProducerRefusedError, and a FailedError after which the
        outcome is unknown.
        """
        self._check_leads()
        if LOG not in self.opened:
            await self._make()
            # Step 3 may have begun during the wait.
            self._check_leads()
        first = self.producers.check(batch)
        if first is not None:
            if first in self._pending:
                await self._pending[first].wait()
            return first
        placed = batch.placed(self.segments.end, self.leader_epoch)
        durable = self._put(placed, link)
        if acks == -1:
            await self._settle(placed.base, durable)
        else:
            self._tasks.start(self._settle(placed.base, durable))
        return placed.base

    async def _settle(self, base: int, durable: Gate[int]) -> None:
        # If this fails, it is unknown what is durable. The batch stays pending, so nothing behind it is confirmed.
        await durable.wait()
        del self._pending[base]

    def _check_leads(self) -> None:
        require(not self.is_frozen, "RA-16", E.NOT_LEADER_OR_FOLLOWER)

    def _put(self, batch: Batch, link: Link | None) -> Gate[int]:
        data, stream = encode(batch), self.opened[LOG]
        # Before the roll, because the entry belongs to the segment that ends.
        if self.segments.rolls(len(data)):
            self._index_time()
        position = stream.next
        gate = self._pending[batch.base] = append(stream, batch.count, data, None if link is None else link(batch))
        rolled = self.segments.append(position, batch.count, len(data), batch.timestamp, self._tasks.now)
        self.producers.append(batch)
        is_first = self._newest.offset < self.segments.active.base
        if batch.timestamp > (ABSENT if is_first else self._newest.timestamp):
            self._newest = TimeEntry(batch.timestamp, batch.end - 1)
        if rolled:
            self.put_segments()
        return gate

    async def _make(self) -> None:
        """Make the data streams, before the first append. LOG names them before a record in them is confirmed."""
        if self._making is None:
            self._making = self._tasks.start(self._made())
        await self._making.wait()

    async def _made(self) -> None:
        for name in (LOG, TIME):
            self.ids[name] = await self._streams.create()
        await self.put_segments().wait()
        # LOG is the last one, because appends begin as soon as it is open, and they need both.
        for name in (TIME, LOG):
            self.opened[name] = await self._streams.open(self.ids[name])

    # Read -------------------------------------------------------------------------------------------------------

    async def read(self, begin: int, end: int) -> list[Batch]:
        """The confirmed batches in [begin, end). Raises RefusedError, DamagedError, and the errors of a stream."""
        require(not self.is_frozen, "RA-16.read", E.NOT_LEADER_OR_FOLLOWER)
        require(self.segments.start <= begin <= self.confirmed, "CL-05.start", E.OFFSET_OUT_OF_RANGE_BOUNDS)
        found: list[Batch] = []
        for span in self.segments.spans(begin, min(end, self.confirmed)):
            found += await read_span(self.opened[LOG], span)
        return found

    async def settled(self, end: int) -> None:
        """Wait until all batches below an offset are durable (ZR-39). Raises a FailedError if one is not."""
        for base, gate in tuple(self._pending.items()):
            if base < end:
                await gate.wait()

    # Close ------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Rows 2 to 6 of step 3: freeze the log, and write all values for a clean start to the meta stream.

        Then the caller closes the streams. Raises a FailedError if a value cannot be stored: the flag stays false.
        """
        self.is_frozen = True
        if self._making is not None:
            await self._making.wait()
        for gate in tuple(self._pending.values()):
            await gate.wait()
        indexed = self._index_time()
        snapshot = self.put_snapshot()
        self.segments.flush(self.segments.end)
        # All writes go to one WAL, which loses nothing in the middle: a leader that finds the flag finds all of them.
        writes = [*indexed, snapshot, self.put_segments(), self.put_partition(clean=True)]
        await self.meta.compact()
        for write in writes:
            await write.wait()

    def _index_time(self) -> tuple[Gate[int], ...]:
        """Index the newest timestamp of the active segment, unless its index ends with that timestamp.

        Returns the writes: one or none.
        """
        entry = self._newest
        if entry.offset < self.segments.active.base or entry == self.segments.active.last_time_entry:
            return ()
        stream = self.opened[TIME]
        position = stream.next
        gate = append(stream, 1, _TIME_ENTRY.pack(entry.timestamp, entry.offset))
        self.segments.index_time(position, entry)
        return (gate,)

    # The meta stream --------------------------------------------------------------------------------------------

    def put_segments(self) -> Gate[int]:
        """Write LOG."""
        return self.meta.put(LogMeta(dict(self.ids), store(self.segments)))

    def put_snapshot(self) -> Gate[int]:
        """Write PRODUCER_SNAPSHOTS: the present state, and the one from which a scan after a crash would begin."""
        usable = usable_snapshots(self._snapshots.snapshots, self.segments.start, self.segments.recovery)
        kept = {max(usable): usable[max(usable)]} if usable else {}
        self._snapshots = ProducerSnapshots({**kept, self.producers.end: self.producers.snapshot()})
        return self.meta.put(self._snapshots)

    def put_partition(self, *, clean: bool) -> Gate[int]:
        """Write PARTITION. ``clean``: the flag, which is true while no broker appends (SP-09)."""
        return self.meta.put(PartitionMeta(self.segments.start, 0, self.segments.recovery, clean))


async def read_span(stream: OpenStream, span: Span) -> list[Batch]:
    """The batches of a span of the data stream. Raises DamagedError, and the errors of the stream."""
    return [decode(record.payload) for record in await stream.fetch(span.start, span.end).wait()]
