"""The result of a proof: for each property a verdict, the lemmas that its proof needs, and what stands in the way."""

from __future__ import annotations

from typing import Any, Literal

import attrs

from holdfast.check.prove.expression_text import written
from holdfast.check.prove.rests import ProofGround
from holdfast.check.prove.second_prover import SecondProverResult
from holdfast.check.prove.trial import ProofTrial
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, UNSHOWN, VIOLATED, Result, to_json, trace_to_json
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
    question: str | None = attrs.field(repr=False, default=None)


@attrs.frozen
class Suggestion:
    """A clause, as a lemma, that excludes a counterexample and holds in every explored state.

    Every step preserves it, given the assumptions. ``restores``: whether the obligation is met with it.
    """

    lemma: Property
    restores: bool

    @property
    def text(self) -> str:
        """The clause as the model language writes it."""
        return written(self.lemma.body)


@attrs.frozen(kw_only=True)
class PropertyProof:
    """The answer for one property.

    ``queries``: the number of queries. ``needs``: the invariants and lemmas that the proof uses. ``resting_on``: the
    ones among them that are not proved, so that this property is not proved either. ``ghosts``: the ghosts that the
    property and its needs read. ``length``: above 1, the length of the k-induction that was needed.
    """

    claim: Claim
    verdict: Verdict
    queries: int
    needs: tuple[str, ...]
    resting_on: tuple[str, ...] = ()
    ghosts: tuple[str, ...] = ()
    counterexample: Counterexample | None = None
    gaps: tuple[Gap, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    length: int = 1


@attrs.frozen
class SanityCheck:
    """One check that the proof is not vacuous: ``what`` must be possible.

    ``size``: the sizes in which it is possible; None if there are none. Then ``problem`` says so, and the proof of
    the property ``of`` is vacuous (None: every proof is).
    """

    what: str
    size: tuple[tuple[str, int], ...] | None
    problem: str | None = None
    of: str | None = None


@attrs.frozen
class ProofTiming:
    """Times in seconds, which depend on the machine: of the whole proof, of Z3 alone, of the slowest questions by name,
    and of all questions about each property.
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
    needs. ``unstable``: the properties that some seed does not prove.
    """

    model: str
    target: str
    lemmas_from: str | None
    variants: tuple[str, ...]
    removed: tuple[str, ...]
    fingerprint: str
    verdict: Verdict
    ended_by: str | None
    sorts: tuple[tuple[str, str], ...]
    properties: tuple[PropertyProof, ...]
    unneeded: tuple[str, ...]
    unstable: tuple[str, ...]
    seeds: int
    sanity: tuple[SanityCheck, ...]
    searched: tuple[Result, ...]
    trial: ProofTrial | None
    rests_on: tuple[ProofGround, ...]
    second: SecondProverResult | None
    notes: tuple[str, ...]
    timing: ProofTiming = attrs.field(eq=False)

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
    return {
        "engine": "prove",
        "model": result.model,
        "target": result.target,
        "lemmas_from": result.lemmas_from,
        "variants": list(result.variants),
        "without": list(result.removed),
        "fingerprint": result.fingerprint,
        "verdict": result.verdict,
        "exit_code": result.exit_code,
        "ended_by": result.ended_by,
        "sorts": dict(result.sorts),
        "properties": [_proof(proof) for proof in result.properties],
        "unneeded": list(result.unneeded),
        "unstable": list(result.unstable),
        "seeds": result.seeds,
        "sanity": [
            {
                "what": checked.what,
                "size": None if checked.size is None else dict(checked.size),
                "problem": checked.problem,
            }
            for checked in result.sanity
        ],
        "searched": [to_json(each) for each in result.searched],
        "rests_on": [{"what": ground.what, "text": ground.text} for ground in result.rests_on],
        "second": None if result.second is None else attrs.asdict(result.second),
        "trial": None if result.trial is None else _trial(result.trial),
        "notes": list(result.notes),
        "timing": attrs.asdict(result.timing),
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
        "violation": None if trial.violation is None else to_json(trial.violation),
        "scope": trial.scope_text,
        "problem": trial.problem,
    }


def _proof(proof: PropertyProof) -> dict[str, Any]:
    found = proof.counterexample
    return {
        "name": proof.claim.name,
        "kind": proof.claim.kind,
        "ids": list(proof.claim.ids),
        "verdict": proof.verdict,
        "queries": proof.queries,
        "needs": list(proof.needs),
        "length": proof.length,
        "resting_on": list(proof.resting_on),
        "ghosts": list(proof.ghosts),
        "counterexample": None
        if found is None
        else {"action": found.action, "sizes": dict(found.sizes), "run": _run(found.trace)},
        "gaps": [{"action": gap.action, "reason": gap.reason} for gap in proof.gaps],
        "suggestions": [{"clause": each.text, "restores": each.restores} for each in proof.suggestions],
    }


def _run(trace: Trace) -> dict[str, Any]:
    """The trace as JSON values, without a command that repeats it: the first state need not be reachable."""
    return {name: value for name, value in trace_to_json(trace).items() if name not in ("command", "replay", "length")}
