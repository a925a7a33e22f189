"""Measures simulated clusters: node steps per second, a run of 1,000 operations, and the share of the oracles.

Seconds are the processor time of one thread. Each figure is also given as a ratio to one turn of an empty loop, so that
figures of different machines can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from msgspec.structs import replace

from benchmarks.clock import own
from impl.sim.check import Question, check, judged
from impl.sim.options import Options

TURNS = 2_000_000
RATE = 100_000
"""The goal, in steps of nodes per second."""
RUN_SECONDS = 0.3
SHARE = 0.05
"""The goals for a run of three brokers and 1,000 operations: its seconds, and the share of the oracles."""


@attrs.frozen
class SimulationFigures:
    """The measured figures, for ``seeds`` runs of ``operations`` operations each.

    ``turn``: seconds for a turn of an empty loop. ``rate``: steps of nodes per second, without the oracles. ``run``:
    seconds for a run with its oracles. ``share``: the part of a run that the oracles take.
    """

    turn: float
    rate: float
    run: float
    share: float
    seeds: int
    operations: int


def measured(seeds: int = 20, operations: int = 1_000, repeat: int = 3) -> SimulationFigures:
    """Measure everything. Of ``repeat`` measurements, the fastest counts."""
    turn = min(_empty() for _ in range(repeat)) / TURNS
    question = Question(seed=0, options=Options(operations=operations))
    check(question)  # not measured: work that a process does once, such as compiling patterns
    times = [_runs(question, seeds) for _ in range(repeat)]
    whole, judging, steps = min(times)
    return SimulationFigures(turn, steps / (whole - judging), whole / seeds, judging / whole, seeds, operations)


def lines(found: SimulationFigures) -> Iterator[str]:
    """The figures, their ratios, and whether the goals are met."""

    def goal(text: str, met: bool) -> str:
        return f"{text}; {'met' if met else 'missed'}"

    yield f"an empty loop: {found.turn * 1e9:.0f} ns a turn"
    turns = 1 / (found.rate * found.turn)
    rate = f"node steps: {found.rate:,.0f} per second on one core, {turns:,.0f} turns each"
    yield goal(f"{rate} (goal at least {RATE:,})", found.rate >= RATE)
    of = f"{found.seeds} seeds, three brokers, {found.operations:,} operations"
    run = f"a run with its oracles: {found.run:.3f} s, {found.run / found.turn:,.0f} turns ({of}"
    yield goal(f"{run}; goal at most {RUN_SECONDS:g} s)", found.run <= RUN_SECONDS)
    yield goal(f"oracles: {found.share:.1%} of a run (goal at most {SHARE:.0%})", found.share <= SHARE)


def _runs(question: Question, seeds: int) -> tuple[float, float, int]:
    """The seconds of the runs, the seconds of their oracles alone, and the steps of all nodes."""
    whole, judging, steps = 0.0, 0.0, 0
    for seed in range(seeds):
        begin = own()
        checked = check(replace(question, seed=seed))
        whole += own() - begin
        if checked.violations or checked.error:
            raise RuntimeError(f"seed {seed} of the benchmark violates something")
        begin = own()
        judged(checked.run)
        judging += own() - begin
        steps += checked.run.counts["steps"]
    return whole, judging, steps


def _empty() -> float:
    begin = own()
    for _ in range(TURNS):
        pass
    return own() - begin
