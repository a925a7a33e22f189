"""The scenarios of one command for their page: what failed, and the steps of each scenario that failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast import __version__
from holdfast.records.system_run import FactTable, SystemPicture, SystemRun, VerdictKind
from impl.cli.load_drawing import load_drawing
from impl.scenario.matching import show
from impl.scenario.report import place, said, summary, title, why
from impl.scenario.runner import Failure, ScenarioVerdict

MOST_PICTURES = 100
"""The most pictures of one page: more are too large to open at once."""


def scenario_runs(verdicts: Sequence[ScenarioVerdict], asked: int, changes: Sequence[str], command: str) -> SystemRun:
    """The scenarios that were run, of ``asked``. ``changes``: the rules that are switched off, and what is built in."""
    failed = [verdict for verdict in verdicts if verdict.failure is not None]
    kind: VerdictKind = "violated" if failed else "holds" if len(verdicts) == asked else "out_of_budget"
    left = asked - len(verdicts)
    words = summary(verdicts) + (f"; interrupted, {left} of {asked} are left" if left else "")
    return SystemRun(
        holdfast=__version__,
        about=", ".join(["Scenarios on the controller", *changes]),
        title=failed[0].scenario.name if len(failed) == 1 else f"{asked} scenarios" if asked > 1 else "A scenario",
        verdict=kind,
        verdict_text=words,
        findings=tuple(_finding(verdict.failure) for verdict in failed if verdict.failure is not None),
        nothing="Every result is as expected.",
        facts=(("scenarios", str(len(verdicts))), ("failed", str(len(failed))), *_left_out(verdicts)),
        pictures=tuple(_pictures(verdicts)[:MOST_PICTURES]),
        tables=tuple(_tables(verdicts)),
        commands=(("Again", command),),
    )


def _finding(failure: Failure) -> str:
    return f"{place(failure)}: {title(failure)}: {why(failure)}"


def _pictures(verdicts: Sequence[ScenarioVerdict]) -> list[SystemPicture]:
    """The rounds of the balancer, first those of scenarios that failed."""
    ordered = sorted(verdicts, key=lambda each: each.failure is None)
    return [
        SystemPicture(
            f"{verdict.scenario.name}: {'loads' if len(verdict.rounds) == 1 else f'loads, round {number}'}",
            load_drawing(each),
        )
        for verdict in ordered
        for number, each in enumerate(verdict.rounds, 1)
    ]


def _left_out(verdicts: Sequence[ScenarioVerdict]) -> Iterator[tuple[str, str]]:
    left = sum(len(verdict.rounds) for verdict in verdicts) - MOST_PICTURES
    if left > 0:
        yield "rounds of the balancer without a picture", str(left)


def _tables(verdicts: Sequence[ScenarioVerdict]) -> Iterator[FactTable]:
    for verdict in verdicts:
        if verdict.failure is not None:
            yield from _failed(verdict, verdict.failure)
    passed = [verdict.scenario for verdict in verdicts if verdict.failure is None]
    if passed:
        rows = ((each.name, f"{each.file}:{each.line}", str(len(each.steps))) for each in passed)
        yield FactTable("As expected", ("scenario", "file", "steps"), tuple(rows))


def _failed(verdict: ScenarioVerdict, failure: Failure) -> Iterator[FactTable]:
    """The steps up to the one that failed, and its differences."""
    steps = []
    for number, step in enumerate(verdict.scenario.steps[: failure.number], 1):
        wrong = number == failure.number
        for call in [failure.call] if wrong else step.calls:
            expected = ", ".join(f"{name}: {show(value)}" for name, value in call.expected.entries.items())
            as_expected = "no" if wrong else "yes"
            steps.append((str(number), f"{step.file}:{call.line}", said(step, call), expected, as_expected))
    head = ("step", "line", "call", "expected", "as expected")
    yield FactTable(f"{verdict.scenario.name}: the steps", head, tuple(steps))
    if failure.differences:
        rows = tuple((each.path, each.expected, each.actual) for each in failure.differences)
        yield FactTable(
            f"{verdict.scenario.name}: what differs at step {failure.number}", ("result", "expected", "actual"), rows
        )
