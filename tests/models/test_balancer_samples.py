"""Reports and samples: late reports, foreign reports, and brokers with an unknown load."""

from __future__ import annotations

from holdfast.lang import Scope
from models.balancer_samples import BalancerSamples, Time
from models.parts.nodes import Node
from models.parts.partitions import Partition

WIDE = Scope({Node: 2, Partition: 2, Time: 4}, given={"delay": 1})
OLD, NEW = (Node.element(number) for number in range(2))
P, Q = (Partition.element(number) for number in range(2))
T0, T1, T2 = (Time(number) for number in range(3))


def measured(*removed: str) -> BalancerSamples:
    """The old broker has measured p at the times 0 and 1, and neither report has arrived."""
    state = BalancerSamples.at(WIDE, removed=removed).start(n=OLD).take("measure", n=OLD, p=P, t=T0)
    return state.take("tick").take("measure", n=OLD, p=P, t=T1)


def test_a_late_report_is_refused() -> None:
    """BG-02, AB-14. The report of time 0 comes after that of time 1; the same report may come twice."""
    state = measured().take("receive", n=OLD, p=P, t=T1)
    assert state.refusal("receive", n=OLD, p=P, t=T0) == ("BG-02.time", None)
    assert state.take("receive", n=OLD, p=P, t=T1).sample[P] == T1


def test_a_report_of_the_old_broker_is_refused_after_the_move() -> None:
    """BG-02, AB-13. The model places the partition on the new broker. Before it knows the move, it takes the report."""
    state = measured().take("move", p=P, n=NEW)
    assert state.take("receive", n=OLD, p=P, t=T1).sample[P] == T1
    assert state.take("place", p=P).refusal("receive", n=OLD, p=P, t=T1) == ("BG-02.placement", None)


def test_a_move_drops_the_sample() -> None:
    """BG-03, AB-15. Without the rule the new broker seems to have measured the old rate."""
    moved = measured().take("receive", n=OLD, p=P, t=T1).take("move", p=P, n=NEW)
    assert moved.take("place", p=P).sample[P] is None
    kept = measured("BG-03").take("receive", n=OLD, p=P, t=T1).take("move", p=P, n=NEW).take("place", p=P)
    assert kept.sample[P] == T1
    assert not kept.holds("sample_is_of_its_broker")


def test_one_unknown_partition_makes_the_broker_unknown() -> None:
    """BG-01, AB-19. p has a sample and q has none; then both have one, until the delay has passed."""
    state = measured().take("receive", n=OLD, p=P, t=T1)
    assert state.refusal("plan", n=OLD) == ("BG-01", None)
    state = state.take("measure", n=OLD, p=Q, t=T1).take("receive", n=OLD, p=Q, t=T1)
    state = state.take("tick")
    assert state.refusal("plan", n=OLD) is None
    assert state.take("tick").refusal("plan", n=OLD) == ("BG-01", None)


def test_a_broker_measures_only_what_it_serves() -> None:
    """AB-07. Nothing is sent for a partition of another broker, or with another time than now."""
    state = BalancerSamples.at(WIDE).start(n=OLD)
    assert not state.take("measure", n=NEW, p=P, t=T0).sent[NEW, P, T0]
    assert not state.take("measure", n=OLD, p=P, t=T2).sent[OLD, P, T2]
