"""The goals of the project, the ratios reached, and their tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.engines import PARTS, LivenessCost, SearchProfile
from benchmarks.limits import Limits
from benchmarks.machine import Machine
from benchmarks.scope_search import ScopeSearch
from benchmarks.tlc import SimulationSpeed


@attrs.define
class ScopeFigures:
    """The measurements of one scope; of several measurements, the fastest."""

    tlc: ScopeSearch
    one: ScopeSearch
    two: ScopeSearch
    interpreter: ScopeSearch
    profile: SearchProfile


@attrs.define
class Measurements:
    """All measurements of one run of the benchmark.

    ``walked``: steps per second of random runs on one core. ``drawn``: the same for runs that check only one property.
    ``first_start`` and ``second_start``: seconds of a start with an empty and with a full cache of kernels.
    """

    machine: Machine
    scopes: dict[str, ScopeFigures]
    limits: Limits
    simulated: SimulationSpeed
    walked: float
    drawn: float
    first_start: float
    second_start: float
    lived: LivenessCost


@attrs.frozen
class Goal:
    """One goal of the project: ``reached`` must be at least ``wanted``, or at most if ``at_most``.

    ``missed`` explains why the goal may be missed: the attempts so far, and where the time goes.
    """

    name: str
    reached: float
    wanted: float
    unit: str
    at_most: bool = False
    missed: str = ""

    @property
    def met(self) -> bool:
        """Whether the goal is met."""
        return self.reached <= self.wanted if self.at_most else self.reached >= self.wanted


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
    "first look finds the one drawn; each gained little. To draw without listing the steps would gain more, and would "
    "no longer draw each step of an action alike."
)


def goals(measured: Measurements) -> Iterator[Goal]:
    """Every goal, in the order of the table."""
    for name, (times_tlc, most_bytes) in {"one_word": (60, 40), "two_words": (40, 56)}.items():
        scope = measured.scopes.get(name)
        if scope is None:
            continue
        title = name.replace("_", " ")
        yield Goal(
            f"{title}: one core against TLC with two workers",
            scope.one.rate / scope.tlc.rate,
            times_tlc,
            "x",
            missed=EXPAND,
        )
        times = scope.one.rate / scope.interpreter.rate
        yield Goal(f"{title}: one core against the interpreter", times, 100, "x", missed=INTERPRETER)
        times = scope.one.seconds / scope.two.seconds
        yield Goal(f"{title}: two cores against one", times, 1.5, "x", missed=TWO_CORES)
        yield Goal(f"{title}: memory per state", scope.profile.bytes_per_state, most_bytes, "bytes", at_most=True)
    walks = measured.walked / measured.simulated.rate
    yield Goal("walks: one core against TLC's simulation with two workers", walks, 100, "x", missed=WALKS)
    yield Goal("live: a million states against their search", measured.lived.times, 5, "x", at_most=True)
    yield Goal("a second start of ownership, to its first states", measured.second_start, 2, "s", at_most=True)


def show(measured: Measurements, console: Console) -> None:
    """Print the goals, the figures behind them, and the profile of the kernel."""
    found = list(goals(measured))
    table = Table(title="Goals", title_justify="left")
    for column in ("", "reached", "goal", ""):
        table.add_column(column, justify="left" if not column else "right")
    for goal in found:
        reached = f"{goal.reached:.3g} {goal.unit}"
        bound = f"{'at most' if goal.at_most else 'at least'} {goal.wanted:g} {goal.unit}"
        table.add_row(goal.name, reached, bound, "met" if goal.met else "missed")
    console.print(table)
    console.print(_rates(measured))
    console.print(_profiles(measured))
    for reason in dict.fromkeys(goal.missed for goal in found if goal.missed and not goal.met):
        names = "; ".join(goal.name for goal in found if goal.missed == reason and not goal.met)
        console.print(f"Missed: {names}. {reason}")
    limits = measured.limits
    console.print(
        f"Two threads can do {limits.processor:.2f} times the work of one on this machine now where they compute, and "
        f"{limits.memory:.2f} times where they read memory at random ({limits.read_nanoseconds:.0f} ns a read)."
    )
    for goal in found:
        if not goal.met and "two cores" in goal.name and limits.processor < goal.wanted:
            console.print(f"So this run cannot judge: {goal.name}. Measure again when the machine does nothing else.")
    console.print(
        f"Random runs take {measured.walked:,.0f} steps per second on one core, TLC's {measured.simulated.rate:,.0f} "
        f"with two workers. Of {1e9 / measured.walked:.0f} ns a step, {1e9 / measured.drawn:.0f} are for drawing it."
    )
    console.print(
        f"What stream_log owes is decided on {measured.lived.states:,} states in {measured.lived.live:.1f} s; their "
        f"search takes {measured.lived.search:.1f} s on one core."
    )
    console.print(
        f"ownership starts in {measured.first_start:.1f} s with an empty cache of kernels, "
        f"in {measured.second_start:.1f} s with a full one."
    )


def _rates(measured: Measurements) -> Table:
    table = Table(title="Distinct states per second (TLC: two workers)", title_justify="left")
    for column in ("scope", "states", "depth", "TLC", "interpreter", "1 core", "2 cores"):
        table.add_column(column, justify="left" if column == "scope" else "right")
    for name, scope in measured.scopes.items():
        rates = (f"{found.rate:,.0f}" for found in (scope.tlc, scope.interpreter, scope.one, scope.two))
        table.add_row(name, f"{scope.one.distinct:,}", str(scope.one.depth), *rates)
    return table


def _profiles(measured: Measurements) -> Table:
    table = Table(title="Where one core's time goes, in nanoseconds for each stored state", title_justify="left")
    table.add_column("part")
    for name in measured.scopes:
        table.add_column(name, justify="right")
    table.add_column("what it does")
    for part, meaning in PARTS.items():
        table.add_row(part, *(f"{scope.profile.parts[part]:.0f}" for scope in measured.scopes.values()), meaning)
    steps = (f"{scope.profile.steps_per_state:.1f}" for scope in measured.scopes.values())
    table.add_row("steps", *steps, "how many successors a state has")
    return table


def to_json(measured: Measurements) -> dict[str, Any]:
    """Everything as JSON values."""
    return attrs.asdict(measured) | {"goals": [attrs.asdict(goal) | {"met": goal.met} for goal in goals(measured)]}
