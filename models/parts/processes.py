"""Processes of nodes: reservations, the phases of a process, and the epochs of its handles.

`stream_log` and `fast_close` share this part of a broker (streams.md 7, 9, 9.1).
"""

from __future__ import annotations

from enum import Enum

from holdfast.lang import Map, Rel, init
from models.parts.nodes import NodeEpoch, NodeTable, Proc
from models.parts.streams import Epoch, Stream, StreamTable


class Phase(Enum):
    """The phase of a process.

    OFF: it has not started, or it has halted. RESERVED: it has taken its node's reservation. RECOVERING: it has passed
    the controller's barrier, and replays the WAL. READY: it serves.
    """

    OFF = "off"
    RESERVED = "reserved"
    RECOVERING = "recovering"
    READY = "ready"


class ProcessTable(NodeTable, StreamTable):
    """The processes, and their handles."""

    reserved: Rel[Proc]
    """The reservation object of p's node names p (WL-01)."""
    phase: Map[Proc, Phase]
    """How far the process has come, from its start to the end of its recovery."""
    handle: Map[tuple[Proc, Stream], Epoch]
    """The epoch under which p has opened s, or recovers it; 0 if it does neither."""

    @init
    def start_nodes(self) -> None:
        """The first incarnation of each node is registered. (The table alone allows unregistered nodes too.)"""
        self.node_epoch.fill(NodeEpoch(1))
        self.failover_mode.fill(False)

    @init
    def start_processes(self) -> None:
        """The first incarnation of each node serves, and holds its reservation. Nothing is open."""
        for p in Proc:
            first = self.incarnation[p] == NodeEpoch(1) and not self.failover[p]
            self.reserved[p] = first
            self.phase[p] = Phase.READY if first else Phase.OFF
        self.handle.fill(Epoch(0))
