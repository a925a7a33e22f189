"""A plan that moves several partitions: its records are one batch, and each row has an answer of its own.

An operator sends a plan with a target for some of the partitions (reassignment.md 2). The controller judges each row,
writes the records of the good rows as one atomic batch, and answers each other row with its error (RA-08). The
controller may crash before that. The next one knows the log, and none of the plans that were sent.

Left out: what a record does to leader and epochs (`reassignment` has that, for one partition); the greatest size of a
batch; an operator who sends a plan again, which is another plan here.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

from holdfast.lang import Map, Model, Rel, Scope, Sort, action, init, invariant, require, rule, step, variant, witness
from models.parts.nodes import Node
from models.parts.partitions import Partition


class Plan(Sort, prefix="plan"):
    """A request that moves partitions."""


class Row(Enum):
    """What has become of a partition's row in a plan."""

    NONE = "the plan has no such row"
    SENT = "the controller has not handled the row"
    MOVED = "a record has moved the partition"
    FAILED = "the row has been answered with an error"
    LOST = "the controller has crashed with the row"


class ReassignmentBatch(Model):
    """The partitions, and the plans that move them."""

    replica: Map[Partition, Node]
    """The broker to which the partition is assigned."""
    active: Rel[Node]
    """The controller believes that the broker is alive: it is not fenced."""
    row: Map[tuple[Plan, Partition], Row]
    """What has become of the row of the partition."""
    target: Map[tuple[Plan, Partition], Node]
    """The broker that the row names."""

    tiny = Scope({Node: 2, Partition: 2, Plan: 2})
    default = Scope({Node: 2, Partition: 3, Plan: 2}, budgets={"fence": 1, "unfence": 1})
    deep = Scope({Node: 4, Partition: 8, Plan: 24}, depth=200)

    @init
    def start_assigned(self, n: Node) -> None:
        """One broker has all partitions, all brokers are active, and nobody has sent a plan."""
        self.replica.fill(n)
        self.active.fill(True)
        self.row.fill(Row.NONE)
        self.target.fill(n)

    def is_good(self, r: Plan, p: Partition) -> bool:
        """Whether the plan has an open row for the partition, and names an active broker there."""
        return self.row[r, p] == Row.SENT and self.active[self.target[r, p]]

    def is_handled(self, r: Plan, p: Partition) -> bool:
        """Whether the controller has answered the row."""
        return self.row[r, p] in (Row.MOVED, Row.FAILED)

    # Operator and brokers -------------------------------------------------------------------------------------

    @action
    def add_row(self, r: Plan, p: Partition, n: Node) -> None:
        """The operator adds a row to a plan that has not been handled."""
        require(all(self.row[r, q] in (Row.NONE, Row.SENT) for q in Partition), "RA-01")
        self.row[r, p] = Row.SENT
        self.target[r, p] = n

    @action
    def fence(self, n: Node) -> None:
        """The controller finds that a broker is dead. (It moves no partition here.)"""
        self.active[n] = False

    @action
    def unfence(self, n: Node) -> None:
        """The controller finds that a broker is back."""
        self.active[n] = True

    # The controller -------------------------------------------------------------------------------------------

    def handle_row(self, r: Plan, p: Partition, fails: bool) -> None:
        """The controller writes the record of a row, or answers it with its error."""
        if self.row[r, p] == Row.SENT:
            if rule("RA-02", fails):
                self.row[r, p] = Row.FAILED
            else:
                self.replica[p] = self.target[r, p]
                self.row[r, p] = Row.MOVED

    @action
    def apply_plan(self, r: Plan) -> None:
        """The controller handles all rows of a plan at once."""
        for p in Partition:
            self.handle_row(r, p, not self.active[self.target[r, p]])

    @variant("one_by_one", replaces="apply_plan")
    def apply_row(self, r: Plan, p: Partition) -> None:
        """RA-08 without the batch: the controller handles one row after another."""
        self.handle_row(r, p, not self.active[self.target[r, p]])

    @variant("one_error_fails_all", replaces="apply_plan")
    def apply_whole_plan(self, r: Plan) -> None:
        """RA-08 without errors of rows: if one row fails, all of them do."""
        fails = any(self.row[r, p] == Row.SENT and not self.is_good(r, p) for p in Partition)
        for p in Partition:
            self.handle_row(r, p, fails)

    @action
    def crash(self) -> None:
        """The controller crashes. The next one has never heard of a plan that was not handled."""
        for r in Plan:
            for p in Partition:
                if self.row[r, p] == Row.SENT:
                    self.row[r, p] = Row.LOST

    # Properties -----------------------------------------------------------------------------------------------

    @invariant
    def plan_is_whole(self) -> bool:
        """INV-14, RA-08. The controller has handled all rows of a plan, or none."""
        return all(
            self.is_handled(r, q) or self.row[r, q] == Row.NONE
            for r in Plan
            for p in Partition
            for q in Partition
            if self.is_handled(r, p)
        )

    @step
    def good_rows_move(self, old: Self) -> bool:
        """RA-08. No row fails because of another one."""
        return all(
            self.row[r, p] != Row.FAILED or old.row[r, p] == Row.FAILED
            for r in Plan
            for p in Partition
            if old.active[old.target[r, p]]
        )

    @step
    def failed_rows_stay(self, old: Self) -> bool:
        """SP-15. A partition moves only with a row of a plan that moves it, to an active broker."""
        return all(
            self.active[self.replica[p]]
            and any(
                old.is_good(r, p) and self.row[r, p] == Row.MOVED and self.replica[p] == old.target[r, p] for r in Plan
            )
            for p in Partition
            if self.replica[p] != old.replica[p]
        )

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def one_row_fails(self) -> bool:
        """One row of a plan has failed, and another has moved its partition."""
        return any(
            self.row[r, p] == Row.FAILED and self.row[r, q] == Row.MOVED
            for r in Plan
            for p in Partition
            for q in Partition
        )

    @witness
    def lost_plan(self) -> bool:
        """A plan is lost after another one has moved a partition."""
        return any(self.row[r, p] == Row.LOST for r in Plan for p in Partition) and any(
            self.row[r, p] == Row.MOVED for r in Plan for p in Partition
        )
