"""The object store of a move: each operation takes a fixed time, and the time of its bytes on the broker's link.

Large objects that nobody reads during a move are kept by their size only: those of the history, the WAL, and the object
of the tail. A read of one of them ends the run with an error, so a run that ends well has read no byte of them.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from impl.sim.move.conditions import MIB, Conditions
from impl.sim.move.fair_link import FairLink
from impl.sim.queue import Queue
from impl.sim.store_faults import Answered, FaultyStore, _nobody
from impl.sim.tape import Tape
from impl.store.interface import Answer, Delete, Get, List, Operation, Put, PutResult

KEPT_BYTES = 64 * MIB
"""A larger object of a partition is kept by its size only."""


class StandInError(Exception):
    """A broker reads an object that is kept by its size only."""


class StoreTransfer(msgspec.Struct, frozen=True):
    """A transfer that has ended: ``node``, the ``kind`` of the operation, key, bytes, and its times."""

    node: int
    kind: str
    key: str
    size: int
    begin: int
    end: int


class SteadyStore(FaultyStore):
    """A store without faults. ``stand_ins``: by key, the sizes of the objects that are kept by their size only.

    ``transfers``: the transfers that have ended since ``limit`` was called. Before that call transfers take no time, so
    that the world is set up fast.

    ``has_stand_ins``: whether large objects and WALs are kept by their size; else all bytes are kept.
    """

    def __init__(self, queue: Queue, tape: Tape, conditions: Conditions, *, has_stand_ins: bool = True) -> None:
        super().__init__(queue, tape, 0)
        self._has_stand_ins = has_stand_ins
        self.stand_ins: dict[str, int] = {}
        self.transfers: list[StoreTransfer] = []
        self._conditions = conditions
        self._links: dict[int, FairLink] = {}
        self._is_limited = False

    def limit(self) -> None:
        """Let transfers take their time from now on, and record them."""
        self._is_limited = True

    def unlimit(self) -> None:
        """Let transfers that begin from now on take no time again."""
        self._is_limited = False

    def send(self, node: int, operation: Operation, answered: Answered, taken: Answered = _nobody) -> None:
        """Send an operation. A put is transferred first, and takes effect at its answer. A get is transferred last."""
        self.operations += 1

        def answer(found: Answer) -> None:
            taken(found)
            answered(found)

        latency = self._conditions.store
        if isinstance(operation, Put):
            put = operation

            def arrived() -> None:
                self._queue.at(self._queue.now + latency, lambda: answer(self._put(put)))

            self._transfer(node, "put", put.key, len(put.data), arrived)
        else:
            self._queue.at(self._queue.now + latency, self._find, node, operation, answer)

    def _find(self, node: int, operation: Operation, answer: Answered) -> None:
        if isinstance(operation, Get) and operation.key in self.stand_ins:
            raise StandInError(f"{operation.key} is kept by its size, and broker {node} reads it")
        if isinstance(operation, Delete):
            self._forget(operation.keys)
        found = self.memory.execute(operation)
        if isinstance(operation, Get):
            size = len(getattr(found, "data", b""))
            self._transfer(node, "get", operation.key, size, lambda: answer(found))
        else:
            lists = isinstance(operation, List) and self._is_limited
            assert not (lists and self._has_stand_ins), "a move lists nothing"
            answer(found)

    def _transfer(self, node: int, kind: str, key: str, size: int, done: Callable[[], None]) -> None:
        if not self._is_limited:
            done()
            return
        begin = self._queue.now

        def ended() -> None:
            self.transfers.append(StoreTransfer(node, kind, key, size, begin, self._queue.now))
            done()

        link = self._links.get(node)
        if link is None:
            link = self._links[node] = FairLink(self._queue, self._conditions.bytes_per_ms)
        link.send(size, ended)

    def _put(self, put: Put) -> Answer:
        if self._has_stand_ins and (put.key.startswith("wal/") or len(put.data) > KEPT_BYTES):
            self.stand_ins[put.key] = len(put.data)
            return PutResult(f"{len(put.data)} bytes")
        return self.memory.execute(put)

    def delete(self, keys: tuple[str, ...], done: Callable[[], None]) -> None:
        """Delete objects for the controller."""
        self._forget(keys)
        super().delete(keys, done)

    def _forget(self, keys: tuple[str, ...]) -> None:
        for key in keys:
            self.stand_ins.pop(key, None)
