"""A node's WAL on object storage, in the hands of one process of the node (WL-03 to WL-09).

Appends are gathered into bulks, and each bulk becomes an object. An append is acknowledged when its object and all
objects before it are stored, and the reservation, read after that, still names this process.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Awaitable, Callable
from operator import itemgetter

import msgspec

from impl.broker.reservation import NoReservation, Reservation
from impl.broker.wal_format import (
    LARGEST,
    MARKER,
    NOTHING,
    WalPlace,
    WalRecord,
    decode,
    decode_header,
    encode,
    end_of,
    folder_of,
    place_of,
)
from impl.rules import rule
from impl.store.bucket import Bucket, StoreError, TakenError
from impl.tasks import FailedError, Gate, Tasks

Bulk = list[tuple[WalRecord, Gate[int]]]
"""The appends of one object: each record, and the gate that opens with its offset."""


class WalLimits(msgspec.Struct, frozen=True):
    """WL-04. ``bulk`` bytes or ``linger_ms`` end a bulk. At most ``in_flight`` objects are put at once, and at most
    ``unflushed`` bytes wait to be stored.
    """

    bulk: int = 8 << 20
    linger_ms: int = 250
    in_flight: int = 50
    unflushed: int = 1 << 30


class FencedError(FailedError):
    """Another process has the WAL, or it cannot be written. This process never acknowledges anything again."""


class OverCapacityError(FailedError):
    """Too many bytes wait for their objects (WL-04). The append was not taken; it may be tried again."""


class Wal:
    """The WAL of ``node`` in the hands of the process with the epoch. Call ``start``, then ``recover``, then append.

    ``next``: the offset where the next object starts. ``fenced``: whether another process has the WAL, or it cannot be
    written. ``as_built``: the known defects that the WAL has (AM-03, AM-15).

    ``folder``: of a channel, which is such a WAL too, but has no reservation (ZR-16, ZR-17); None for the node's own.
    """

    def __init__(
        self,
        tasks: Tasks,
        bucket: Bucket,
        node: int,
        epoch: int,
        *,
        failover: bool = False,
        as_built: frozenset[str] = frozenset(),
        limits: WalLimits = WalLimits(),  # noqa: B008 - frozen
        folder: str | None = None,
    ) -> None:
        self.next = 0
        self.fenced = False
        self._tasks, self._bucket, self._limits = tasks, bucket, limits
        self._node, self._epoch, self._folder = node, epoch, folder or folder_of(node)
        self._as_built = as_built
        self._is_channel = folder is not None
        reserved = NoReservation() if self._is_channel else Reservation(bucket, node, epoch, failover=failover)
        self._reservation = reserved
        self._objects: list[WalPlace] = []
        """The objects that make up the WAL, in their order."""
        self._stale: list[WalPlace] = []
        """Objects of older processes, which do not belong to the WAL any more (WL-08)."""
        self._last_offset: dict[WalPlace, int] = {}
        """The offset of the last record of an object, where it is known."""
        self._bulk: Bulk = []
        """The appends that wait for the end of their bulk."""
        self._bulk_bytes = 0
        self._ended: deque[Bulk] = deque()
        """The bulks that wait because too many objects are in flight."""
        self._in_flight = 0
        self._unflushed = 0
        self._newest: Gate[None] | None = None
        """Opens when the newest bulk that was sent has ended."""
        self._trim = NOTHING
        self._trimmed: Gate[None] = Gate(tasks)
        """Opens when the last trim has ended. It trims all records up to and including offset ``_trim``."""
        self._trimmed.open(None)

    # Start ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take the WAL over and list its objects. Raises FencedError if another process has it, and StoreError."""
        # Reserve, then list: the process before acknowledges nothing from now on, and all that it acknowledged is
        # stored, so the list has it.
        await self._reservation.acquire()
        await self.verify()
        places = [place_of(entry.key, self._folder) for entry in await self._bucket.list(self._folder)]
        if rule("WL-03.newer", bool(places) and places[-1].epoch > self._epoch):
            self._fence()
            raise FencedError(f"the WAL has objects of epoch {places[-1].epoch}, after {self._epoch}")
        self.next = places[-1].end if places else 0
        for place in places:
            stale = rule("WL-08", self._is_overlapped(place, places))
            (self._stale if stale else self._objects).append(place)

    async def verify(self) -> None:
        """Raise FencedError if another process has reserved the WAL (WL-03; FO-06 asks again after the barrier)."""
        if rule("WL-03.verify", not await self.is_own()):
            self._fence()
            raise FencedError("another process has reserved the WAL")

    async def is_own(self) -> bool:
        """Whether the reservation names this process. False if the reservation cannot be read."""
        return await self._reservation.is_own()

    def _is_overlapped(self, place: WalPlace, places: list[WalPlace]) -> bool:
        """Whether an object reaches above the start of a newer process's object: it was put too late (WL-08)."""
        if "AM-03" in self._as_built and place != places[0]:
            return False
        return any(other.epoch > place.epoch and other.start < place.end for other in places)

    async def recover(self, visit: Callable[[int, WalRecord], Awaitable[None]]) -> None:
        """Call ``visit`` for each record that is not trimmed, with its offset, in the order of offsets (WL-07).

        Records behind a hole were not acknowledged, and are left out. Raises StoreError and DamagedError.
        """
        if not self._objects:
            return
        newest = await self._bucket.find(self._objects[-1].key(self._folder))
        if newest is None:
            raise StoreError("the newest object of the WAL is gone, and nobody may delete it")
        self._trim = trim = decode_header(newest.data).trim
        expected: int | None = None
        for place in self._objects:
            if rule("WL-07.trimmed", place.end <= trim):
                continue
            if expected is not None and place.start != expected:
                break
            expected = place.end
            found = await self._bucket.find(place.key(self._folder))
            if found is None:
                # A trim of the process before has deleted the object since it was listed.
                continue
            for offset, record in decode(found.data):
                self._last_offset[place] = offset
                if record.stream != MARKER and not rule("WL-07.record", offset <= trim):
                    await visit(offset, record)

    # Append ---------------------------------------------------------------------------------------------------

    def append(self, record: WalRecord) -> Gate[int]:
        """Append a record. The gate opens with its offset when it is durable, and fails with FencedError.

        Raises FencedError and OverCapacityError at once; ValueError for a record that does not fit into an object.
        """
        if record.size > LARGEST:
            raise ValueError(f"a record of {record.size} bytes is too large for an object")
        if self.fenced:
            raise FencedError("another process has the WAL")
        if rule("WL-04", self._unflushed + record.size > self._limits.unflushed):
            raise OverCapacityError(f"{self._unflushed} bytes wait to be stored")
        if self._bulk and self._bulk_bytes + record.size > LARGEST:
            self._end_bulk()
        gate: Gate[int] = Gate(self._tasks)
        self._bulk.append((record, gate))
        self._bulk_bytes += record.size
        self._unflushed += record.size
        if self._bulk_bytes >= self._limits.bulk:
            self._end_bulk()
        elif len(self._bulk) == 1:
            self._tasks.start(self._linger(self._bulk))
        return gate

    async def _linger(self, bulk: Bulk) -> None:
        await self._tasks.sleep(self._limits.linger_ms)
        # If the bulk became full during the sleep, it has ended already.
        if self._bulk is bulk:
            self._end_bulk()

    def _end_bulk(self) -> None:
        self._ended.append(self._bulk)
        self._bulk, self._bulk_bytes = [], 0
        self._send()

    def _send(self) -> None:
        """Start the puts of the bulks that wait, in their order, up to the limit of objects in flight."""
        while self._ended and self._in_flight < self._limits.in_flight and not self.fenced:
            bulk = self._ended.popleft()
            data, offsets = encode(self.next, self._node, self._epoch, self._trim, [record for record, _ in bulk])
            place = WalPlace(self._epoch, self.next, end_of(self.next, len(data)))
            self.next = place.end
            self._in_flight += 1
            before, self._newest = self._newest, Gate(self._tasks)
            self._tasks.start(self._store(place, data, bulk, offsets, before, self._newest))

    async def _store(
        self, place: WalPlace, data: bytes, bulk: Bulk, offsets: list[int], before: Gate[None] | None, done: Gate[None]
    ) -> None:
        """Put the object of a bulk, and acknowledge its appends when WL-05 allows it."""
        try:
            # A late put of a dead process with this epoch must not replace the object of the next one.
            await self._bucket.put(place.key(self._folder), data, new="AM-15" not in self._as_built)
        except (StoreError, TakenError):
            self._fence()
        if before is not None and rule("WL-05.in_order", not before.happened):
            await before.wait()
        # Read after the put: a process that reserves the WAL later will list the object.
        if not self.fenced and rule("WL-05.verify", not await self._reservation.is_own()):
            self._fence()
        self._in_flight -= 1
        self._unflushed -= sum(record.size for record, _ in bulk)
        if self.fenced:
            _fail(bulk)
        else:
            insort(self._objects, place)
            self._last_offset[place] = max(offsets)
            # In the order of offsets (PL-02), which is then the order of the log cache. So a trim up to one record of
            # the object spares all records that follow it in the cache.
            for offset, gate in sorted(zip(offsets, (gate for _, gate in bulk), strict=True), key=itemgetter(0)):
                gate.open(offset)
        # Also after a failure, as the bulks behind this one wait for it.
        done.open(None)
        self._send()

    def _fence(self) -> None:
        """Fail all appends that wait. Appends in flight fail when their puts have ended."""
        self.fenced = True
        for bulk in (*self._ended, self._bulk):
            _fail(bulk)
        self._ended.clear()
        self._bulk, self._bulk_bytes = [], 0

    # Trim -----------------------------------------------------------------------------------------------------

    def reset(self) -> Gate[None]:
        """Trim all records of the WAL: those of the processes before, and those appended so far (RC-05)."""
        return self.trim(self.next - 1)

    def trim(self, offset: int) -> Gate[None]:
        """Trim all records up to and including an offset (WL-06). The gate opens when the trim is durable.

        Returns the gate of the last trim if that one trims at least as much. Raises the errors of ``append``.
        """
        # The last record of an object trims its whole slot. Else an object that an old process puts late into the slot,
        # when the trimmed one is deleted, could have records above the trim, and the next process would replay them.
        offset = max([offset, *(place.end - 1 for place in self._objects if self._is_trimmed(place, offset))])
        if rule("WL-06.larger", offset <= self._trim):
            return self._trimmed
        before, self._trim = self._trim, offset
        try:
            # The header of the marker's object carries the trim.
            marker = self.append(WalRecord(MARKER, MARKER, 0, 0, b""))
        except FailedError:
            self._trim = before  # Else the next trim up to here would return the gate of the one before.
            raise
        if self._bulk:
            self._end_bulk()
        self._trimmed = self._tasks.start(self._delete(offset, marker))
        return self._trimmed

    async def _delete(self, offset: int, marker: Gate[int]) -> None:
        """Delete the trimmed objects, once an object with the trim in its header is durable. A failure does no harm."""
        await marker.wait()
        trimmed = {place for place in self._objects if self._is_trimmed(place, offset)}
        # The newest object stays: the next process finds the next offset and the trim there.
        if rule("WL-06.newest", self._objects[-1] in trimmed):
            trimmed.remove(self._objects[-1])
        self._objects = [place for place in self._objects if place not in trimmed]
        stale, self._stale = self._stale, []
        try:
            await self._bucket.delete(*(place.key(self._folder) for place in (*stale, *sorted(trimmed))))
        except StoreError:
            return

    def _is_trimmed(self, place: WalPlace, offset: int) -> bool:
        """Whether all records of an object are trimmed. If its last record is unknown, its end decides."""
        return place.end <= offset + 1 or self._last_offset.get(place, place.end) <= offset


def _fail(bulk: Bulk) -> None:
    for _, gate in bulk:
        gate.fail(FencedError("another process has the WAL, or it cannot be written"))
