"""The execution of the balancer's plans: controllers, batches, and brokers that die meanwhile.

Facts: autobalancer.md 9, 10. The leading controller plans moves, cuts the plan into batches and submits one batch after
the other. An accepted move changes the assignment of its partition. Then the source closes the partition, and the
destination opens it. Another controller may become leader at any time. Its predecessor learns that from the answer to
its next batch.

`balancer` decides which moves a plan has. Here a plan is any set of moves to brokers that are not fenced. A controller
puts its moves into batches in any order; the balancer has one order (AB-49), in which a batch may end early.

Time is two events for each controller: 5 s have passed since its last batch, and 60 s since its first one.

Left out: the check of a row by the controller itself (RA-02, `reassignment_batch`); the election of partitions of a
fenced broker (AB-05); how a partition is closed and opened (`reassignment`); a batch that is accepted in part.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import (
    Ghost,
    Map,
    Model,
    Nat,
    Rel,
    Scope,
    Sort,
    action,
    count,
    init,
    invariant,
    leads_to,
    require,
    rule,
    step,
    witness,
)
from models.parts.nodes import Node
from models.parts.partitions import Partition


class Controller(Sort):
    """A process of the controller quorum. Each one runs a balancer (AB-02)."""


class Topic(Sort):
    """A topic."""


class Limit(Nat):
    """A number of moves or of brokers."""


class Pace(Enum):
    """How long ago a controller has submitted batches of its plan."""

    NONE = "it has submitted none"
    JUST = "less than 5 s have passed since the last batch"
    SPACED = "5 s have passed since the last batch"
    LATE = "60 s have passed since the first batch"


class BalancerExecution(Model):
    """Controllers with their plans, and the partitions that these plans move."""

    topic: Map[Partition, Topic]
    """The topic of the partition."""
    home: Map[Partition, Node]
    """The broker that serves the partition at first."""
    concurrency: Limit
    """K: how many moves of a batch may touch one broker (AB-49)."""
    sources: Limit
    """How many brokers may give partitions to one destination in a batch (AB-49)."""

    leader: Controller
    """The controller that leads."""
    fenced: Rel[Node]
    """The broker is fenced, or not registered."""
    assigned: Map[Partition, Node]
    """The broker to which the partition is assigned."""
    serves: Rel[Node, Partition]
    """The broker has the partition open."""
    target: Map[tuple[Controller, Partition], Node | None]
    """Where the controller's plan moves the partition; None if it does not, or has done so."""
    origin: Map[tuple[Controller, Partition], Node | None]
    """The broker of the partition when the controller planned the move; None if the plan has no such move."""
    batch: Rel[Controller, Partition]
    """The controller's current batch has the move of the partition."""
    pace: Map[Controller, Pace]
    """How long ago the controller has submitted batches of its plan."""
    planned_unled: Ghost[Rel[Controller, Partition]]
    """The controller did not lead when it planned the move."""

    tiny = Scope(
        {Controller: 2, Node: 2, Partition: 2, Topic: 1, Limit: 2},
        budgets={"fence": 1, "unfence": 0, "plan": 3},
        given={"topic": (0, 0), "home": (0, 0), "concurrency": 2, "sources": 2},
    )
    default = Scope(
        {Controller: 1, Node: 3, Partition: 3, Topic: 3, Limit: 2},
        budgets={"fence": 1, "unfence": 0, "plan": 4},
        given={"topic": (0, 1, 2), "home": (0, 0, 1), "concurrency": 2, "sources": 1},
    )
    deep = Scope(
        {Controller: 3, Node: 6, Partition: 12, Topic: 3, Limit: 4},
        given={
            "topic": (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2), "home": (0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5),
            "concurrency": 4, "sources": 2,
        },
        depth=200,
    )  # fmt: skip

    @init
    def start_assigned(self, c: Controller) -> None:
        """One controller leads, each broker serves what it is assigned, nobody is fenced, and nothing is planned."""
        self.leader = c
        self.fenced.fill(False)
        for p in Partition:
            self.assigned[p] = self.home[p]
            for n in Node:
                self.serves[n, p] = n == self.home[p]
        self.target.fill(None)
        self.origin.fill(None)
        self.batch.fill(False)
        self.pace.fill(Pace.NONE)
        self.planned_unled.fill(False)

    # What happens around the balancer -------------------------------------------------------------------------

    @action
    def elect(self, c: Controller) -> None:
        """Another controller leads. Each one knows at its next round whether it leads (AB-55)."""
        self.leader = c

    @action
    def fence(self, n: Node) -> None:
        """A broker dies, and the controller fences it."""
        self.fenced[n] = True

    @action
    def unfence(self, n: Node) -> None:
        """The broker is back."""
        self.fenced[n] = False

    @action
    def pass_interval(self, c: Controller) -> None:
        """5 s pass after a batch."""
        if self.pace[c] == Pace.JUST:
            self.pace[c] = Pace.SPACED

    @action
    def pass_minute(self, c: Controller) -> None:
        """60 s pass after the first batch, and 5 s after the last one."""
        if self.pace[c] != Pace.NONE:
            self.pace[c] = Pace.LATE

    # A round of the balancer ----------------------------------------------------------------------------------

    @action
    def plan(self, c: Controller, p: Partition, n: Node) -> None:
        """A controller adds a move to its plan. The snapshot has no fenced broker (AB-18)."""
        require(self.leader == c, "BG-18")
        require(self.pace[c] == Pace.NONE and not self.has_batch(c), "AB-39")
        require(not self.fenced[n], "AB-18")
        self.target[c, p] = n
        self.origin[c, p] = self.assigned[p]
        self.planned_unled[c, p] = self.leader != c

    def has_batch(self, c: Controller) -> bool:
        """Whether c has begun to fill a batch."""
        return any(self.batch[c, p] for p in Partition)

    def touches(self, c: Controller, p: Partition, n: Node) -> bool:
        """Whether n is the source or the destination of c's move of p."""
        m = self.target[c, p]
        return self.comes_from(c, p, n) or (m is not None and m == n)

    def comes_from(self, c: Controller, p: Partition, n: Node) -> bool:
        """Whether n is the source of c's move of p."""
        return self.origin[c, p] == n

    def goes_to(self, c: Controller, p: Partition, n: Node) -> bool:
        """Whether c's batch moves p to n."""
        return self.batch[c, p] and self.target[c, p] == n

    def moves_of(self, c: Controller, n: Node) -> int:
        """How many moves of c's batch touch n."""
        return count(self.batch[c, p] and self.touches(c, p, n) for p in Partition)

    def sources_of(self, c: Controller, n: Node) -> int:
        """How many brokers give a partition to n in c's batch."""
        return count(any(self.goes_to(c, p, n) and self.comes_from(c, p, m) for p in Partition) for m in Node)

    @action
    def fill(self, c: Controller, p: Partition) -> None:
        """A controller puts a move into its batch, if the batch has room for it (AB-49)."""
        n = self.target[c, p]
        if n is None or self.batch[c, p]:
            return
        same = count(self.batch[c, q] and self.topic[q] == self.topic[p] for q in Partition)
        require(2 * same < count(self.topic[q] == self.topic[p] for q in Partition), "BG-14")
        require(all(self.moves_of(c, m) < self.concurrency for m in Node if self.touches(c, p, m)), "BG-15")
        require(self.sources_of(c, n) < self.sources, "BG-15.sources")
        self.batch[c, p] = True

    @action
    def submit(self, c: Controller) -> None:
        """The leader accepts a controller's batch. It leaves out the moves to fenced brokers (AB-52, AB-53)."""
        require(self.has_batch(c), "AB-52")
        require(self.leader == c, "AB-55")
        require(self.pace[c] != Pace.JUST, "BG-16.spacing")
        require(self.pace[c] != Pace.LATE, "BG-16")
        for p in Partition:
            n = self.target[c, p]
            if self.batch[c, p] and n is not None:
                if rule("BG-17", self.fenced[n]):
                    pass
                else:
                    self.assigned[p] = n
                self.drop_move(c, p)
        self.pace[c] = Pace.JUST

    def drop_move(self, c: Controller, p: Partition) -> None:
        """The plan has no move of p any more."""
        self.target[c, p] = None
        self.origin[c, p] = None
        self.batch[c, p] = False
        self.planned_unled[c, p] = False

    @action
    def end_round(self, c: Controller) -> None:
        """The round ends: all is executed, its time is over, its batch was refused, or an exception (AB-52, AB-54)."""
        for p in Partition:
            self.drop_move(c, p)
        self.pace[c] = Pace.NONE

    # The brokers ----------------------------------------------------------------------------------------------

    @action(fair="weak", per=("p",))
    def close(self, n: Node, p: Partition) -> None:
        """A broker closes a partition that is assigned to another one (AB-16)."""
        if self.assigned[p] != n:
            self.serves[n, p] = False

    @action(fair="weak", per=("p",))
    def open(self, n: Node, p: Partition) -> None:
        """A broker opens a partition that is assigned to it, once nobody else has it open (AB-16)."""
        if self.assigned[p] != n:
            return
        require(not any(self.serves[m, p] for m in Node if m != n), "ST-14")
        self.serves[n, p] = True

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def one_owner(self) -> bool:
        """INV-01. At most one broker serves a partition."""
        return all(not self.serves[m, p] for p in Partition for n in Node for m in Node if self.serves[n, p] and m != n)

    @step(of="plan")
    def planned_alive(self, old: Self, n: Node) -> bool:
        """AB-18. The destination of a move is not fenced when a controller plans it."""
        return not old.fenced[n]

    @step(of="submit")
    def leader_alone_moves(self, old: Self, c: Controller) -> bool:
        """AB-55. A batch takes effect only if its controller leads."""
        return old.leader == c or all(self.assigned[p] == old.assigned[p] for p in Partition)

    @step(of="submit")
    def leader_alone_planned(self, old: Self, c: Controller) -> bool:
        """AB-02. Every move of an accepted batch was planned by a controller that led then."""
        return not any(old.planned_unled[c, p] for p in Partition if old.batch[c, p])

    @step(of="submit")
    def moves_to_live_brokers(self, old: Self) -> bool:
        """AB-53. A batch assigns partitions to brokers that are not fenced."""
        return not any(self.fenced[self.assigned[p]] for p in Partition if self.assigned[p] != old.assigned[p])

    @step(of="submit")
    def batch_has_moves(self, old: Self, c: Controller) -> bool:
        """AB-52. A batch that is submitted has a move."""
        return old.has_batch(c)

    @step(of="submit")
    def plan_is_young(self, old: Self, c: Controller) -> bool:
        """AB-52. A batch is submitted within 60 s after the first batch of its plan."""
        return old.pace[c] != Pace.LATE

    @step(of="submit")
    def batches_are_apart(self, old: Self, c: Controller) -> bool:
        """AB-52. A batch is submitted 5 s or more after the batch before."""
        return old.pace[c] != Pace.JUST

    @invariant
    def topic_stays_up(self) -> bool:
        """AB-49. A batch moves at most half of a topic's partitions, rounded up."""
        return all(
            2 * count(self.batch[c, p] and self.topic[p] == t for p in Partition)
            <= count(self.topic[p] == t for p in Partition) + 1
            for c in Controller
            for t in Topic
        )

    @invariant
    def broker_moves_few(self) -> bool:
        """AB-49. A batch touches a broker at most K times."""
        return all(self.moves_of(c, n) <= self.concurrency for c in Controller for n in Node)

    @invariant
    def few_sources(self) -> bool:
        """AB-49. A destination has few sources in a batch."""
        return all(self.sources_of(c, n) <= self.sources for c in Controller for n in Node)

    @leads_to
    def move_ends(self, p: Partition) -> tuple[bool, bool]:
        """AB-16. An assigned partition is served by its broker some time, or assigned to another one."""
        return any(self.is_moving(p, n) for n in Node), any(self.is_served(p, n) for n in Node)

    def is_moving(self, p: Partition, n: Node) -> bool:
        """Whether p is assigned to n, which does not serve it yet."""
        return self.assigned[p] == n and not self.serves[n, p]

    def is_served(self, p: Partition, n: Node) -> bool:
        """Whether n serves p, as assigned."""
        return self.assigned[p] == n and self.serves[n, p]

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def half_executed(self) -> bool:
        """AB-52. The time of a plan is over, with moves left."""
        return any(self.pace[c] == Pace.LATE and self.target[c, p] is not None for c in Controller for p in Partition)

    @witness
    def died_meanwhile(self) -> bool:
        """AB-53. The destination of a planned move is fenced."""
        return any(self.goes_to(c, p, n) and self.fenced[n] for c in Controller for p in Partition for n in Node)
