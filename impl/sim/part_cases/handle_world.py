"""What surrounds a stream handle in a run of its own: a storage, uploads and a controller. They end calls on demand."""

from __future__ import annotations

from collections import deque

import msgspec

from impl import wire
from impl.broker.wal_format import WalRecord
from impl.errors import E
from impl.sim.tape import Draw
from impl.tasks import FailedError, Gate, Tasks


class HandleStorage:
    """Appends that end when the run says so, in the order of their begin (PL-02).

    ``log``: the records that are durable. ``is_broken``: nothing is appended any more.
    """

    def __init__(self, tasks: Tasks) -> None:
        self.log: list[WalRecord] = []
        self.is_broken = False
        self._tasks = tasks
        self._waiting: deque[tuple[WalRecord, Gate[None]]] = deque()

    async def append(self, record: WalRecord, link: WalRecord | None = None) -> None:
        """Wait until the run ends the append."""
        assert link is None, "no run has a link"
        gate: Gate[None] = Gate(self._tasks)
        self._waiting.append((record, gate))
        await gate.wait()

    def store(self) -> None:
        """The oldest append succeeds, if the storage works."""
        if self._waiting and not self.is_broken:
            record, gate = self._waiting.popleft()
            self.log.append(record)
            gate.open(None)

    def fail(self, durable: int) -> None:
        """All appends under way fail. The oldest ``durable`` ones of them are durable all the same."""
        for number, (record, gate) in enumerate(self._waiting):
            if number < durable:
                self.log.append(record)
            gate.fail(FailedError("the storage fails"))
        self._waiting.clear()

    def end_all(self) -> None:
        """All appends end, with success if the storage works."""
        if self.is_broken:
            self.fail(0)
        while self._waiting:
            self.store()


class HandleReads:
    """Reads of the log of a storage, which end when the run says so."""

    def __init__(self, tasks: Tasks, storage: HandleStorage) -> None:
        self._tasks, self._storage = tasks, storage
        self._waiting: list[Gate[None]] = []

    async def read(self, _: int, begin: int, end: int) -> list[WalRecord]:
        """The durable records that overlap a range, once the run ends the read."""
        gate: Gate[None] = Gate(self._tasks)
        self._waiting.append(gate)
        await gate.wait()
        return [each for each in self._storage.log if each.base < end and each.end > begin]

    def end(self, draw: Draw) -> None:
        """One of the reads ends; at times it fails."""
        if self._waiting:
            gate = self._waiting.pop(int(draw() * len(self._waiting)))
            if draw() < 0.1:
                gate.fail(FailedError("the read fails"))
            else:
                gate.open(None)

    def end_all(self) -> None:
        """All reads succeed."""
        for gate in self._waiting:
            gate.open(None)
        self._waiting.clear()


class HandleUploads:
    """Forced uploads that end when the run says so. ``begun``, ``done``: how many records of the log they have."""

    def __init__(self, tasks: Tasks, storage: HandleStorage) -> None:
        self.begun = self.done = 0
        self._tasks, self._storage = tasks, storage
        self._waiting: deque[tuple[int, Gate[None]]] = deque()

    def force(self, _: int) -> Gate[None]:
        """Begin to upload all durable records."""
        gate: Gate[None] = Gate(self._tasks)
        self.begun = len(self._storage.log)
        self._waiting.append((self.begun, gate))
        return gate

    def end(self, *, fails: bool) -> None:
        """The oldest upload ends."""
        if not self._waiting:
            return
        count, gate = self._waiting.popleft()
        if fails:
            gate.fail(FailedError("the upload fails"))
        else:
            self.done = max(self.done, count)
            gate.open(None)


class HandleController:
    """A controller that knows one stream: its first offset, and whether it is open."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.is_open = True

    def execute(self, body: wire.TrimStreams | wire.CloseStreams) -> E:
        """Execute a request (ST-32, ST-41), and return the answer."""
        if isinstance(body, wire.CloseStreams):
            self.is_open = False
            return E.NONE
        (item,) = body.items
        if not self.is_open:
            return E.STREAM_NOT_OPENED
        if item.to < self.start:
            return E.OFFSET_NOT_MATCHED
        self.start = item.to
        return E.NONE


class HandleAppend(msgspec.Struct, frozen=True):
    """An append that the handle has accepted."""

    count: int
    payload: bytes
    gate: Gate[int]


class HandleFetch(msgspec.Struct, frozen=True):
    """A read that the handle has accepted, and the batches that were acknowledged in its range then."""

    begin: int
    batches: list[tuple[int, int, bytes]]
    gate: Gate[list[WalRecord]]


class HandleTrim(msgspec.Struct, frozen=True):
    """A trim that the handle has accepted."""

    to: int
    gate: Gate[None]


def has_succeeded(gate: Gate[int] | Gate[None] | Gate[list[WalRecord]]) -> bool:
    """Whether an operation has ended with success."""
    return gate.happened and not has_failed(gate)


def has_failed(gate: Gate[int] | Gate[None] | Gate[list[WalRecord]]) -> bool:
    """Whether an operation has ended with an error."""
    if not gate.happened:
        return False
    try:
        gate.result()
    except FailedError:
        return True
    return False
