"""What a prover answers: of each property whether it is proved, of what, and what stands in the way."""

from __future__ import annotations

from typing import Any, Literal

import attrs

from holdfast.check.prove.rests import ProofGround
from holdfast.check.prove.second import SecondProverResult
from holdfast.check.prove.trial import ProofTrial
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, UNSHOWN, VIOLATED, Result, to_json, trace_to_json
from holdfast.ir.system import Property, Scope
from holdfast.ir.writing import written
from holdfast.trace.trace import Claim, Trace

Verdict = Literal["proved", "violated", "not_inductive", "unknown", "contradicted", "vacuous"]
"""``vacuous``: it is proved, of nothing: see ``holdfast.check.prove.sanity``.

``contradicted``: it is proved, and a search of other sizes violates it, so that one of the two is wrong."""

DISAGREES = 1
"""The exit code where the prover and the search contradict one another."""


@attrs.frozen
class Counterexample:
    """A counterexample to induction: a state in which all that is assumed holds, and a step that breaks the property.

    The state need not be one that can be reached. The run has it as its first state. No size of the ``scope`` can be
    smaller. ``action`` is ``init`` where the property is false at a start, which the run then is.
    """

    action: str
    trace: Trace
    scope: Scope

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """How many elements there are of each sort, and how far each Nat goes."""
        return tuple(self.scope.sizes.items())


@attrs.frozen
class Gap:
    """An obligation without an answer: why, and the question in SMT-LIB, if there is one."""

    action: str
    reason: str
    question: str | None = attrs.field(repr=False, default=None)


@attrs.frozen
class Suggestion:
    """A clause that holds in every state that was explored and excludes a counterexample, as a lemma.

    Every step keeps it, with what is assumed. ``restores`` says whether the obligation is met with it, too.
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

    ``queries`` were asked. ``needs`` are the invariants and lemmas from which it follows that the next state has the
    property; ``resting_on`` those of them that are not proved, so that this one is not either. ``ghosts`` are those
    that all this reads. A ``length`` above 1 is that of the k-induction that was needed.
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
    """One thing that must be possible, or the proof is empty: ``size`` is where it is; None if it is nowhere.

    ``of`` is the property whose proof is empty; None if every proof is.
    """

    what: str
    size: tuple[tuple[str, int], ...] | None
    problem: str | None = None
    of: str | None = None


@attrs.frozen
class ProofTiming:
    """What depends on the machine and the hour, in seconds.

    All of it, of Z3 alone, of the slowest questions, and of all questions about each property.
    """

    seconds: float
    solver_seconds: float
    slowest: tuple[tuple[str, float], ...]
    properties: tuple[tuple[str, float], ...] = ()


@attrs.frozen(kw_only=True)
class ProofResult:
    """The answer for a model.

    ``searched`` are the searches made beside; a violation found there makes the verdict. ``trial`` is what was searched
    after everything was proved, to see whether that can be; None if it was not. ``rests_on`` is what the formulas take
    for true, and what was tried. ``second`` is what a second prover says; None if it was not asked. ``unneeded`` are
    the lemmas that no proof needs. ``unstable`` are the properties that some seed does not prove.
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
        """How many questions were asked for all properties together."""
        return sum(proof.queries for proof in self.properties)

    @property
    def failed_sanity(self) -> tuple[SanityCheck, ...]:
        """What must be possible and is not."""
        return tuple(checked for checked in self.sanity if checked.problem is not None)

    @property
    def exit_code(self) -> int:
        """12 violated; 1 the search contradicts the proof; 20 not proved; 10 proved of nothing; else 0."""
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
    """The two states; no command finds them again, for the first need not be reachable."""
    return {name: value for name, value in trace_to_json(trace).items() if name not in ("command", "replay", "length")}
