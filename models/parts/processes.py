"""Processes of nodes: who holds its node's reservation, how far each has come, and under which epochs it has streams.

What `stream_log` and `fast_close` share of a broker (streams.md 7, 9, 9.1).
"""

from __future__ import annotations

from enum import Enum

from holdfast.lang import Map, Rel, init
from models.parts.nodes import NodeEpoch, NodeTable, Proc
from models.parts.streams import Epoch, Stream, StreamTable


class Phase(Enum):
    """How far a process has come: OFF before it starts and once it halts, RECOVERING from the barrier on."""

    OFF = "off"
    RESERVED = "reserved"
    RECOVERING = "recovering"
    READY = "ready"


class ProcessTable(NodeTable, StreamTable):
    """The processes, and their handles."""

    reserved: Rel[Proc]
    """The reservation object of p's node names p (WL-01)."""
    phase: Map[Proc, Phase]
    handle: Map[tuple[Proc, Stream], Epoch]
    """The epoch under which p has opened s, or recovers it; 0 if it does neither."""

    @init
    def start_nodes(self) -> None:  # type: ignore[override]
        """The first incarnation of each node is registered; there is no choice any more."""
        self.node_epoch.fill(NodeEpoch(1))
        self.failover_mode.fill(False)

    @init
    def start_processes(self) -> None:
        """It serves, and holds the reservation. Nothing is open."""
        for p in Proc:
            first = self.incarnation[p] == NodeEpoch(1) and not self.failover[p]
            self.reserved[p] = first
            self.phase[p] = Phase.READY if first else Phase.OFF
        self.handle.fill(Epoch(0))
