"""The streams of one partition that the process owns."""

from __future__ import annotations

from impl import wire
from impl.broker.calls import Calls
from impl.broker.messages import Close, Identity, Open
from impl.broker.owned_streams import OwnedStreams
from impl.broker.partition.meta import OpenStream
from impl.controller.streams import partition_tags
from impl.items import CreateItem
from impl.records import Partition
from impl.rules import RefusedError
from impl.tasks import FailedError, Tasks


class SpentEpochError(FailedError):
    """The process has closed a stream under the epoch of the partition: it may not open it again (CA-47)."""


class PartitionStreams:
    """The streams of one partition, under the epoch of one assignment."""

    def __init__(self, tasks: Tasks, calls: Calls, owned: OwnedStreams, identity: Identity, row: Partition) -> None:
        self.opened: list[int] = []
        """The streams that were opened, in their order; the meta stream is the first."""
        self._tasks, self._calls, self._owned, self._identity, self._row = tasks, calls, owned, identity, row

    async def create(self) -> int:
        item = CreateItem(partition_tags(self._row.topic, self._row.partition))
        answer = await self._calls.call(wire.CreateStreams(self._identity.node, self._identity.epoch, (item,)))
        stream: int = answer.values["stream"]
        return stream

    async def open(self, stream: int) -> OpenStream:
        # Before the open: if it fails, the stream may be open, and has to be closed too.
        if stream not in self.opened:
            self.opened.append(stream)
        try:
            await self._owned.order(Open(stream, self._row.leader_epoch))
            return self._owned.handle(stream)
        except RefusedError as error:
            raise SpentEpochError(str(error)) from error

    async def close(self) -> None:
        """Close all streams, the meta stream last (PT-02). Raises the errors of the controller."""
        meta, data = self.opened[:1], self.opened[1:]
        closes = [self._tasks.start(self._owned.order(Close(stream))) for stream in (*data, *meta)]
        for close in closes:
            await close.wait()
