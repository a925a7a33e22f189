"""The items of requests for several streams."""

from __future__ import annotations

import msgspec

from impl.records import Tag


class CreateItem(msgspec.Struct, frozen=True, gc=False):
    """A stream to create."""

    tags: tuple[Tag, ...] = ()


class OpenItem(msgspec.Struct, frozen=True, gc=False):
    """A stream to open under an epoch."""

    stream: int
    epoch: int
    tags: tuple[Tag, ...] = ()


class CloseItem(msgspec.Struct, frozen=True, gc=False):
    """A stream to close. ``end``: the end offset of a fast close; -1 for a legacy close."""

    stream: int
    epoch: int
    end: int = -1


class TrimItem(msgspec.Struct, frozen=True, gc=False):
    """A stream to trim. ``to``: its new start offset."""

    stream: int
    epoch: int
    to: int
