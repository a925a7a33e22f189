"""A measurement that fails is a blank with a reason, and stops no other; a goal is met, missed, or has no figure."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from benchmarks.goals import GOALS, Goal, Reading, readings
from benchmarks.measurements import Blank, Measurements
from benchmarks.programs import AbsentProgram
from holdfast.ir.errors import UsageError


def raising(error: Exception) -> Callable[[], float]:
    """A measurement that fails."""

    def measure() -> float:
        raise error

    return measure


def test_the_least_cost_counts() -> None:
    """Of several measurements of one name the cheapest counts, whatever its turn."""
    measured = Measurements()
    for value in (3.0, 1.0, 2.0):
        measured.attempt("a", lambda value=value: value, cost=float)
    assert measured.values == {"a": 1.0}
    assert measured.complete


def test_one_failure_of_several_turns_leaves_no_figure() -> None:
    """A name that failed once has a blank, also if it was measured before, and it is not tried again."""
    measured = Measurements()
    measured.attempt("a", lambda: 1.0, cost=float)
    measured.attempt("a", raising(RuntimeError("two\nlines")), cost=float)
    measured.attempt("a", lambda: 2.0, cost=float)
    assert measured.values == {}
    assert measured.blanks == {"a": Blank("two lines")}
    assert not measured.complete


@pytest.mark.parametrize(
    ("error", "blank", "outcome"),
    [
        (AbsentProgram("install it"), Blank("install it", absent=True), "not measured"),
        (UsageError("no such scope"), Blank("no such scope"), "failed"),
        (RuntimeError("it broke"), Blank("it broke"), "failed"),
        (RuntimeError(), Blank("RuntimeError: "), "failed"),
        (KeyError("depth"), Blank("KeyError: 'depth'"), "failed"),
        (AssertionError(), Blank("AssertionError: "), "failed"),
    ],
)
def test_every_error_is_a_blank(error: Exception, blank: Blank, outcome: str) -> None:
    """Each error becomes one line; only a program that is not installed is no failure."""
    measured = Measurements()
    measured.attempt("a", raising(error))
    assert measured.blanks == {"a": blank}
    assert blank.outcome == outcome
    assert measured.complete is blank.absent


def test_an_interruption_is_no_blank() -> None:
    """Ctrl-C ends the benchmark; it is not taken for a measurement that failed."""

    def interrupted() -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Measurements().attempt("a", interrupted)


@pytest.mark.parametrize(
    ("reached", "at_most", "outcome"), [(60.0, False, "met"), (59.9, False, "missed"), (61.0, True, "missed"),
                                        (60.0, True, "met")]
)  # fmt: skip
def test_a_goal_is_met_at_its_bound(reached: float, at_most: bool, outcome: str) -> None:
    """A result meets a goal if it equals the bound or is better, and misses it if it is worse."""
    goal = Goal("speed", "speed", 60, "x", (), float, at_most=at_most)
    assert Reading(goal, reached).outcome == outcome


def test_goals_have_keys_of_their_own() -> None:
    """No two goals share the key under which results are stored."""
    assert len({goal.key for goal in GOALS}) == len(GOALS)


def test_a_goal_has_a_figure_only_if_all_it_needs_was_measured() -> None:
    """A goal whose measurement failed shows that blank, and one whose measurement was not tried says so."""
    measured = Measurements(values={"check.cold": 2.5, "walked": 10.0})
    measured.fail("simulated", "no Java", absent=True)
    measured.fail("prove", "it broke")
    found = {reading.goal.key: reading for reading in readings(measured)}
    assert (found["check.cold"].reached, found["check.cold"].outcome) == (2.5, "met")
    assert (found["walks"].reached, found["walks"].outcome) == (Blank("no Java", absent=True), "not measured")
    assert found["prove"].outcome == "failed"
    assert found["mutate"].outcome == "not measured"


@attrs.frozen
class Rate:
    """A search or a run of which only the rate matters."""

    rate: float


def test_ratios_are_the_right_way_round() -> None:
    """A faster kernel has larger ratios to other checkers, and a faster second core a larger one to one core."""
    rates = {"one": 120.0, "two": 180.0, "tlc": 1.0, "c": 150.0, "interpreter": 2.0}
    measured = Measurements({f"one_word.{name}": Rate(rate) for name, rate in rates.items()})
    measured.values |= {"walked": 50.0, "simulated": Rate(2.0), "deep.sampled": 3.0, "default.sampled": 12.0}
    reached = {reading.goal.key: reading.reached for reading in readings(measured)}
    assert reached["one_word.tlc"] == 120
    assert reached["one_word.c"] == 80
    assert reached["one_word.interpreter"] == 60
    assert reached["one_word.cores"] == 1.5
    assert reached["walks"] == 25
    assert reached["deep"] == 25
