"""Streams and nodes in the model and in the controller: the facts to compare, and the requests.

The epoch of a stream that was never opened is -1 in the controller and 0 in the model. Offsets are equal in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from impl.bridge.differences import Cells
from impl.bridge.pairing import Facts, number
from impl.bridge.request import OperationRequest, Query
from impl.controller.node import Controller
from impl.controller.nodes import unpack_ranges
from impl.metadata.image import Image
from impl.records import ObjectState, StreamState


def epoch_of(epoch: int) -> int:
    """The controller's epoch for an epoch of the model."""
    return epoch or -1


# Streams --------------------------------------------------------------------------------------------------------


def streams_of_model(cells: Cells, streams: Iterable[str], offsets: int) -> Facts:
    """The facts about streams of the model. ``offsets``: its largest offset."""
    return {s: _of_model(cells, s, offsets) for s in streams}


def _of_model(cells: Cells, s: str, offsets: int) -> Facts | None:
    if not cells["exists", s]:
        return None
    owner, sealed = cells["owner", s], cells["sealed_end", s]
    start = cells["start_offset", s]
    return {
        "opened": cells["opened", s],
        "epoch": epoch_of(cells["epoch", s]),
        "start": start,
        "end": cells["end_offset", s],
        "range": None if owner is None else (epoch_of(cells["epoch", s]), number(owner), cells["range_start", s]),
        "sealed": None if sealed is None or sealed <= start else sealed,
        "covered": [o for o in range(start, offsets + 1) if cells["covered", s, o]],
    }


def streams_of_controller(controller: Controller, streams: Iterable[str], offsets: int) -> Facts:
    """The facts about streams of the model in a controller. ``offsets``: the largest offset of the model."""
    return {s: _of_controller(controller.image, number(s), offsets) for s in streams}


def _of_controller(image: Image, stream: int, offsets: int) -> Facts | None:
    row = image.streams.get(stream)
    if row is None:
        return None
    current = image.current_range(stream)
    # Trim removes the range before the current one, or leaves it empty. So a range that ends at or below the start is
    # not compared.
    before = image.ranges.get(stream, {}).get(row.range_index - 1)
    return {
        "opened": row.state is StreamState.OPENED,
        "epoch": row.epoch,
        "start": row.start,
        "end": row.end,
        "range": None if current is None else (current.epoch, current.node, current.start),
        "sealed": None if before is None or before.end <= row.start else before.end,
        "covered": [o for o in range(row.start, offsets + 1) if _is_covered(image, stream, o)],
    }


def _is_covered(image: Image, stream: int, offset: int) -> bool:
    """Whether an uploaded object holds the offset."""
    return any(
        each == stream and start <= offset < end
        for objects in image.set_objects.values()
        for held in objects.values()
        for each, start, end in unpack_ranges(held.ranges)
    )


def stream_queries(before: Facts, after: Facts, streams: Iterable[str]) -> list[Query]:
    """The queries about the streams whose facts have changed.

    The model keeps the current range and the end of the range before it. ``ranges`` has all ranges of the stream, and
    cannot be told from that; the facts of both sides are compared while a file is made.
    """
    found: list[Query] = []
    for s in streams:
        facts = after[s]
        if before[s] == facts:
            continue
        query = OperationRequest("state", {"stream": number(s)}, answer=())
        if facts is None:
            found.append((query, {"missing": True}))
            continue
        told = {"state": "OPENED" if facts["opened"] else "CLOSED", "epoch": facts["epoch"]}
        told |= {"start": facts["start"], "end": facts["end"]}
        found.append((query, told | {"owner": -1 if facts["range"] is None else facts["range"][1]}))
    return found


# Requests -------------------------------------------------------------------------------------------------------


def opened_on(cells: Cells, streams: Iterable[str], node: str) -> list[dict[str, int]]:
    """ND-02. The rows of those streams that are OPENED on a node, in the form of the answer to getOpeningStreams."""
    return [
        {
            "stream": number(s),
            "epoch": epoch_of(cells["epoch", s]),
            "start": cells["start_offset", s],
            "end": max(cells["end_offset", s], cells["start_offset", s]),
        }
        for s in streams
        if cells["opened", s] and cells["owner", s] == node
    ]


def upload(
    image: Image, node: int, node_epoch: int, held: tuple[int, int, int], failover: bool
) -> tuple[OperationRequest, ...]:
    """Commit an object with the range (stream, start, end), twice: the repetition must change nothing (CS-03)."""
    stream, start, end = held
    arguments: dict[str, Any] = {"node": node, "node_epoch": node_epoch, "object": _next_object(image)}
    arguments["ranges"] = [{"stream": stream, "start": start, "end": end}]
    arguments |= {"failover": True} if failover else {}
    return OperationRequest("commit", arguments), OperationRequest("commit", arguments, again=True)


UPLOADED: Facts = {"again": []}
"""The value of an answer to an upload: its repetition writes no records."""


def _next_object(image: Image) -> int:
    """The id of an object to commit: the last prepared object, or a new one if that is committed already."""
    last: int = image.ids["object"]
    stored = image.objects.get(last)
    return last if stored is not None and stored.state is ObjectState.PREPARED else last + 1
