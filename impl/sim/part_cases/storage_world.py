"""What surrounds a broker's storage in a run of its own: a WAL and a writer of objects, which end calls on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from impl.broker.log_cache import CacheBlock
from impl.broker.wal import FencedError, OverCapacityError
from impl.broker.wal_format import WalRecord
from impl.sim.tape import Draw
from impl.tasks import Gate, Tasks


class StorageWal:
    """A WAL in which at most ``room`` appends wait. They end in their order (PL-02), when the run says so.

    ``log``: the records that it was given, each with its offset. ``durable``: the number of them that are durable.
    ``trimmed``: called with the offset of each trim.
    """

    def __init__(self, tasks: Tasks, draw: Draw, room: int, trimmed: Callable[[int], None]) -> None:
        self.log: list[tuple[WalRecord, int]] = []
        self.durable = 0
        self.is_fenced = False
        self._tasks, self._draw, self._room, self._trimmed = tasks, draw, room, trimmed
        self._waiting: deque[Gate[int]] = deque()

    def append(self, record: WalRecord) -> Gate[int]:
        """Take a record. Raises OverCapacityError and FencedError."""
        if self.is_fenced:
            raise FencedError("another process has the WAL")
        if len(self._waiting) >= self._room:
            raise OverCapacityError("too many appends wait")
        last = self.log[-1][1] if self.log else 0
        self.log.append((record, last + 1 + int(self._draw() * 100)))
        gate: Gate[int] = Gate(self._tasks)
        self._waiting.append(gate)
        return gate

    def store(self) -> None:
        """The oldest append is durable."""
        if self._waiting:
            self._waiting.popleft().open(self.log[self.durable][1])
            self.durable += 1

    def fence(self) -> None:
        """Another process takes the WAL: all appends fail from now on."""
        self.is_fenced = True
        for gate in self._waiting:
            gate.fail(FencedError("another process has the WAL"))
        self._waiting.clear()

    def trim(self, offset: int) -> Gate[None]:
        """Trim the records up to and including an offset. Raises FencedError."""
        if self.is_fenced:
            raise FencedError("another process has the WAL")
        self._trimmed(offset)
        gate: Gate[None] = Gate(self._tasks)
        gate.open(None)
        return gate


class StorageWriter:
    """A writer whose steps end when the run says so, in any order.

    ``prepared``: the blocks in the order in which their uploads have begun, each with its records. ``committed``: the
    numbers of the blocks in the order of their commits. ``preparing``: the number of steps that prepare.
    """

    def __init__(self, tasks: Tasks) -> None:
        self.prepared: list[list[WalRecord]] = []
        self.committed: list[int] = []
        self.preparing = 0
        self._tasks = tasks
        self._waiting: list[Gate[None]] = []

    async def prepare(self, block: CacheBlock) -> int:
        """Begin the upload of a block. Returns its number."""
        number = len(self.prepared)
        self.prepared.append([each for records in block.streams.values() for each in records])
        self.preparing += 1
        await self._wait()
        self.preparing -= 1
        return number

    async def put(self, _: int) -> None:
        """Put the objects of a block."""
        await self._wait()

    async def commit(self, number: int) -> None:
        """Commit the objects of a block."""
        await self._wait()
        self.committed.append(number)

    def end(self, draw: Draw) -> None:
        """One of the steps ends."""
        if self._waiting:
            self._waiting.pop(int(draw() * len(self._waiting))).open(None)

    async def _wait(self) -> None:
        gate: Gate[None] = Gate(self._tasks)
        self._waiting.append(gate)
        await gate.wait()
