"""What becomes of routed batches: in which order they are appended (I-9), and whether a report covers them (I-5).

The oracles read the events of a run and the history of its clients, and ask no node: what a proxy receives, what a main
answers, and what the metadata say of leaders and reports.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from impl.client.history import History
from impl.controller.routes import REPORT_KEY
from impl.errors import E
from impl.records import KV, Partition, PartitionChange
from impl.sim.event_log import AppendedBatch, Event
from impl.zone.encodings import NodeEpochRecord


def late(events: list[Event]) -> Iterator[str]:
    """The batches that a main appends although its node has reported their route epoch, in words (I-5).

    A process that has a successor may still answer: whatever it has appended, the successor has recovered.
    """
    newest: dict[int, str] = {}
    reported: dict[int, int] = {}
    for _, name, kind, subject in events:
        if isinstance(subject, AppendedBatch):
            if not subject.lost:
                reported.update(_reports(subject))
        elif kind == "start":
            newest[subject["node"]] = name
        elif kind == "routed" and newest.get(subject["node"]) == name:
            node, epoch = subject["node"], subject["epoch"]
            if E.NONE.name in subject["errors"] and epoch <= reported.get(node, epoch - 1):
                yield f"{name} appends a batch of route epoch {epoch}, and node {node} has reported {reported[node]}"


def _reports(appended: AppendedBatch) -> Iterator[tuple[int, int]]:
    for record in appended.batch.records:
        for each in record.key_values if isinstance(record, KV) else ():
            if each.key.startswith(REPORT_KEY):
                yield int(each.key.removeprefix(REPORT_KEY)), NodeEpochRecord.decode(each.value).epoch


def reordered(events: list[Event], history: History) -> Iterator[str]:
    """The batches of one client that a proxy has received in one order, and a main has appended in another (I-9).

    Batches count that were acknowledged and received once: of a repeated one it is unknown which copy was appended. So
    do batches between which the partition has changed its leader: they may have had two mains.
    """
    received: dict[tuple[str, int, int], list[tuple[int, int]]] = {}
    changes: dict[int, list[int]] = {}
    copies: Counter[tuple[int, int]] = Counter()
    for time, name, kind, subject in events:
        if kind == "received":
            partition, value = subject["partition"], subject["value"]
            received.setdefault((name, subject["client"], partition), []).append((time, value))
            copies[partition, value] += 1
        elif isinstance(subject, AppendedBatch) and not subject.lost:
            for record in subject.batch.records:
                if isinstance(record, Partition | PartitionChange):
                    changes.setdefault(record.partition, []).append(time)
    places = _places(history)
    for (name, client, partition), batches in received.items():
        before: tuple[int, int, int] | None = None
        for time, value in batches:
            place = places.get((partition, value))
            if place is None or copies[partition, value] > 1:
                continue
            offset, ended = place
            if before is not None and offset < before[2] and not _between(changes.get(partition, []), before[0], ended):
                yield (
                    f"{name} received value {before[1]} of partition {partition} before value {value} from client "
                    f"{client}, and they were appended at {before[2]} and {offset}"
                )
            before = time, value, offset


def _places(history: History) -> dict[tuple[int, int], tuple[int, int]]:
    """By partition and value of an acknowledged send: its offset, and when its client knew it."""
    sent = {op.index: op.value for op in history.ops if op.f == "send" and op.kind == "invoke"}
    ended = (op for op in history.ops if op.f == "send" and op.kind == "ok" and op.offset is not None)
    return {(op.key, sent[op.index]): (op.offset, op.at) for op in ended if op.offset is not None}


def _between(times: list[int], begin: int, end: int) -> bool:
    """Whether one of some ascending times lies in [begin, end]."""
    place = bisect_left(times, begin)
    return place < len(times) and times[place] <= end
