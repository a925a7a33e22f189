"""KIP-236: a rollback step by step, with controller crashes, and the rules by which a rollback skips entries."""

from __future__ import annotations

import inspect
from enum import Enum

import pytest

from holdfast.lang import Scope
from models.kip_236 import Kip236, Step
from models.parts.replicas import Broker

WIDE = Scope({Broker: 3})
A, B, C, D = (Broker(number) for number in range(4))
ROLLBACK = [Step.LED, Step.CUT, Step.STORED, Step.IDLE]


def pending(*removed: str) -> Kip236:
    """The list [1, 0] is being replaced by [2, 3]; the first of these is in sync, and a cancel is asked for."""
    state = Kip236.at(WIDE, removed=removed).start(a=B, b=A)
    state = state.take("reassign", a=C, b=D).take("begin", x=B)
    return state.take("fetch", n=C).take("expand", n=C, x=B).take("cancel")


def rolled_back(state: Kip236, steps: int) -> Kip236:
    """The state after some steps of the rollback."""
    for expected in ROLLBACK[:steps]:
        state = state.take("roll_back", x=B)
        assert state.done == expected
    return state


def restored(state: Kip236) -> bool:
    """Whether the partition is at rest with [1, 0]."""
    members = [each for each in (A, B, C, D) if state.replica[each]]
    return members == [A, B] and state.before[B, A] and not state.before[A, B] and not state.entry


def test_a_rollback_restores_the_list() -> None:
    """C1 to C7: the replicas are the originals, in their order, and nothing is pending."""
    assert restored(rolled_back(pending(), 4))


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_a_new_controller_begins_again(steps: int) -> None:
    """CA-03. After a crash between any two steps of the rollback, the same four steps complete it."""
    state = rolled_back(pending(), steps).take("crash")
    assert state.entry
    assert restored(rolled_back(state, 4))


def test_a_new_controller_does_not_know_what_was_removed_first() -> None:
    """CA-03. If the entry is removed first, a crash leaves four replicas, and no controller removes the extra two."""
    state = rolled_back(pending("CA-03"), 1).take("crash")
    assert (state.entry, state.signal, state.refusal("roll_back", x=B)) == (False, False, ("CA-02", None))
    assert all(state.replica[each] for each in (A, B, C, D))


def test_who_is_dropped_is_not_admitted_again() -> None:
    """C2, C3. A dropped follower does not fetch under the leader's new epoch, so the leader does not admit it."""
    state = rolled_back(pending(), 2).take("fetch", n=C)
    assert state.refusal("expand", n=C, x=B) == ("RA-47.caught_up", None)


def test_the_queue_waits_for_the_rollback() -> None:
    """CA-07, CA-08. The queued list starts from the true originals, and the queue holds one list."""
    state = pending().take("reassign", a=D, b=A)
    assert state.refusal("reassign", a=C, b=C) == ("CA-07", None)
    assert state.refusal("begin", x=B) == ("CA-08", None)
    state = rolled_back(state, 4).take("begin", x=B)
    assert [each for each in (A, B, C, D) if state.original[each]] == [A, B]


def test_entries_are_skipped() -> None:
    """CA-04, CA-05. A rollback skips entries without originals, and entries with dead originals while others live."""
    assert pending().take("edit").refusal("roll_back", x=B) == ("CA-04", None)
    state = pending().take("fence", n=A, x=B).take("fence", n=B, x=C)
    assert state.refusal("roll_back", x=B) == ("CA-05", None)


@pytest.mark.parametrize(("elected", "removed"), [(B, []), (A, ["CA-02.leader"])])
def test_a_rollback_elects_by_the_list_of_the_originals(elected: Broker, removed: list[str]) -> None:
    """C1, SP-12. The originals are [1, 0], so broker 1 follows the added leader, though broker 0 comes first by id."""
    state = pending(*removed).take("prefer", x=C)
    assert state.before[A, B]
    assert state.take("roll_back", x=elected).holds("elects_in_order", old=state) == (elected == B)


RUNS = {
    "CA-03.busy@unfence": (
        (
            "start(1,1) fence(1,0) reassign(1,0) begin(0) cancel() roll_back(0) roll_back(0) unfence(1,1) fetch(0) "
            "expand(0,0) roll_back(0)"
        ),
        "isr_is_replicas",
    ),
    "SP-12.isr@unfence": ("start(0,0) fence(0,0) reassign(1,0) begin(0) unfence(0,1)", "leader_is_in_sync"),
    "SP-12.order@fence": ("start(3,0) reassign(2,1) begin(3) fetch(1) expand(1,3) fence(0,1)", "leader_stays"),
    "RA-47.leader": ("start(2,2) shrink(2)", "isr_is_not_empty"),
    "CA-05.isr": (
        (
            "start(0,0) reassign(2,1) begin(0) fetch(1) expand(1,0) fence(0,1) fence(1,0) cancel() roll_back(0) "
            "roll_back(0)"
        ),
        "isr_is_not_empty",
    ),
}
"""For each rule that no scope of the model needs: a run without the rule, and the property its last step breaks."""


def step_of(text: str) -> tuple[str, dict[str, Broker]]:
    """The name and the arguments of ``fence(1,0)``."""
    name, _, numbers = text.rstrip(")").partition("(")
    method = Kip236.start_partition if name == "start" else getattr(Kip236, name)
    parameters = list(inspect.signature(method).parameters)[1:]
    given = [Broker(int(number)) for number in numbers.split(",") if number]
    return name, dict(zip(parameters, given, strict=True))


@pytest.mark.parametrize("label", list(RUNS))
def test_a_rule_that_no_scope_of_the_model_needs_is_needed_in_a_larger_one(label: str) -> None:
    """The run breaks a property without the rule. With the rule, the rule refuses one of its steps."""
    text, broken = RUNS[label]
    (_, first), *steps = [step_of(each) for each in text.split()]
    old, state = None, Kip236.at(WIDE, removed=[label]).start(**first)
    whole = Kip236.at(WIDE).start(**first)
    refused: list[tuple[str, Enum | None]] = []
    for action, args in steps:
        old, state = state, state.take(action, **args)
        answer = whole.refusal(action, **args)
        if answer is None:
            whole = whole.take(action, **args)
        else:
            refused.append(answer)
    assert old is not None
    stepwise = {"old": old} if "old" in inspect.signature(getattr(Kip236, broken)).parameters else {}
    assert not state.holds(broken, **stepwise)
    assert refused[0][0] == label.partition("@")[0]
