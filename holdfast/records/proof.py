"""The records of ``prove``: a case for each property and each sanity check; with ``--ablate``, one for each lemma."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from holdfast.check.prove.ablation import Ablation, Ablations
from holdfast.check.prove.result import ProofResult, PropertyProof, SanityCheck
from holdfast.check.prove.text import counterexample_text
from holdfast.check.prove.unroll import DepthResult
from holdfast.ir.system import System
from holdfast.records.record import Case, Record, case_of, changes_of, identified, plain_case
from holdfast.runs.selection import idempotence, select
from holdfast.trace.text import count
from holdfast.trace.trace import Claim

NOT_ASKED = "not answered: a violation ended the proof"


def proof_record(system: System, target: str, result: ProofResult, names: Sequence[str] | None) -> Record:
    """The record of a proof of the named properties (None: all), and of the lemmas that it needs.

    ``target`` is the model's name on the command line; its lemmas may be in another file.
    """
    counted = Counter(proof.verdict for proof in result.properties)
    record = Record(
        engine="prove",
        model=target,
        scope="",
        changes=changes_of(result.variants, result.removed),
        verdict=result.verdict,
        exit_code=result.exit_code,
        cases=(*_proved(system, result, names), *(_possible(system, checked) for checked in result.sanity)),
        figures=(
            *((verdict, str(number)) for verdict, number in counted.items()),
            ("queries", str(result.queries)),
            ("seeds", str(result.seeds)),
            *((("lemmas", result.lemmas_from),) if result.lemmas_from is not None else ()),
            ("fingerprint", result.fingerprint),
        ),
        seconds=result.timing.seconds,
    )
    return identified(record, system.name)


def _proved(system: System, result: ProofResult, names: Sequence[str] | None) -> Iterator[Case]:
    """The cases of the properties: first the violations, then other answers, then properties that were not tried."""
    found = [trace for each in result.searched for trace in each.findings]
    yield from (case_of(system, trace) for trace in found)
    told = {trace.shown.name for trace in found}
    for proof in result.properties:
        if proof.claim.name not in told:
            yield _property(proof, result)
    told |= {proof.claim.name for proof in result.properties}
    for claim in _goals(system, names):
        if claim.name not in told:
            if result.verdict == "violated":
                yield plain_case(claim, "skipped", NOT_ASKED)
            else:
                yield plain_case(claim, "unanswered", f"not answered: ended early ({result.ended_by})")


def _property(proof: PropertyProof, result: ProofResult) -> Case:
    """The case of one property.

    A property that is proved passes, even if another property is violated; unless another engine contradicts the proof.
    """
    claim, title = proof.claim, proof.claim.title
    if proof.verdict == "proved" and result.verdict != "contradicted":
        if claim.name in result.unstable:
            return plain_case(claim, "unanswered", f"{title} is proved, but not with every seed of the solver")
        by = f" by {proof.length}-induction" if proof.length > 1 else ""
        queries = f"{proof.queries:,} {'query' if proof.queries == 1 else 'queries'}"
        return plain_case(claim, "passed", f"proved{by}, for any sizes, {queries}")
    if result.verdict == "violated":
        return plain_case(claim, "skipped", NOT_ASKED)
    if proof.verdict == "vacuous":
        return plain_case(claim, "failed", f"the proof of {title} says nothing: something is not possible")
    if result.verdict == "contradicted":
        return plain_case(claim, "failed", f"{title}: another engine contradicts the proof")
    if proof.verdict == "unknown":
        gaps = "; ".join(f"{_where(gap.action)}: {gap.reason}" for gap in proof.gaps)
        return plain_case(claim, "unanswered", f"no answer {gaps}" if gaps else f"not answered: {result.ended_by}")
    found = proof.counterexample
    if found is None:
        rests = f": it rests on {', '.join(proof.resting_on)}" if proof.resting_on else ""
        return plain_case(claim, "failed", f"{title} is not proved{rests}")
    kept = "is false at a start" if found.action == "init" else f"is not proved: not kept by {found.action}"
    return plain_case(claim, "failed", f"{title} {kept}", text=counterexample_text(proof))


def _where(action: str) -> str:
    return "at the start" if action == "init" else f"after {action}"


def _possible(system: System, checked: SanityCheck) -> Case:
    """The case of a sanity check: something must be possible, or the proof holds for no behaviour at all."""
    places = {action.name: action.at for action in system.actions} | {prop.name: prop.at for prop in system.properties}
    at = places.get(checked.what.partition(" ")[0], system.init.at)
    sizes = "" if checked.size is None else ", ".join(f"{name} {size}" for name, size in checked.size)
    return Case(
        name=checked.what,
        kind="sanity",
        sentence="What must be possible, or the proof says nothing.",
        at=at,
        status="passed" if checked.problem is None else "failed",
        message=f"possible in size {sizes}" if checked.problem is None else checked.problem,
    )


def _goals(system: System, names: Sequence[str] | None) -> Iterator[Claim]:
    """The claims that the names select for the prover; None selects all."""
    selection = select(system, names)
    yield from (Claim.of_property(prop) for prop in selection.of_kind("invariant", "lemma", "step"))
    yield from (idempotence(system, action) for action in selection.idempotent)


# Runs of a bounded length ----------------------------------------------------------------------------------------


def depth_record(system: System, target: str, result: DepthResult, names: Sequence[str] | None) -> Record:
    """The record of a bounded search of all runs up to a depth (``--depth``)."""
    record = Record(
        engine="prove",
        model=target,
        scope="",
        changes=changes_of(system.chosen, system.removed),
        verdict=result.verdict,
        exit_code=result.exit_code,
        cases=tuple(_within(system, result, names)),
        figures=(
            ("depth", str(result.depth)),
            ("queries", str(result.queries)),
            ("fingerprint", system.fingerprint),
        ),
    )
    return identified(record, system.name)


def _within(system: System, result: DepthResult, names: Sequence[str] | None) -> Iterator[Case]:
    violated = None if result.trace is None else result.trace.shown.name
    if result.trace is not None:
        yield case_of(system, result.trace)
    for claim in _goals(system, names):
        if result.verdict == "none_within":
            within = count(result.depth, "step")
            yield plain_case(claim, "passed", f"not violated within {within}, for any sizes")
        elif result.verdict == "unknown":
            yield plain_case(claim, "unanswered", f"no answer at depth {result.depth}: {result.reason}")
        elif claim.name != violated:
            yield plain_case(claim, "skipped", NOT_ASKED)


# Lemmas left out -------------------------------------------------------------------------------------------------


def ablation_record(system: System, target: str, found: Ablations) -> Record:
    """The record of the proofs without each lemma. A lemma that the proof misses passes; an idle one fails."""
    tried = {row.lemma: row for row in found.rows}
    record = Record(
        engine="prove --ablate",
        model=target,
        scope="",
        changes=changes_of(system.chosen, system.removed),
        verdict="open" if found.ended_by is not None else "all missed" if found.exit_code == 0 else "not all missed",
        exit_code=found.exit_code,
        cases=tuple(
            _left_out(Claim.of_property(lemma), tried.get(lemma.name), found) for lemma in system.of_kind("lemma")
        ),
        figures=(
            ("lemmas", str(len(found.rows))),
            *([("restored", str(found.restored))] if found.suggested else []),
            ("fingerprint", found.fingerprint),
        ),
    )
    return identified(record, system.name)


def _left_out(claim: Claim, row: Ablation | None, found: Ablations) -> Case:
    if row is None:
        return plain_case(claim, "unanswered", f"not left out: ended early ({found.ended_by})")
    if row.ends == "idle":
        return plain_case(claim, "failed", f"everything is proved without {claim.title}; leave it out")
    if row.ends == "open":
        return plain_case(claim, "unanswered", f"no answer without {claim.title}")
    return plain_case(claim, "passed", f"without it {row.name} is not kept by {row.action}")
