"""What a driver tells a process at its start: one line of JSON on its standard input. It holds no credential."""

from __future__ import annotations

from typing import Literal

import msgspec

from impl.broker import compaction, log_cache, wal
from impl.broker.settings import Settings
from impl.controller.view import Profile

Version = Literal["legacy", "V6"]
Generation = Literal["G0", "G1"]

SHUT_DOWN, ORPHANED, FAILED, HALTED, BROKEN = 0, 1, 3, 4, 70
"""Exit codes of a process: it has shut down in order; its driver is gone; an error that the user can correct; it has
halted, as the protocol foresees; a fault of the node.
"""
RETENTION_MS = 10_000
"""How long controllers keep an object that was replaced (OB-05), so that short runs delete objects, too."""
SETTINGS = Settings(
    wal=wal.WalLimits(bulk=1 << 20, linger_ms=80, in_flight=8, unflushed=32 << 20),
    cache=log_cache.CacheLimits(block=1 << 20, capacity=8 << 20),
    recovery=log_cache.CacheLimits(block=1 << 20),
    compaction=compaction.CompactionLimits(split=256 << 10, split_age_ms=60_000, interval_ms=20_000),
    split_bytes=512 << 10,
    upload_interval_ms=3_000,
)
"""Limits that a run of a minute reaches, on a store that takes some milliseconds for an operation."""


class ClusterRules(msgspec.Struct, frozen=True, kw_only=True):
    """How the nodes of a cluster behave. The fields are those of the simulator's ``Question``."""

    version: Version = "V6"
    generation: Generation = "G1"
    without: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()

    @property
    def settings(self) -> Settings:
        """The settings of a broker."""
        return msgspec.structs.replace(
            SETTINGS,
            fast_close=self.version == "V6",
            elects=self.generation == "G1",
            as_built=frozenset(self.switches),
        )

    @property
    def profile(self) -> Profile:
        """The profile of a controller."""
        return Profile(
            v6=self.version == "V6",
            handshake=self.generation,
            as_built=frozenset(self.switches),
            object_retention_ms=RETENTION_MS,
        )


class NodeStart(msgspec.Struct, frozen=True, kw_only=True):
    """What the process of any node is told. ``name``: of the process. ``driver``: the id of the driver's process.

    ``clock``: the base of its clock. ``events``: the file for its events. ``endpoint`` and ``bucket``: its object
    store; without an endpoint Amazon's.
    """

    name: str
    driver: int
    clock: float
    events: str
    endpoint: str | None
    bucket: str
    rules: ClusterRules


class BrokerStart(NodeStart, frozen=True, kw_only=True, tag="broker"):
    """A broker: its node, its node epoch, and the port of the controller."""

    node: int
    epoch: int
    controller: int


class ControllerStart(NodeStart, frozen=True, kw_only=True, tag="controller"):
    """A controller. ``metadata``: the file of the metadata log. ``port``: where it listens; 0 for any."""

    metadata: str
    port: int


class StoreServerStart(msgspec.Struct, frozen=True, kw_only=True, tag="store"):
    """moto's server. ``driver``: the id of the driver's process."""

    name: str
    driver: int


ProcessStart = BrokerStart | ControllerStart | StoreServerStart
