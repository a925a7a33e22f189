"""A client of three brokers whose objects lie in S3: what it appends, what it is told, and what it reads at last.

The nodes run in the world of ``crash_world``, with its virtual clock. An adapter of ``impl.store`` executes the store
operations of the brokers, and an answer is sent when the real operation has returned.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import msgspec

from impl.broker import compaction, log_cache, wal
from impl.broker import messages as m
from impl.controller.node import Controller
from impl.controller.view import Profile
from impl.errors import E
from impl.store.interface import Answer, Delete, List, ObjectStore, Operation, Unsure
from tests.impl.crash_world import START, Process, World, opened, successor

NODES = (1, 2, 3)
STREAMS = 4
BURST = 12
"""The number of batches of a stream that the client sends before it waits for answers."""
SMALL = {
    "wal": wal.WalLimits(bulk=2_000, linger_ms=10, in_flight=4),
    "cache": log_cache.CacheLimits(block=25_000, capacity=60_000),
    "split_bytes": 2_000,
    "upload_interval_ms": 1_000,
    "compaction": compaction.CompactionLimits(interval_ms=3_000),
}
"""Limits that a hundred batches reach: a WAL object has about ten, and a block of the cache twenty."""
RETENTION_MS = 5_000
"""The time for which the controller keeps a compacted object."""
REST_MS = 30_000
"""The time for uploads, compactions and deletions before the client reads."""

Batch = tuple[int, int, bytes]
"""A batch that was read: its base, the number of its records, and its payload."""


class Send(msgspec.Struct, frozen=True):
    """A batch that the client has sent. ``number``: its place among all sends. ``offset``: where it was acknowledged.

    A refused batch has no effect. Nobody knows whether a batch of unknown fate is in the stream.
    """

    number: int
    count: int
    fate: Literal["acknowledged", "refused", "unknown"]
    offset: int = -1


def payload(number: int, count: int) -> bytes:
    """Sixteen bytes for each record, which contain the number of its batch."""
    return b"%016d" % number * count


def problems(sends: list[Send], batches: list[Batch]) -> list[str]:
    """The errors in the batches of a stream, read from offset 0 to its end, given the client's sends to it."""
    found = []
    sent = {payload(send.number, send.count): send for send in sends}
    places: dict[int, int] = {}
    end, newest = 0, -1
    for base, count, data in batches:
        send = sent.get(data)
        if base != end:
            found.append(f"hole: a batch begins at {base}, and the one before it ends at {end}")
        end = base + count
        if send is None or send.count != count:
            found.append(f"foreign: nobody has sent the batch at {base}")
            continue
        if send.fate == "refused":
            found.append(f"refused: batch {send.number} is at {base}")
        if send.number in places:
            found.append(f"twice: batch {send.number} is at {places[send.number]} and at {base}")
        elif send.number < newest:
            found.append(f"order: batch {send.number} is behind batch {newest}")
        places.setdefault(send.number, base)
        newest = max(newest, send.number)
    missing = (send for send in sends if send.fate == "acknowledged" and places.get(send.number) != send.offset)
    found += [f"lost: batch {send.number} is not at {send.offset}, where it was acknowledged" for send in missing]
    return found


class CountingStore:
    """A store on top of another. ``counts``: its operations by kind and folder. ``unsure``: failed answers."""

    def __init__(self, store: ObjectStore) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.unsure: list[str] = []
        self._store = store

    def execute(self, operation: Operation) -> Answer:
        """Execute an operation, and count it."""
        match operation:
            case List(folder, _):
                keys: tuple[str, ...] = (folder,)
            case Delete(keys):
                pass
            case _:
                keys = (operation.key,)
        for key in keys:
            self.counts[type(operation).__name__, key.partition("/")[0]] += 1
        answer = self._store.execute(operation)
        if isinstance(answer, Unsure):
            self.unsure.append(answer.reason)
        return answer


class Story:
    """A client appends ``records`` records to four streams. Each is handed over twice, and an owner crashes in between.

    ``restarts``: whether the crashed node's next process recovers, or another broker.
    """

    def __init__(self, store: ObjectStore, *, v6: bool, records: int, restarts: bool) -> None:
        self.store = CountingStore(store)
        self.world = World(v6=v6, **SMALL)
        self.world.store = self.store
        self.world.controller = Controller(Profile(v6=v6, object_retention_ms=RETENTION_MS), now=START)
        self.records, self.restarts = records, restarts
        self.living = self.world.serving(*NODES)
        self.streams: list[int] = []
        self.owners: dict[int, Process] = {}
        self.epochs: dict[int, int] = {}
        self.sends: dict[int, list[Send]] = {}
        self._open: list[tuple[int, Send, Process, int]] = []
        """The unanswered sends: the stream, the send, its process, and the number of the command."""
        self._numbers = 0

    def run(self) -> None:
        """Run the story to its last append, and let the brokers upload and compact."""
        for place in range(STREAMS):
            owner = self.living[place % len(NODES)]
            stream = opened(owner)
            self.streams.append(stream)
            self.owners[stream], self.epochs[stream], self.sends[stream] = owner, 0, []
        self._append_up_to(self.records // 4)
        self._hand_over_all()
        self._append_up_to(self.records // 2)
        self._crash(self.owners[self.streams[0]])
        self._append_up_to(self.records * 3 // 4)
        self._hand_over_all()
        self._append_up_to(self.records)
        self.world.rest(REST_MS)

    def problems(self) -> list[str]:
        """The errors in the streams, as their last owners read them."""
        self._note()
        found = []
        for stream in self.streams:
            done = self.owners[stream].ask(m.Fetch(stream, 0))
            if done.error is E.NONE:
                batches: list[Batch] = done.values["batches"]
                found += [f"stream {stream}: {each}" for each in problems(self.sends[stream], batches)]
            else:
                found.append(f"stream {stream}: it cannot be read: {done.error.name}")
        return found

    def count(self, fate: str) -> int:
        """The number of records with a fate."""
        return sum(send.count for sends in self.sends.values() for send in sends if send.fate == fate)

    def _append_up_to(self, records: int) -> None:
        """Append to all streams until N records are acknowledged."""
        while self.count("acknowledged") < records:
            for stream in self.streams:
                self._send(stream)
            self._wait()

    def _hand_over_all(self) -> None:
        """Hand each stream over to the next broker, with appends before and after the close."""
        for stream in self.streams:
            owner = self.owners[stream]
            self._send(stream)
            owner.send(m.Close(stream))
            self._send(stream)
            self._open_at(stream, self._next_to(owner))
            self._wait()

    def _crash(self, owner: Process) -> None:
        """Close one stream of an owner, and crash it after some acknowledged appends to the other one.

        Both streams then get another owner.
        """
        closed, kept = [stream for stream in self.streams if self.owners[stream] is owner]
        self._send(closed)
        closing = owner.send(m.Close(closed))
        self.world.run(lambda: closing in owner.done)
        self._wait()
        for _ in range(3):
            self._send(kept)
        self.world.run(lambda: any(command in owner.done for _, _, _, command in self._open))
        owner.crash()
        self._wait()
        if self.restarts:
            heir = self.living[self.living.index(owner)] = successor(self.world, owner.identity.node)
        else:
            heir = self._next_to(owner)
            self.living.remove(owner)
        for stream in (closed, kept):
            self._open_at(stream, heir)

    def _next_to(self, process: Process) -> Process:
        return self.living[(self.living.index(process) + 1) % len(self.living)]

    def _open_at(self, stream: int, process: Process) -> None:
        """Open a stream under the next epoch, once its previous owner has closed it."""
        self.epochs[stream] += 1
        done = process.ask(m.Open(stream, self.epochs[stream]))
        assert done.error is E.NONE, done
        self.owners[stream] = process

    def _send(self, stream: int) -> None:
        """Send some batches of 1 to 19 records to the owner of a stream."""
        for _ in range(BURST):
            self._numbers += 1
            send = Send(self._numbers, 1 + self._numbers % 19, "unknown")
            body = m.Append(stream, send.count, payload(send.number, send.count))
            owner = self.owners[stream]
            self._open.append((stream, send, owner, owner.send(body)))

    def _wait(self) -> None:
        """Run until each send is answered, or its process is gone."""
        self.world.run(lambda: all(not owner.alive or command in owner.done for _, _, owner, command in self._open))
        self._note()

    def _note(self) -> None:
        """Record the fate of each send. Without an answer it is unknown."""
        for stream, send, owner, command in self._open:
            done = owner.done.get(command)
            if done is None or done.error is E.REQUEST_TIMED_OUT:
                fate: dict[str, Any] = {"fate": "unknown"}
            elif done.error is E.NONE:
                fate = {"fate": "acknowledged", "offset": done.values["offset"]}
            else:
                fate = {"fate": "refused"}
            self.sends[stream].append(msgspec.structs.replace(send, **fate))
        self._open.clear()
