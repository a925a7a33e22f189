"""Processes of one node on one WAL. Each store operation waits until a test delivers it, in any order.

The world keeps the acknowledged records, and reports when a process that takes the WAL over misses one.
"""

from __future__ import annotations

from typing import Any, NoReturn

from impl.broker.wal import FencedError, Wal, WalLimits
from impl.broker.wal_format import WalRecord
from impl.store.bucket import Bucket, StoreError
from impl.store.interface import Answer, Operation, Unsure
from impl.store.memory import MemoryStore
from impl.tasks import Gate, Tasks

ONE_BY_ONE = WalLimits(bulk=1)
"""Limits that make each append a bulk of its own."""


class LostError(AssertionError):
    """An acknowledged record is lost."""


class World:
    """The store, the controller's barrier, and all processes of the node, by their epochs from 1."""

    def __init__(
        self,
        *,
        as_built: frozenset[str] = frozenset(),
        verifies_late: bool = True,
        limits: WalLimits = ONE_BY_ONE,
    ) -> None:
        self.store = MemoryStore()
        self.as_built = as_built
        self.limits = limits
        self.verifies_late = verifies_late
        self.processes: list[Process] = []
        self.late: list[Operation] = []
        """Operations of unknown outcome, which may still arrive."""
        self.barrier = 0
        """The newest epoch that the controller has accepted (ND-01)."""
        self.acked: set[int] = set()
        """The acknowledged records that were neither trimmed nor recovered since."""
        self.recovered: dict[int, int] = {}
        """By record, the newest epoch that has recovered it."""
        self.broken = False
        """Whether something was lost."""
        self._records = 0

    def begin(self, epoch: int | None = None) -> Process:
        """Start the next process. Its epoch is the next one, unless ``epoch`` is given."""
        process = Process(self, epoch or len(self.processes) + 1)
        self.processes.append(process)
        process.run()
        return process

    def new_record(self, epoch: int) -> WalRecord:
        """A new record. Its base is its name."""
        self._records += 1
        return WalRecord(7, epoch, self._records, 1, b"payload")

    def ack(self, record: WalRecord, epoch: int) -> None:
        """A process acknowledges a record. A newer process that took the WAL over must have recovered it."""
        newest = max((each.epoch for each in self.processes if each.has_recovered), default=0)
        if newest <= epoch:
            self.acked.add(record.base)
        elif self.recovered.get(record.base, 0) < newest:
            self._lose(f"{epoch} acknowledges {record.base}, which {newest} has not recovered")

    def take_over(self, process: Process, found: list[WalRecord]) -> None:
        """A process has recovered the WAL."""
        missed = self.acked - {record.base for record in found}
        if missed:
            self._lose(f"{process.epoch} has not recovered {sorted(missed)}")
        for record in found:
            self.recovered[record.base] = process.epoch
        self.acked.clear()

    def _lose(self, what: str) -> NoReturn:
        self.broken = True
        raise LostError(what)

    def arrive_late(self, index: int = 0, *, again: bool = False) -> None:
        """Deliver an operation that nobody waits for, perhaps not for the last time."""
        self.store.execute(self.late[index] if again else self.late.pop(index))


class Process:
    """One process. ``sent``: its operations that have not arrived, by number."""

    def __init__(self, world: World, epoch: int) -> None:
        self.world, self.epoch = world, epoch
        self.tasks = Tasks()
        self.sent: dict[int, Operation] = {}
        self.has_recovered = False
        self.ready = False
        bucket = Bucket(self.tasks, lambda number, operation: (number, operation))
        self.wal = Wal(self.tasks, bucket, 3, epoch, as_built=world.as_built, limits=world.limits)
        self.acked: list[tuple[int, WalRecord]] = []
        self.main = self.tasks.start(self._main())

    async def _main(self) -> None:
        """FO-08, in the order of FO-06."""
        await self.wal.start()
        if self.world.barrier > self.epoch:
            raise FencedError("the controller knows a newer process")
        self.world.barrier = self.epoch
        if self.world.verifies_late:
            await self.wal.verify()
        found: list[WalRecord] = []

        async def visit(_: int, record: WalRecord) -> None:
            found.append(record)

        await self.wal.recover(visit)
        self.world.take_over(self, found)
        self.has_recovered = True
        await self.wal.reset().wait()
        self.ready = True

    def run(self) -> None:
        """Run the tasks. If no operation is under way then, the next delay ends at once."""
        self.sent.update(self.tasks.run(self.tasks.now))
        if not self.sent and self.tasks.due is not None:
            self.sent.update(self.tasks.run(self.tasks.due))

    def append(self) -> WalRecord:
        """Append one record."""
        record = self.world.new_record(self.epoch)
        self.tasks.start(self._append(record))
        self.run()
        return record

    def append_together(self, count: int) -> None:
        """Append records of one object, if the limits allow it."""
        for _ in range(count):
            self.tasks.start(self._append(self.world.new_record(self.epoch)))
        self.run()

    async def _append(self, record: WalRecord) -> None:
        offset = await self.wal.append(record).wait()
        self.world.ack(record, self.epoch)
        self.acked.append((offset, record))

    def trim(self, count: int) -> None:
        """Trim the first of this process's acknowledged records."""
        offset, _ = self.acked[count - 1]
        self.world.acked -= {record.base for _, record in self.acked[:count]}
        self.wal.trim(offset)
        self.run()

    def arrive(self, number: int | None = None, *, answer: Answer | None = None) -> None:
        """Deliver an operation and its answer, or another answer; the oldest operation if no number is given."""
        number = min(self.sent) if number is None else number
        found = self.world.store.execute(self.sent.pop(number))
        self._answer(number, found if answer is None else answer)

    def lose(self, number: int, *, late: bool) -> None:
        """Drop an operation for now. It may arrive later."""
        operation = self.sent.pop(number)
        if late:
            self.world.late.append(operation)
        self._answer(number, Unsure("lost"))

    def crash(self) -> None:
        """Crash the process. Its sent operations may still arrive."""
        self.tasks.crash()
        self.world.late += self.sent.values()
        self.sent.clear()

    def settle(self) -> None:
        """Deliver everything until nothing more is sent."""
        while self.sent:
            self.arrive()

    def _answer(self, number: int, answer: Answer) -> None:
        self.tasks.answer(number, answer)
        self.run()


def ended(gate: Gate[Any]) -> str:
    """The end of a task, in one word."""
    try:
        gate.result()
    except FencedError:
        return "fenced"
    except StoreError:
        return "unsure"
    except ValueError:
        return "waits"
    return "done"
