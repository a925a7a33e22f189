"""The rows of an image. They are immutable: a change puts another row into a table."""

from __future__ import annotations

import msgspec

from impl.records import ObjectState, StreamState, Tag


class Stream(msgspec.Struct, frozen=True, gc=False):
    """A stream: its epoch, the index of its newest range, the offsets [start, end), its state and its tags."""

    epoch: int = -1
    range_index: int = -1
    start: int = 0
    end: int = 0
    state: StreamState = StreamState.CLOSED
    tags: tuple[Tag, ...] = ()


class StreamRange(msgspec.Struct, frozen=True, gc=False):
    """Offsets [start, end) that ``node`` owned under ``epoch``."""

    epoch: int
    node: int
    start: int
    end: int


class Node(msgspec.Struct, frozen=True, gc=False):
    """The newest process of a node, and whether another node fails over for it."""

    epoch: int
    failover: bool


class StoredObject(msgspec.Struct, frozen=True, gc=False):
    """An object of the object store. ``timestamp``: the deadline while PREPARED, else when the state was entered."""

    size: int
    state: ObjectState
    timestamp: int
    attributes: int = 0


class StreamObject(msgspec.Struct, frozen=True, gc=False):
    """The offsets [start, end) of a stream that an object holds."""

    start: int
    end: int


class SetObject(msgspec.Struct, frozen=True, gc=False):
    """An object with data of many streams: its place in the order of its node, and the time of its data."""

    order: int
    data_time: int
    ranges: bytes = b""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """Offsets [start, to) of a stream that a node sealed by a fast close and still has to commit."""

    start: int
    to: int
