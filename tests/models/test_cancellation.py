"""Cancellation: a cancel at each point of a move, its answer, and the losses of some tempting designs."""

from __future__ import annotations

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.removal import remove_rules
from models.cancellation import CancelAnswer, Cancellation
from models.parts.nodes import Node
from models.parts.registration import R
from models.parts.streams import Epoch, Offset, Stream

ORIGIN, TARGET, OTHER = (Node.element(index) for index in range(3))
S, META = Stream.element(0), Stream.element(1)
TOO_LATE = ("CA-41", CancelAnswer.NO_REASSIGNMENT_IN_PROGRESS)


def moved(*variants: str, scope: str = "large") -> Cancellation:
    """A state in which the origin has acked one record, and a move to the target is accepted."""
    start = Cancellation.at(scope, variants=variants).start(first=ORIGIN)
    return start.take("append", n=ORIGIN, s=S).take("ack", n=ORIGIN, s=S).take("reassign", t=TARGET)


def frozen(state: Cancellation, n: Node = ORIGIN) -> Cancellation:
    """The state after n has begun to close the partition."""
    return state.take("observe", n=n).take("run_next", n=n)


def committed(state: Cancellation) -> Cancellation:
    """The state after the origin, whose log is frozen, has uploaded its record, and its flag says clean."""
    return state.take("persist", n=ORIGIN).take("commit", n=ORIGIN, s=S, a=Offset(0), b=Offset(1))


def closed(state: Cancellation) -> Cancellation:
    """The state after the origin has closed the partition."""
    state = committed(frozen(state))
    return state.take("send_close", n=ORIGIN, s=S).take("close", n=ORIGIN, s=S)


def test_before_the_close_begins() -> None:
    """CA-45. If the origin sees neither the move nor the cancel, it leads again under its old stream epoch."""
    state = moved().take("cancel", direct=True)
    assert (state.replica, state.leader, state.leader_epoch, state.epoch[S]) == (ORIGIN, ORIGIN, Epoch(3), Epoch(1))
    assert state.refusal("observe", n=ORIGIN) == ("RA-13", None)
    assert state.holds("went_unnoticed")


def test_during_the_upload() -> None:
    """CA-46. A close that has begun runs to its end. Then the origin opens again above its uploaded data."""
    state = frozen(moved()).take("cancel", direct=True).take("observe", n=ORIGIN)
    assert state.holds("cancelled_in_upload")
    assert state.refusal("run_next", n=ORIGIN) == ("RA-11", None)
    assert state.refusal("append", n=ORIGIN, s=S) == ("RA-16.freeze", None)
    state = committed(state).take("send_close", n=ORIGIN, s=S)
    assert state.refusal("run_next", n=ORIGIN) == ("RA-11", None)
    state = state.take("close", n=ORIGIN, s=S).take("run_next", n=ORIGIN).take("open", n=ORIGIN, s=S)
    assert (state.epoch[S], state.wal[ORIGIN, S], state.clean) == (Epoch(3), Offset(1), False)


def test_between_two_closes() -> None:
    """CA-44. Between two closes the record of the cancel does not let the origin lead. Only an election does."""
    state = committed(frozen(moved(scope="two_streams"))).take("send_close", n=ORIGIN, s=S)
    state = state.take("close", n=ORIGIN, s=S)
    assert (state.opened[S], state.opened[META]) == (False, True)
    assert state.refusal("cancel", direct=True) == ("CA-44.whole", None)
    state = state.take("cancel", direct=False)
    assert (state.replica, state.leader, state.timer) == (ORIGIN, None, True)
    assert state.take("timer_fires", earlier=False).leader == ORIGIN


def test_after_the_close() -> None:
    """CA-47. The origin opens under the epoch of the cancel. A repeated close with the old epoch is refused."""
    state = closed(moved()).take("cancel", direct=True).take("observe", n=ORIGIN).take("run_next", n=ORIGIN)
    state = state.take("open", n=ORIGIN, s=S)
    assert state.holds("cancelled_after_close")
    assert state.close_sent[ORIGIN, S] == Epoch(1)
    assert state.refusal("late_close", n=ORIGIN, s=S) is not None


def test_after_the_election() -> None:
    """CA-42. A cancel does not undo an election, whether the target has opened or not."""
    state = closed(moved()).take("ask_election", n=ORIGIN)
    assert state.refusal("cancel", direct=False) == TOO_LATE
    state = state.take("observe", n=TARGET).take("run_next", n=TARGET).take("open", n=TARGET, s=S)
    assert state.refusal("cancel", direct=False) == TOO_LATE


def test_with_a_dead_origin() -> None:
    """CA-43, CA-05. A cancel is refused if only the origin is dead. If origin and target are dead it is allowed."""
    state = moved().take("crash", n=ORIGIN, x=ORIGIN)
    assert state.refusal("cancel", direct=False) == ("CA-43", R.INVALID_REPLICA_ASSIGNMENT)
    state = state.take("isolate", n=TARGET, x=TARGET)
    assert state.refusal("cancel", direct=True) == ("CA-44.active", None)
    state = state.take("cancel", direct=False)
    assert (state.replica, state.leader, state.timer) == (ORIGIN, None, True)
    assert state.take("heal", n=TARGET).replica == TARGET


def test_with_a_dead_target() -> None:
    """CA-54. The partition of a fenced target fails over to another broker, and then cannot be cancelled any more."""
    state = moved(scope="default").take("isolate", n=TARGET, x=OTHER)
    assert (state.replica, state.leader) == (OTHER, None)
    assert state.refusal("cancel", direct=False) == TOO_LATE


def test_an_origin_that_dies_after_the_cancel() -> None:
    """CA-54. If the origin dies after the cancel, its acked records are recovered, and the target opens above them."""
    state = frozen(moved()).take("cancel", direct=True).take("crash", n=ORIGIN, x=TARGET).take("fail_over", n=ORIGIN)
    state = state.take("recover", n=ORIGIN, s=S).take("request_election", t=TARGET)
    state = frozen(state, TARGET).take("open", n=TARGET, s=S)
    assert (state.wal[TARGET, S], state.covered[S, Offset(0)]) == (Offset(1), True)


def test_twice() -> None:
    """CA-52. The second of two cancels finds no move to cancel."""
    nothing = ("CA-20", CancelAnswer.NO_REASSIGNMENT_IN_PROGRESS)
    assert moved().take("cancel", direct=True).refusal("cancel", direct=True) == nothing
    assert moved().take("cancel", direct=False).refusal("cancel", direct=True) == nothing


def test_a_repeated_cancel_takes_back_the_next_move() -> None:
    """CA-20. A cancel names no move, just as an ElectLeaders names none: a late one cancels the next move."""
    state = moved().take("cancel", direct=True).take("reassign", t=TARGET).take("cancel", direct=True)
    assert (state.replica, state.leader, state.leader_epoch) == (ORIGIN, ORIGIN, Epoch(5))


def test_crossing_the_timer() -> None:
    """CA-48, CA-51. A timer after the cancel elects the origin. After a timer there is no move to cancel."""
    assert moved().take("timer_fires", earlier=False).refusal("cancel", direct=False) == TOO_LATE
    state = moved().take("cancel", direct=False).take("timer_fires", earlier=False)
    assert (state.leader, state.leader_epoch) == (ORIGIN, Epoch(4))
    assert not moved().take("cancel", direct=True).timer


def test_crossing_a_second_move() -> None:
    """CA-53. A cancel of two moves leads back to the origin of the first. If the second already led there, none is
    left.
    """
    state = moved(scope="default").take("reassign", t=OTHER)
    assert state.take("cancel", direct=True).leader == ORIGIN
    back = moved(scope="default").take("reassign", t=ORIGIN)
    assert back.refusal("cancel", direct=True) == ("CA-20", CancelAnswer.NO_REASSIGNMENT_IN_PROGRESS)


def test_under_controller_failover() -> None:
    """CA-41. The next controller knows the marker, since the marker is part of the record."""
    state = moved().take("change_controller").take("cancel", direct=False).take("change_controller")
    assert (state.replica, state.leader, state.timer) == (ORIGIN, None, True)


def test_with_a_target_that_has_opened() -> None:
    """CA-42, CA-48. In G1 a cancel may find streams that the target has OPENED: the origin waits for the closes."""
    state = closed(moved("G1"))
    state = frozen(state, TARGET).take("open", n=TARGET, s=S).take("cancel", direct=False)
    state = frozen(state, ORIGIN)
    assert state.refusal("open", n=ORIGIN, s=S) is not None
    state = frozen(state, TARGET).take("persist", n=TARGET).take("send_close", n=TARGET, s=S)
    state = state.take("close", n=TARGET, s=S).take("open", n=ORIGIN, s=S).take("ask_election", n=ORIGIN)
    assert (state.leader, state.epoch[S]) == (ORIGIN, Epoch(3))


@pytest.mark.parametrize(
    ("variant", "name", "steps"),
    [
        ("restore_epoch", None, 2),
        ("restore_epoch", "one_lease", 11),
        ("restore_epoch", "no_acked_loss", 13),
        pytest.param("restore_epoch", "acked_once", 20, marks=pytest.mark.slow),
        ("abort_close", None, 9),
        pytest.param("abort_close", "no_acked_loss", 14, marks=pytest.mark.slow),
    ],
)
def test_tempting_designs(variant: str, name: str | None, steps: int) -> None:
    """CA-40, CA-46, CA-47. Reusing the old epoch, or aborting a close, loses acked records."""
    system = compile_model(Cancellation, variants=(variant,))
    result = search(system, system.scope("tiny"), properties=None if name is None else (name,))
    assert [run.length for run in result.findings] == [steps]
    assert name is None or [run.shown.name for run in result.findings] == [name]


@pytest.mark.slow
def test_a_cancel_that_is_late_is_safe() -> None:
    """CA-42, RG-25. Without the marker's epoch a cancel is also accepted after the election: a third move, no loss."""
    system = remove_rules(compile_model(Cancellation), ("CA-41",))
    names = ("one_lease", "no_acked_loss", "acked_once", "committed_once", "clean_is_true", "taken_over_has_no_effect")
    assert search(system, system.scope("tiny"), properties=names).verdict == "exhausted"
    assert search(system, system.scope("tiny"), properties=("cancelled_in_time",)).verdict == "violated"
