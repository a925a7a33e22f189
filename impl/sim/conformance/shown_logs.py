"""Writes the logs of what readers of other zones show. ``holdfast conform snapshot_read`` reads them as they are.

The model has one partition and one reader, so each process has a log for each partition of which it has had a snapshot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from impl.broker.messages import StepEvent, StoreRequest
from impl.sim.conformance.leader_changes import Key, leader_changes
from impl.sim.conformance.shown_lines import ShownEvent, ShownLines
from impl.sim.conformance.wal_ends import WalEnds
from impl.sim.event_log import Event, EventLog, SentSnapshots, StoreEffect
from impl.sim.links import CHANNEL_FOLDER, WAL_FOLDER
from impl.store.interface import Get

HEADER = {"holdfast": "log", "version": 1, "model": "SnapshotRead", "variants": ["log_grain"], "literals": {}}
STEPS = {"take_answer", "keep", "evict", "apply", "end_session"}
"""The steps of readers that the logs are made of."""


def shown_logs(log: EventLog) -> dict[tuple[str, int], bytes]:
    """The logs of a run, by the reading process and the number of the partition, each with one JSON object a line."""
    events = log.events
    wals = WalEnds(events)
    streams = _streams(events)
    changes = leader_changes(events, streams)
    failures = _failed_reads(events)
    found: dict[tuple[str, int], bytes] = {}
    for reader, own in _of_readers(events).items():
        failed = failures.get(reader, [])
        for key in sorted(_applied(own) & streams.keys()):
            lines = ShownLines(key, streams[key], wals, own, failed)
            for index, source, subject in sorted([*own, *changes[key]], key=lambda each: each[0]):
                lines.take(index, source, subject)
            found[reader, key[1]] = _text(lines.found, events)
    return found


def _streams(events: Sequence[Event]) -> dict[Key, int]:
    """By partition, its data stream, as the snapshots of mains name it."""
    found: dict[Key, int] = {}
    for _, _, _, subject in events:
        if isinstance(subject, SentSnapshots):
            found |= {(each.topic, each.partition): each.stream for each in subject.partitions if each.stream >= 0}
    return found


def _of_readers(events: Sequence[Event]) -> dict[str, list[ShownEvent]]:
    """By reader, its own steps and the answers that it takes."""
    taken = {
        (name, subject.values["id"])
        for _, name, _, subject in events
        if isinstance(subject, StepEvent) and subject.action == "take_answer"
    }
    found: dict[str, list[ShownEvent]] = defaultdict(list)
    for index, (_, name, _, subject) in enumerate(events):
        if isinstance(subject, StepEvent) and subject.action in STEPS:
            found[name].append((index, name, subject))
        elif isinstance(subject, SentSnapshots) and (subject.reader, subject.id) in taken:
            found[subject.reader].append((index, name, subject))
    return found


def _failed_reads(events: Sequence[Event]) -> dict[str, list[tuple[int, str]]]:
    """By process, the objects of WALs and channels for which it asks without an answer of the store, and when."""
    open_reads: dict[tuple[str, int], tuple[int, str]] = {}
    taken: set[tuple[str, int]] = set()
    for index, (_, name, kind, subject) in enumerate(events):
        match subject:
            case StoreRequest(number, Get(key)) if key.startswith((WAL_FOLDER, CHANNEL_FOLDER)):
                open_reads[name, number] = index, key
            case StoreEffect():
                taken.add((name, subject.request.id))
            case {"await": number} if kind == "stored" and (name, number) in taken:
                open_reads.pop((name, number), None)
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for (name, _), read in open_reads.items():
        found[name].append(read)
    return found


def _applied(own: Sequence[ShownEvent]) -> set[Key]:
    steps = [each for _, _, each in own if isinstance(each, StepEvent) and each.action == "apply"]
    return {each.values["of"] for each in steps}


def _text(lines: Sequence[tuple[int, dict[str, Any]]], events: Sequence[Event]) -> bytes:
    encode = msgspec.json.Encoder().encode
    text = [encode(HEADER)]
    for number, (index, line) in enumerate(lines, start=1):
        time = events[index][0] * 1_000
        text.append(encode({"source": "cluster", "seq": number, "t": [time, time], **line}))
    return b"\n".join([*text, b""])
