"""Failover: when the controller lets another broker recover the streams of a broker that is gone.

Facts: streams.md 6, 7. A broker that the controller has not heard for a session is FENCED. If it has streams OPENED,
they stay OPENED until its next process closes them (FO-08) or a failover worker on another broker does (FO-09). At most
one failover runs in the cluster (FO-02).

Time is one event for each process: more than 60 s have passed since its start (ID-03). FO-01 gives a process that long
to recover its node alone. Nothing says how fast a recovery is.

FO-01 protects no data: in `ownership` and `stream_log` a worker starts for brokers that are not FENCED, that have no
streams, and whose process is young, and no record is lost. Without the age, a worker ends a process that has just begun
to recover, which has to start again. Without the test for streams, the only failover of the cluster can be busy for
ever with brokers that have none.

Left out: the broker on which the worker runs, and its failures (FO-03, FO-04); what the worker reads and writes
(`wal`, `stream_log`); the time between the start of a process and its registration (ND-01, FO-06.newer); controlled
shutdown (ND-30) and the overload breaker (ND-31).
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import (
    Map,
    Model,
    Rel,
    Scope,
    action,
    init,
    invariant,
    leads_to,
    liveness,
    outcomes,
    require,
    rule,
    step,
    witness,
)
from models.parts.nodes import Node


class Phase(Enum):
    """The process of a broker: none runs, it recovers what the one before it has left, or it is up."""

    DOWN = "down"
    RECOVERING = "recovering"
    UP = "up"


class Failover(Model):
    """The brokers of a cluster, and the failovers that the controller begins."""

    phase: Map[Node, Phase]
    """Whether a process of the broker runs, and whether it has recovered."""
    active: Rel[Node]
    """The controller has heard the broker: it is not FENCED."""
    aged: Rel[Node]
    """More than 60 s have passed since the start of the broker's newest process."""
    opening: Rel[Node]
    """The broker has opening streams (ND-04)."""
    failover: Rel[Node]
    """A worker on another broker recovers the streams of the broker."""

    tiny = Scope({Node: 2}, budgets={"restart": 1})
    default = Scope({Node: 3}, budgets={"restart": 2})
    deep = Scope({Node: 12}, depth=200)

    @init
    def start_cluster(self) -> None:
        """All brokers have been up for long, without streams."""
        self.phase.fill(Phase.UP)
        self.active.fill(True)
        self.aged.fill(True)
        self.opening.fill(False)
        self.failover.fill(False)

    # Brokers --------------------------------------------------------------------------------------------------

    @action
    def open(self, n: Node) -> None:
        """A broker that is up opens a stream."""
        if self.phase[n] == Phase.UP:
            self.opening[n] = True

    @action
    def close(self, n: Node) -> None:
        """A broker that is up closes the last of its streams."""
        if self.phase[n] == Phase.UP:
            self.opening[n] = False

    @action
    def crash(self, n: Node) -> None:
        """The process of a broker dies. (A dead broker that is not FENCED yet is like a slow one, so it is at once.)"""
        self.phase[n] = Phase.DOWN
        self.active[n] = False

    @action
    def isolate(self, n: Node) -> None:
        """The controller fences a running broker that it has not heard for a session."""
        self.active[n] = False

    @action
    def heal(self, n: Node) -> None:
        """The controller hears a running broker again."""
        if self.phase[n] == Phase.UP:
            self.active[n] = True

    @action
    def restart(self, n: Node) -> None:
        """The next process of a broker starts and registers (ND-01). The broker is FENCED until it has recovered."""
        self.phase[n] = Phase.RECOVERING
        self.active[n] = False
        self.aged[n] = False
        # The worker has an older epoch now, and gets NODE_EPOCH_EXPIRED.
        if rule("FO-07"):
            self.failover[n] = False

    @action(fair="weak", per=("n",))
    def recover(self, n: Node) -> None:
        """A process has replayed and closed the streams that were left OPENED, and the broker becomes active."""
        require(self.phase[n] == Phase.RECOVERING, "FO-08")
        self.opening[n] = False
        self.phase[n] = Phase.UP
        self.active[n] = True

    @action(fair="weak", per=("n",))
    def grow_old(self, n: Node) -> None:
        """More than 60 s have passed since the start of a process."""
        self.aged[n] = True

    # Failovers ------------------------------------------------------------------------------------------------

    @action(fair="weak", per=("n",))
    def fail_over(self, n: Node) -> None:
        """The controller begins a failover, and the worker takes the WAL of the broker.

        A process of the broker that still runs cannot ack any more, and halts (WL-05, PL-04).
        """
        require(not any(self.failover[m] for m in Node), "FO-02")
        require(not self.active[n], "FO-01.fenced")
        require(self.opening[n], "FO-01.opening")  # G-51
        require(self.aged[n], "FO-01.age")  # G-51
        self.failover[n] = True
        self.phase[n] = Phase.DOWN

    @action(fair="weak", per=("n",))
    def end_failover(self, n: Node) -> None:
        """The worker has closed the streams of the broker, and the failover ends (FO-03)."""
        require(self.failover[n], "FO-09")
        self.opening[n] = False
        self.failover[n] = False

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def one_failover(self) -> bool:
        """FO-02. At most one failover runs in the cluster."""
        return all(m == n or not self.failover[m] for n in Node for m in Node if self.failover[n])

    @invariant
    def replaced_is_gone(self) -> bool:
        """FO-01, FO-07. While a worker recovers a broker, the broker is FENCED, and no process of it runs."""
        return all(not self.active[n] and self.phase[n] == Phase.DOWN for n in Node if self.failover[n])

    @step(of="fail_over")
    def young_process_runs_on(self, old: Self, n: Node) -> bool:
        """FO-01. No failover ends a process that has started within the last 60 s."""
        return old.phase[n] == Phase.DOWN or old.aged[n]

    @step(of="end_failover")
    def closed_for_a_dead_process(self, old: Self, n: Node) -> bool:
        """FO-09. No worker closes the streams of a process that runs."""
        return old.phase[n] == Phase.DOWN

    @leads_to
    def left_streams_are_closed(self, n: Node) -> tuple[bool, bool]:
        """LV-01. The streams that a dead process has left OPENED are closed some time."""
        return self.phase[n] == Phase.DOWN and self.opening[n], not self.opening[n]

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def another_waits(self) -> bool:
        """FO-02. A broker could be failed over, and waits for the failover of another one to end."""
        return any(
            self.failover[m] and m != n and self.opening[n] and self.aged[n] and self.phase[n] == Phase.DOWN
            for n in Node
            for m in Node
        )

    @witness
    def waits_for_its_age(self) -> bool:
        """FO-10. A process has crashed within its first 60 s, and its streams wait for the rest of that minute."""
        return any(self.phase[n] == Phase.DOWN and self.opening[n] and not self.aged[n] for n in Node)

    @witness
    def recovers_slowly(self) -> bool:
        """FO-01. A process recovers for more than 60 s, so that a failover may end it."""
        return any(self.phase[n] == Phase.RECOVERING and self.opening[n] and self.aged[n] for n in Node)

    mutants = outcomes({
        "FO-01.opening": liveness("LV-01", "the only failover goes on and on with brokers that have no streams"),
    })  # fmt: skip
