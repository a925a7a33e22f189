"""Runs of the election timers: random ones are sound, and the lack of a rule is noticed."""

from __future__ import annotations

import pytest

from impl.controller.view import Profile
from impl.rules import without
from impl.sim.part_cases.election_timers import TimerRun
from impl.sim.part_cases.registry import judged_run
from impl.sim.violation import PartViolation

PART = "election-timers"
SEEDS = range(500)
TOO_LATE = PartViolation("EL-12", "a timer of an earlier leader epoch asks for an election")


@pytest.mark.parametrize(
    ("label", "violated"),
    [
        ("EL-01", "EL-01"),
        ("EL-04", "EL-04"),
        ("EL-05", "EL-05"),
        ("EL-07", "EL-07"),
        ("EL-08.active", "EL-08"),
        ("EL-08.leader", "EL-08"),
        ("EL-12.again", "EL-12"),
        ("EL-12.leaderless", "EL-12"),
        ("EL-12.restore", "EL-12"),
        ("EL-12.tag", "EL-12"),
        ("EL-13", "EL-13"),
    ],
)
def test_a_missing_rule_is_noticed(label: str, violated: str) -> None:
    """Without it some timer fires that should not, or does not fire, or elects another broker than it should."""
    with without(label):
        found = [judged_run(PART, seed) for seed in SEEDS]
    assert violated in {each.label for each in found if each is not None}
    with without(label):
        assert [judged_run(PART, seed) for seed in SEEDS[:100]] == found[:100]


def late() -> PartViolation | None:
    """A partition moves to broker 1. When its timer has fired, it moves to broker 2, and then the controller looks."""
    run = TimerRun(Profile(), 0)
    run.move(0, 1)
    run.wait(11_000)
    run.move(0, 2)
    return run.look(0)


def test_a_timer_that_has_fired_is_void_under_a_later_leader_epoch() -> None:
    """EL-12: nothing disarms it, so only its tag keeps it from electing broker 2 at once."""
    assert late() is None
    with without("EL-12.tag"):
        assert late() == PartViolation("EL-12", "a timer asks for an election before the wait of its partition ends")


def test_the_tag_decides_in_place_of_the_disarming() -> None:
    """EL-13 alone keeps no timer from electing anybody; without the tag, too, one elects under a later leader epoch."""
    with without("EL-12.tag", "EL-13"):
        assert TOO_LATE in [judged_run(PART, seed) for seed in SEEDS]


def moved_twice(timer: str) -> list[PartViolation | None]:
    """A partition moves to broker 1, and five seconds later to broker 2. Then time goes on."""
    run = TimerRun(Profile(timer="automq", cancel="K") if timer == "automq" else Profile(), 0)
    run.move(0, 1)
    found = [run.look(5_000)]
    run.move(0, 2)
    return [*found, run.look(5_000), run.look(5_000), run.look(30_000)]


def test_an_older_timer_goes_on_as_built_only() -> None:
    """EL-05: as built both timers fire; recommended is that only the second one does."""
    assert set(moved_twice("automq")) == set(moved_twice("epoch")) == {None}
    with without("EL-05"):
        early = moved_twice("automq")[1]
    assert early == PartViolation("EL-05", "the timer of an earlier start does not fire")


def refused() -> PartViolation | None:
    """As built, a partition moves to a broker that begins its shutdown, and an election is asked for in vain."""
    run = TimerRun(Profile(timer="automq", cancel="K"), 0)
    run.move(0, 1)
    run.set_broker(1, "shutting_down")
    run.elect(0, "preferred")
    return run.look(11_000)


def test_a_refused_request_disarms_as_built() -> None:
    """EL-04: the timer is gone, though the request has elected nobody."""
    assert refused() is None
    with without("EL-04"):
        found = refused()
    assert found is not None
    assert found.label == "EL-04"
