"""The controller of a run of recoveries: it knows which records the streams have to get, and judges each commit."""

from __future__ import annotations

import msgspec

from impl import wire
from impl.broker.object_format import decode_block, object_key
from impl.broker.object_index import decode_index
from impl.broker.wal_format import WalRecord
from impl.controller.commits import SetCommit
from impl.controller.nodes import Registration, registry_key
from impl.errors import E
from impl.records import (
    KV,
    KeyValue,
    MetadataRecord,
    NodeWALMetadata,
    NodeWALUncommittedOffsets,
    UncommittedOffsets,
)
from impl.sim.violation import JudgedRun
from impl.store.memory import MemoryStore

NODE = 3


class RecoveredStream(msgspec.Struct):
    """A stream of the node. ``batches``: its acknowledged records, from offset 0 on, in their order.

    ``end``: the end of the committed records. ``kind``: an "open" stream, a "sealed" one that a fast close has ended
    behind ``batches``, or one of "another" node, of which the WAL still has records.
    """

    number: int
    kind: str
    batches: list[WalRecord]
    end: int
    epoch: int = 1

    @property
    def durable(self) -> int:
        """The end of the acknowledged records."""
        return self.batches[-1].end if self.batches else 0


class RecoveryController(JudgedRun):
    """``log``: the metadata that the processes learn. ``found``: the first violation."""

    def __init__(self, objects: MemoryStore, streams: dict[int, RecoveredStream], epoch: int) -> None:
        self.streams = streams
        self._objects = objects
        self._newest = (epoch, False)
        self._registered = self._ids = 0
        self._committed: set[int] = set()
        entries = tuple(
            UncommittedOffsets(each.number, each.end, each.durable)
            for each in streams.values()
            if each.kind == "sealed"
        )
        self.log: list[MetadataRecord] = [
            NodeWALMetadata(NODE, epoch),
            NodeWALUncommittedOffsets(NODE, entries),
        ]
        self.register(epoch)

    def register(self, epoch: int) -> None:
        """ND-10. A process that has recovered the WAL registers its own one. An older one is refused."""
        if epoch < self._registered:
            return
        self._registered = epoch
        data = msgspec.json.encode(Registration(NODE, epoch))
        self.log.append(KV((KeyValue(registry_key(NODE), data),)))

    def execute(self, body: wire.Body, name: tuple[int, bool]) -> wire.ItemAnswer:
        """Execute a request of a process, and return the answer."""
        if isinstance(body, wire.PrepareObjects):
            first, self._ids = self._ids, self._ids + body.count
            return wire.ItemAnswer(values={"first": first})
        if isinstance(body, wire.GetOpeningStreams):
            return self._begin(name)
        if name != self._newest:
            return wire.ItemAnswer(E.NODE_EPOCH_EXPIRED)
        if isinstance(body, wire.CommitStreamSetObject):
            return wire.ItemAnswer(self._commit(body.commit))
        assert isinstance(body, wire.CloseStreams), "a recovery registers, prepares, commits and closes"
        return wire.ItemAnswer(self._close(body.items[0].stream))

    def _begin(self, name: tuple[int, bool]) -> wire.ItemAnswer:
        """ND-01 to ND-03."""
        if name < self._newest:
            return wire.ItemAnswer(E.NODE_EPOCH_EXPIRED, {"streams": []})
        self._newest = name
        self.log.append(NodeWALMetadata(NODE, *name))
        listed = [
            {"stream": each.number, "epoch": each.epoch, "start": 0, "end": each.end}
            for each in self.streams.values()
            if each.kind == "open" or (each.kind == "sealed" and each.end < each.durable)
        ]
        return wire.ItemAnswer(values={"streams": listed})

    def _close(self, number: int) -> E:
        stream = self.streams[number]
        if stream.kind == "open":
            if stream.end < stream.durable:
                self.violate("RC-05", "a recovery closes a stream before it has committed its records")
            stream.kind = "closed"
        return E.NONE

    def _commit(self, commit: SetCommit) -> E:
        """CS. A second copy of a commit changes nothing."""
        ids = {each.object: each.stream for each in commit.stream_objects}
        number = next(iter(ids), commit.object)
        if number in self._committed:
            return E.NONE
        self._committed.add(number)
        for ranged in commit.ranges:
            self._add(ranged.stream, ranged.start, ranged.end, commit.object)
        for each in commit.stream_objects:
            self._add(each.stream, each.start, each.end, each.object)
        return E.NONE

    def _add(self, number: int, start: int, end: int, object_id: int) -> None:
        """Add what an object has of a stream. A reader finds the records one behind the other (INV-13)."""
        stream, data = self.streams[number], self._objects.objects.get(object_key(object_id))
        if stream.kind not in ("open", "sealed"):
            return self.violate("RC-02", "a recovery commits records of a stream that it does not have to recover")
        if data is None:
            return self.violate("RC-04", "a recovery commits an object that is not stored")
        for block in decode_index(data, len(data)).streams.get(number, []):
            for record in decode_block(block, data[block.position : block.position + block.size]):
                self._add_record(stream, record)
        if self.found is None and (start >= end or stream.end != end):
            self.violate("RC-02", "a recovery commits a range that its object does not have")
        return None

    def _add_record(self, stream: RecoveredStream, record: WalRecord) -> None:
        if record.base > stream.end:
            self.violate("RC-02", "a recovery commits a record behind a gap")
        elif record.base < stream.end:
            self.violate("RC-02", "a recovery commits offsets a second time")
        elif record.end > stream.durable:
            self.violate("ND-03", "a recovery commits records above the end of a stream")
        elif record not in stream.batches:
            self.violate("INV-02", "a recovery commits another record in place of an acknowledged one")
        stream.end = record.end
