"""The zones of a simulated cluster: who is in which, and how many bytes cross from one to another."""

from __future__ import annotations

import string
from collections import Counter
from typing import Any

import msgspec

from impl.broker.messages import Consume, Produce
from impl.client.payload import decode
from impl.sim.tape import stream

ZONES = 3
"""The usual number of zones."""


def takes_shortcuts(seed: int) -> bool:
    """Whether the run of a seed has the shortcuts of zone routing, as every second run has.

    They are records inside answers (ZR-42), the memory of a proxy for its own batches (ZR-18), and producers that want
    no answer (ZR-30). The other runs read channels and WALs wherever they can.
    """
    return stream(seed, "shortcuts")() < 0.5


def zone_of(number: int, zones: int) -> str:
    """The zone of a node or a client: they take turns. Zones have letters."""
    return string.ascii_lowercase[(number - 1) % zones]


def client_id(number: int, zones: int) -> str:
    """What a client calls itself: with its zone, if there are zones (ZR-09)."""
    return f"automq_az={zone_of(number, zones)}" if zones else ""


def first_value(body: Produce) -> int:
    """The value of the send that begins a batch of a client."""
    return decode(body.values[0])[0]


class ZoneTraffic:
    """The bytes that clients and brokers send to each other, in the encoding of the wire. ``zones``: 0 for none.

    The object store is in no zone: nobody pays for bytes between it and a zone.
    """

    def __init__(self, zones: int) -> None:
        self.zones = zones
        self._bytes: Counter[tuple[str, bool]] = Counter()

    def client(self, client: int, node: int, body: Any, message: Any) -> None:
        """A client and a broker exchange a message about a command with this body."""
        self._count("data" if isinstance(body, Produce | Consume) else "metadata", client, node, message)

    def peers(self, one: int, other: int, message: Any) -> None:
        """Two brokers exchange a message. It names batches, and has none."""
        self._count("metadata", one, other, message)

    def _count(self, kind: str, one: int, other: int, message: Any) -> None:
        if self.zones:
            crosses = zone_of(one, self.zones) != zone_of(other, self.zones)
            self._bytes[kind, crosses] += len(msgspec.msgpack.encode(message))

    def counts(self) -> dict[str, int]:
        """The bytes by kind, within zones and between them; nothing without zones."""
        if not self.zones:
            return {}
        where = {False: "within zones", True: "between zones"}
        return {
            f"bytes of {kind} {where[crosses]}": self._bytes[kind, crosses]
            for kind in ("data", "metadata")
            for crosses in where
        }
