"""Node epochs and the failover flag, as the controller keeps them (streams.md 2.1, 6).

A process is one incarnation of a node, or the failover worker that impersonates it after a crash (FO-05). It sends
three things with every request: the id of its node, its own node epoch and its own failover flag. They never change
during the life of a process, and so they are constants of it.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Map, Model, Nat, Rel, Sort, assume, init, require, step
from models.parts.errors import E


class Node(Sort):
    """A broker, known by its id. It outlives its processes."""


class Proc(Sort):
    """A running broker process, or a failover worker."""


class NodeEpoch(Nat):
    """An incarnation of a node. Processes count from 1; 0 stands for a node that the controller does not know."""


class NodeTable(Model):
    """Which incarnation of a node the controller listens to."""

    node_of: Map[Proc, Node]
    """The node whose id the process sends. A constant of the process."""
    incarnation: Map[Proc, NodeEpoch]
    """The node epoch that the process sends (ID-03). A constant of the process."""
    failover: Rel[Proc]
    """The process is a failover worker, and sends failoverMode. A constant of the process."""

    node_epoch: Map[Node, NodeEpoch]
    """The newest incarnation of the node that has registered; 0 if none has."""
    failover_mode: Rel[Node]
    """The last process that registered for the node was a failover worker, of that incarnation."""

    @init
    def start_nodes(self, up: bool) -> None:
        """Either no node has registered yet, or the first incarnation of each has."""
        for n in Node:
            self.node_epoch[n] = NodeEpoch(1) if up else NodeEpoch(0)
        self.failover_mode.fill(False)

    @assume
    def incarnations_count_from_one(self) -> bool:
        """A process has a node epoch that the controller can store."""
        return all(self.incarnation[p] > NodeEpoch(0) for p in Proc)

    @assume
    def processes_differ(self) -> bool:
        """No two processes agree in node, node epoch and failover flag."""
        return all(
            all(
                self.node_of[p] != self.node_of[q]
                or self.incarnation[p] != self.incarnation[q]
                or self.failover[p] != self.failover[q]
                for q in Proc
                if q != p
            )
            for p in Proc
        )

    def are_peers(self, q: Proc, p: Proc) -> bool:
        """Whether q and p are two processes of one node."""
        return q != p and self.node_of[q] == self.node_of[p]

    def starts_before(self, q: Proc, p: Proc) -> bool:
        """Whether q is a peer that starts before p: incarnations in order (ID-03), each before its worker."""
        return self.are_peers(q, p) and (
            self.incarnation[q] < self.incarnation[p]
            or (self.incarnation[q] == self.incarnation[p] and self.failover[p])
        )

    # Checks ---------------------------------------------------------------------------------------------------

    def check_node_epoch(self, p: Proc) -> None:
        """A process that has been succeeded by a registered incarnation is refused (CK-01 without the flag).

        A node epoch above the stored one passes, and is not stored (AM-04).
        """
        n = self.node_of[p]
        require(self.node_epoch[n] > NodeEpoch(0), "CK-01.unknown", error=E.NODE_EPOCH_NOT_EXIST)
        require(self.node_epoch[n] <= self.incarnation[p], "CK-01.expired", error=E.NODE_EPOCH_EXPIRED)  # G-08

    def check_failover_flag(self, p: Proc) -> None:
        """While a worker recovers the node, its own process is refused (CK-01, for operations with checkFailover).

        The check reads neither the epoch nor the flag of the sender: it refuses the worker too (CS-01 exempts commits).
        """
        require(not self.failover_mode[self.node_of[p]], "CK-01.flag", error=E.NODE_FENCED)  # G-09

    def barred(self, p: Proc) -> bool:
        """INV-10. Whether a newer incarnation of p's node has registered, or p's own failover worker."""
        n = self.node_of[p]
        return self.node_epoch[n] > self.incarnation[p] or (
            self.node_epoch[n] == self.incarnation[p] and self.failover_mode[n] and not self.failover[p]
        )

    # Effects --------------------------------------------------------------------------------------------------

    def register_node_epoch(self, p: Proc) -> None:
        """A process takes its node over: getOpeningStreams, the barrier (ND-01).

        An equal or larger epoch overwrites both the stored epoch and the stored flag.
        """
        n = self.node_of[p]
        require(self.node_epoch[n] <= self.incarnation[p], "ND-01", error=E.NODE_EPOCH_EXPIRED)  # G-32
        self.node_epoch[n] = self.incarnation[p]
        self.failover_mode[n] = self.failover[p]

    # Properties -----------------------------------------------------------------------------------------------

    @step
    def node_epochs_grow(self, old: Self) -> bool:
        """INV-04. A node epoch never decreases."""
        return all(self.node_epoch[n] >= old.node_epoch[n] for n in Node)
