"""Streams and nodes in the model and in the controller: the facts to compare, and the requests.

The epoch of a stream that was never opened is -1 in the controller and 0 in the model. Offsets are equal in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from impl.controller.commits import SetCommit, commit_stream_set_object
from impl.controller.continuity import CommittedRange
from impl.controller.node import Controller
from impl.controller.nodes import unpack_ranges
from impl.controller.objects import prepare
from impl.errors import E
from impl.metadata.image import Image, StoredObject
from impl.records import ObjectState, StreamState
from stateful_tests.controller.differences import Cells
from stateful_tests.controller.pairing import Answer, Facts, answered, number

TTL_MS = 1 << 40
"""The lifetime of a prepared object: so long that none expires in a run."""


def names(cells: Cells, cell: str) -> list[str]:
    """The sorted elements of a field's first key."""
    return sorted({key[1] for key in cells if key[0] == cell and len(key) > 1})


def epoch_of(epoch: int) -> int:
    """The controller's epoch for an epoch of the model."""
    return epoch or -1


# Streams --------------------------------------------------------------------------------------------------------


def streams_of_model(cells: Cells) -> Facts:
    """The facts about all streams of the model."""
    return {s: _of_model(cells, s) for s in names(cells, "exists")}


def _of_model(cells: Cells, s: str) -> Facts | None:
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
        "covered": [k[2] for k, held in cells.items() if k[:2] == ("covered", s) and held and k[2] >= start],
    }


def streams_of_controller(controller: Controller, cells: Iterable[str], offsets: int) -> Facts:
    """The facts about the model's streams ``cells`` in a controller. ``offsets``: the largest offset of the model."""
    return {s: _of_controller(controller.image, number(s), offsets) for s in cells}


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


# Requests -------------------------------------------------------------------------------------------------------


def opened_on(cells: Cells, node: str) -> list[dict[str, int]]:
    """ND-02. The rows of the streams that are OPENED on a node, in the form of the answer to getOpeningStreams."""
    return [
        {
            "stream": number(s),
            "epoch": epoch_of(cells["epoch", s]),
            "start": cells["start_offset", s],
            "end": max(cells["end_offset", s], cells["start_offset", s]),
        }
        for s in names(cells, "exists")
        if cells["opened", s] and cells["owner", s] == node
    ]


def upload(
    controller: Controller, node: int, node_epoch: int, *ranges: tuple[int, int, int], failover: bool = False
) -> Answer:
    """Commit an object with ranges (stream, start, end), and return the answer.

    A commit that succeeds is sent again. The repetition must change nothing (CS-03); otherwise its answer is returned,
    which no model expects.
    """
    held = tuple(CommittedRange(*each) for each in ranges)
    object_id = _prepared(controller)
    commit = SetCommit(node, node_epoch, object_id, object_id, ranges=held, failover=failover)
    outcome = controller.execute(partial(commit_stream_set_object, commit=commit))
    if outcome.error is E.NONE:
        again = controller.execute(partial(commit_stream_set_object, commit=commit))
        if again.error is not E.NONE or again.records:
            return Answer(again.error, {"again": [record.KIND for record in again.records]}, wrote=True)
    return answered(outcome)


def _prepared(controller: Controller) -> int:
    """The id of an object to commit: the last prepared object, or a new one if that is committed already."""
    object_id: int = controller.image.ids["object"]
    stored: Any = controller.image.objects.get(object_id, StoredObject(0, ObjectState.COMMITTED, 0))
    if stored.state is not ObjectState.PREPARED:
        object_id = controller.execute(partial(prepare, count=1, ttl_ms=TTL_MS)).values["first"]
    return object_id
