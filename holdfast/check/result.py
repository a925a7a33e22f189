"""The answer of an engine: a verdict, the figures behind it, and the runs that show it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import attrs
from cattrs import override

from holdfast.check.json_values import MERGED, PAIRS, NextProperty, as_json, as_object, converter, written_by
from holdfast.ir.errors import Place
from holdfast.trace.line import replay_command
from holdfast.trace.trace import Claim, Step, Trace

Verdict = Literal["exhausted", "violated", "out_of_budget"]

HOLDS, UNSHOWN, DEADLOCK, VIOLATED, STARVED, OUT_OF_BUDGET = 0, 10, 11, 12, 13, 20
"""Exit codes. They are TLC's where TLC has a code for the outcome."""

VIOLATION = "violation"
"""The value of ``Result.ended_by`` if the check stopped at its first violation."""


@attrs.frozen
class ActionFigures:
    """How often an action was taken, and how often each bound cut it.

    ``taken`` counts steps from distinct states, steps that change nothing included. ``cuts`` are pairs of a bound and
    the number of steps that it cut.
    """

    name: str
    taken: int
    cuts: Annotated[tuple[tuple[str, int], ...], PAIRS]


@attrs.frozen
class RuleFigures:
    """A rule that never decided anything: a ``require`` that refused nothing, a condition that was never true, or an
    effect that never took place.
    """

    label: str
    kind: Literal["require", "condition", "effect"]
    at: Place


@attrs.frozen
class ShortageFigures:
    """A parameter that had no value left: in some state a rule of the action asked for more than ``last``.

    ``last``: the last value that the parameter's type has in the scope. ``at``: the rule.
    """

    action: str
    parameter: str
    type: str
    last: int
    at: Place


@attrs.frozen
class WitnessFigures:
    """A witness (a state that must be reachable) and a run to it, or None if no run reached it.

    A search gives a shortest run, random runs give the first one that reached it.
    """

    claim: Annotated[Claim, MERGED]
    trace: Annotated[Trace | None, override(rename="run")]


def _fields(widest: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    return [{"field": name, "bits": bits} for name, bits in widest]


@attrs.frozen(kw_only=True)
class Coverage:
    """The coverage that every engine which takes steps reports.

    - ``bits``: size of a state; ``widest``: the fields with the most bits.
    - ``undecisive``: the rules that never decided anything.
    - ``evaluated``: for each property, the number of states, steps or repetitions on which it was evaluated.
    - ``unshown_repeats``: number of steps of idempotent actions whose repetition a bound cut. They show nothing.
    """

    bits: int
    widest: Annotated[tuple[tuple[str, int], ...], written_by(_fields)]
    actions: Annotated[tuple[ActionFigures, ...], NextProperty("never_taken")]
    undecisive: Annotated[tuple[RuleFigures, ...], override(rename="undecisive_rules")]
    evaluated: Annotated[tuple[tuple[str, int], ...], PAIRS]
    dropped_ghosts: tuple[str, ...]
    unshown_repeats: int = 0

    @property
    def never_taken(self) -> tuple[str, ...]:
        """The actions that were never taken."""
        return tuple(action.name for action in self.actions if not action.taken)

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return as_object(self, Coverage)


@attrs.frozen(kw_only=True)
class Figures(Coverage):
    """The figures of a search. They depend on the model, the scope and the options alone. Only after an interruption
    or a limit do they also depend on engine, cores and machine, which decide how far the search had come.

    - ``distinct``: number of states found; ``initial``: number of initial states. Under symmetry both count orbits.
    - ``group_order``: number of permutations in the symmetry group; 1 without symmetry.
    - ``generated``: number of steps taken, plus ``initial``.
    - ``depth``: the largest distance of a state from the start, in steps. TLC counts states: one more.
    - ``widest_level``: the largest number of states at one depth.
    - ``waiting``: number of states that were not expanded.
    - ``cut_ends``: number of states that have no step because a bound cut one. They are no deadlocks.
    - ``shortages``: the parameters that had no value left. With more values there would be more steps.
    """

    distinct: int
    generated: int
    depth: int
    initial: int
    widest_level: int
    waiting: int
    group_order: int
    cut_ends: int = 0
    shortages: tuple[ShortageFigures, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "distinct": self.distinct,
            "generated": self.generated,
            "depth": self.depth,
            "initial": self.initial,
            "widest_level": self.widest_level,
            "waiting": self.waiting,
            "group_order": self.group_order,
            **super().to_json(),
            "cut_ends": self.cut_ends,
            "shortages": [as_json(each) for each in self.shortages],
        }


@attrs.frozen
class Timing:
    """The figures that depend on the machine and its load. Nothing else in a result does."""

    seconds: float
    states_per_second: float
    memory_bytes: int


def _figures(figures: Coverage) -> dict[str, Any]:
    return figures.to_json()


@attrs.frozen(kw_only=True)
class Answer:
    """The answer of an engine about one model in one scope.

    - ``target``: what the command line calls the model.
    - ``removed``: the rules that the model is checked without.
    - ``ended_by``: what ended the check early: a limit, ``interrupted``, or ``violation``. None if nothing did.
    - ``findings``: runs that violate a property.
    - ``vacuous``: the properties whose premise was never true (so far, if the check ended early).
    - ``notes``: sentences for the reader.
    """

    engine: str
    model: str
    target: str
    scope: str
    variants: tuple[str, ...]
    removed: Annotated[tuple[str, ...], override(rename="without")]
    fingerprint: str
    verdict: Annotated[str, NextProperty("exit_code")]
    ended_by: str | None
    figures: Annotated[Coverage, written_by(_figures)]
    findings: tuple[Trace, ...]
    witnesses: tuple[WitnessFigures, ...]
    vacuous: tuple[Claim, ...]
    notes: tuple[str, ...]
    # Times do not count when answers are compared: the same check gives equal answers on every machine.
    timing: Annotated[attrs.AttrsInstance, written_by(as_json)] = attrs.field(eq=False)

    @property
    def missing(self) -> tuple[Claim, ...]:
        """The witnesses that were not reached."""
        return tuple(witness.claim for witness in self.witnesses if witness.trace is None)

    @property
    def exit_code(self) -> int:
        """12 for a violation, 11 if all violations are deadlocks, 20 without an answer, else 0."""
        if self.findings:
            return DEADLOCK if all(trace.shown.kind == "deadlock" for trace in self.findings) else VIOLATED
        return OUT_OF_BUDGET if self.verdict == "out_of_budget" else HOLDS


@attrs.frozen(kw_only=True)
class Result(Answer):
    """The answer of a search."""

    verdict: Verdict
    figures: Figures
    timing: Timing = attrs.field(eq=False)

    @property
    def exit_code(self) -> int:
        """As for every engine, but 10 instead of 0 if a witness was not reached or a property is vacuous."""
        code = super().exit_code
        return UNSHOWN if code == HOLDS and (self.missing or self.vacuous) else code


def to_json(result: Answer) -> dict[str, Any]:
    """The result as JSON values. Equal results give equal values, except for ``timing``."""
    return as_object(result, Answer)


def _claim(claim: Claim) -> dict[str, Any]:
    return {"name": claim.name, "kind": claim.kind, "ids": list(claim.ids), "sentence": claim.sentence}


def trace_to_json(trace: Trace) -> dict[str, Any]:
    """A trace as JSON values; ``claim`` is None for a trace that shows no claim."""
    claim = trace.claim
    return {
        "claim": None if claim is None else _claim(claim) | {"where": dict(claim.where)},
        "length": trace.length,
        "command": trace.command,
        "replay": replay_command(trace),
        "steps": [_step(trace, step) for step in trace.steps],
    }


def _step(trace: Trace, step: Step) -> dict[str, Any]:
    state = {cell.name: value for cell, value in zip(trace.cells, step.values, strict=True)}
    again = {"repeat": True, "refused": step.refused} if step.repeat else {}
    return {"action": step.action, "args": dict(step.args), "state": state} | again


converter.register_unstructure_hook(Claim, _claim)
converter.register_unstructure_hook(Result, to_json)
converter.register_unstructure_hook(Trace, trace_to_json)
