"""The streams of one partition in memory, as a leader has them open: one WAL has all of them, and a crash cuts it.

The run decides when a write is durable and when a read ends (``partition_reading``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from impl.broker.wal_format import WalRecord
from impl.sim.tape import Draw
from impl.tasks import Gate, Tasks

META = 0
"""The meta stream of the partition. All others are data streams."""
BATCH_MAGIC = b"hfB1"
"""How the record of a batch of clients begins."""


class DurableStream:
    """The durable records of a stream, from ``start`` on."""

    def __init__(self) -> None:
        self.records: list[WalRecord] = []
        self.start = self.end = 0

    def put(self, record: WalRecord) -> None:
        """Add a durable record."""
        self.records.append(record)
        self.end = record.end


class LeaderStream:
    """An open stream of a leader."""

    def __init__(self, streams: LeaderStreams, number: int) -> None:
        self.number, self._streams, self._durable = number, streams, streams.disk[number]
        self.start, self.next, self.confirm = self._durable.start, self._durable.end, self._durable.end

    def append(self, count: int, payload: bytes, link: bytes | None = None) -> Gate[int]:
        assert link is None, "no client of another zone sends here"
        gate: Gate[int] = Gate(self._streams.tasks)
        self._streams.writes.append((self, WalRecord(self.number, 0, self.next, count, payload), gate))
        self.next += count
        return gate

    def fetch(self, begin: int, end: int) -> Gate[list[WalRecord]]:
        assert self.start <= begin <= end <= self.confirm, "the leader knows the bounds of its stream"
        gate: Gate[list[WalRecord]] = Gate(self._streams.tasks)
        self._streams.fetches.append((self, begin, end, gate))
        self._streams.scans += self.number != META
        return gate

    def trim(self, to: int) -> Gate[None]:
        gate: Gate[None] = Gate(self._streams.tasks)
        self.start = self._durable.start = to
        self._durable.records = [each for each in self._durable.records if each.end > to]
        gate.open(None)
        return gate

    def held(self, begin: int, end: int) -> list[WalRecord]:
        """The durable records that have an offset of a range."""
        return [each for each in self._durable.records if each.base < end and each.end > begin]

    def put(self, record: WalRecord) -> None:
        """A write is durable."""
        self._durable.put(record)
        self.confirm = record.end


class LeaderStreams:
    """The streams of one leader. ``disk``: the durable records by stream, which the next leader gets.

    ``writes``: what is not durable yet, in the order of the WAL. ``fetches``: the reads under way. ``scans``: the
    number of reads of data streams so far.
    """

    def __init__(self, disk: Mapping[int, DurableStream]) -> None:
        self.disk = dict(disk) or {META: DurableStream()}
        self.tasks = Tasks()
        self.writes: list[tuple[LeaderStream, WalRecord, Gate[int]]] = []
        self.fetches: list[tuple[LeaderStream, int, int, Gate[list[WalRecord]]]] = []
        self.scans = 0
        self._opened: dict[int, LeaderStream] = {}

    async def create(self) -> int:
        number = max(self.disk) + 1
        self.disk[number] = DurableStream()
        return number

    async def open(self, stream: int) -> LeaderStream:
        return self.stream(stream)

    def stream(self, number: int) -> LeaderStream:
        """A stream that the leader has open."""
        if number not in self._opened:
            self._opened[number] = LeaderStream(self, number)
        return self._opened[number]

    def go_on(self, draw: Draw) -> bool:
        """Make the next write durable, or end one of the reads. Returns whether there was one."""
        if self.fetches and (not self.writes or draw() < 0.5):
            stream, begin, end, gate = self.fetches.pop(int(draw() * len(self.fetches)))
            gate.open(stream.held(begin, end))
            return True
        if self.writes:
            stream, record, written = self.writes.pop(0)
            stream.put(record)
            written.open(record.base)
            return True
        return False

    def crash(self, draw: Draw) -> None:
        """The leader crashes. Some of its writes are durable, and nobody has heard of it; the last one may be torn."""
        self.tasks.crash()
        kept = self.writes[: int(draw() * (len(self.writes) + 1))]
        for stream, record, _ in kept:
            stream.put(record)
        if kept and kept[-1][1].payload.startswith(BATCH_MAGIC) and draw() < 0.4:
            stream, record, _ = kept[-1]
            torn = record.payload[:-1] + bytes([record.payload[-1] ^ 1])
            self.disk[stream.number].records[-1] = WalRecord(record.stream, 0, record.base, record.count, torn)


_PARTITION = b"\0\0\0\0\x09PARTITION"
"""How a record of the meta stream begins that has the clean flag: magic byte, length of the key, key."""


def has_clean_flag(meta: DurableStream) -> bool:
    """Whether the meta stream says that the log was closed in order (SP-09)."""
    values = [each.payload for each in meta.records if each.payload.startswith(_PARTITION)]
    return bool(values) and json.loads(values[-1][len(_PARTITION) :])["cs"]


def write_older_flag(meta: DurableStream, point: int) -> None:
    """Write the clean flag as AutoMQ 1.0 does, with a recovery point that may lie below the end (step 3, row 4)."""
    meta.put(WalRecord(META, 0, meta.end, 1, _PARTITION + b'{"s":0,"c":0,"r":%d,"cs":true}' % point))
