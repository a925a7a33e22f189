"""The channel of a proxy: a WAL for the batches that it forwards, readable by all brokers (ZR-16 to ZR-21)."""

from __future__ import annotations

from collections import deque

import msgspec

from impl.broker.messages import Identity, StepEvent
from impl.broker.wal import OverCapacityError, Wal, WalLimits
from impl.broker.wal_format import WalRecord
from impl.broker.zones.blocks import ProduceBlock
from impl.broker.zones.links import channel_folder
from impl.store.bucket import Bucket
from impl.tasks import FailedError, Gate, Tasks
from impl.zone.channel import ChannelEpochs
from impl.zone.encodings import ChannelOffset, WalOffset

FULL_MS = 1_000
"""The period in which a block that waits for room is tried again (ZR-19)."""


class StoredBlock(msgspec.Struct, frozen=True):
    """A block that is durable in the channel. ``epoch``: its route epoch. ``offset``: where it lies, encoded."""

    epoch: int
    offset: bytes


class NotStartedError(FailedError):
    """The process does not know yet what is in the channel. The append was not taken."""


class WaitingBlock(msgspec.Struct):
    """A block that waits for room in the channel. ``stored``: opens when it is durable."""

    target: int
    order_hint: int
    block: ProduceBlock
    stored: Gate[StoredBlock]


class RouterChannel:
    """The channel of the process ``identity``. It takes appends when ``start`` has ended."""

    def __init__(self, tasks: Tasks, bucket: Bucket, identity: Identity, limits: WalLimits) -> None:
        self._tasks, self._identity = tasks, identity
        self._wal = Wal(
            tasks, bucket, identity.node, identity.epoch, limits=limits, folder=channel_folder(identity.node)
        )
        self._epochs = ChannelEpochs()
        self._offsets: dict[int, int] = {}
        """By the number of a record: its offset in the WAL, until it is trimmed."""
        self._appended = 0
        self._is_started = False
        self._queue: deque[WaitingBlock | int] = deque()
        """While the WAL is full: the blocks that wait, and the route epochs that came behind some of them (ZR-19)."""

    async def start(self) -> None:
        """List the objects of the channel. Raises FencedError if a newer process of the node has written some."""
        await self._wal.start()
        self._is_started = True

    def append(self, target: int, order_hint: int, block: ProduceBlock) -> Gate[StoredBlock]:
        """Append a block for the main ``target``. The gate opens when it is durable, in the order of the offsets.

        While the channel is full, the block waits, and all later ones wait behind it (ZR-19). The gate fails as that of
        ``Wal.append`` does. Raises NotStartedError: an object before the list would lie over those of the process
        before, which the next trim would then delete.
        """
        if not self._is_started:
            raise NotStartedError("the channel is not started")
        waiting = WaitingBlock(target, order_hint, block, Gate(self._tasks))
        self._enqueue(waiting)
        return waiting.stored

    def switch(self, epoch: int) -> None:
        """Go on to a newer route epoch (ZR-20). Blocks that wait for room hold it up (ZR-19)."""
        self._enqueue(epoch)

    def _enqueue(self, item: WaitingBlock | int) -> None:
        """Admit an item at once, or let it wait behind all others."""
        if self._queue or not self._admit(item):
            self._queue.append(item)
            if len(self._queue) == 1:
                self._tasks.start(self._drain())

    async def _drain(self) -> None:
        """Admit what waits, in order, until nothing is left."""
        while self._queue:
            await self._tasks.sleep(FULL_MS)
            while self._queue and self._admit(self._queue[0]):
                self._queue.popleft()

    def _admit(self, item: WaitingBlock | int) -> bool:
        """Switch to an epoch, or append a block. Returns False if there is no room for it."""
        if isinstance(item, int):
            self._epochs.switch(item)
            return True
        number = self._appended
        # Records of an object are sorted by target, so the numbers of one target keep their order.
        record = WalRecord(item.target, 0, number, 1, item.block.encode())
        try:
            durable = self._wal.append(record)
        except OverCapacityError:
            return False
        except FailedError as error:
            item.stored.fail(error)
            return True
        self._appended += 1
        self._epochs.begin(number, item.target)
        self._tasks.start(self._store(record, item, durable))
        return True

    async def _store(self, record: WalRecord, item: WaitingBlock, durable: Gate[int]) -> None:
        try:
            offset = await durable.wait()
        except FailedError as error:
            item.stored.fail(error)
            return
        # No await between here and the end: the epoch is that of the moment at which the append ends (ZR-20).
        (ended,) = self._epochs.complete([record.base])
        self._offsets[record.base] = offset
        at = WalOffset(self._identity.epoch, offset, record.size)
        assert ended.epoch is not None, "the append has ended"
        found = ChannelOffset(0, item.order_hint, self._identity.node, record.stream, at).encode()
        values = {"main": record.stream, "epoch": ended.epoch, "at": found}
        self._tasks.outputs.append(StepEvent("send_batch", values))
        item.stored.open(StoredBlock(ended.epoch, found))

    def trim(self, epoch: int) -> None:
        """Trim the records of all epochs up to this one (ZR-64). Raises the errors of ``Wal.append``."""
        last = self._epochs.trim(epoch)
        if last is not None:
            offset = self._offsets[int(str(last.name))]
            self._offsets = {number: each for number, each in self._offsets.items() if each > offset}
            self._wal.trim(offset)
