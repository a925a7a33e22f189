"""The result of a proof: for each property a verdict, the lemmas that its proof needs, and what stands in the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import attrs
from cattrs import override

from holdfast.check.json_values import MERGED, OMITTED, PAIRS, NextProperty, as_json, as_object, written_by
from holdfast.check.prove.expression_text import written
from holdfast.check.prove.rests import ProofGround
from holdfast.check.prove.second_prover import SecondProverResult
from holdfast.check.prove.trial import ProofTrial
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, UNSHOWN, VIOLATED, Result
from holdfast.ir.system import Property, Scope
from holdfast.trace.trace import Claim, Trace

Verdict = Literal["proved", "violated", "not_inductive", "unknown", "contradicted", "vacuous"]
"""``vacuous``: the proof goes through but says nothing, see ``holdfast.check.prove.sanity``.

``contradicted``: the proof goes through, but a search of other sizes or cvc5 disagrees, so one of the two is wrong."""

DISAGREES = 1
"""The exit code if two engines contradict each other."""


@attrs.frozen
class Counterexample:
    """A counterexample to induction: a state in which all assumptions hold, and a step that breaks the property.

    The state need not be reachable; it is the first state of ``trace``. No size of the ``scope`` can be smaller.
    ``action`` is ``init`` if the property is false in an initial state; then the trace has only that state.
    """

    action: str
    trace: Trace
    scope: Scope

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """The number of elements of each sort, and the greatest value of each Nat."""
        return tuple(self.scope.sizes.items())


@attrs.frozen
class Gap:
    """An obligation without an answer: the action, the reason, and the question in SMT-LIB if there is one."""

    action: str
    reason: str
    question: Annotated[str | None, OMITTED] = attrs.field(repr=False, default=None)


@attrs.frozen
class Suggestion:
    """A clause, as a lemma, that excludes a counterexample and holds in every explored state.

    Every step preserves it, given the assumptions. ``restores``: whether the obligation is met with it.
    """

    lemma: Annotated[Property, written_by(_clause, "clause")]
    restores: bool

    @property
    def text(self) -> str:
        """The clause as the model language writes it."""
        return _clause(self.lemma)


def _clause(lemma: Property) -> str:
    return written(lemma.body)


def _heading(claim: Claim) -> dict[str, Any]:
    return {"name": claim.name, "kind": claim.kind, "ids": list(claim.ids)}


@attrs.frozen(kw_only=True)
class PropertyProof:
    """The answer for one property.

    ``queries``: the number of queries. ``needs``: the invariants and lemmas that the proof uses. ``resting_on``: the
    ones among them that are not proved, so that this property is not proved either. ``ghosts``: the ghosts that the
    property and its needs read. ``length``: above 1, the length of the k-induction that was needed.
    """

    claim: Annotated[Claim, MERGED, written_by(_heading)]
    verdict: Verdict
    queries: int
    needs: tuple[str, ...]
    length: int = 1
    resting_on: tuple[str, ...] = ()
    ghosts: tuple[str, ...] = ()
    counterexample: Annotated[Counterexample | None, written_by(_counterexample)] = None
    gaps: tuple[Gap, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()


@attrs.frozen
class SanityCheck:
    """One check that the proof is not vacuous: ``what`` must be possible.

    ``size``: the sizes in which it is possible; None if there are none. Then ``problem`` says so, and the proof of
    the property ``of`` is vacuous (None: every proof is).
    """

    what: str
    size: Annotated[tuple[tuple[str, int], ...] | None, PAIRS]
    problem: str | None = None
    of: Annotated[str | None, OMITTED] = None


@attrs.frozen
class ProofTiming:
    """Times in seconds, which depend on the machine: of the whole proof, of Z3 alone in all processes, of the slowest
    questions by name, and of all questions about each property. Only the second one counts questions about one size.
    """

    seconds: float
    solver_seconds: float
    slowest: tuple[tuple[str, float], ...]
    properties: tuple[tuple[str, float], ...] = ()


@attrs.frozen(kw_only=True)
class ProofResult:
    """The answer for a model.

    ``searched``: the searches of the scopes; if one of them has a finding, the verdict is ``violated``. ``trial``: the
    searches of other sizes after everything was proved; None if there were none. ``rests_on``: the grounds of the
    proof. ``second``: the answers of a second prover; None if it was not asked. ``unneeded``: the lemmas that no proof
    needs. ``unstable``: the properties that some seed does not prove. ``cores``: for each obligation that Z3 met, by
    its text, the invariants and lemmas that sufficed.
    """

    model: str
    target: str
    lemmas_from: str | None
    variants: tuple[str, ...]
    removed: Annotated[tuple[str, ...], override(rename="without")]
    fingerprint: str
    verdict: Annotated[Verdict, NextProperty("exit_code")]
    ended_by: str | None
    sorts: Annotated[tuple[tuple[str, str], ...], PAIRS]
    properties: tuple[PropertyProof, ...]
    unneeded: tuple[str, ...]
    unstable: tuple[str, ...]
    seeds: int
    sanity: tuple[SanityCheck, ...]
    searched: tuple[Result, ...]
    rests_on: tuple[ProofGround, ...]
    second: SecondProverResult | None
    trial: Annotated[ProofTrial | None, written_by(_trial)]
    notes: tuple[str, ...]
    timing: ProofTiming = attrs.field(eq=False)
    cores: Annotated[Mapping[str, tuple[str, ...]], OMITTED] = attrs.field(eq=False, factory=dict)

    @property
    def queries(self) -> int:
        """The number of queries for all properties together."""
        return sum(proof.queries for proof in self.properties)

    @property
    def failed_sanity(self) -> tuple[SanityCheck, ...]:
        """The checks that failed: what they demand is not possible."""
        return tuple(checked for checked in self.sanity if checked.problem is not None)

    @property
    def exit_code(self) -> int:
        """12 violated; 1 contradicted; 10 vacuous; 20 not proved, unstable, or unanswered by cvc5; else 0."""
        if self.verdict == "violated":
            return VIOLATED
        if self.verdict == "contradicted":
            return DISAGREES
        if self.failed_sanity:
            return UNSHOWN
        unanswered = self.second is not None and self.second.unanswered
        return HOLDS if self.verdict == "proved" and not self.unstable and not unanswered else OUT_OF_BUDGET


def proof_to_json(result: ProofResult) -> dict[str, Any]:
    """The result as JSON values, equal for equal results but for ``timing``."""
    return {"engine": "prove", **as_object(result)}


def _counterexample(found: Counterexample) -> dict[str, Any]:
    # Without a command that repeats the run, as its first state need not be reachable.
    run = as_json(found.trace)
    return {
        "action": found.action,
        "sizes": dict(found.sizes),
        "run": {name: run[name] for name in ("claim", "steps")},
    }


def _trial(trial: ProofTrial) -> dict[str, Any]:
    return {
        "searches": [
            {
                "sizes": dict(each.scope.sizes),
                "given": {name: list(values) for name, values in each.scope.given.items()},
                "states": each.states,
                "exhausted": each.exhausted,
            }
            for each in trial.attempts
        ],
        "skipped": trial.skipped,
        "violation": as_json(trial.violation),
        "scope": trial.scope_text,
        "problem": trial.problem,
    }
