"""Brokers whose threads open and close partitions, while any number of partitions move between them.

A partition moves in two operations (reassignment.md 3): its owner closes it, and its target opens it. The open waits
until the partition is closed, and holds its thread meanwhile. Each thread belongs to one of two executors of its
broker: one for opens and one for closes (RA-12). Partitions move at any time and any number of times.

Left out: how a partition is closed and opened, and that either may fail (RA-23); a new target during a move (RA-22);
crashes. `reassignment` has these, for one partition.

LP-06 says that something happens, so a proof says nothing about it: the scopes show it, for four partitions. Without
RA-12 two brokers that exchange two partitions each may reach a state in which no operation ends.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Map,
    Model,
    Rel,
    Scope,
    action,
    assume,
    init,
    invariant,
    leads_to,
    liveness,
    missing,
    outcomes,
    require,
    step,
    witness,
)
from models.parts.nodes import Node
from models.parts.partitions import Partition
from models.parts.threads import Thread


class BrokerExecutors(Model):
    """Partitions that move, and the threads that move them."""

    for_opens: Rel[Thread]
    """The thread belongs to the executor for opens, not to that for closes. A constant of the thread."""

    owner: Map[Partition, Node]
    """The broker that opened the partition last."""
    target: Map[Partition, Node]
    """The broker to which the partition is assigned. The partition moves while this is not its owner."""
    closed: Rel[Partition]
    """The owner has closed the partition."""
    task: Map[tuple[Node, Thread], Partition | None]
    """The partition that the broker opens or closes on the thread; None while the thread is free."""

    tiny = Scope({Node: 2, Partition: 4, Thread: 2}, given={"for_opens": (1, 0)})
    default = Scope({Node: 2, Partition: 4, Thread: 4}, given={"for_opens": (1, 1, 0, 0)})
    deep = Scope({Node: 3, Partition: 12, Thread: 4}, given={"for_opens": (1, 1, 1, 0)}, depth=200)

    @init
    def start_at_rest(self, n: Node) -> None:
        """One broker has all partitions, and every thread is free."""
        self.owner.fill(n)
        self.target.fill(n)
        self.closed.fill(False)
        self.task.fill(None)

    @assume
    def some_thread_closes(self) -> bool:
        """A broker has a thread for closes."""
        return any(not self.for_opens[t] for t in Thread)

    @assume
    def some_thread_opens(self) -> bool:
        """A broker has a thread for opens."""
        return any(self.for_opens[t] for t in Thread)

    # What properties and checks ask ---------------------------------------------------------------------------

    def moves(self, p: Partition) -> bool:
        """Whether p is on its way from its owner to its target."""
        return self.owner[p] != self.target[p]

    def does(self, n: Node, t: Thread, p: Partition) -> bool:
        """Whether n opens or closes p on the thread t."""
        return self.task[n, t] == p

    # The operator ---------------------------------------------------------------------------------------------

    @action
    def reassign(self, p: Partition, n: Node) -> None:
        """The operator assigns a partition that does not move to another broker."""
        if not self.moves(p):
            self.target[p] = n

    # The brokers ----------------------------------------------------------------------------------------------

    def begin_task(self, n: Node, t: Thread, p: Partition, opens: bool) -> None:
        """A free thread of the executor takes an operation, if no other thread of n works on the partition."""
        require(self.for_opens[t] == opens, "RA-12")  # RG-14
        require(self.task[n, t] is None, "RA-12.busy")
        require(not any(self.does(n, u, p) for u in Thread), "RA-11")
        self.task[n, t] = p

    def end_task(self, n: Node, t: Thread, p: Partition) -> None:
        """The thread ends the operation that it has begun, and is free."""
        require(self.does(n, t, p), "RA-12.task")
        self.task[n, t] = None

    @action(fair="strong", per=("p",))
    def begin_close(self, n: Node, t: Thread, p: Partition) -> None:
        """The owner begins to close a partition that has been assigned to another broker."""
        require(self.moves(p) and self.owner[p] == n and not self.closed[p], "PT-02")
        self.begin_task(n, t, p, False)

    @action(fair="weak", per=("n", "t"))
    def end_close(self, n: Node, t: Thread, p: Partition) -> None:
        """The partition is closed."""
        require(self.owner[p] == n, "CK-02.node")
        self.end_task(n, t, p)
        self.closed[p] = True

    @action(fair="strong", per=("p",))
    def begin_open(self, n: Node, t: Thread, p: Partition) -> None:
        """The target begins to open a partition that has been assigned to it."""
        require(self.moves(p) and self.target[p] == n, "RA-14")
        self.begin_task(n, t, p, True)

    @action(fair="weak", per=("n", "t"))
    def end_open(self, n: Node, t: Thread, p: Partition) -> None:
        """The controller grants the open of a closed partition."""
        require(self.closed[p], "ST-14")
        self.end_task(n, t, p)
        self.owner[p] = n
        self.closed[p] = False

    # Properties -----------------------------------------------------------------------------------------------

    @step(of="end_open")
    def opened_when_closed(self, old: Self, p: Partition) -> bool:
        """SP-01. A broker has opened a partition only after the owner before it has closed it."""
        return old.closed[p]

    @invariant
    def works_on_moves(self) -> bool:
        """RA-11. A broker works only on a partition that moves: as its target, or as its owner until it is closed."""
        return all(
            self.moves(p) and (self.target[p] == n or (self.owner[p] == n and not self.closed[p]))
            for n in Node
            for t in Thread
            for p in Partition
            if self.does(n, t, p)
        )

    @step
    def tasks_end_by_themselves(self, old: Self) -> bool:
        """RA-12. A thread does not leave an operation that it has begun."""
        return all(
            self.does(n, t, p) or self.task[n, t] is None
            for n in Node
            for t in Thread
            for p in Partition
            if old.does(n, t, p)
        )

    @leads_to
    def swap_ends(self, p: Partition) -> tuple[bool, bool]:
        """LP-06. Each move ends, however many partitions the brokers exchange."""
        return self.moves(p), not self.moves(p)

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def all_opens_wait(self) -> bool:
        """Every thread for opens waits for another broker."""
        return all(
            any(self.does(n, t, p) and not self.closed[p] for p in Partition)
            for n in Node
            for t in Thread
            if self.for_opens[t]
        )

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes({
        "RA-12": liveness("LP-06", "opens hold all threads of two brokers, and each waits for a close of the other"),
        "RA-12@begin_close": missing("time: how long closes hold up the opens, which then wait for a thread"),
    })  # fmt: skip
