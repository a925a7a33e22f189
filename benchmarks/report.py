"""Prints what a run of the benchmark measured: the goals, and the figures behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.engines import PARTS
from benchmarks.gathering import Effort
from benchmarks.goals import LEFT_OUT, Goal, Reading, readings
from benchmarks.machine import Machine
from benchmarks.measurements import Blank, Measurements

CHECKERS = {
    "tlc": "TLC, 2 workers", "spin": "Spin", "interpreter": "interpreter", "one": "1 core", "two": "2 cores", "c": "C",
}  # fmt: skip
"""The columns of the table of rates: each checker, and its title."""


def show(measured: Measurements, facts: Machine, load_after: float, effort: Effort, console: Console) -> None:
    """Print the goals, the figures behind them, the profile of the kernel, and the reason for each blank."""
    found = readings(measured)
    console.print(_goals(found))
    for line in _load(facts, load_after):
        console.print(line, highlight=False)
    scopes = [name for name in effort.scopes if any(key.startswith(f"{name}.") for key in measured.values)]
    if scopes:
        console.print(_rates(measured, scopes))
        console.print(_profiles(measured, scopes))
    for line in (*_blanks(measured, found), *_missed(found), *_details(measured, found)):
        console.print(line, highlight=False, markup=False)


def amount(figure: float, unit: str) -> str:
    """A figure with its unit, in three digits."""
    return f"{figure:,.0f} {unit}" if figure >= 1000 else f"{figure:.3g} {unit}"


def bound(goal: Goal) -> str:
    """What a goal demands."""
    return f"{'at most' if goal.at_most else 'at least'} {goal.wanted:g} {goal.unit}"


def _goals(found: Sequence[Reading]) -> Table:
    table = Table(title="Goals", title_justify="left")
    for column in ("", "reached", "goal", ""):
        table.add_column(column, justify="left" if not column else "right")
    for reading in found:
        reached = "" if isinstance(reading.reached, Blank) else amount(reading.reached, reading.goal.unit)
        table.add_row(reading.goal.name, reached, bound(reading.goal), reading.outcome)
    return table


def _load(facts: Machine, after: float) -> Iterator[str]:
    yield (
        f"{facts.cores} cores, {facts.processor}; load average of a minute: {facts.load:.2f} before, {after:.2f} after "
        "(then with the benchmark's own)."
    )
    if facts.load > facts.cores / 4:
        yield "The machine was busy before: measure again when it does nothing else, and keep none of these figures."


def _rates(measured: Measurements, scopes: Sequence[str]) -> Table:
    table = Table(title="Distinct states per second, each on one core unless it says more", title_justify="left")
    for column in ("scope", "states", "depth", *CHECKERS.values()):
        table.add_column(column, justify="left" if column == "scope" else "right")
    for name in scopes:
        searched = [measured.values.get(f"{name}.{checker}") for checker in CHECKERS]
        whole = measured.values.get(f"{name}.one")
        counts = (f"{whole.distinct:,}", str(whole.depth)) if whole is not None else ("", "")
        table.add_row(name, *counts, *("" if each is None else f"{each.rate:,.0f}" for each in searched))
    return table


def _profiles(measured: Measurements, scopes: Sequence[str]) -> Table:
    table = Table(title="Where one core's time goes, in nanoseconds for each stored state", title_justify="left")
    table.add_column("part")
    profiles = {name: measured.values[f"{name}.profile"] for name in scopes if f"{name}.profile" in measured.values}
    for name in profiles:
        table.add_column(name, justify="right")
    table.add_column("what it does")
    for part, meaning in PARTS.items():
        table.add_row(part, *(f"{profile.parts[part]:.0f}" for profile in profiles.values()), meaning)
    steps = (f"{profile.steps_per_state:.1f}" for profile in profiles.values())
    table.add_row("steps", *steps, "how many successors a state has")
    return table


def _blanks(measured: Measurements, found: Sequence[Reading]) -> Iterator[str]:
    """A line for each blank, also of a measurement that no goal needs, and one for all that was left out."""
    for name, blank in measured.blanks.items():
        yield f"{blank.outcome}: {name}: {blank.reason}"
    left_out = sum(reading.reached is LEFT_OUT for reading in found)
    if left_out:
        yield f"not measured: the figures of {left_out} goals: {LEFT_OUT.reason}"


def _missed(found: Sequence[Reading]) -> Iterator[str]:
    missed = [reading.goal for reading in found if reading.outcome == "missed"]
    for reason in dict.fromkeys(goal.missed for goal in missed if goal.missed):
        names = "; ".join(goal.name for goal in missed if goal.missed == reason)
        yield f"Missed: {names}. {reason}"


def _details(measured: Measurements, found: Sequence[Reading]) -> Iterator[str]:
    values = measured.values
    if (limits := values.get("limits")) is not None:
        yield (
            f"Two threads can do {limits.processor:.2f} times the work of one on this machine now where they compute, "
            f"and {limits.memory:.2f} times where they read memory at random ({limits.read_nanoseconds:.0f} ns a read)."
        )
        for reading in found:
            goal = reading.goal
            if goal.key.endswith(".cores") and reading.outcome == "missed" and limits.processor < goal.wanted:
                yield f"So this run cannot judge: {goal.name}. Measure again when the machine does nothing else."
    if (walked := values.get("walked")) is not None:
        drawn, simulated = values.get("drawn"), values.get("simulated")
        yield (
            f"Random runs take {walked:,.0f} steps per second on one core: {1e9 / walked:.0f} ns a step."
            + ("" if drawn is None else f" Of these, {1e9 / drawn:.0f} ns are for drawing it.")
            + ("" if simulated is None else f" TLC's take {simulated.rate:,.0f} with two workers.")
        )
    if (lived := values.get("lived")) is not None:
        yield (
            f"What stream_log owes is decided on {lived.states:,} states in {lived.live:.1f} s; their search takes "
            f"{lived.search:.1f} s on one core."
        )


def to_json(measured: Measurements, facts: Machine, load_after: float) -> dict[str, Any]:
    """Everything as JSON values, with the reason for each blank."""
    goals = {
        reading.goal.key: {
            "name": reading.goal.name,
            "reached": None if isinstance(reading.reached, Blank) else reading.reached,
            "unit": reading.goal.unit,
            "wanted": reading.goal.wanted,
            "at_most": reading.goal.at_most,
            "outcome": reading.outcome,
        }
        for reading in readings(measured)
    }
    return {
        "machine": attrs.asdict(facts),
        "load_after": load_after,
        "goals": goals,
        "measurements": {
            name: attrs.asdict(value) if attrs.has(type(value)) else value for name, value in measured.values.items()
        },
        "blanks": {name: attrs.asdict(blank) for name, blank in measured.blanks.items()},
    }
