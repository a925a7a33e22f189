"""The input and the result of an operation of the controller."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from impl.errors import E
from impl.metadata.image import Image
from impl.records import MetadataRecord
from impl.zone.route_epochs import BUMP_MS


class Profile(msgspec.Struct, frozen=True):
    """The behaviour of a controller. The defaults are those that reassignment.md 12 recommends.

    ``v6``: fast close with entries. ``cancel``: K is KRaft and AutoMQ as built, H preserves the origin. ``handshake``:
    who asks for the election: the source of a move (G0) or its target (G1). ``timer``: ``epoch`` is EL-12 and EL-13;
    ``automq`` is EL-01 to EL-06 as built. ``balancer``: plans as AutoMQ makes them (``parity``), or so that planning
    ends (``safe``). ``as_built``: the suspicious spots of AutoMQ that are built in (AM-01 ...); the default mends them
    all. ``balances``: whether a controller of G0 balances the leaders (EL-10), as Kafka's
    ``auto.leader.rebalance.enable``. ``routes``: whether the controller keeps route epochs, for zone routing.
    ``bump_ms``: the time between two bumps of the route epoch (ZR-55).
    """

    v6: bool = True
    cancel: Literal["H", "K"] = "H"
    handshake: Literal["G0", "G1"] = "G0"
    timer: Literal["epoch", "automq"] = "epoch"
    balancer: Literal["parity", "safe"] = "parity"
    as_built: frozenset[str] = frozenset()
    min_insync: int = 1
    unclean_election: bool = False
    object_retention_ms: int = 60_000
    balances: bool = True
    routes: bool = False
    bump_ms: int = BUMP_MS


class View(msgspec.Struct, frozen=True):
    """The input of an operation, which never changes it: the image, the profile, and the time in milliseconds."""

    image: Image
    profile: Profile
    now: int


class OperationResult(msgspec.Struct, frozen=True):
    """The result of an operation. ``records``: applied all or not at all. ``error`` and ``values``: its answer."""

    records: tuple[MetadataRecord, ...] = ()
    error: E = E.NONE
    values: dict[str, Any] = msgspec.field(default_factory=dict)
