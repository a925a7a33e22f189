"""What a main does with forwarded batches: it admits them, reads them, and appends them with links (2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from impl.broker.handle import outcome
from impl.broker.messages import PeerAnswer, PeerCall, RouteBatches
from impl.broker.partition.host import Host
from impl.broker.zones.blocks import ProduceBlock
from impl.broker.zones.links import ChannelReader, link_to
from impl.broker.zones.node_epochs import NodeEpochs
from impl.errors import E
from impl.rules import RefusedError, rule
from impl.tasks import FailedError, Gate, Tasks
from impl.zone.encodings import ChannelOffset, Forward
from impl.zone.order import Stripe, stripe

STRIPES = 64


class RoutedItem(msgspec.Struct):
    """A batch of a request. ``at``, ``encoded``: where it lies. ``block``: what was read; None if the read has failed.

    ``done``: opens with the name of its error, and the values for its producer.
    """

    at: ChannelOffset
    encoded: bytes
    done: Gate[tuple[str, dict[str, Any]]]
    block: ProduceBlock | None = None


class Main:
    """The forwarded batches of a process.

    ``answer_ms``: after this time a producer gets REQUEST_TIMED_OUT, while its append may still be under way (ZR-31).
    """

    def __init__(
        self,
        tasks: Tasks,
        host: Host,
        reader: ChannelReader,
        epochs: NodeEpochs,
        answer_ms: int,
        as_built: frozenset[str],
    ) -> None:
        self._tasks, self._host, self._reader, self._epochs = tasks, host, reader, epochs
        self._answer_ms, self._as_built = answer_ms, as_built
        self._stripes = [Stripe() for _ in range(STRIPES)]
        self._reads: dict[int, RoutedItem] = {}
        """By number: the batches whose read is under way or waits in a stripe."""
        self._number = 0

    async def take(self, call: PeerCall, body: RouteBatches) -> None:
        """Take the batches of a request, and answer when all of them are done."""
        batches = Forward.decode(body.data).offsets
        number = self._epochs.admit(body.route_epoch, batches)
        if number is None:
            self._answer(call, E.UNKNOWN_SERVER_ERROR, {})
            return
        items = [self._start(offset) for offset in batches]
        deadline = self._tasks.now + self._answer_ms
        answers = [await self._ended(item, deadline) for item in items]
        if any(name == E.UNKNOWN_SERVER_ERROR.name for name, _ in answers):
            # One read that failed fails the whole request, although others may be appended (ZR-26).
            self._answer(call, E.UNKNOWN_SERVER_ERROR, {})
        else:
            self._answer(call, E.NONE, {"answers": answers})
        if "ZG-2" not in self._as_built:
            # The answer may have come before the append has ended; the count waits for that (ZG-2).
            for item in items:
                await item.done.wait()
        self._epochs.finish(number)

    def _answer(self, call: PeerCall, error: E, values: Mapping[str, Any]) -> None:
        self._tasks.outputs.append(PeerAnswer(call.sender, call.id, error, dict(values)))

    async def _ended(self, item: RoutedItem, deadline: int) -> tuple[str, dict[str, Any]]:
        try:
            return await item.done.wait(max(0, deadline - self._tasks.now))
        except FailedError:
            return E.REQUEST_TIMED_OUT.name, {}

    # Reads in any order, appends in order -----------------------------------------------------------------------

    def _start(self, encoded: bytes) -> RoutedItem:
        """Step 4. Begin to read a batch, and put it into its stripe."""
        at = ChannelOffset.decode(encoded)
        item = RoutedItem(at, encoded, Gate(self._tasks))
        self._number += 1
        self._reads[self._number] = item
        self._stripes[stripe(at.order_hint, STRIPES)].read(self._number)
        self._tasks.start(self._read(self._number, item))
        return item

    async def _read(self, number: int, item: RoutedItem) -> None:
        try:
            item.block = await self._reader.read(item.at)
        except FailedError:
            item.block = None
        if not rule("M-22"):
            # With the rule switched off, batches are appended in the order in which their reads end.
            self._append_later(number)
            return
        for released in self._stripes[stripe(item.at.order_hint, STRIPES)].done(number, failed=item.block is None):
            self._append_later(int(str(released.name)))

    def _append_later(self, number: int) -> None:
        """Step 6. Tasks run in the order of their start up to their first wait, where the batch has its offset."""
        item = self._reads.pop(number)
        self._tasks.start(self._append(item))

    async def _append(self, item: RoutedItem) -> None:
        item.done.open(await self.append(item.block, item.encoded))

    async def append(self, block: ProduceBlock | None, encoded: bytes) -> tuple[str, dict[str, Any]]:
        """Append a batch with a link to ``encoded``. Returns the name of its error, and the values for its producer.

        Without a block the read has failed.
        """
        if block is None:
            return E.UNKNOWN_SERVER_ERROR.name, {}
        try:
            log = self._host.log((block.topic, block.partition))
            # Whatever the producer asks for, the batch is durable before it is answered (M-04).
            acks = -1 if rule("M-04") else 1
            link = partial(link_to, channel_offset=encoded)
            return E.NONE.name, {"offset": await log.append(block.batch, link, acks)}
        except RefusedError as refused:
            return refused.error.name, {}
        except FailedError as error:
            return outcome(error).name, {}
