"""A simulated run for its page: what oracles object to, the timeline, and what happened."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from holdfast import __version__
from holdfast.records.system_run import SystemMoment, SystemRun, VerdictKind
from impl.cli.finding import SimulationFinding, commands, mended_of
from impl.cli.simulation_drawing import drawing
from impl.oracles.verdict import Violation
from impl.sim.case_file import SimulationCase
from impl.sim.check import CheckResult, Question, check
from impl.sim.summary import title
from impl.sim.timeline import rows

MOST_MOMENTS = 4_000
"""The most lines of a run that its page has."""
LEGEND = (
    "The operations of clients stand above the nodes. An operation is green if it was done, grey if it had no effect, "
    "and ochre if nobody knows. Partitions have the colour and the number of the node that leads them; a dashed box "
    "means nobody. Each node has a row with its processes; a cross is the end of one, and a shaded part is a pause. "
    "Each kind of fault has a row. Point at a mark for its time."
)


def simulated_run(question: Question, checked: CheckResult, finding: SimulationFinding | None) -> SystemRun:
    """A run and its findings. ``finding``: what was found of it, whose small run is shown instead; None for nothing."""
    shown = checked if finding is None else finding.shown
    violation = None if finding is None else finding.violation
    moments = list(_moments(shown, violation))
    verdict, words = _verdict(checked, finding)
    return SystemRun(
        holdfast=__version__,
        about=title(question, f"seed {question.seed if finding is None else finding.case.seed}"),
        title="A simulated run" if finding is None else f"A violation: {finding.violation.oracle}",
        verdict=verdict,
        verdict_text=words,
        findings=tuple(_findings(shown, finding)),
        nothing="No oracle objects to anything.",
        drawing=drawing(shown.run, -1 if violation is None else violation.key),
        legend=LEGEND,
        facts=tuple(_facts(shown)),
        moments=tuple(moments if len(moments) <= MOST_MOMENTS else moments[:MOST_MOMENTS]),
        left_out=max(0, len(moments) - MOST_MOMENTS),
        commands=tuple(_commands(finding)),
    )


def kept_run(case: SimulationCase) -> SystemRun | None:
    """The run of a case, made again; None if it no longer violates what the case names."""
    checked = check(case.question())
    found = next((each for each in checked.violations if each.oracle == case.violation.oracle), None)
    if found is None:
        return None
    finding = SimulationFinding(
        seed=case.seed,
        violation=found,
        case=case,
        before=(len(case.script), len(case.faults)),
        runs=0,
        complete=False,
        path=None,
        mended=mended_of(case),
        moments=(),
        shown=checked,
    )
    return simulated_run(case.question(), checked, finding)


def _verdict(checked: CheckResult, finding: SimulationFinding | None) -> tuple[VerdictKind, str]:
    if finding is not None:
        return "violated", finding.violation.message
    return ("holds", "nothing violated") if checked.error is None else ("unknown", f"not judged: {checked.error}")


def _findings(shown: CheckResult, finding: SimulationFinding | None) -> Iterator[str]:
    yield from (f"{each.oracle}: {each.message}" for each in shown.violations)
    if shown.error is not None:
        yield f"The run cannot be judged: {shown.error}"
    if finding is not None and finding.mended is not None:
        found = _listed(finding.mended)
        yield f"With all rules {found}." if found else "With all rules the same run violates nothing."


def _listed(violations: Iterable[Violation]) -> str:
    return "; ".join(f"{each.oracle}: {each.message}" for each in violations)


def _moments(shown: CheckResult, violation: Violation | None) -> Iterator[SystemMoment]:
    for time, who, text in rows(shown.run, violation):
        at = f"{(time - shown.run.begin) / 1_000:.3f}"
        if who == "=":
            yield SystemMoment(at, "", text, "state")
        else:
            yield SystemMoment(at, who, text, "fault" if who == "fault" else "")
    if violation is not None:
        yield SystemMoment("", violation.oracle, violation.message, "violated")


def _facts(shown: CheckResult) -> Iterator[tuple[str, str]]:
    run = shown.run
    for name, count in run.counts.items():
        if count:
            yield name, f"{count:,}"
    happened = Counter(fault.kind for fault in run.faults)
    yield "faults", ", ".join(f"{kind} {count:,}" for kind, count in sorted(happened.items())) or "none"
    yield "looked at", ", ".join(f"{name} {count:,}" for name, count in sorted(shown.looked.items())) or "nothing"
    if run.missing:
        yield "at the end", run.missing


def _commands(finding: SimulationFinding | None) -> Sequence[tuple[str, str]]:
    if finding is None or finding.path is None:
        return ()
    file = shlex.quote(str(finding.path))
    logs = [each.partition("  (")[0] for each in commands(finding.case, file)]
    return [("Again", f"holdfast simulate {file}"), *(("As a log", each) for each in logs)]
