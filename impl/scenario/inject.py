"""``inject``: one record is replayed as if read from the metadata log. A field that is not given keeps its value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from impl.metadata.image import Image, Stream, StreamRange
from impl.records import (
    MetadataRecord,
    NodeWALUncommittedOffsets,
    Partition,
    Range,
    S3Stream,
    StreamState,
    Topic,
    UncommittedOffsets,
)
from impl.scenario.session import Arguments, Perform, Result, ScenarioSession, written

RECOVERY = ("RECOVERED", "RECOVERING")


def _stream(image: Image, a: Arguments) -> list[MetadataRecord]:
    row = image.streams.get(a["stream"], Stream())
    state = row.state if a["state"] is None else StreamState[a["state"]]
    epoch, index, start = _or(a["epoch"], row.epoch), _or(a["index"], row.range_index), _or(a["start"], row.start)
    return [S3Stream(a["stream"], epoch, index, start, state, row.tags)]


def _range(image: Image, a: Arguments) -> list[MetadataRecord]:
    row = image.ranges.get(a["stream"], {}).get(a["index"], StreamRange(0, 0, 0, 0))
    start, end = _or(a["start"], row.start), _or(a["end"], row.end)
    return [Range(a["stream"], _or(a["epoch"], row.epoch), a["index"], start, end, _or(a["node"], row.node))]


def _entry(_: Image, a: Arguments) -> list[MetadataRecord]:
    return [NodeWALUncommittedOffsets(a["node"], (UncommittedOffsets(a["stream"], a["from"], a["to"]),))]


def _partition(image: Image, a: Arguments) -> list[MetadataRecord]:
    """The whole registration. A missing partition is created, and so is a missing topic."""
    replicas = tuple(a["replicas"] or ())
    new = Partition(a["topic"], a["partition"], replicas, replicas, replicas[0] if replicas else -1)
    row = image.partitions.get((a["topic"], a["partition"]), new)
    lists = {"replicas": "replicas", "isr": "isr", "adding": "adding_replicas", "removing": "removing_replicas"}
    changed: dict[str, Any] = {field: tuple(a[name]) for name, field in lists.items() if a[name] is not None}
    changed |= {name: a[name] for name in ("leader", "leader_epoch", "partition_epoch") if a[name] is not None}
    if a["recovery"] is not None:
        changed["leader_recovery_state"] = RECOVERY.index(a["recovery"])
    # ``...`` stands for a missing argument, because null is a value here.
    if a["original"] is not ...:
        changed["original"] = None if a["original"] is None else tuple(a["original"])
    topic = [] if a["topic"] in image.topics else [Topic(a["topic"])]
    return [*topic, replace(row, **changed)]


def _or(given: int | None, otherwise: int) -> int:
    return otherwise if given is None else given


RECORDS: dict[str, Callable[[Image, Arguments], list[MetadataRecord]]] = {
    "STREAM": _stream,
    "RANGE": _range,
    "UNC": _entry,
    "PARTITION": _partition,
}


def _inject(session: ScenarioSession, a: Arguments) -> Result:
    records = RECORDS[a["record"]](session.controller.image, a)
    session.replay(*records)
    return written((records[-1],))


PERFORM: dict[str, Perform] = {"inject": _inject}
