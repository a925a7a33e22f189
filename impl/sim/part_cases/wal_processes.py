"""The processes of a run of a WAL: each takes the WAL over, appends and trims, over one store and one controller."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from impl.broker.wal import FencedError, Wal, WalLimits
from impl.broker.wal_format import WalRecord
from impl.sim.part_cases.late_store import LateStore
from impl.store.bucket import Bucket
from impl.store.interface import Operation
from impl.tasks import Gate, Tasks

NODE = 3
RecoveredRecords = list[tuple[int, WalRecord]]
"""What a recovery finds: records with their offsets, in order."""


class WalAppend(msgspec.Struct, frozen=True):
    """An append that a process has accepted."""

    record: WalRecord
    gate: Gate[int]


class AckedRecord(msgspec.Struct, frozen=True):
    """The offset of a record that a process has acknowledged. ``name``: the process."""

    name: tuple[int, bool]
    offset: int


class WalTrim(msgspec.Struct, frozen=True):
    """A trim that a process has accepted: all records up to and including ``offset``."""

    offset: int
    gate: Gate[None]


class WalBarrier:
    """The controller, as far as it registers processes (ND-01). ``is_there``: whether it refuses older ones."""

    def __init__(self, *, is_there: bool) -> None:
        self.is_there = is_there
        self._newest = (0, False)

    def accept(self, name: tuple[int, bool]) -> bool:
        """Register a process by its epoch and its failover flag; False if a newer one is registered."""
        if not self.is_there:
            return True
        self._newest = max(self._newest, name)
        return self._newest == name


class WalProcess:
    """A process of the node with an epoch, or a failover worker in its place.

    ``sent``: what has not arrived, by number; None is a registration. ``meets_newer``: the WAL had an object of a newer
    process when this one began. ``floor``: the largest offset that was acknowledged by then. ``recovered``: the records
    that its recovery has found; None before. ``acked``: the offsets that it has acknowledged, in order.
    """

    def __init__(
        self,
        store: LateStore,
        barrier: WalBarrier,
        name: tuple[int, bool],
        limits: WalLimits,
        take_over: Callable[[WalProcess], None],
    ) -> None:
        self.name = name
        self.sent: dict[int, Operation | None] = {}
        self.meets_newer = self.is_ready = False
        self.is_alive = True
        self.floor = -1
        self.recovered: RecoveredRecords | None = None
        self.appends: list[WalAppend] = []
        self.trims: list[WalTrim] = []
        self.acked: list[int] = []
        self.tasks = Tasks()
        self._store, self._barrier, self._take_over = store, barrier, take_over
        epoch, failover = name
        bucket = Bucket(self.tasks, lambda number, operation: (number, operation))
        self.wal = Wal(self.tasks, bucket, NODE, epoch, failover=failover, limits=limits)
        self._main = self.tasks.start(self._serve())

    async def _serve(self) -> None:
        """FO-08, in the order of FO-06."""
        await self.wal.start()
        if not await self.tasks.ask(lambda number: (number, None)):
            raise FencedError("the controller knows a newer process")
        await self.wal.verify()
        found: RecoveredRecords = []

        async def visit(offset: int, record: WalRecord) -> None:
            found.append((offset, record))

        await self.wal.recover(visit)
        self.recovered = found
        self._take_over(self)
        await self.wal.reset().wait()
        self.is_ready = True

    def run(self, ms: int = 0) -> None:
        """Let the tasks work, after some time."""
        self.sent.update(self.tasks.run(self.tasks.now + ms))
        if self._main.happened and not self.is_ready:
            self.crash()

    def wait(self) -> None:
        """Let the time of the next delay come."""
        if self.tasks.due is not None:
            self.run(max(0, self.tasks.due - self.tasks.now))

    def deliver(self, number: int) -> None:
        """What was sent under a number arrives, and the answer comes back, if there is one."""
        operation = self.sent.pop(number)
        if operation is None:
            self.tasks.answer(number, self._barrier.accept(self.name))
        else:
            self.tasks.answer(number, self._store.deliver(operation))
        self.run()

    def crash(self) -> None:
        """End the process. What it has sent may still arrive."""
        self.is_alive = self.is_ready = False
        self.tasks.crash()
        self._store.late += [each for each in self.sent.values() if each is not None]
        self.sent.clear()
