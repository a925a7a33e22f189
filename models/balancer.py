"""The planning rounds of the balancer: which moves a round plans, and whether the rounds come to rest.

Facts: autobalancer.md 5 to 8, 18. A round takes a snapshot, plans moves for one goal after the other (bytes in, then
bytes out), and has them executed. `balancer_scores` has the loads, averages and scores, in exact arithmetic.
`balancer_execution` has the batches and the controllers, `balancer_samples` the reports that a snapshot rests on.

The model adds to the shipped rules what autobalancer.md 18 calls safe mode: an action must not make the sorted scores
of its two brokers worse, for any goal (P-15). The variant `shipped` lacks this rule. In it the rounds may move one
partition in a circle for ever (P-17). In both, ties are broken in the order of AB-62; the variant `map_order` breaks
them in any order, as hash maps do (AB-60).

Merged, since a round reads its snapshot only:

- The environment takes steps between rounds: brokers hang, are locked, loads change. Only the configuration may change
  during a round (BG-19).
- An accepted move is complete when the next round begins, except that the destination has not reported (AB-22).

A hard goal judges each action: a limit for bytes in. It has no phase of its own, and its score counts in no mean. None
ships; plug-in goals may be hard (AB-35).

Left out: SWAP, which no goal emits (AB-31); untrusted loads (AB-21); fenced brokers, whose partitions are elected
elsewhere (AB-05); a round that begins while a move of the last one is under way, so that no broker counts the partition
(AB-16, AB-56).
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Scope, action, invariant, leads_to, liveness, missing, outcomes, require, rule, step, witness
from models.parts.balancer_rounds import BalancerRounds
from models.parts.balancer_scores import Broker, Load, Partition, Resource, Stage


class Balancer(BalancerRounds):
    """A leading controller that plans round after round, and a cluster that changes now and then."""

    # The circle of P-17 in units of 10 MiB/s: partition 0 goes round. Partition 1 lets the other properties decide.
    tiny = Scope(
        {Broker: 2, Partition: 1, Load: 30},
        budgets={"abort": 1, "hang": 0, "lock": 0, "configure": 1, "change_load": 0},
        given={
            "pinned": (8, 0, 5, 9, 7, 3), "rate": (3, 2, 0, 1), "surge": (3, 2, 0, 1), "critical": (0, 0),
            "span": 10, "limit": 30, "idle": 20,
        },
    )  # fmt: skip
    default = Scope(
        {Broker: 2, Partition: 2, Load: 63},
        budgets={"abort": 1, "hang": 1, "lock": 1, "configure": 1, "change_load": 1},
        given={
            "pinned": (12, 5, 14, 4, 10, 6), "rate": (3, 2, 3, 1, 1, 3), "surge": (3, 2, 3, 1, 2, 4),
            "critical": (0, 0, 1), "span": 10, "limit": 17, "idle": 40,
        },
    )  # fmt: skip
    deep = Scope(
        {Broker: 3, Partition: 5, Load: 250},
        given={
            "pinned": (20, 30, 35, 10, 25, 25, 5, 30), "rate": (9, 4, 9, 4, 6, 12, 3, 1, 0, 5, 2, 2),
            "surge": (12, 4, 3, 9, 6, 2, 3, 8, 0, 1, 5, 5), "critical": (0, 0, 0, 0, 1, 1),
            "span": 20, "limit": 45, "idle": 80,
        },
        depth=200,
    )  # fmt: skip

    # The cluster, between rounds ------------------------------------------------------------------------------

    def check_between_rounds(self) -> None:
        """A step of the environment comes between rounds: a round reads its snapshot only."""
        require(self.stage == Stage.IDLE, "AB-18")

    @action
    def hang(self, b: Broker) -> None:
        """The appends of a broker hang, so that its latencies show that it is stuck (AB-57)."""
        self.check_between_rounds()
        self.stuck[b] = True
        self.first_plan.fill(None)

    @action
    def lock(self, b: Broker) -> None:
        """An operator excludes a broker, or the circuit breaker locks it (AB-18)."""
        self.check_between_rounds()
        self.locked[b] = True
        self.first_plan.fill(None)

    @action
    def change_load(self, p: Partition) -> None:
        """The clients of a partition send more, or less again. Its broker reports the new load."""
        self.check_between_rounds()
        self.surges[p] = not self.surges[p]
        self.first_plan.fill(None)

    @action(fair="weak", per=("p",))
    def report(self, p: Partition) -> None:
        """The broker reports a partition that it has received."""
        if self.stage == Stage.IDLE and not self.known[p]:
            self.known[p] = True
            self.first_plan.fill(None)

    @action
    def configure(self) -> None:
        """An operator raises the detect threshold, or lowers it again. A round goes on with its copy (BG-19)."""
        self.raised = not self.raised
        self.first_plan.fill(None)
        if rule("BG-19", self.stage != Stage.IDLE):
            pass
        else:
            self.threshold = self.wanted_threshold()

    # Safety ---------------------------------------------------------------------------------------------------

    @step(of="move")
    def limit_kept(self, old: Self, p: Partition, c: Broker) -> bool:
        """P-09. No move brings a broker beyond the hard limit, by the loads that there really are."""
        return not old.really_within(c) or self.really_within(c)

    def really_within(self, b: Broker) -> bool:
        """Whether the plan leaves b within the hard limit, whatever the cluster model knows."""
        return (
            self.pinned[b, Resource.IN] + sum(self.load(p, Resource.IN) for p in Partition if self.planned[p] == b)
            <= self.limit
        )

    @step(of="move")
    def moves_help(self, old: Self, p: Partition, a: Broker, c: Broker) -> bool:
        """P-07. A move makes the worse of its two brokers better, for some goal."""
        return any(self.worse_now(r, a, c) < old.worse_now(r, a, c) for r in Resource)

    @step(of="move")
    def earlier_group_kept(self, old: Self, a: Broker, c: Broker) -> bool:
        """P-11. A later group of goals leaves the worse of two brokers no worse for an earlier group."""
        return not old.has_earlier_group() or self.worse_now(Resource.IN, a, c) <= old.worse_now(Resource.IN, a, c)

    @step(of="move")
    def destination_is_fit(self, old: Self, p: Partition, c: Broker) -> bool:
        """AB-57. The destination is not stuck, and all its loads are known."""
        return not self.stuck[c] and all(self.known[q] for q in Partition if self.placed[q] == c)

    @step(of="move")
    def nothing_locked_is_touched(self, old: Self, a: Broker, c: Broker) -> bool:
        """AB-18. Neither broker of a move is excluded or locked."""
        return not self.locked[a] and not self.locked[c]

    @step(of="move")
    def critical_last(self, old: Self, p: Partition, a: Broker) -> bool:
        """AB-43. A critical partition leaves a broker after all ordinary partitions of it were judged."""
        return not self.critical[p] or not any(
            self.turn[q] and not self.critical[q] and old.planned[q] == a for q in Partition
        )

    @step(of="move")
    def noise_moves_nothing(self, old: Self, p: Partition, a: Broker, c: Broker) -> bool:
        """AB-25. No move while all eligible brokers are within 10 % of the average, for both goals."""
        return not all(old.is_near(b, r) for b in Broker for r in Resource if old.eligible[b])

    def is_near(self, b: Broker, r: Resource) -> bool:
        """Whether b is within 10 % of the average."""
        return 10 * abs(self.n_times(self.load_at[b, r]) - self.total[r]) <= self.total[r]

    @step(of="move")
    def idle_cluster_rests(self, old: Self, p: Partition, a: Broker, c: Broker) -> bool:
        """AB-27. No move while all eligible brokers are idle, by the threshold that an operator has set."""
        return not self.began_raised or not all(
            old.load_at[b, r] < self.idle for b in Broker for r in Resource if old.eligible[b]
        )

    @step(of="end_visit")
    def visit_matters(self, old: Self, b: Broker) -> bool:
        """AB-44. A visit that changes the load of its broker by less than 5 % of the average moves nothing."""
        return not old.is_trivial(b) or all(self.planned[p] == old.before[p] for p in Partition)

    @step
    def one_configuration(self, old: Self) -> bool:
        """AB-39. A round uses one configuration from its begin to its end."""
        return (
            old.stage == Stage.IDLE
            or self.stage == Stage.IDLE
            or (self.threshold == old.threshold and all(self.margin[r] == old.margin[r] for r in Resource))
        )

    @invariant
    def moved_once(self) -> bool:
        """AB-48. A complete plan moves no partition twice, and each one from where it is."""
        return self.stage != Stage.READY or all(
            self.placed[p] == a and not any(self.hop[p, a, d] for d in Broker if d != c)
            for p in Partition
            for a in Broker
            for c in Broker
            if self.hop[p, a, c]
        )

    @invariant
    def same_plan(self) -> bool:
        """AB-62. Two plans from one snapshot are equal."""
        return self.stage != Stage.READY or all(
            self.first_plan[p] == self.planned[p] for p in Partition if self.first_plan[p] is not None
        )

    # Liveness -------------------------------------------------------------------------------------------------

    def is_ready(self, empty: bool) -> bool:
        """Whether a plan is complete, and is empty, or not."""
        moves = any(self.hop[p, a, c] for p in Partition for a in Broker for c in Broker)
        return self.stage == Stage.READY and moves != empty

    @leads_to
    def comes_to_rest(self) -> tuple[bool, bool]:
        """P-15. After a plan that moves something, the rounds come to an empty plan some time."""
        return self.is_ready(False), self.is_ready(True)

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def pulled(self) -> bool:
        """AB-42. A broker that needs more load has pulled a partition."""
        return self.pulls and any(
            self.is_visited(b) and self.planned[p] == b and self.before[p] != b for p in Partition for b in Broker
        )

    @witness
    def given_away(self) -> bool:
        """AB-41. A broker that needs less load has given a partition away."""
        return not self.pulls and any(
            self.is_visited(b) and self.planned[p] != b and self.before[p] == b for p in Partition for b in Broker
        )

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes(
        {
            "P-15": liveness("P-15", "the rounds move one partition in a circle (P-17)"),
            "shipped": liveness("P-15", "the rounds move one partition in a circle (P-17)"),
            "AB-55": missing("a plan that could be lost between rounds"),
            "AB-62.donor": missing("two donors of equal load, of which one can give a partition and the other cannot"),
        }
    )
