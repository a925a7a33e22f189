"""The reports that a planning round rests on: which broker measured a load, and when.

Facts: autobalancer.md 2 to 5. A broker measures the partitions that it serves, and sends reports. They reach the
cluster model late, and in any order. The model has the placement from the metadata log, also late (AB-17). A round
plans with a broker only if every load on it is known and recent.

A report here is its broker, its partition and its time. The measured values are left out: a sample is right if the
broker that serves the partition measured it, and recent if its time is. `balancer` shows what happens to a plan that
rests on an unknown load.

Left out: reports of a broker itself, and metric versions (AB-08, AB-09); clocks that differ; the two steps of a
move, between which the model has no such partition (AB-16).
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Ghost, Map, Model, Nat, Rel, Scope, action, init, invariant, require, rule, step, witness
from models.parts.nodes import Node
from models.parts.partitions import Partition


class Time(Nat):
    """Seconds, in a unit of the scope."""


class BalancerSamples(Model):
    """Brokers that measure their partitions, and the cluster model of one controller."""

    delay: Time
    """The tolerated delay D of a sample (AB-19)."""

    clock: Time
    """The time now, at all brokers and at the controller."""
    served_by: Map[Partition, Node]
    """The broker that serves the partition."""
    sent: Rel[Node, Partition, Time]
    """The broker measured the partition at that time, and its report may still arrive."""
    modelled: Map[Partition, Node]
    """The broker on which the cluster model places the partition."""
    sample: Map[Partition, Time | None]
    """The time of the partition's latest sample in the model; None if there is none."""
    measured_by: Ghost[Map[Partition, Node | None]]
    """The broker that measured the latest sample."""

    tiny = Scope({Node: 2, Partition: 1, Time: 2}, given={"delay": 0})
    default = Scope({Node: 2, Partition: 2, Time: 2}, budgets={"move": 2}, given={"delay": 1})
    deep = Scope({Node: 3, Partition: 3, Time: 20}, given={"delay": 3}, depth=200)

    @init
    def start_unsampled(self, n: Node) -> None:
        """One broker serves all partitions, the model knows that, and nobody has measured anything."""
        self.clock = Time(0)
        self.served_by.fill(n)
        self.sent.fill(False)
        self.modelled.fill(n)
        self.sample.fill(None)
        self.measured_by.fill(None)

    # The brokers ----------------------------------------------------------------------------------------------

    @action
    def tick(self) -> None:
        """Time passes."""
        self.clock = self.clock + 1

    @action
    def measure(self, n: Node, p: Partition, t: Time) -> None:
        """A broker measures a partition that it serves, and sends the report (AB-07)."""
        if self.served_by[p] == n and self.clock == t:
            self.sent[n, p, t] = True

    @action
    def move(self, p: Partition, n: Node) -> None:
        """A partition moves to another broker."""
        self.served_by[p] = n

    # The cluster model ----------------------------------------------------------------------------------------

    @action
    def place(self, p: Partition) -> None:
        """The model reads in the metadata log where p is now. A sample of another broker is dropped (AB-15)."""
        if self.modelled[p] != self.served_by[p]:
            self.modelled[p] = self.served_by[p]
            if rule("BG-03"):
                self.sample[p] = None

    @action
    def receive(self, n: Node, p: Partition, t: Time) -> None:
        """A report reaches the model, if there is such a report (AB-13, AB-14)."""
        if not self.sent[n, p, t]:
            return
        require(self.modelled[p] == n, "BG-02.placement")
        require(self.is_not_older(p, t), "BG-02.time")
        self.sample[p] = t
        self.measured_by[p] = n

    def is_not_older(self, p: Partition, t: Time) -> bool:
        """Whether a sample of time t is not older than the latest one."""
        latest = self.sample[p]
        return latest is None or latest <= t

    # A round --------------------------------------------------------------------------------------------------

    def is_recent(self, p: Partition) -> bool:
        """Whether the model has a sample of p that is no older than the tolerated delay."""
        latest = self.sample[p]
        return latest is not None and latest + self.delay >= self.clock

    @action
    def plan(self, n: Node) -> None:
        """A round plans with broker n: it takes part in averages and moves (AB-19)."""
        require(all(self.is_recent(p) for p in Partition if self.modelled[p] == n), "BG-01")

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def sample_is_of_its_broker(self) -> bool:
        """AB-13, AB-15. The sample of a partition is from the broker on which the model places it."""
        return all(
            self.is_measured_by(p, n)
            for p in Partition
            for n in Node
            if self.sample[p] is not None and self.modelled[p] == n
        )

    @step
    def sample_grows_no_older(self, old: Self) -> bool:
        """AB-14. While the model places a partition on one broker, its sample is not replaced by an older one."""
        return all(self.time_of(p) >= old.time_of(p) for p in Partition if self.modelled[p] == old.modelled[p])

    def time_of(self, p: Partition) -> Time:
        """The time of the sample of p; 0 if there is none."""
        latest = self.sample[p]
        return latest if latest is not None else Time(0)

    @step(of="plan")
    def planned_with_known_loads(self, old: Self, n: Node) -> bool:
        """AB-19. A round plans with a broker only if that broker measured each of its partitions within the delay."""
        return all(self.is_recent(p) and self.is_measured_by(p, n) for p in Partition if self.modelled[p] == n)

    def is_measured_by(self, p: Partition, n: Node) -> bool:
        """Whether n measured the sample of p. For properties only."""
        return self.measured_by[p] == n

    @witness
    def moved_and_known_again(self) -> bool:
        """AB-22. A partition has moved, and the model has a sample from its new broker."""
        return any(
            self.sample[p] is not None and self.served_by[p] == n and self.is_measured_by(p, n) and self.sent[m, p, t]
            for p in Partition
            for m in Node
            for n in Node
            for t in Time
            if m != n
        )
