"""Streams in memory for the log of a partition. A crash keeps the durable writes and no others."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from impl.broker.partition.log import PartitionLog
from impl.broker.partition.opening import open_log
from impl.broker.partition.segments import ROLL_BYTES
from impl.broker.wal_format import WalRecord
from impl.tasks import FailedError, Gate, Tasks


class StoredStream:
    """A stream in the cluster: its durable records, and its start."""

    def __init__(self) -> None:
        self.records: list[WalRecord] = []
        self.start = 0

    @property
    def end(self) -> int:
        """The offset after the last record."""
        return self.records[-1].base + self.records[-1].count if self.records else 0


class OpenStream:
    """A stream opened by a process. The world makes its appends durable, in their order."""

    def __init__(self, world: World, number: int) -> None:
        self.number, self._world, self._stored = number, world, world.disk[number]
        self.start, self.next, self.confirm = self._stored.start, self._stored.end, self._stored.end

    def append(self, count: int, payload: bytes, link: bytes | None = None) -> Gate[int]:
        assert link is None, "no test has a link"
        gate: Gate[int] = Gate(self._world.tasks)
        record = WalRecord(self.number, 0, self.next, count, payload)
        self.next += count
        self._world.writes.append((self, record, gate))
        return gate

    def fetch(self, begin: int, end: int) -> Gate[list[WalRecord]]:
        gate: Gate[list[WalRecord]] = Gate(self._world.tasks)
        assert self._stored.start <= begin <= end <= self.confirm
        gate.open([each for each in self._stored.records if each.base < end and each.base + each.count > begin])
        return gate

    def trim(self, to: int) -> Gate[None]:
        gate: Gate[None] = Gate(self._world.tasks)
        self.start = self._stored.start = to
        self._stored.records = [each for each in self._stored.records if each.base + each.count > to]
        gate.open(None)
        return gate

    def confirmed(self, record: WalRecord) -> None:
        """An append is durable."""
        self._stored.records.append(record)
        self.confirm = record.base + record.count


class World:
    """One leader of a partition.

    ``disk``: the streams by number; number 0 is the meta stream. All streams share one WAL: ``writes`` become durable
    in the order of their appends, and a crash loses the last ones.
    """

    def __init__(self, disk: dict[int, StoredStream] | None = None) -> None:
        self.disk = {0: StoredStream()} if disk is None else disk
        self.tasks = Tasks()
        self.writes: list[tuple[OpenStream, WalRecord, Gate[int]]] = []
        self.opened: dict[int, OpenStream] = {}
        self.refuses: Callable[[int], bool] = lambda number: False
        self.opens: Gate[None] | None = None
        """Data streams open when this gate opens, or at once if it is None."""

    async def create(self) -> int:
        number = max(self.disk) + 1
        self.disk[number] = StoredStream()
        return number

    async def open(self, stream: int) -> OpenStream:
        if self.opens is not None:
            await self.opens.wait()
        if self.refuses(stream):
            raise FailedError(f"stream {stream} cannot be opened")
        if stream not in self.opened:
            self.opened[stream] = OpenStream(self, stream)
        return self.opened[stream]

    def store(self, count: int | None = None) -> None:
        """Make the first ``count`` writes durable, or all if it is None."""
        done, self.writes = self.writes[:count], self.writes[len(self.writes) if count is None else count :]
        self._confirm(done)

    def store_meta(self) -> None:
        """Make the writes to the meta stream durable before earlier ones to data streams."""
        done = [each for each in self.writes if each[0].number == 0]
        self.writes = [each for each in self.writes if each[0].number != 0]
        self._confirm(done)

    def _confirm(self, done: list[tuple[OpenStream, WalRecord, Gate[int]]]) -> None:
        for stream, record, gate in done:
            stream.confirmed(record)
            gate.open(record.base)
        self.tasks.run(0)

    def run(self, job: Coroutine[int, Any, Any]) -> Any:
        """Run a task to its end. All writes are durable at once."""
        gate = self.start(job)
        while not gate.happened:
            assert self.writes, "the task waits for nothing"
            self.store()
        return gate.result()

    def start(self, job: Coroutine[int, Any, Any]) -> Gate[Any]:
        """Start a task, and run it until it waits."""
        gate = self.tasks.start(job)
        self.tasks.run(0)
        return gate

    def lead(self, leader_epoch: int, roll_bytes: int = ROLL_BYTES) -> PartitionLog:
        """Open the log as its new leader."""
        log: PartitionLog = self.run(self.opening(leader_epoch, roll_bytes))
        return log

    def opening(self, leader_epoch: int, roll_bytes: int = ROLL_BYTES) -> Coroutine[int, Any, PartitionLog]:
        """The task that opens the log."""
        return open_log(self.tasks, OpenStream(self, 0), leader_epoch, self, roll_bytes)

    def successor(self) -> World:
        """The next leader, after this one has closed its streams, or crashed and lost its undurable writes."""
        self.tasks.crash()
        return World(self.disk)
