"""What a campaign of random runs answers, and how people read it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Literal

import attrs

from holdfast.check.result import VIOLATION, Answer, Coverage, to_json
from holdfast.check.summary import covered, dropped, entry
from holdfast.runs.shrink import ShrinkResult
from holdfast.trace.text import WIDTH, configuration, count, render

WalkVerdict = Literal["violated", "not_found", "out_of_budget"]


@attrs.frozen
class StopFigures:
    """The runs that ended for one reason: how many, their steps together, the shortest and the longest."""

    reason: str
    runs: int
    steps: int
    shortest: int
    longest: int

    @property
    def mean(self) -> float:
        """The steps of a run on average."""
        return self.steps / self.runs if self.runs else 0.0


@attrs.frozen(kw_only=True)
class WalkFigures(Coverage):
    """How much was tried. The figures depend on the model, the scope and the options alone, except after an
    interruption or a limit of time or memory; after a violation they speak of the runs up to that one.

    Of ``traces`` runs that were asked for ``runs`` were made, of at most ``depth`` steps, from ``initial`` states.
    ``stops`` are the runs by the reason why they ended, all reasons included, and ``reached`` tells the first run that
    reached each witness.
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
        """All runs together."""
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
            "lengths": {stop.reason: attrs.asdict(stop) | {"mean": stop.mean} for stop in (self.every, *self.stops)},
            "reached": dict(self.reached),
            **super().to_json(),
        }


@attrs.frozen
class WalkTiming:
    """What depends on the machine and the hour; ``seconds`` without what it took to compile."""

    seconds: float
    runs_per_second: float
    steps_per_second: float
    memory_bytes: int


@attrs.frozen(kw_only=True)
class WalkResult(Answer):
    """The answer of a campaign. ``run`` is the number of the run that violates something.

    ``raw_length`` counts its steps as it was drawn, but for those that changed nothing; ``shrunk`` is what it was made
    into, which is then the finding.
    """

    verdict: WalkVerdict
    figures: WalkFigures
    run: int | None
    raw_length: int | None
    shrunk: ShrinkResult | None
    timing: WalkTiming = attrs.field(eq=False)


def render_walk(result: WalkResult, *, full: bool = False) -> str:
    """All there is to say, without a final newline; ``full`` shows the states of the run whole. It holds no times."""
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
    """``after 2 steps``, or ``shrunk from 37 to 2 steps``; where arguments alone became less, the length stays."""
    length = result.findings[0].length
    if result.raw_length in (None, length):
        return f"after {count(length, 'step')}"
    return f"shrunk from {result.raw_length:,} to {count(length, 'step')}"


def walk_to_json(result: WalkResult) -> dict[str, Any]:
    """The result as JSON values, with what shrinking came to (None where nothing was shrunk)."""
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
    "still": "came where no step changes anything",
    "final": "ended as a @final allows",
    "cut": "had no step but such as a bound cuts",
    "stuck": "had no step",
    "masked": "had no step but of actions that were left out",
    "violated": "violated something",
}
"""What ``StopFigures.reason`` means."""


def _stop(stop: StopFigures) -> str:
    length = f"{stop.shortest:,}" if stop.shortest == stop.longest else f"{stop.shortest:,} to {stop.longest:,}"
    return f"{stop.runs:,} {WHY[stop.reason]} (after {length})"
