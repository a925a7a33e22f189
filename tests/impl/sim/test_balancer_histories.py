"""Histories of reports, and executions of plans: random ones are sound, and the lack of each rule is noticed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from impl.balancer.actions import BalancerAction
from impl.balancer.goals import MIB, GoalSettings
from impl.balancer.resources import TopicPartition
from impl.rules import without
from impl.sim.balancer_cases.case import BalancerCase, CaseBroker, CasePartition
from impl.sim.balancer_cases.drawing import draw_case
from impl.sim.balancer_cases.executing import ExecutionCase, draw_execution, judged_execution
from impl.sim.balancer_cases.knowledge import (
    ExpectedBroker,
    KnowledgeCase,
    PlacementEvent,
    RegistrationEvent,
    ReportEvent,
    draw_knowledge,
    expected,
    judged,
    known,
)
from impl.sim.balancer_cases.play import play
from impl.sim.tape import stream

HISTORIES = [draw_knowledge(stream(number, "knowledge")) for number in range(300)]
EXECUTIONS = [draw_execution(stream(number, "execution")) for number in range(100)]
P0 = TopicPartition("t", 0)
FULL = {0: 7.0, 1: 9.0, 2: 1.0}
WHOLE = {3: 1.0, 4: 1.0, 5: 1.0, 6: 1.0}


def history(*events: RegistrationEvent | PlacementEvent | ReportEvent, now: int = 100_000) -> KnowledgeCase:
    """Partition 0 of broker 0 has reported 7 and 9 bytes a second, and so has the broker; then come the events."""
    first = (
        RegistrationEvent(0, "active"),
        RegistrationEvent(1, "active"),
        PlacementEvent(0, 0),
        ReportEvent(0, 90_000, WHOLE),
    )
    return KnowledgeCase((*first, ReportEvent(0, 90_000, FULL, 0), *events), now, frozenset())


def test_random_histories_and_executions_are_sound() -> None:
    """The model knows what the whole history says, and executions keep their times."""
    assert {judged(case) for case in HISTORIES} == {None}
    assert {judged_execution(case) for case in EXECUTIONS} == {None}


@pytest.mark.parametrize(
    ("label", "violated"),
    [
        ("BG-01", "AB-19"),
        ("BG-02.placement", "AB-14"),
        ("BG-02.time", "AB-14"),
        ("BG-03", "AB-14"),
        ("BG-11", "AB-18"),
    ],
)
def test_a_missing_rule_of_the_model_is_noticed(label: str, violated: str) -> None:
    """Without it some history ends in a snapshot that it does not allow."""
    with without(label):
        found = {each.label for each in map(judged, HISTORIES) if each is not None}
    assert violated in found


@pytest.mark.parametrize(("label", "violated"), [("BG-16", "AB-52"), ("BG-16.spacing", "AB-52"), ("BG-17", "AB-53")])
def test_a_missing_rule_of_the_execution_is_noticed(label: str, violated: str) -> None:
    """Without it a batch goes too late, too early, or to a fenced broker."""
    with without(label):
        found = {each.label for each in map(judged_execution, EXECUTIONS) if each is not None}
    assert found == {violated}


def test_a_plan_of_an_idle_cluster_is_noticed() -> None:
    """Without BG-04 a broker with less than 1 MiB a second gives partitions away."""
    parts = tuple(CasePartition(TopicPartition("t", number), 0, (0.4 * MIB, 0.0)) for number in range(2))
    idle = BalancerCase((CaseBroker(0), CaseBroker(1)), parts, (GoalSettings("NW_IN"),))
    assert play(idle).violation is None
    with without("BG-04"):
        found = play(idle).violation
    assert found is not None
    assert found.label == "AB-27"


def test_a_plan_that_follows_a_change_is_noticed() -> None:
    """Without BG-19 a change of the configuration reaches a round that has begun."""
    cases = [draw_case(stream(number, "balancer 0")) for number in range(30)]
    sound = [case for case in cases if play(case).violation is None]
    with without("BG-19"):
        found = {run.violation.label for run in map(play, sound) if run.violation is not None}
    assert found == {"P-25"}


@pytest.mark.parametrize(
    ("events", "loads", "stale"),
    [
        ((), (7.0, 9.0), False),
        ((ReportEvent(0, 89_999, {0: 1.0}, 0),), (7.0, 9.0), False),
        ((ReportEvent(0, 90_000, {0: 1.0}, 0),), (1.0, 9.0), False),
        ((ReportEvent(1, 95_000, {0: 1.0}, 0),), (7.0, 9.0), False),
        ((PlacementEvent(0, 1), PlacementEvent(0, 0)), (0.0, 0.0), True),
        ((PlacementEvent(0, 0),), (7.0, 9.0), False),
        ((PlacementEvent(0, 9),), (7.0, 9.0), False),
        ((PlacementEvent(0, -1), PlacementEvent(0, 0), ReportEvent(0, 80_000, FULL, 0)), (7.0, 9.0), False),
        (
            (
                RegistrationEvent(0, "gone"),
                RegistrationEvent(0, "active"),
                PlacementEvent(0, 0),
                ReportEvent(0, 80_000, FULL, 0),
            ),
            (7, 9),
            False,
        ),
        ((RegistrationEvent(0, "fenced"), RegistrationEvent(0, "active")), (7.0, 9.0), False),
    ],
    ids=["nothing", "late", "as late", "foreign", "moved", "stayed", "unknown", "led again", "gone", "fenced"],
)
def test_what_a_history_says(
    events: tuple[RegistrationEvent | PlacementEvent | ReportEvent, ...], loads: tuple[float, float], *, stale: bool
) -> None:
    """What counts is said here by hand; the expectation and the model say the same."""
    case = history(*events)
    assert expected(case)[0] == ExpectedBroker(stale=stale, slow=False, loads={P0: loads})
    assert known(case).brokers[0].partitions[P0].loads == loads
    assert judged(case) is None


def test_old_samples_and_fenced_brokers() -> None:
    """After more than a minute a broker is out of date. A fenced or excluded one is not in the snapshot."""
    assert expected(history(now=150_001))[0].stale
    assert not expected(history(now=150_000))[0].stale
    assert 0 not in expected(history(RegistrationEvent(0, "fenced")))
    assert 1 not in expected(replace(history(), excluded=frozenset({1})))


def test_a_slow_broker() -> None:
    """More than ten seconds of a pending append or fetch make it slow; without a metric version it is never slow."""
    assert expected(history(ReportEvent(0, 91_000, {4: 10_000.5})))[0].slow
    assert not expected(history(ReportEvent(0, 91_000, {4: 10_000.0})))[0].slow
    assert not expected(history(ReportEvent(1, 91_000, {4: 10_000.5})))[1].slow


def test_a_refused_batch_is_the_last_one() -> None:
    """The oracle of executions knows a refusal; batches that are dropped after it are no violation."""
    move = BalancerAction(P0, 0, 1)
    case = ExecutionCase(((move,),) * 3, (frozenset(),) * 3, (0, 0, 0), failing=1)
    assert judged_execution(case) is None
