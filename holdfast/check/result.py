"""What an engine answers: a verdict, the figures behind it, and the runs that show it."""

from __future__ import annotations

from typing import Any, Literal

import attrs

from holdfast.ir.errors import Place
from holdfast.trace.line import replay_command
from holdfast.trace.trace import Claim, Step, Trace

Verdict = Literal["exhausted", "violated", "out_of_budget"]

HOLDS, UNSHOWN, DEADLOCK, VIOLATED, STARVED, OUT_OF_BUDGET = 0, 10, 11, 12, 13, 20
"""Exit codes; those of TLC where it has one."""

VIOLATION = "violation"
"""What ``Result.ended_by`` says where the first violation ended a check."""


@attrs.frozen
class ActionFigures:
    """How often an action was taken (from distinct states; steps that change nothing count) and cut, by bound."""

    name: str
    taken: int
    cuts: tuple[tuple[str, int], ...]


@attrs.frozen
class RuleFigures:
    """A rule that never decided anything: a require that refused nothing, a condition that was never true."""

    label: str
    kind: Literal["require", "condition", "effect"]
    at: Place


@attrs.frozen
class WitnessFigures:
    """A state that must be reachable, with a shortest run to it, or None where none was found."""

    claim: Claim
    trace: Trace | None


@attrs.frozen(kw_only=True)
class Coverage:
    """What every engine that takes steps says of what it covered.

    ``bits`` is the size of a state, ``undecisive`` the rules that never decided anything. ``evaluated`` says of how
    many states or steps each property was asked. ``unshown_repeats`` counts the steps of idempotent actions whose
    repetition a bound cut.
    """

    bits: int
    widest: tuple[tuple[str, int], ...]
    actions: tuple[ActionFigures, ...]
    undecisive: tuple[RuleFigures, ...]
    evaluated: tuple[tuple[str, int], ...]
    dropped_ghosts: tuple[str, ...]
    unshown_repeats: int = 0

    @property
    def never_taken(self) -> tuple[str, ...]:
        """The actions that no state allowed."""
        return tuple(action.name for action in self.actions if not action.taken)

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return {
            "bits": self.bits,
            "widest": [{"field": name, "bits": bits} for name, bits in self.widest],
            "actions": [{"name": a.name, "taken": a.taken, "cuts": dict(a.cuts)} for a in self.actions],
            "never_taken": list(self.never_taken),
            "undecisive_rules": [{"label": r.label, "kind": r.kind, "at": str(r.at)} for r in self.undecisive],
            "evaluated": dict(self.evaluated),
            "dropped_ghosts": list(self.dropped_ghosts),
            "unshown_repeats": self.unshown_repeats,
        }


@attrs.frozen(kw_only=True)
class Figures(Coverage):
    """How much was searched. The figures depend on the model, the scope and the options alone, except after an
    interruption or a limit: how far a search has come by then, engine, cores and machine decide.

    ``distinct`` counts the states found, ``initial`` those that a run may start in: under symmetry one for each orbit
    of a group of ``group_order`` permutations (1: no symmetry). ``generated`` counts steps taken and initial states.
    ``depth`` is the number of steps of the longest shortest run; TLC counts the states of it, one more.
    ``widest_level`` is the most states at one depth, ``waiting`` the states that were not expanded, ``cut_ends`` those
    without a step that are no deadlock: a bound cut a step.
    """

    distinct: int
    generated: int
    depth: int
    initial: int
    widest_level: int
    waiting: int
    group_order: int
    cut_ends: int = 0

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
        }


@attrs.frozen
class Timing:
    """What depends on the machine and the hour; nothing else in a result does."""

    seconds: float
    states_per_second: float
    memory_bytes: int


@attrs.frozen(kw_only=True)
class Answer:
    """What every engine answers about one model in one scope.

    ``ended_by`` says what ended a check early: a limit, ``interrupted``, or ``violation``; None where nothing did.
    ``findings`` are runs that violate something, ``vacuous`` the properties whose premise was never met (so far, if the
    check ended early). ``notes`` are sentences for the reader.
    """

    engine: str
    model: str
    target: str
    scope: str
    variants: tuple[str, ...]
    removed: tuple[str, ...]
    fingerprint: str
    verdict: str
    ended_by: str | None
    figures: Coverage
    findings: tuple[Trace, ...]
    witnesses: tuple[WitnessFigures, ...]
    vacuous: tuple[Claim, ...]
    notes: tuple[str, ...]
    timing: attrs.AttrsInstance = attrs.field(eq=False)

    @property
    def missing(self) -> tuple[Claim, ...]:
        """The witnesses that were not reached."""
        return tuple(witness.claim for witness in self.witnesses if witness.trace is None)

    @property
    def exit_code(self) -> int:
        """12 violated, 11 if by deadlocks alone; 20 without an answer; else 0."""
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
        """As of every engine, but 10 if something was never shown."""
        code = super().exit_code
        return UNSHOWN if code == HOLDS and (self.missing or self.vacuous) else code


def to_json(result: Answer) -> dict[str, Any]:
    """The result as JSON values, equal for equal results but for ``timing``."""
    return {
        "engine": result.engine,
        "model": result.model,
        "target": result.target,
        "scope": result.scope,
        "variants": list(result.variants),
        "without": list(result.removed),
        "fingerprint": result.fingerprint,
        "verdict": result.verdict,
        "exit_code": result.exit_code,
        "ended_by": result.ended_by,
        "figures": result.figures.to_json(),
        "findings": [trace_to_json(trace) for trace in result.findings],
        "witnesses": [
            _claim(witness.claim) | {"run": None if witness.trace is None else trace_to_json(witness.trace)}
            for witness in result.witnesses
        ],
        "vacuous": [_claim(claim) for claim in result.vacuous],
        "notes": list(result.notes),
        "timing": attrs.asdict(result.timing),
    }


def _claim(claim: Claim) -> dict[str, Any]:
    return {"name": claim.name, "kind": claim.kind, "ids": list(claim.ids), "sentence": claim.sentence}


def trace_to_json(trace: Trace) -> dict[str, Any]:
    """A run as JSON values; its claim is None if it shows nothing in particular."""
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
