"""The channel of a proxy: a WAL for the batches that it forwards, readable by all brokers (ZR-16 to ZR-21)."""

from __future__ import annotations

import msgspec

from impl.broker.messages import Identity, StepEvent
from impl.broker.wal import Wal, WalLimits
from impl.broker.wal_format import WalRecord
from impl.broker.zones.blocks import ProduceBlock
from impl.broker.zones.links import channel_folder
from impl.store.bucket import Bucket
from impl.tasks import FailedError, Gate, Tasks
from impl.zone.channel import ChannelEpochs
from impl.zone.encodings import ChannelOffset, WalOffset


class StoredBlock(msgspec.Struct, frozen=True):
    """A block that is durable in the channel. ``epoch``: its route epoch. ``offset``: where it lies, encoded."""

    epoch: int
    offset: bytes


class NotStartedError(FailedError):
    """The process does not know yet what is in the channel. The append was not taken."""


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

    async def start(self) -> None:
        """List the objects of the channel. Raises FencedError if a newer process of the node has written some."""
        await self._wal.start()
        self._is_started = True

    def append(self, target: int, order_hint: int, block: ProduceBlock) -> Gate[StoredBlock]:
        """Append a block for the main ``target``. The gate opens when it is durable, in the order of the offsets.

        The gate fails, and this raises, as ``Wal.append`` does. Also raises NotStartedError: an object before the list
        would lie over those of the process before, which the next trim would then delete.
        """
        if not self._is_started:
            raise NotStartedError("the channel is not started")
        number = self._appended
        self._appended += 1
        # Records of an object are sorted by target, so the numbers of one target keep their order.
        record = WalRecord(target, 0, number, 1, block.encode())
        durable = self._wal.append(record)
        self._epochs.begin(number, target)
        return self._tasks.start(self._stored(record, order_hint, durable))

    async def _stored(self, record: WalRecord, order_hint: int, durable: Gate[int]) -> StoredBlock:
        offset = await durable.wait()
        # No await between here and the end: the epoch is that of the moment at which the append ends (ZR-20).
        (ended,) = self._epochs.complete([record.base])
        self._offsets[record.base] = offset
        at = WalOffset(self._identity.epoch, offset, record.size)
        assert ended.epoch is not None, "the append has ended"
        found = ChannelOffset(0, order_hint, self._identity.node, record.stream, at).encode()
        values = {"main": record.stream, "epoch": ended.epoch, "at": found}
        self._tasks.outputs.append(StepEvent("send_batch", values))
        return StoredBlock(ended.epoch, found)

    def switch(self, epoch: int) -> None:
        """Go on to a newer route epoch (ZR-20)."""
        self._epochs.switch(epoch)

    def trim(self, epoch: int) -> None:
        """Trim the records of all epochs up to this one (ZR-64). Raises the errors of ``Wal.append``."""
        last = self._epochs.trim(epoch)
        if last is not None:
            offset = self._offsets[int(str(last.name))]
            self._offsets = {number: each for number, each in self._offsets.items() if each > offset}
            self._wal.trim(offset)
