"""The goals of the project: how fast it is to be, and what was tried where a goal may be missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import attrs

from benchmarks.measurements import Blank, Measurements

LEFT_OUT = Blank("they take long, or were not chosen; --whole measures all, --only a part", absent=True)
"""The blank of a goal whose measurements were not tried."""


@attrs.frozen
class Goal:
    """One goal: a figure must be at least ``wanted``, or at most if ``at_most``.

    ``key``: its name in stored results, which never changes. ``needs``: the measurements from which ``figure`` computes
    it. ``missed`` explains why it may be missed: the attempts so far, and where the time goes.
    """

    key: str
    name: str
    wanted: float
    unit: Literal["x", "%", "s", "bytes"]
    needs: tuple[str, ...]
    figure: Callable[..., float]
    at_most: bool = False
    missed: str = ""

    def met(self, reached: float) -> bool:
        """Whether a figure meets the goal."""
        return reached <= self.wanted if self.at_most else reached >= self.wanted


@attrs.frozen
class Reading:
    """A goal with the figure that one run reached, or the blank in its place."""

    goal: Goal
    reached: float | Blank

    @property
    def outcome(self) -> str:
        """``met``, ``missed``, ``failed`` or ``not measured``."""
        if isinstance(self.reached, Blank):
            return self.reached.outcome
        return "met" if self.goal.met(self.reached) else "missed"


EXPAND = (
    "Most of the time goes into expanding: see the table below. Tried: bodies without branches, where every instance "
    "is computed to its end (slower: a refusal spares more than a wrong guess of the processor costs), forced inlining "
    "(slower on large models), larger caches of known rows (no gain)."
)
TWO_CORES = (
    "Both cores wait for each other twice a level, and a search of half a second is mostly its short levels; repeat "
    "the measurement. Tried: one call of machine code for all that a core does in a round, which is how it is, since "
    "between calls Python runs on one core at a time; smaller buffers, which make searches slower in all."
)
INTERPRETER = (
    "The interpreter is no tree walk: it runs Python that is written for the scope, loops written out and constants "
    "folded. It gains as much by that as the kernel does by branches that a processor foresees."
)
WALKS = (
    "A random step is a chain of choices that no processor foresees: which action, whether it has a step, which one. "
    "Tried: addresses in place of arrays, functions made part of their callers, steps listed in order so that the "
    "first look finds the one drawn; each gained little."
)
DEEP = (
    "A state of ownership takes ten words at deep and one at default, and open has 1,200 instances in place of 24. "
    "Tried: lists of steps by bit masks, which doubled the rate; cells in memory; fewer tries before a list."
)

AGAIN = (
    "A third of the time goes into imports, and less than a third into the searches. Most of the rest writes the text "
    "of the kernels: only by their text it is known that the stored ones belong to the model."
)
PROVE = (
    "balancer takes longest. Some of its properties count beyond what formulas say; they are looked for in small sizes "
    "instead, and the formulas of each size are long."
)
VERIFY = (
    "By the table that the command prints, TLC takes nearly half of the time, and proofs with a second solver a fifth."
)
TEST = (
    "A minute goes into setting up, and the rest is work on all cores. Tried: tests that take a moment by the record "
    "of durations are left to `make test-slow`; what remains are thousands of short ones."
)


def _rates(one: Any, other: Any) -> float:
    return float(one.rate / other.rate)


def _percent(one: Any, other: Any) -> float:
    return 100 * _rates(one, other)


def _itself(measurement: float) -> float:
    return measurement


def _search_goals(scope: str, times_tlc: float, most_bytes: float) -> Iterator[Goal]:
    title, one = scope.replace("_", " "), f"{scope}.one"

    def against(other: str) -> tuple[str, str]:
        return one, f"{scope}.{other}"

    yield Goal(
        f"{scope}.tlc", f"{title}: one core against TLC with two workers", times_tlc, "x", against("tlc"), _rates,
        missed=EXPAND,
    )  # fmt: skip
    yield Goal(
        f"{scope}.c", f"{title}: one core against the same model in C", 85, "%", against("c"), _percent, missed=EXPAND
    )
    yield Goal(
        f"{scope}.interpreter", f"{title}: one core against the interpreter", 100, "x", against("interpreter"), _rates,
        missed=INTERPRETER,
    )  # fmt: skip
    yield Goal(
        f"{scope}.cores", f"{title}: two cores against one", 1.7, "x", (f"{scope}.two", one), _rates, missed=TWO_CORES
    )
    yield Goal(
        f"{scope}.memory", f"{title}: memory per state", most_bytes, "bytes", (f"{scope}.profile",),
        lambda profile: float(profile.bytes_per_state), at_most=True,
    )  # fmt: skip


def _command_goal(key: str, name: str, wanted: float, missed: str = "") -> Goal:
    return Goal(key, name, wanted, "s", (key,), _itself, at_most=True, missed=missed)


GOALS = (
    _command_goal("check.cold", "check ownership: first verdict, nothing cached", 3),
    _command_goal("check.again", "check ownership: again", 1, AGAIN),
    *_search_goals("one_word", 120, 40),
    *_search_goals("two_words", 80, 56),
    Goal(
        "walks", "walks: one core against TLC's simulation with two workers", 120, "x", ("walked", "simulated"),
        lambda walked, simulated: float(walked / simulated.rate), missed=WALKS,
    ),
    Goal(
        "deep", "campaign: steps of ownership at deep against default", 25, "%", ("deep.sampled", "default.sampled"),
        lambda deep, default: 100 * float(deep / default), missed=DEEP,
    ),
    Goal(
        "live", "live: a million states against their search", 5, "x", ("lived",), lambda lived: float(lived.times),
        at_most=True,
    ),
    _command_goal("prove", "prove: all models", 60, PROVE),
    Goal("prove.python", "prove: Python's work against Z3's", 1, "x", ("prove.python",), _itself, at_most=True),
    _command_goal("mutate", "mutate: all models", 600),
    _command_goal("verify", "make verify, after set-up", 120, VERIFY),
    _command_goal("test", "make test, in a fresh clone with set-up", 360, TEST),
)  # fmt: skip


def readings(measured: Measurements) -> list[Reading]:
    """What a run reached of every goal, in the order of the table."""
    return [Reading(goal, _reached(goal, measured)) for goal in GOALS]


def _reached(goal: Goal, measured: Measurements) -> float | Blank:
    for name in goal.needs:
        if name in measured.blanks:
            return measured.blanks[name]
    if any(name not in measured.values for name in goal.needs):
        return LEFT_OUT
    return goal.figure(*(measured.values[name] for name in goal.needs))
