"""The record of ``live``: a case for each liveness property, with the lasso that violates it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from holdfast.check.live.result import LiveResult, fair_text
from holdfast.ir.system import LIVENESS, System
from holdfast.records.record import Case, Record, case_of, changes_of, identified, numbers, plain_case
from holdfast.trace.text import count
from holdfast.trace.trace import Claim


def live_record(system: System, result: LiveResult, names: Sequence[str] = ()) -> Record:
    """The record of the liveness properties with these names or rule ids; without names, of all."""
    record = Record(
        engine="live",
        model=result.target,
        scope=result.scope,
        changes=changes_of(result.variants, result.removed),
        verdict=result.verdict,
        exit_code=result.exit_code,
        cases=tuple(_cases(system, result, names)),
        figures=numbers(result),
        seconds=result.timing.seconds,
    )
    return identified(record, system.name)


def _cases(system: System, result: LiveResult, names: Sequence[str]) -> Iterator[Case]:
    for trace, reasons in zip(result.findings, result.fair, strict=True):
        case = case_of(system, trace)
        yield attrs.evolve(case, text=f"{case.text}\n\n{fair_text(reasons)}")
    violated = {trace.shown.name for trace in result.findings}
    for prop in system.of_kind(*LIVENESS):
        if prop.name not in violated and (not names or {prop.name, *prop.ids} & set(names)):
            yield _unviolated(Claim.of_property(prop), result)


def _unviolated(claim: Claim, result: LiveResult) -> Case:
    """The case of a property without a violating run: it passes, fails as vacuous, or is unanswered."""
    if result.ended_by is not None:
        return plain_case(claim, "unanswered", f"not answered: ended early ({result.ended_by})")
    found = next(each for each in result.figures.owed if each.claim.name == claim.name)
    cuts = ", ".join(f"{action} by {bound}" for action, bound, _ in result.figures.fair_cuts)
    if found.only_if_cut is not None:
        steps = count(found.only_if_cut, "step")
        said = f"no answer: a run of {steps} violates it if steps that a bound of the scope cut are impossible: {cuts}"
        return plain_case(claim, "unanswered", said)
    if claim.name in {each.name for each in result.vacuous}:
        return plain_case(claim, "failed", "its premise was never true, so it says nothing")
    either = f", whether the steps that a bound cut are possible or not: {cuts}" if cuts else ""
    return plain_case(claim, "passed", f"{_held(claim, count(found.owing, 'state'))}{either}")


def _held(claim: Claim, states: str) -> str:
    """What was decided, in words; ``states``: the number of states in which the goal is owed, or is false."""
    match claim.kind:
        case "always_eventually":
            return f"false in {states}, and always true again later"
        case "eventually_always":
            return f"false in {states}, and in every fair run true for good at last"
        case _:
            return f"owed in {states}, and it always comes"
