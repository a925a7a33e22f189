"""What ``live`` answers of a model in one scope, and how people read it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Literal

import attrs

from holdfast.check.live.explain import Reasons
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, STARVED, UNSHOWN, Answer, Coverage, to_json
from holdfast.check.summary import dropped, entry
from holdfast.trace.text import WIDTH, configuration, count, render
from holdfast.trace.trace import Claim

LiveVerdict = Literal["exhausted", "violated", "inconclusive"]


@attrs.frozen
class LeadsToFigures:
    """What was found of one leads-to.

    ``instances`` counts the values of its parameters, ``owing`` the states in which an instance's goal is owed, summed
    over the instances; ``triggered`` tells whether any state meets a trigger. ``only_if_cut`` is the length of a run
    that violates it if cut steps count as impossible, and is unfair otherwise; None if there is none.
    """

    claim: Claim
    instances: int
    owing: int
    triggered: bool
    only_if_cut: int | None = None


@attrs.frozen
class DemandFigures:
    """The demands of fairness on one action: how many, of what strength, and how many are possible nowhere."""

    action: str
    strength: str
    per: tuple[str, ...]
    instances: int
    never_possible: int


@attrs.frozen(kw_only=True)
class LiveFigures(Coverage):
    """How much was looked at: ``states`` and ``edges`` of the graph without symmetry, where only steps that change
    something are edges. ``budgets`` says how often the environment may take an action; one of 0 is never taken.
    ``fair_cuts`` counts, by fair action and bound, the steps that the bound cut.
    """

    states: int
    edges: int
    initial: int
    depth: int
    demands: tuple[DemandFigures, ...]
    owed: tuple[LeadsToFigures, ...]
    budgets: tuple[tuple[str, int], ...]

    @property
    def fair_cuts(self) -> tuple[tuple[str, str, int], ...]:
        """The fair actions that a bound cut, with the bound and how many steps it cut."""
        fair = {demand.action for demand in self.demands}
        return tuple(
            (action.name, bound, times)
            for action in self.actions
            if action.name in fair
            for bound, times in action.cuts
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "states": self.states,
            "edges": self.edges,
            "initial": self.initial,
            "depth": self.depth,
            "budgets": dict(self.budgets),
            "demands": [attrs.asdict(demand) for demand in self.demands],
            "owed": [
                {
                    "property": each.claim.name,
                    "instances": each.instances,
                    "owing": each.owing,
                    "only_if_cut": each.only_if_cut,
                }
                for each in self.owed
            ],
            "fair_cuts": [{"action": name, "bound": bound, "steps": times} for name, bound, times in self.fair_cuts],
            **super().to_json(),
        }


@attrs.frozen
class LiveTiming:
    """What depends on the machine and the hour: seconds in all, and of them those for drawing the graph."""

    seconds: float
    drawing: float
    memory_bytes: int


@attrs.frozen(kw_only=True)
class LiveResult(Answer):
    """The answer. Its findings are lassos, for each violated property that of the least arguments; ``fair`` says of
    each why it is fair: see ``explain``.
    """

    verdict: LiveVerdict
    figures: LiveFigures
    fair: tuple[Reasons, ...]
    timing: LiveTiming = attrs.field(eq=False)

    @property
    def exit_code(self) -> int:
        """13 violated, 20 without an answer, 10 if a property is never triggered, else 0."""
        if self.findings:
            return STARVED
        if self.verdict == "inconclusive":
            return OUT_OF_BUDGET
        return UNSHOWN if self.vacuous else HOLDS


def render_live(result: LiveResult) -> str:
    """All there is to say, without a final newline and without times."""
    lines = textwrap.wrap(_verdict(result), WIDTH, subsequent_indent="  ")
    if result.ended_by is None:
        lines += ["", *(line for name, text in _figures(result) for line in entry(name, text))]
    for note in result.notes:
        lines += ["", *textwrap.wrap(note, WIDTH)]
    found = zip(result.findings, result.fair, strict=True)
    runs = (f"{render(trace)}\n\n{fair_text(reasons)}" for trace, reasons in found)
    return "\n\n".join([*runs, "\n".join(lines)])


def fair_text(reasons: Reasons) -> str:
    """Why a run is fair, without a final newline."""
    if not reasons:
        return "No action is fair, so that a run may end anywhere."
    lines = ["why the run is fair"]
    for way, met in reasons:
        lines += textwrap.wrap(f"{way}: {met}", WIDTH, initial_indent="     ", subsequent_indent="       ")
    return "\n".join(lines)


def live_to_json(result: LiveResult) -> dict[str, Any]:
    """The result as JSON values, with the reasons why its runs are fair."""
    return to_json(result) | {"fair": [dict(reasons) for reasons in result.fair]}


def _verdict(result: LiveResult) -> str:
    what = configuration(result.model, result.scope, result.variants, result.removed)
    match result.verdict:
        case "violated":
            return f"{what}: violated: {', '.join(trace.shown.title for trace in result.findings)}"
        case "exhausted":
            vacuous = ", ".join(claim.title for claim in result.vacuous)
            return f"{what}: exhausted, nothing violated{f', but vacuous: {vacuous}' if vacuous else ''}"
        case "inconclusive" if result.ended_by is not None:
            return f"{what}: no answer ({result.ended_by}); liveness is decided on the whole graph alone"
        case "inconclusive":
            cuts = ", ".join(f"{name} by {bound}" for name, bound, _ in result.figures.fair_cuts)
            return f"{what}: no answer: it depends on steps that a bound of the scope cut: {cuts}"


def _figures(result: LiveResult) -> Iterator[tuple[str, str]]:
    figures = result.figures
    steps, initial = count(figures.edges, "step"), count(figures.initial, "initial state")
    yield "states", f"{figures.states:,} without symmetry, {steps} that change something, {initial}"
    yield "depth", count(figures.depth, "step")
    fair = [_demand(each) for each in figures.demands]
    yield "fair", "; ".join(fair) or "no action: every run may end anywhere"
    if figures.budgets:
        yield "environment", ", ".join(f"{name} {_times(most)}" for name, most in figures.budgets)
    for each in figures.owed:
        instances = f" over {each.instances:,} instances" if each.instances != 1 else ""
        yield "owed", f"{each.claim.title} in {count(each.owing, 'state')}{instances}"
    cuts = [f"{name} by {bound} {times:,}" for name, bound, times in figures.fair_cuts]
    yield "fair but cut", ", ".join(cuts) or "nothing: no bound of the scope cut a step of a fair action"
    yield from dropped(figures)


def _times(most: int) -> str:
    return f"at most {count(most, 'time')}" if most else "never"


def _demand(figures: DemandFigures) -> str:
    per = f" per {', '.join(figures.per)}" if figures.per else ""
    never = ""
    if figures.never_possible:
        which = "never" if figures.never_possible == figures.instances else f"{figures.never_possible:,} never"
        never = f" ({which} possible)"
    return f"{figures.action} {figures.strength}{per}{never}"
