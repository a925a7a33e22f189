"""The records of ``tlc``: do both checkers agree, and does a model implement the modules that it claims to?"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.check.result import HOLDS, OUT_OF_BUDGET, VIOLATED
from holdfast.check.tlc.agreement import Agreement, Refinement, SecondOpinion
from holdfast.check.tlc.liveness import LiveAgreement
from holdfast.ir.system import LIVENESS
from holdfast.records.record import Case, Moment, Record, Status, changes_of, flow_of, identified
from holdfast.trace.line import replay_command
from holdfast.trace.text import render
from holdfast.trace.trace import Trace

DISAGREES = 1


def agreement_record(opinion: SecondOpinion, agreement: Agreement) -> Record:
    """The record of the comparison of search and TLC: one case for the configuration."""
    said = "both agree" if agreement.agrees else "they disagree"
    case = _case(
        opinion,
        "agreement",
        "tlc",
        "Search and TLC find the same verdict, states, depth and length of a counterexample.",
        "passed" if agreement.agrees else "failed",
        f"{said}: {agreement.theirs}" if agreement.agrees else f"{said}: {'; '.join(agreement.differences)}",
        text="\n".join([f"search  {agreement.ours}", f"TLC     {agreement.theirs}", *agreement.differences]),
        run=agreement.run,
    )
    return _record(
        opinion, [case], "agrees" if agreement.agrees else "disagrees", HOLDS if agreement.agrees else DISAGREES
    )


def claims_record(opinion: SecondOpinion, claims: Sequence[Refinement]) -> Record:
    """The record of the claimed implementations: a case for each module that the model claims to implement."""
    cases = [
        _case(
            opinion,
            claim.name,
            "refinement",
            f"The model implements what {claim.name} says.",
            "passed" if claim.holds else "failed",
            "it does" if claim.holds else f"the model does not implement what {claim.name} says",
            text="" if claim.run is None else render(claim.run),
            run=claim.run,
        )
        for claim in claims
    ]
    holds = all(claim.holds for claim in claims)
    nothing = "the model implements no module in this scope"
    return _record(
        opinion,
        cases or [_nothing(opinion, "refinement", nothing)],
        "exhausted" if holds else "violated",
        HOLDS if holds else VIOLATED,
    )


def owed_record(opinion: SecondOpinion, owed: LiveAgreement | None) -> Record:
    """The record of the comparison of ``live`` and TLC: a case for each liveness property.

    ``owed``: None if the model has none.
    """
    if owed is None:
        return _record(opinion, [_nothing(opinion, "liveness", "the model has no liveness property")], "agrees", HOLDS)
    runs = {run.shown.name: run for run in owed.runs if run.claim is not None}
    cases = []
    for prop in opinion.system.of_kind(*LIVENESS):
        problems = [each for each in owed.differences if each.startswith(f"{prop.name}: ")]
        found = "violated" if prop.name in owed.theirs else "holds"
        cases.append(
            _case(
                opinion,
                prop.name,
                "liveness",
                f"Both find the same of {prop.name}.",
                "failed" if problems else "passed",
                f"they disagree: {'; '.join(problems)}" if problems else f"both agree: {found}",
                text="\n".join(problems),
                run=runs.get(prop.name),
            )
        )
    return _record(opinion, cases, "agrees" if owed.agrees else "disagrees", HOLDS if owed.agrees else DISAGREES)


def unanswered_record(opinion: SecondOpinion, why: str) -> Record:
    """The record of a configuration that was not tried, or for which TLC had no answer."""
    sentence = "Search and TLC find the same."
    return _record(
        opinion, [_case(opinion, "agreement", "tlc", sentence, "unanswered", why)], "unanswered", OUT_OF_BUDGET
    )


def _nothing(opinion: SecondOpinion, name: str, message: str) -> Case:
    return _case(opinion, name, "tlc", "", "skipped", message)


def _case(
    opinion: SecondOpinion,
    name: str,
    kind: str,
    sentence: str,
    status: Status,
    message: str,
    *,
    text: str = "",
    run: Trace | None = None,
) -> Case:
    """A case at the line of the scope: the disagreement concerns the whole scope and no other line of the model."""
    at = opinion.scope.at
    flow: tuple[Moment, ...] = () if run is None else flow_of(opinion.system, run, f"TLC's run ends: {message}", at)
    return Case(
        name=name,
        kind=kind,
        sentence=sentence,
        at=at,
        status=status,
        message=message,
        text=text,
        replay=None if run is None else replay_command(run),
        flow=flow,
    )


def _record(opinion: SecondOpinion, cases: Sequence[Case], verdict: str, exit_code: int) -> Record:
    system = opinion.system
    record = Record(
        engine="tlc",
        model=opinion.target,
        scope=opinion.scope.name,
        changes=changes_of(system.chosen, system.removed),
        verdict=verdict,
        exit_code=exit_code,
        cases=tuple(cases),
        figures=(("fingerprint", system.fingerprint),),
    )
    return identified(record, system.name)
