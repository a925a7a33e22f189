"""What a planning round knows of the cluster: loads, averages, scores of brokers, and gains of moves.

Facts: autobalancer.md 5 to 7. The arithmetic is exact. A load is a whole number. Averages would be fractions, so all
distances are multiplied by n, the number of eligible brokers: n * load - total stands for load - average. The sum over
the eligible brokers multiplies by n, since the language has no product of two variables.

A score falls with the distance from the average (AB-28): by 0 within the band, then linearly, and beyond the span ten
times as slowly. The facts have a logarithm beyond the span, which falls more slowly still. Here a penalty stands for
1 - score, in units in which both goals agree.
"""

from __future__ import annotations

from enum import Enum

from holdfast.lang import Flag, Map, Model, Nat, Rel, init, rule


class Broker(Nat):
    """A broker. Its number decides ties (AB-62)."""


class Partition(Nat):
    """A partition that may move. Its number decides ties (AB-62)."""


class Load(Nat):
    """Bytes a second, in a unit of the scope."""


class Resource(Enum):
    """What the two goals even out."""

    IN = "bytes in"
    OUT = "bytes out"


class Stage(Enum):
    """What the leading controller does."""

    IDLE = "it waits for the next round"
    IN = "it plans for the goal of bytes in"
    OUT = "it plans for the goal of bytes out"
    READY = "its plan is complete"


class BalancerScores(Model):
    """The cluster, the snapshot of a round, and what the goals say about a move in it."""

    shipped: Flag
    """The shipped rules alone (autobalancer.md 7): an action needs a mean gain, and nothing else."""

    pinned: Map[tuple[Broker, Resource], Load]
    """The load of the broker's partitions of excluded topics. They never move, but their load counts (AB-20)."""
    rate: Map[tuple[Partition, Resource], Load]
    """The load of the partition at first."""
    surge: Map[tuple[Partition, Resource], Load]
    """The load of the partition after a change."""
    critical: Rel[Partition]
    """The partition belongs to a critical topic (AB-43)."""
    span: Load
    """The distance beyond the band over which scores fall linearly (AB-26)."""
    limit: Load
    """The hard goal accepts a broker up to this load of bytes in."""
    idle: Load
    """The detect threshold while it is raised (AB-27). Otherwise it is 0."""

    apart: bool
    """The goals belong to two groups: bytes in, then bytes out. As shipped, both belong to one (AB-23)."""
    raised: bool
    """An operator has raised the detect threshold."""
    stuck: Rel[Broker]
    """The latencies of the broker show that its appends hang (AB-57)."""
    locked: Rel[Broker]
    """The broker is excluded by an operator, or locked by the circuit breaker (AB-18)."""
    surges: Rel[Partition]
    """The traffic of the partition has changed."""
    placed: Map[Partition, Broker]
    """The broker that serves the partition."""
    known: Rel[Partition]
    """The cluster model has a sample of the partition from the broker that serves it (AB-15, AB-22)."""

    stage: Stage
    threshold: Load
    """The detect threshold T of the round's copy of the configuration."""
    margin: Map[Resource, Load]
    """Ten times the sum of the half widths m of the eligible brokers' bands: their total load, since rho is 0.1."""
    eligible: Rel[Broker]
    """The broker is in the snapshot, and all its loads are known (AB-18, AB-24)."""
    slow: Rel[Broker]
    """The round has marked the broker as slow (AB-57)."""
    planned: Map[Partition, Broker]
    """The broker on which the snapshot places the partition."""
    load_at: Map[tuple[Broker, Resource], Load]
    """The load of the broker in the snapshot (AB-20)."""
    total: Map[Resource, Load]
    """The load of all eligible brokers when the round began. Moves between them do not change it (AB-25)."""
    before: Map[Partition, Broker]
    """The broker on which the snapshot placed the partition when the visit began."""

    @init
    def start_cluster(self, first: Broker, others: Broker, apart: bool) -> None:
        """The first partition is on one broker, the others are on one, and all loads are known."""
        self.apart = apart and not self.shipped
        self.raised = False
        self.stuck.fill(False)
        self.locked.fill(False)
        self.surges.fill(False)
        self.known.fill(True)
        for p in Partition:
            self.placed[p] = first if p == Partition(0) else others
            self.planned[p] = first if p == Partition(0) else others
        self.drop_snapshot()

    def drop_snapshot(self) -> None:
        """No round is under way, and there is no snapshot."""
        self.stage = Stage.IDLE
        self.threshold = Load(0)
        self.margin.fill(Load(0))
        self.eligible.fill(False)
        self.slow.fill(False)
        self.load_at.fill(Load(0))
        self.total.fill(Load(0))
        self.before.fill(Broker(0))

    # Loads ----------------------------------------------------------------------------------------------------

    def load(self, p: Partition, r: Resource) -> Load:
        """The load that p carries now."""
        return self.surge[p, r] if self.surges[p] else self.rate[p, r]

    def sampled(self, p: Partition, r: Resource) -> Load:
        """The load of p in the snapshot: 0 if there is no sample of p."""
        return self.load(p, r) if self.known[p] else Load(0)

    def n_times(self, x: Load) -> int:
        """The product n * x, for n eligible brokers."""
        return sum(x for b in Broker if self.eligible[b])

    # The parameters of a round --------------------------------------------------------------------------------

    def wanted_threshold(self) -> Load:
        """The detect threshold of the configuration."""
        return self.idle if self.raised else Load(0)

    def take_snapshot(self) -> None:
        """The snapshot leaves out locked brokers, and no broker is eligible with an unknown load (AB-18, AB-19)."""
        for b in Broker:
            self.eligible[b] = True
            if rule("BG-11", self.locked[b]):
                self.eligible[b] = False
            if rule("BG-01", any(not self.known[p] for p in Partition if self.placed[p] == b)):
                self.eligible[b] = False
            if rule("BG-10"):
                self.slow[b] = self.stuck[b]
            for r in Resource:
                self.load_at[b, r] = self.pinned[b, r] + sum(
                    self.sampled(p, r) for p in Partition if self.placed[p] == b
                )
        for r in Resource:
            self.total[r] = Load(0) + sum(self.load_at[b, r] for b in Broker if self.eligible[b])

    def set_margins(self) -> None:
        """The goals set their bands around the averages (AB-25)."""
        if rule("BG-05"):
            for r in Resource:
                self.margin[r] = self.total[r]

    # A visit --------------------------------------------------------------------------------------------------

    def begin_visit(self) -> None:
        """The visit keeps the placement that it may have to restore."""
        for p in Partition:
            self.before[p] = self.planned[p]

    def load_before(self, b: Broker, r: Resource) -> Load:
        """The load of b in the snapshot when the visit began."""
        return self.pinned[b, r] + sum(self.sampled(p, r) for p in Partition if self.before[p] == b)

    def undo_visit(self) -> None:
        """The snapshot is as it was when the visit began (AB-44)."""
        for p in Partition:
            self.planned[p] = self.before[p]
        for b in Broker:
            for r in Resource:
                self.load_at[b, r] = self.load_before(b, r)

    # A goal and a broker --------------------------------------------------------------------------------------

    def goal(self) -> Resource:
        """The resource for which the phase plans."""
        return Resource.OUT if self.stage == Stage.OUT else Resource.IN

    def is_within(self, r: Resource, x: Load) -> bool:
        """Whether the goal accepts a broker of load x: it is idle, as the average is, or in the band (AB-27)."""
        idle = x < self.threshold and self.total[r] < self.n_times(self.threshold)
        return idle or 10 * abs(self.n_times(x) - self.total[r]) <= self.margin[r]

    def accepts(self, b: Broker) -> bool:
        """Whether the goal of the phase accepts b."""
        return all(self.is_within(r, self.load_at[b, r]) for r in Resource if r == self.goal())

    def needs_less(self, b: Broker) -> bool:
        """Whether b carries more than the average. Nobody asks if the goal accepts b (AB-27)."""
        return self.n_times(self.load_at[b, self.goal()]) > self.total[self.goal()]

    def penalty(self, r: Resource, x: Load) -> int:
        """How far the score of a broker of load x is from 1 (AB-28): linear up to the span, then a tenth as steep."""
        beyond = max(10 * abs(self.n_times(x) - self.total[r]) - self.margin[r], 0)
        kink = 10 * self.n_times(self.span)
        return 10 * min(beyond, kink) + max(beyond - kink, 0)

    # A move of p from a to c ----------------------------------------------------------------------------------

    def worse_now(self, r: Resource, a: Broker, c: Broker) -> int:
        """The larger penalty of a and c."""
        return max(self.penalty(r, self.load_at[a, r]), self.penalty(r, self.load_at[c, r]))

    def better_now(self, r: Resource, a: Broker, c: Broker) -> int:
        """The smaller penalty of a and c."""
        return min(self.penalty(r, self.load_at[a, r]), self.penalty(r, self.load_at[c, r]))

    def worse_then(self, r: Resource, p: Partition, a: Broker, c: Broker) -> int:
        """The larger penalty of a and c after the move."""
        x = self.sampled(p, r)
        return max(self.penalty(r, self.load_at[a, r] - x), self.penalty(r, self.load_at[c, r] + x))

    def better_then(self, r: Resource, p: Partition, a: Broker, c: Broker) -> int:
        """The smaller penalty of a and c after the move."""
        x = self.sampled(p, r)
        return min(self.penalty(r, self.load_at[a, r] - x), self.penalty(r, self.load_at[c, r] + x))

    def gain_of(self, r: Resource, p: Partition, a: Broker, c: Broker) -> int:
        """How much the worse of the two brokers gains for one goal (AB-33). A negative gain is a loss."""
        return self.worse_now(r, a, c) - self.worse_then(r, p, a, c)

    def gain(self, p: Partition, a: Broker, c: Broker) -> int:
        """What the group of the phase's goal gains (AB-36): its own gain, and that of another goal in the group."""
        return sum(self.gain_of(r, p, a, c) for r in Resource if r == self.goal() or not self.apart)

    def keeps_order(self, p: Partition, a: Broker, c: Broker) -> bool:
        """Whether no goal of the group finds the sorted scores of a and c worse after the move (P-15)."""
        return all(self.is_no_worse(r, p, a, c) for r in Resource if r == self.goal() or not self.apart)

    def is_no_worse(self, r: Resource, p: Partition, a: Broker, c: Broker) -> bool:
        """Whether the lower score grows, or stays while the higher one does not fall."""
        gain = self.gain_of(r, p, a, c)
        return gain > 0 or (gain == 0 and self.better_then(r, p, a, c) <= self.better_now(r, a, c))

    def has_earlier_group(self) -> bool:
        """Whether a group of goals has been optimised in this round, which is not that of the phase (AB-36)."""
        return self.apart and self.stage == Stage.OUT

    def keeps_earlier_group(self, p: Partition, a: Broker, c: Broker) -> bool:
        """Whether the move does not harm the earlier group, bytes in.

        AB-36 asks that its mean does not fall. In safe mode its sorted scores may not fall either. (The groups are
        apart in safe mode only.)
        """
        return self.is_no_worse(Resource.IN, p, a, c)

    def is_forbidden(self, p: Partition, a: Broker, c: Broker) -> bool:
        """Whether the hard goal forbids the move (AB-35): c goes, or stays, beyond the limit.

        c may stay beyond it if the move helps the worse of the two brokers. a only gets better.
        """
        x = self.sampled(p, Resource.IN)
        after = self.load_at[c, Resource.IN] + x
        was_within = self.load_at[c, Resource.IN] <= self.limit
        return after > self.limit and (was_within or after > self.load_at[a, Resource.IN])

    # The order of a visit -------------------------------------------------------------------------------------

    def size(self, p: Partition) -> Load:
        """The load of p that the goal of the phase evens out."""
        return self.sampled(p, self.goal())

    def now_at(self, b: Broker) -> Load:
        """The load of b that the goal of the phase evens out."""
        return self.load_at[b, self.goal()]

    def donated(self, p: Partition) -> Load:
        """The load of the broker of p when the visit began, for the goal of the phase."""
        return self.load_before(self.before[p], self.goal())

    def gives(self, p: Partition) -> bool:
        """Whether an eligible broker has p, so that an underloaded broker may pull it."""
        return self.eligible[self.planned[p]]

    def is_trivial(self, b: Broker) -> bool:
        """Whether the visit has changed the load of b by less than 5 % of the average (AB-44)."""
        r = self.goal()
        change = abs(self.n_times(self.load_at[b, r]) - self.n_times(self.load_before(b, r)))
        return 20 * change < self.total[r]
