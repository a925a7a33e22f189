"""Plans of several partitions: what one bad row, and a crash among the rows, do to the others."""

from __future__ import annotations

from holdfast.lang import Scope
from models.parts.nodes import Node
from models.parts.partitions import Partition
from models.reassignment_batch import Plan, ReassignmentBatch, Row

WIDE = Scope({Node: 3, Partition: 3, Plan: 2})
LEFT, RIGHT, DEAD = (Node.element(number) for number in range(3))
A, B, C = (Partition.element(number) for number in range(3))
PLAN, NEXT = Plan.element(0), Plan.element(1)


def planned(*targets: Node, variants: tuple[str, ...] = ()) -> ReassignmentBatch:
    """All partitions are on the left, one broker is dead, and a plan gives the first partitions these targets."""
    state = ReassignmentBatch.at(WIDE, variants=variants).start(n=LEFT).take("fence", n=DEAD)
    for each, target in zip((A, B, C), targets, strict=False):
        state = state.take("add_row", r=PLAN, p=each, n=target)
    return state


def rows(state: ReassignmentBatch) -> list[Row]:
    """What has become of the rows of the plan."""
    return [state.row[PLAN, each] for each in (A, B, C)]


def test_a_row_with_an_error_leaves_the_others_alone() -> None:
    """RA-02, RA-08. Two partitions move, and the third one stays where it is."""
    state = planned(RIGHT, DEAD, RIGHT).take("apply_plan", r=PLAN)
    assert rows(state) == [Row.MOVED, Row.FAILED, Row.MOVED]
    assert [state.replica[each] for each in (A, B, C)] == [RIGHT, LEFT, RIGHT]


def test_a_crash_leaves_no_plan_half_applied() -> None:
    """RA-08. A plan is handled as a whole, or it is lost as a whole and moves nothing."""
    state = planned(RIGHT, RIGHT).take("crash")
    assert rows(state) == [Row.LOST, Row.LOST, Row.NONE]
    assert state.refusal("add_row", r=PLAN, p=C, n=RIGHT) == ("RA-01", None)
    assert [state.replica[each] for each in (A, B, C)] == [LEFT, LEFT, LEFT]


def test_records_one_by_one_leave_a_plan_half_applied() -> None:
    """RA-08. If each row is a batch of its own, a crash between two rows loses the second one."""
    state = planned(RIGHT, RIGHT, variants=("one_by_one",)).take("apply_plan", r=PLAN, p=A).take("crash")
    assert rows(state) == [Row.MOVED, Row.LOST, Row.NONE]
    assert not state.holds("plan_is_whole")


def test_one_error_may_fail_all_rows() -> None:
    """RA-08. If one error is the error of all, a row that names an active broker fails with it."""
    state = planned(RIGHT, DEAD, variants=("one_error_fails_all",))
    after = state.take("apply_plan", r=PLAN)
    assert rows(after) == [Row.FAILED, Row.FAILED, Row.NONE]
    assert not after.holds("good_rows_move", old=state)


def test_a_later_plan_moves_a_partition_again() -> None:
    """Plans do not bar each other."""
    state = planned(RIGHT).take("apply_plan", r=PLAN).take("add_row", r=NEXT, p=A, n=LEFT).take("apply_plan", r=NEXT)
    assert (state.replica[A], state.row[PLAN, A], state.row[NEXT, A]) == (LEFT, Row.MOVED, Row.MOVED)
