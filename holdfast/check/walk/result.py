"""The answer of random runs, as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import attrs

from holdfast.check.json_values import NextProperty, as_json
from holdfast.check.result import VIOLATION, Answer, Coverage, to_json
from holdfast.check.summary import covered, dropped, entry
from holdfast.runs.shrink import ShrinkResult
from holdfast.trace.text import WIDTH, configuration, count, render

WalkVerdict = Literal["violated", "not_found", "out_of_budget"]


@attrs.frozen
class StopFigures:
    """The runs that ended for one reason.

    ``runs``: their number. ``steps``: their steps in total. ``shortest`` and ``longest``: the lengths of two of them.
    """

    reason: str
    runs: int
    steps: int
    shortest: int
    longest: Annotated[int, NextProperty("mean")]

    @property
    def mean(self) -> float:
        """The average number of steps of a run."""
        return self.steps / self.runs if self.runs else 0.0


@attrs.frozen(kw_only=True)
class WalkFigures(Coverage):
    """The figures of random runs. They depend on the model, the scope and the options alone, except after an
    interruption or a limit of time or memory. After a violation they cover the runs up to the violating one.

    - ``traces``: number of runs asked for; ``runs``: number of runs made.
    - ``depth``: the largest number of steps of a run; ``initial``: number of initial states.
    - ``stops``: an entry for each reason to end, in a fixed order; some have no runs.
    - ``reached``: pairs of a witness and the number of the first run that reached it.
    """

    seed: int
    traces: int
    depth: int
    initial: int
    runs: int
    steps: int
    stops: tuple[StopFigures, ...]
    reached: tuple[tuple[str, int], ...]

    @property
    def every(self) -> StopFigures:
        """All runs, whatever their reason to end."""
        some = [stop for stop in self.stops if stop.runs]
        shortest = min((stop.shortest for stop in some), default=0)
        return StopFigures("all", self.runs, self.steps, shortest, max((stop.longest for stop in some), default=0))

    def to_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "traces": self.traces,
            "depth": self.depth,
            "initial": self.initial,
            "runs": self.runs,
            "steps": self.steps,
            "lengths": {stop.reason: as_json(stop) for stop in (self.every, *self.stops)},
            "reached": dict(self.reached),
            **super().to_json(),
        }


@attrs.frozen
class WalkTiming:
    """The figures that depend on the machine and its load. ``seconds`` leaves out compiling."""

    seconds: float
    runs_per_second: float
    steps_per_second: float
    memory_bytes: int


@attrs.frozen(kw_only=True)
class WalkResult(Answer):
    """The answer of random runs.

    - ``run``: the number of the violating run.
    - ``raw_length``: its length as drawn, without the steps that changed nothing.
    - ``shrunk``: the shrunk run, which is then the finding; None if nothing was shrunk.
    """

    verdict: WalkVerdict
    figures: WalkFigures
    run: int | None
    raw_length: int | None
    shrunk: ShrinkResult | None
    timing: WalkTiming = attrs.field(eq=False)


def render_walk(result: WalkResult, *, full: bool = False) -> str:
    """The whole text, without a final newline and without times; ``full`` shows whole states of the run."""
    blocks = [render(trace, full=full) for trace in result.findings]
    lines = textwrap.wrap(_verdict(result), WIDTH, subsequent_indent="  ")
    if result.ended_by != VIOLATION:
        lines += ["", *(line for name, text in _figures(result) for line in entry(name, text))]
    for note in result.notes:
        lines += ["", *textwrap.wrap(note, WIDTH)]
    return "\n\n".join([*blocks, "\n".join(lines)])


def _verdict(result: WalkResult) -> str:
    what = configuration(result.model, result.scope, result.variants, result.removed)
    figures = result.figures
    match result.verdict:
        case "violated":
            return f"{what}: violated in run {result.run:,}, {_length(result)}: {result.findings[0].shown.title}"
        case "out_of_budget":
            made = f"{figures.runs:,} of {count(figures.traces, 'run')}"
            return f"{what}: no answer ({result.ended_by}); nothing found in {made}"
        case "not_found":
            return f"{what}: nothing found in {count(figures.runs, 'run')}, which is no proof"


def _length(result: WalkResult) -> str:
    """``after 2 steps``, or ``shrunk from 37 to 2 steps``. Shrinking may lower arguments only and keep the length."""
    length = result.findings[0].length
    if result.raw_length in (None, length):
        return f"after {count(length, 'step')}"
    return f"shrunk from {result.raw_length:,} to {count(length, 'step')}"


def walk_to_json(result: WalkResult) -> dict[str, Any]:
    """The result as JSON values, with the result of shrinking (None if nothing was shrunk)."""
    shrunk = result.shrunk
    done = None if shrunk is None else {"from": result.raw_length, "tried": shrunk.tried, "shortest": shrunk.shortest}
    return to_json(result) | {"run": result.run, "shrunk": done}


def _figures(result: WalkResult) -> Iterator[tuple[str, str]]:
    figures, every = result.figures, result.figures.every
    initial = count(figures.initial, "initial state")
    most = count(figures.depth, "step")
    yield "runs", f"{figures.runs:,} from seed {figures.seed} and {initial}, of at most {most} each"
    yield "steps", f"{figures.steps:,}; a run has {every.shortest:,} to {every.longest:,}, {every.mean:,.1f} on average"
    yield "ended", "; ".join(_stop(stop) for stop in figures.stops if stop.runs) or "none"
    first = dict(figures.reached)
    reached = [
        f"{witness.claim.name} in run {first[witness.claim.name]:,} after {count(witness.trace.length, 'step')}"
        for witness in result.witnesses
        if witness.trace is not None
    ]
    yield from covered(result, reached)
    yield from dropped(figures)


WHY = {
    "depth": "took all steps",
    "still": "reached a state in which no step changes anything",
    "final": "ended in a @final state",
    "cut": "had only steps that a bound cuts",
    "stuck": "had no step",
    "violated": "violated something",
}
"""The texts for ``StopFigures.reason``."""


def _stop(stop: StopFigures) -> str:
    length = f"{stop.shortest:,}" if stop.shortest == stop.longest else f"{stop.shortest:,} to {stop.longest:,}"
    return f"{stop.runs:,} {WHY[stop.reason]} (after {length})"
