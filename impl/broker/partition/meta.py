"""The open meta stream of a partition: it holds the last value of each key."""

from __future__ import annotations

from typing import ClassVar, Protocol, Self, TypeVar

from impl.broker.partition.meta_stream import LatestValue, compaction, encode, replay
from impl.broker.wal_format import WalRecord
from impl.rules import RefusedError
from impl.tasks import FailedError, Gate


class StreamClosedError(FailedError):
    """A stream of the partition is closed or fenced: another broker will lead, or the storage has failed."""


class Value(Protocol):
    """A value of the meta stream, such as those in ``meta_values``."""

    KEY: ClassVar[str]

    def encode(self) -> bytes: ...

    @classmethod
    def decode(cls, data: bytes) -> Self: ...


class OpenStream(Protocol):
    """An open stream, such as a ``StreamHandle``. A call that does nothing raises RefusedError at once."""

    start: int
    next: int
    confirm: int

    def append(self, count: int, payload: bytes, link: bytes | None = None) -> Gate[int]: ...

    def fetch(self, begin: int, end: int) -> Gate[list[WalRecord]]: ...

    def trim(self, to: int) -> Gate[None]: ...


class Streams(Protocol):
    """The streams of the broker, for one partition and its epoch. Each call raises a FailedError if it fails."""

    async def create(self) -> int:
        """Create a stream, and return its id."""

    async def open(self, stream: int) -> OpenStream:
        """Open a stream under the epoch of the partition. One that is open already stays so."""


def append(stream: OpenStream, count: int, payload: bytes, link: bytes | None = None) -> Gate[int]:
    """Append to a stream of a partition. ``link``: as for a handle. Raises StreamClosedError."""
    try:
        return stream.append(count, payload, link)
    except RefusedError as error:
        raise StreamClosedError(str(error)) from error


V = TypeVar("V", bound=Value)


class MetaStream:
    """The meta stream of a partition. Values are written in the order of the calls of ``put``."""

    def __init__(self, stream: OpenStream) -> None:
        self.stream = stream
        self._latest: dict[str, LatestValue] = {}

    async def load(self) -> None:
        """Read the whole stream (step 6, row 2). Raises DamagedError, and the errors of the stream."""
        records = await self.stream.fetch(self.stream.start, self.stream.next).wait()
        self._latest = replay((each.base, each.payload) for each in records)

    def get(self, kind: type[V]) -> V | None:
        """The last value of a kind; None if there is none. Raises DamagedError."""
        found = self._latest.get(kind.KEY)
        return None if found is None else kind.decode(found.value)

    def put(self, value: Value) -> Gate[int]:
        """Write a value. The gate opens when it is durable. Values that are put later stand behind it."""
        # The offset is read before the append, which moves ``next``.
        data, offset = value.encode(), self.stream.next
        gate = append(self.stream, 1, encode(value.KEY, data))
        self._latest[value.KEY] = LatestValue(data, offset)
        return gate

    async def compact(self) -> None:
        """Rewrite the last value of each key, and trim the older records (RA-18). The caller puts nothing meanwhile."""
        found = compaction(self._latest, self.stream.start)
        if found is None:
            return
        for gate in [append(self.stream, 1, record) for record in found.records]:
            await gate.wait()
        await self.stream.trim(found.trim).wait()
