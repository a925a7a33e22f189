"""The record of runs that another package made, such as a campaign: a case for each finding and each other property."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from holdfast.check.result import OUT_OF_BUDGET
from holdfast.ir.system import System
from holdfast.records.record import Record, case_of, changes_of, identified, plain_case
from holdfast.runs.selection import idempotence, select
from holdfast.trace.trace import Claim, Trace


def record_of_findings(
    system: System,
    command: str,
    scope: str,
    verdict: str,
    exit_code: int,
    findings: Sequence[tuple[Trace, str]],
    figures: Sequence[tuple[str, str]],
    *,
    target: str | None = None,
    properties: Sequence[str] | None = None,
    seconds: float | None = None,
    complete: bool = True,
) -> Record:
    """The record of a campaign. Each finding is a run and its frequency in words (``in 12 of 1,000 runs``).

    ``command`` is the verb of the command line, ``target`` the model's name there; ``properties`` are the chosen names
    or rule ids (None: all). If ``complete`` is false or the exit code is 20, some runs are missing: a property that no
    run violates is then unanswered, not passed.
    """
    cases = []
    for trace, often in findings:
        case = case_of(system, trace)
        cases.append(attrs.evolve(case, message=f"{case.message}, {often}" if often else case.message))
    violated = {trace.shown.name for trace, _ in findings}
    selection = select(system, properties)
    asked = [Claim.of_property(prop) for prop in selection.of_kind("invariant", "lemma", "step")]
    asked += [idempotence(system, action) for action in selection.idempotent]
    is_open = not complete or exit_code == OUT_OF_BUDGET
    for claim in asked:
        if claim.name not in violated:
            message = f"not answered: {verdict}" if is_open else "no run violates it, which is no proof"
            cases.append(plain_case(claim, "unanswered" if is_open else "passed", message))
    record = Record(
        engine=command,
        model=system.name if target is None else target,
        scope=scope,
        changes=changes_of(system.chosen, system.removed),
        verdict=verdict,
        exit_code=exit_code,
        cases=tuple(cases),
        figures=tuple(figures),
        seconds=seconds,
    )
    return identified(record, system.name)
