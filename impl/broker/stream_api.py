"""The commands of clients for the streams of a process: creates, opens, appends, reads, trims, closes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from impl import wire
from impl.broker import messages as m
from impl.broker.calls import NODE_ERRORS, Calls, ControllerError
from impl.broker.handle import Read, StreamHandle, outcome
from impl.broker.owned_streams import OwnedStreams
from impl.broker.reader import RecordReader
from impl.broker.wal_format import WalRecord
from impl.errors import E
from impl.items import CreateItem
from impl.rules import RefusedError, rule
from impl.tasks import FailedError, Gate, Tasks


class HoleError(FailedError):
    """The records that were read do not cover the range that was asked for."""


class RecordCache(Protocol):
    """A cache of records."""

    def read(self, stream: int, begin: int, end: int) -> list[WalRecord]:
        """The records that overlap a range, or those at its end, or none."""


def read_of(cache: RecordCache, reader: RecordReader) -> Read:
    """Reads the records that overlap a range: the newest ones from the cache, and older ones from objects (PL-13)."""

    async def read(stream: int, begin: int, end: int) -> list[WalRecord]:
        cached = cache.read(stream, begin, end)
        first = cached[0].base if cached else end
        found = [*(await reader.read(stream, begin, first)), *cached] if begin < first else cached
        place = begin
        for record in found:
            if record.base > place or record.base + record.count <= place:
                break
            place = record.base + record.count
        if rule("PL-13.gap", place < end):
            raise HoleError(f"stream {stream} has a hole at {place}")
        return found

    return read


class StreamApi:
    """``owned``: the streams of the process. ``ready``: opens when it serves. ``halt``: ends it."""

    def __init__(
        self,
        tasks: Tasks,
        calls: Calls,
        owned: OwnedStreams,
        identity: m.Identity,
        ready: Gate[None],
        halt: Callable[[str], None],
    ) -> None:
        self._tasks, self._calls, self._owned, self._identity = tasks, calls, owned, identity
        self._ready, self._halt = ready, halt

    async def run(self, command: m.Command, body: m.OfStream) -> None:
        """Execute a command of a client, and emit the answer."""
        try:
            values = await self._do(body)
        except RefusedError as refused:
            done = m.CommandAnswer(command.to, command.id, refused.error)
        except FailedError as error:
            done = m.CommandAnswer(command.to, command.id, outcome(error))
            owns = isinstance(body, m.Create | m.Open | m.Close | m.Destroy)
            if owns and isinstance(error, ControllerError) and error.error in NODE_ERRORS:
                self._halt(f"the controller answers {error.error.name}")
        else:
            done = m.CommandAnswer(command.to, command.id, E.NONE, values)
        self._tasks.outputs.append(done)

    async def _do(self, body: m.OfStream) -> dict[str, object]:
        match body:
            case m.Append(stream, count, payload):
                return {"offset": await self._owned.handle(stream).append(count, payload).wait()}
            case m.Fetch(stream, begin, end):
                return await self._fetch(self._owned.handle(stream), begin, end)
            case m.Trim(stream, to):
                await self._owned.handle(stream).trim(to).wait()
                return {}
            case m.Create():
                await self._ready.wait()
                item = (CreateItem(),)
                answer = await self._calls.call(wire.CreateStreams(self._identity.node, self._identity.epoch, item))
                return {"stream": answer.values["stream"]}
            case m.Open() | m.Close() | m.Destroy():
                await self._ready.wait()
                return await self._owned.order(body)

    async def _fetch(self, handle: StreamHandle, begin: int, end: int | None) -> dict[str, object]:
        confirm = handle.confirm
        found = await handle.fetch(begin, confirm if end is None else end).wait()
        return {"batches": [(each.base, each.count, each.payload) for each in found], "confirm": confirm}
