"""Dumps of a controller of ``impl`` under random requests of many nodes: most are sensible, some are refused."""

from __future__ import annotations

import random
from typing import Any

from impl.controller.commits import (
    CommittedObject,
    SetCommit,
    StreamCommit,
    commit_stream_object,
    commit_stream_set_object,
)
from impl.controller.continuity import CommittedRange
from impl.controller.nodes import lock_node, register_node, unlock_node
from impl.controller.objects import ObjectClock, prepare
from impl.controller.streams import close_stream, create_stream, delete_stream, get_opening_streams, open_stream
from impl.controller.streams import trim_stream as trim
from impl.controller.view import OperationResult, Profile
from impl.metadata.dump import write_dump
from impl.metadata.log import MetadataBatch
from tests.impl.stream_layer import Tables

HOUR = 3_600_000


class Controller:
    """A controller, its log, and random requests to it. ``streams``: the number of streams at once."""

    def __init__(self, seed: int, *, nodes: int = 4, streams: int = 6) -> None:
        self.draw = random.Random(seed)
        self.tables = Tables(Profile())
        self.clock = ObjectClock()
        self.batches: list[MetadataBatch] = []
        self.nodes, self.streams = nodes, streams
        self.term = 1
        self.answers: set[str] = set()
        for node in range(nodes):
            self.register(node)

    @property
    def image(self) -> Any:
        """The controller's tables."""
        return self.tables.image

    def run(self, operation: Any, *arguments: Any) -> OperationResult:
        """Execute an operation, and keep its records as one batch."""
        outcome = self.tables.run(operation, *arguments)
        self.answers.add(outcome.error.name)
        if outcome.records:
            self.tables.now += self.draw.randrange(1, 2_000)
            self.batches.append(MetadataBatch(outcome.records, self.term, self.tables.now))
        return outcome

    def text(self) -> str:
        """The dump as text."""
        return "\n".join([*write_dump(self.batches), ""])

    def operations(self, count: int) -> Controller:
        """Make requests until N operations have left records."""
        weights = {
            self.create: 3,
            self.open: 22,
            self.close: 12,
            self.trim: 10,
            self.delete: 1,
            self.upload: 40,
            self.register: 2,
            self.compact: 5,
            self.compact_stream: 5,
            self.other: 3,
        }
        requests, shares = list(weights), list(weights.values())
        while len(self.batches) < count:
            self.draw.choices(requests, shares)[0]()
            if self.draw.random() < 0.002:
                self.term += 1
        return self

    # What the requests are made of --------------------------------------------------------------------------------

    def stream(self) -> int:
        """A stream, sometimes one that was deleted."""
        known = list(self.image.streams)
        if not known or self.draw.random() < 0.02:
            return self.draw.randrange(int(self.image.ids["stream"]) + 2)
        return int(self.draw.choice(known))

    def node(self) -> int:
        """A node."""
        return self.draw.randrange(self.nodes)

    def epoch(self, node: int) -> int:
        """The node epoch of a request, sometimes an old one."""
        stored = int(self.image.nodes[node].epoch)
        return stored - 1 if self.draw.random() < 0.02 else stored

    def owner(self, stream: int) -> int:
        """The node of the current range, sometimes another one."""
        current = self.image.current_range(stream)
        return self.node() if current is None or self.draw.random() < 0.05 else int(current.node)

    def stream_epoch(self, stream: int) -> int:
        """The epoch of a stream, sometimes another one."""
        row = self.image.streams.get(stream)
        stored = 0 if row is None else int(row.epoch)
        return stored + self.draw.choice([-1, 1]) if self.draw.random() < 0.03 else stored

    def objects(self, count: int) -> list[int]:
        """New prepared objects."""
        first = self.run(prepare, count, HOUR).values["first"]
        return list(range(first, first + count))

    # Requests -------------------------------------------------------------------------------------------------------

    def register(self, node: int | None = None) -> None:
        """A node starts again, or another node fails over for it."""
        node = self.node() if node is None else node
        stored = self.image.nodes.get(node)
        fails_over = stored is not None and self.draw.random() < 0.4
        epoch = stored.epoch if stored is not None and fails_over else self.tables.now + 1
        if stored is not None and self.draw.random() < 0.1:
            epoch = stored.epoch - 1
        self.run(get_opening_streams, node, epoch, fails_over)
        self.run(register_node, node, epoch)

    def create(self) -> None:
        """Create a stream if there are not enough."""
        if len(self.image.streams) < self.streams:
            node = self.node()
            self.run(create_stream, node, self.epoch(node))

    def open(self) -> None:
        """An open with a higher epoch or with the same one."""
        stream, node = self.stream(), self.node()
        row = self.image.streams.get(stream)
        stored = -1 if row is None else row.epoch
        if self.draw.random() < 0.25:
            node = self.owner(stream)
            self.run(open_stream, node, self.epoch(node), stream, stored - (self.draw.random() < 0.3))
        else:
            self.run(open_stream, node, self.epoch(node), stream, max(stored, 0) + self.draw.randrange(1, 4))

    def close(self) -> None:
        """A close without an end, with the stream's end, or with a higher end."""
        stream = self.stream()
        node = self.owner(stream)
        row = self.image.streams.get(stream)
        end = -1 if row is None else self.draw.choice([-1, row.end, row.end + self.draw.randrange(1, 500), row.end - 1])
        self.run(close_stream, node, self.epoch(node), stream, self.stream_epoch(stream), end)

    def trim(self) -> None:
        """A trim, mostly below the end."""
        stream = self.stream()
        node, row = self.owner(stream), self.image.streams.get(stream)
        start, end = (0, 0) if row is None else (row.start, row.end)
        bounds = sorted(each.start for each in self.image.ranges.get(stream, {}).values())
        inner = [each + 1 for each in bounds[:3]]
        to = self.draw.choice(
            [
                *bounds,
                *inner,
                max(start - 1, 0),
                end,
                end + self.draw.randrange(20),
                self.draw.randint(start, max(start, end)),
            ]
        )
        self.run(trim, node, self.epoch(node), stream, self.stream_epoch(stream), to)

    def delete(self) -> None:
        """A delete."""
        self.run(delete_stream, self.stream())

    def upload(self) -> None:
        """A WAL upload of one node: parts of its entries, and data appended to its streams."""
        node = self.node()
        parts = [*self.historical(node), *self.live(node)]
        if self.draw.random() < 0.03:
            parts.append(CommittedRange(self.stream(), 0, self.draw.randrange(1, 900)))
        if not parts:
            return
        alone = [each for each in parts if self.draw.random() < 0.2]
        shared = tuple(each for each in parts if each not in alone)
        number, *others = self.objects(1 + len(alone))
        objects = tuple(
            CommittedObject(each, part.stream, part.start, part.end) for each, part in zip(others, alone, strict=True)
        )
        if not shared and self.draw.random() < 0.8:
            number = -1
        fails_over = self.image.nodes[node].failover
        self.run(
            commit_stream_set_object,
            SetCommit(
                node, self.epoch(node), number, number, failover=fails_over, ranges=shared, stream_objects=objects
            ),
        )

    def historical(self, node: int) -> list[CommittedRange]:
        """The entries that the node still has to commit."""
        found = []
        for stream in self.image.entries.get(node, {}):
            entry = self.image.active_entry(node, stream)
            if entry is not None and self.draw.random() < 0.6:
                end = entry.to if self.draw.random() < 0.5 else self.draw.randint(entry.start + 1, entry.to)
                end += 3 if self.draw.random() < 0.03 else 0
                found.append(CommittedRange(stream, entry.start, end))
        return found

    def live(self, node: int) -> list[CommittedRange]:
        """The data that the node appends to streams that it has OPENED."""
        found = []
        others = [self.stream()] if self.draw.random() < 0.05 else []
        for stream in [*self.image.opened_on.get(node, {}), *others]:
            if stream in self.image.streams and self.draw.random() < 0.6:
                begin = self.image.streams[stream].end + (7 if self.draw.random() < 0.02 else 0)
                found.append(CommittedRange(stream, begin, begin + self.draw.randrange(1, 1_000)))
        return found

    def compact(self) -> None:
        """A compaction of two stream set objects of a node into one and some objects of one stream."""
        node = self.node()
        held = list(self.image.set_objects.get(node, {}))[:2]
        if not held:
            return
        number, other = self.objects(2)
        stream = self.stream()
        row = self.image.streams.get(stream)
        objects: tuple[CommittedObject, ...] = ()
        if row is not None and row.start < row.end:
            objects = (CommittedObject(other, stream, row.start, row.end),)
        number = number if self.draw.random() < 0.7 else -1
        asked = SetCommit(node, self.epoch(node), number, -1, stream_objects=objects, compacted=tuple(held))
        self.run(commit_stream_set_object, asked)

    def compact_stream(self) -> None:
        """A compaction of the objects of one stream."""
        stream = self.stream()
        held = self.image.stream_objects.get(stream, {})
        if not held:
            return
        node = self.owner(stream)
        (number,) = self.objects(1)
        start, end = min(each.start for each in held.values()), max(each.end for each in held.values())
        epoch = self.stream_epoch(stream)
        self.run(
            commit_stream_object,
            StreamCommit(node, self.epoch(node), number, 0, stream, epoch, start, end, tuple(held)),
        )

    def other(self) -> None:
        """Operations outside streams: locks, and the clock of the objects."""
        node = self.node()
        self.draw.choice([self.lock, self.unlock, self.check])(node)

    def lock(self, node: int) -> None:
        """The circuit breaker of a node opens, for a short time."""
        self.run(lock_node, node)
        self.run(unlock_node, node)

    def unlock(self, node: int) -> None:
        """The circuit breaker of a node closes."""
        self.run(unlock_node, node)

    def check(self, _: int) -> None:
        """The clock of the objects advances."""
        self.run(self.clock.check)
