"""What an operation of the controller reads, and what it answers with."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from impl.errors import E
from impl.metadata.image import Image
from impl.records import Record


class Profile(msgspec.Struct, frozen=True):
    """Which behaviour a controller has (reassignment.md 12 recommends the defaults).

    ``v6``: fast close with entries. ``cancel``: K is KRaft and AutoMQ as built, H preserves the origin. ``handshake``:
    who asks for the election. ``timer``: EL-12 and EL-13, or ``automq``, EL-01 to EL-06 as built. ``as_built``: named
    suspicious spots that are built in (AM-01 ...), where the default mends them.
    """

    v6: bool = True
    cancel: Literal["H", "K"] = "H"
    handshake: Literal["G0", "G1"] = "G0"
    timer: Literal["epoch", "automq"] = "epoch"
    as_built: frozenset[str] = frozenset()
    min_insync: int = 1
    unclean_election: bool = False
    object_retention_ms: int = 60_000


class View(msgspec.Struct, frozen=True):
    """What an operation reads and never writes: the image, the profile, and the time in milliseconds."""

    image: Image
    profile: Profile
    now: int


class Outcome(msgspec.Struct, frozen=True):
    """The records of an operation, all of them or none, and its answer: an error, and named values beside it."""

    records: tuple[Record, ...] = ()
    error: E = E.NONE
    values: dict[str, Any] = msgspec.field(default_factory=dict)
