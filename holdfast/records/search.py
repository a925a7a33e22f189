"""The record of a search or of random runs: a case for each property that was checked."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from holdfast.check.result import VIOLATION, Answer, Result
from holdfast.ir.system import System
from holdfast.records.record import Record, case_of, changes_of, identified, numbers, plain_case
from holdfast.runs.selection import idempotence
from holdfast.trace.trace import Claim


def search_record(system: System, answer: Answer, command: str, *, expected: bool = False) -> Record:
    """The record of a search or of random runs; ``command`` is the verb of the command line.

    With ``expected``, a violation is the wanted answer, and its case passes.
    """
    found = {trace.shown.name for trace in answer.findings}
    missing = {claim.name for claim in answer.missing} if isinstance(answer, Result) else set()
    vacuous = {claim.name for claim in answer.vacuous} if isinstance(answer, Result) else set()
    open_ended = answer.verdict == "out_of_budget" or answer.ended_by == VIOLATION
    cases = [case_of(system, trace) for trace in answer.findings]
    if expected:
        cases = [attrs.evolve(case, status="passed", message=f"{case.message}, as expected") for case in cases]
    for claim in _asked(system, answer):
        if claim.name in found:
            continue
        if open_ended:
            said = f"not answered: ended early ({answer.ended_by})"
            cases.append(plain_case(claim, "skipped" if answer.ended_by == VIOLATION else "unanswered", said))
        elif claim.name in missing:
            cases.append(plain_case(claim, "failed", "no state that was reached is such a witness"))
        elif claim.name in vacuous:
            cases.append(plain_case(claim, "failed", "its premise was never true, so it says nothing"))
        else:
            cases.append(plain_case(claim, "passed", answer.verdict))
    record = Record(
        engine=command,
        model=answer.target,
        scope=answer.scope,
        changes=changes_of(answer.variants, answer.removed),
        verdict=answer.verdict,
        exit_code=answer.exit_code,
        cases=tuple(cases),
        figures=numbers(answer),
        seconds=getattr(answer.timing, "seconds", None),
    )
    return identified(record, system.name)


def _asked(system: System, answer: Answer) -> Iterator[Claim]:
    """The claims that the engine checked, in the order of the model."""
    asked = {name for name, _ in answer.figures.evaluated} | {each.claim.name for each in answer.witnesses}
    for prop in system.properties:
        if prop.name in asked and prop.kind in ("invariant", "lemma", "step", "witness"):
            yield Claim.of_property(prop)
    for action in system.actions:
        if action.idempotent is not None and idempotence(system, action).name in asked:
            yield idempotence(system, action)
