"""The answer of ``live`` for a model in one scope, as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from operator import attrgetter
from typing import Annotated, Any, Literal

import attrs

from holdfast.check.json_values import OMITTED, as_json, written_by
from holdfast.check.live.explain import Reasons
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, STARVED, UNSHOWN, Answer, Coverage, to_json
from holdfast.check.summary import dropped, entry
from holdfast.trace.text import WIDTH, configuration, count, render
from holdfast.trace.trace import Claim

LiveVerdict = Literal["exhausted", "violated", "inconclusive"]


@attrs.frozen
class PropertyFigures:
    """The figures of one liveness property.

    - ``instances``: number of choices of its parameters' values.
    - ``owing``: number of states in which a run may owe the goal, summed over the instances. For the kinds without a
      premise: number of states in which the condition is false.
    - ``premise_true``: whether the premise of an instance is true in any state.
    - ``only_if_cut``: length of a run that violates the property if cut steps count as impossible, and is unfair if
      they count as possible. None if there is no such run.
    """

    claim: Annotated[Claim, written_by(attrgetter("name"), "property")]
    instances: int
    owing: int
    premise_true: Annotated[bool, OMITTED]
    only_if_cut: int | None = None


@attrs.frozen
class DemandFigures:
    """The demands of fairness on one action.

    ``per``: the parameters whose values tell its demands apart. ``instances``: number of demands. ``never_possible``:
    number of demands that are possible in no state.
    """

    action: str
    strength: str
    per: tuple[str, ...]
    instances: int
    never_possible: int


@attrs.frozen(kw_only=True)
class LiveFigures(Coverage):
    """The figures of a liveness check.

    - ``states``, ``edges``: numbers of the graph without symmetry. Only steps that change something are edges.
    - ``initial``: number of initial states; ``depth``: the largest distance of a state from the start.
    - ``budgets``: pairs of an action of the environment and how often a run may take it.
    """

    states: int
    edges: int
    initial: int
    depth: int
    demands: tuple[DemandFigures, ...]
    owed: tuple[PropertyFigures, ...]
    budgets: tuple[tuple[str, int], ...]

    @property
    def fair_cuts(self) -> tuple[tuple[str, str, int], ...]:
        """The cuts of fair actions, as triples of the action, the bound and the number of steps that it cut."""
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
            "demands": as_json(self.demands),
            "owed": [as_json(each) | {"kind": each.claim.kind} for each in self.owed],
            "fair_cuts": [{"action": name, "bound": bound, "steps": times} for name, bound, times in self.fair_cuts],
            **super().to_json(),
        }


@attrs.frozen
class LiveTiming:
    """The figures that depend on the machine and its load. ``drawing``: seconds for drawing the graph."""

    seconds: float
    drawing: float
    memory_bytes: int


@attrs.frozen(kw_only=True)
class LiveResult(Answer):
    """The answer. Its findings are lassos: for each violated property, the one with the least arguments.

    ``fair`` says for each lasso why it is fair: see ``explain``.
    """

    verdict: LiveVerdict
    figures: LiveFigures
    fair: tuple[Reasons, ...]
    timing: LiveTiming = attrs.field(eq=False)

    @property
    def exit_code(self) -> int:
        """13 for a violation, 20 without an answer, 10 if a property is vacuous, else 0."""
        if self.findings:
            return STARVED
        if self.verdict == "inconclusive":
            return OUT_OF_BUDGET
        return UNSHOWN if self.vacuous else HOLDS


def render_live(result: LiveResult) -> str:
    """The whole text of a result, without a final newline and without times."""
    lines = textwrap.wrap(_verdict(result), WIDTH, subsequent_indent="  ")
    if result.ended_by is None:
        lines += ["", *(line for name, text in _figures(result) for line in entry(name, text))]
    for note in result.notes:
        lines += ["", *textwrap.wrap(note, WIDTH)]
    found = zip(result.findings, result.fair, strict=True)
    runs = (f"{render(trace)}\n\n{fair_text(reasons)}" for trace, reasons in found)
    return "\n\n".join([*runs, "\n".join(lines)])


def fair_text(reasons: Reasons) -> str:
    """The text that says why a run is fair, without a final newline."""
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
        label, said = _WORDS[each.claim.kind]
        yield label, f"{each.claim.title}{said} in {count(each.owing, 'state')}{instances}"
    cuts = [f"{name} by {bound} {times:,}" for name, bound, times in figures.fair_cuts]
    yield "fair but cut", ", ".join(cuts) or "nothing: no bound of the scope cut a step of a fair action"
    yield from dropped(figures)


_WORDS = {
    "leads_to": ("owed", ""),
    "always_eventually": ("recurs", ", which is false"),
    "eventually_always": ("lasts", ", which is false"),
}
"""For each kind of liveness property: the label of its line, and the words between its name and its figures."""


def _times(most: int) -> str:
    return f"at most {count(most, 'time')}" if most else "never"


def _demand(figures: DemandFigures) -> str:
    per = f" per {', '.join(figures.per)}" if figures.per else ""
    never = ""
    if figures.never_possible:
        which = "never" if figures.never_possible == figures.instances else f"{figures.never_possible:,} never"
        never = f" ({which} possible)"
    return f"{figures.action} {figures.strength}{per}{never}"
