"""The steps of a planning round: it begins, visits brokers, judges their partitions, and ends with a plan.

Facts: autobalancer.md 8. `balancer_scores` says what a goal thinks of a broker and of a move.
"""

from __future__ import annotations

from holdfast.lang import Flag, Ghost, Map, Rel, action, init, require, rule
from models.parts.balancer_scores import BalancerScores, Broker, Partition, Resource, Stage


class BalancerRounds(BalancerScores):
    """A leading controller that plans round after round."""

    map_order: Flag
    """Ties are broken in the order of a hash map (AB-60): any order."""

    visiting: Broker | None
    """The broker that the phase visits; None between visits."""
    pulls: bool
    """The visited broker needs more load, and pulls partitions. Otherwise it gives partitions away."""
    listed: Rel[Broker]
    """The phase still has to visit the broker. The goal did not accept it when the phase began (AB-40)."""
    turn: Rel[Partition]
    """The visit still has to judge the partition."""
    picked: Partition | None
    """The partition that the visit judges now."""
    accepted: Rel[Broker]
    """The goals accept the move of the picked partition to this broker."""
    hop: Rel[Partition, Broker, Broker]
    """The plan moves the partition from the first broker to the second one."""
    began_raised: Ghost[bool]
    """The detect threshold was raised when the round began."""
    first_plan: Ghost[Map[Partition, Broker | None]]
    """Where an earlier plan from the same snapshot put the partition; None if there was no such plan."""

    @init
    def start_rounds(self) -> None:
        """No round is under way, and none was before."""
        self.visiting = None
        self.picked = None
        self.accepted.fill(False)
        self.pulls = False
        self.listed.fill(False)
        self.turn.fill(False)
        self.hop.fill(False)
        self.began_raised = False
        self.first_plan.fill(None)

    # A round begins -------------------------------------------------------------------------------------------

    @action(fair="weak")
    def begin_round(self) -> None:
        """The leader copies the configuration, takes a snapshot and begins with the first goal (AB-39)."""
        if self.stage != Stage.IDLE:
            return
        self.began_raised = self.raised
        if rule("BG-04"):
            self.threshold = self.wanted_threshold()
        self.take_snapshot()
        self.set_margins()
        self.hop.fill(False)
        self.stage = Stage.IN
        self.list_brokers()

    def is_between_visits(self) -> bool:
        """Whether the round plans for a goal, and visits no broker."""
        return self.stage in (Stage.IN, Stage.OUT) and self.visiting is None

    def list_brokers(self) -> None:
        """A phase visits the eligible brokers that its goal does not accept (AB-40)."""
        for b in Broker:
            self.listed[b] = self.eligible[b] and not self.accepts(b)

    # A visit --------------------------------------------------------------------------------------------------

    @action(fair="weak")
    def visit(self, b: Broker) -> None:
        """The phase visits the next broker, unless its goal accepts the broker by now (AB-40)."""
        if not self.is_between_visits() or not self.listed[b]:
            return
        require(self.map_order or not any(self.listed[c] and c < b for c in Broker), "AB-62.broker")
        self.listed[b] = False
        if not self.accepts(b) and (self.needs_less(b) or not self.slow[b]):
            self.visiting = b
            self.pulls = not self.needs_less(b)
            self.begin_visit()
            for p in Partition:
                mine = self.planned[p] == b
                self.turn[p] = mine if self.needs_less(b) else not mine and self.gives(p)

    def is_visited(self, b: Broker) -> bool:
        """Whether the phase visits b."""
        v = self.visiting
        return v is not None and v == b

    def goes_on(self) -> bool:
        """Whether the visit has partitions to judge, and its goal does not accept the broker yet (AB-41)."""
        return any(self.turn[p] for p in Partition) and not any(self.is_visited(b) and self.accepts(b) for b in Broker)

    @action(fair="weak")
    def pick(self, p: Partition, a: Broker) -> None:
        """The visit picks its next partition, on broker a, and judges all its moves.

        The order is: donors by load, then ordinary topics, then partitions by load (AB-42, AB-43).
        """
        if self.picked is not None or not self.turn[p] or self.planned[p] != a or not self.goes_on():
            return
        require(not any(self.turn[q] and self.donated(q) > self.donated(p) for q in Partition), "AB-42")
        require(
            self.map_order
            or not any(self.turn[q] and self.donated(q) == self.donated(p) and self.before[q] < self.before[p]
                       for q in Partition),
            "AB-62.donor",
        )  # fmt: skip
        require(not self.critical[p] or all(self.critical[q] for q in Partition if self.is_rival(q, p)), "BG-12")
        require(
            not any(
                self.is_rival(q, p) and self.critical[q] == self.critical[p] and self.size(q) > self.size(p)
                for q in Partition
            ),
            "AB-43",
        )
        require(
            self.map_order
            or not any(
                self.is_rival(q, p) and self.critical[q] == self.critical[p] and self.size(q) == self.size(p) and q < p
                for q in Partition
            ),
            "AB-62.replica",
        )
        self.turn[p] = False
        self.picked = p
        for c in Broker:
            self.accepted[c] = self.can_go(a, c)
            if rule("BG-08", self.is_forbidden(p, a, c)):
                self.accepted[c] = False
            if rule("BG-09", self.has_earlier_group() and not self.keeps_earlier_group(p, a, c)):
                self.accepted[c] = False
            if rule("BG-07", self.gain(p, a, c) <= 0):
                self.accepted[c] = False
            if rule("P-15", not self.shipped and not self.keeps_order(p, a, c)):
                self.accepted[c] = False

    def is_picked(self, p: Partition) -> bool:
        """Whether the visit judges p now."""
        q = self.picked
        return q is not None and q == p

    def is_rival(self, q: Partition, p: Partition) -> bool:
        """Whether the visit has not judged q either, and finds it on the same broker as p."""
        return self.turn[q] and self.before[q] == self.before[p]

    def can_go(self, a: Broker, c: Broker) -> bool:
        """Whether the visit considers moves from a to c: into the visited broker, or out of it (AB-41, AB-42)."""
        if a == c or not self.eligible[a] or not self.eligible[c]:
            return False
        return self.is_visited(c) if self.pulls else self.is_visited(a) and not self.slow[c]

    @action(fair="weak")
    def move(self, p: Partition, a: Broker, c: Broker) -> None:
        """The round plans the best of the accepted moves, and applies it to its snapshot at once (AB-38)."""
        require(self.is_picked(p) and self.planned[p] == a and self.accepted[c], "AB-41")
        require(not any(self.accepted[d] and self.gain(p, a, d) > self.gain(p, a, c) for d in Broker), "AB-38")
        require(
            self.map_order
            or not any(
                self.accepted[d] and self.gain(p, a, d) == self.gain(p, a, c) and self.comes_before(d, c)
                for d in Broker
            ),
            "AB-62.candidate",
        )
        self.picked = None
        self.accepted.fill(False)
        self.planned[p] = c
        for r in Resource:
            self.load_at[a, r] = self.load_at[a, r] - self.sampled(p, r)
            self.load_at[c, r] = self.load_at[c, r] + self.sampled(p, r)

    def comes_before(self, d: Broker, c: Broker) -> bool:
        """Whether d is the earlier candidate of two with equal scores: the lower load, then the lower id (AB-61)."""
        return self.now_at(d) < self.now_at(c) or (self.now_at(d) == self.now_at(c) and d < c)

    @action(fair="weak")
    def pass_over(self) -> None:
        """No move of the picked partition is accepted, so the visit leaves it where it is (AB-38)."""
        if not any(self.accepted[c] for c in Broker):
            self.picked = None

    @action(fair="weak")
    def end_visit(self, b: Broker) -> None:
        """The visit ends. If it has changed the load of its broker by little, its moves are undone (AB-44)."""
        require(self.is_visited(b) and self.picked is None and not self.goes_on(), "AB-44")
        if rule("BG-06", self.is_trivial(b)):
            self.undo_visit()
        else:
            for p in Partition:
                for a in Broker:
                    for c in Broker:
                        if self.before[p] == a and self.planned[p] == c and a != c:
                            self.hop[p, a, c] = True
        self.turn.fill(False)
        self.visiting = None

    # A round ends ---------------------------------------------------------------------------------------------

    @action(fair="weak")
    def end_phase(self) -> None:
        """All brokers are visited. The next goal begins; after the last one the plan is merged (AB-39, AB-48)."""
        if not self.is_between_visits() or any(self.listed[b] for b in Broker):
            return
        if self.stage == Stage.IN:
            self.stage = Stage.OUT
            self.list_brokers()
        else:
            self.stage = Stage.READY
            if rule("BG-13"):
                for p in Partition:
                    for a in Broker:
                        for c in Broker:
                            self.hop[p, a, c] = self.placed[p] == a and self.planned[p] == c and a != c

    @action(fair="weak")
    def execute(self) -> None:
        """The controller carries the plan out. A destination has no sample of what it receives (AB-15)."""
        if self.stage != Stage.READY:
            return
        for p in Partition:
            if self.placed[p] != self.planned[p]:
                self.known[p] = False
            self.placed[p] = self.planned[p]
        self.first_plan.fill(None)
        self.rest()

    @action
    def abort(self) -> None:
        """Another controller leads. The plan is lost; the new leader begins with a round of its own (AB-55)."""
        require(self.stage != Stage.IDLE, "AB-55")
        for p in Partition:
            if self.stage == Stage.READY and self.raised == self.began_raised:
                self.first_plan[p] = self.planned[p]
            self.planned[p] = self.placed[p]
        self.rest()

    def rest(self) -> None:
        """The leader waits for the next round. Nothing is left of the last one."""
        self.drop_snapshot()
        self.listed.fill(False)
        self.turn.fill(False)
        self.hop.fill(False)
        self.visiting = None
        self.picked = None
        self.accepted.fill(False)
        self.pulls = False
