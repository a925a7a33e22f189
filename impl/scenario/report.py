"""Verdicts as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from impl.scenario.language import OperationCall, ScenarioStep
from impl.scenario.matching import Mismatch, show
from impl.scenario.runner import Failure, ScenarioVerdict

WIDE = 60
"""Values longer than this stand below each other, not side by side."""


def line(verdict: ScenarioVerdict) -> str:
    """One line about a scenario."""
    scenario = verdict.scenario
    word = "ok  " if verdict.failure is None else "FAIL"
    steps = "1 step" if len(scenario.steps) == 1 else f"{len(scenario.steps)} steps"
    blank = "" if any(call.expected.entries for step in scenario.steps for call in step.calls) else ", no expectation"
    runs = "" if verdict.runs == 1 else f", {verdict.runs} runs"
    excused = f", differs as {', '.join(verdict.excused)} says" if verdict.excused else ""
    return f"{word}  {scenario.file}:{scenario.line}: {scenario.name} ({steps}{blank}{runs}{excused})"


def text(verdict: ScenarioVerdict) -> str:
    """The line of a scenario and, if it failed, the step with expected and actual values side by side."""
    if verdict.failure is None:
        return line(verdict)
    return "\n".join([line(verdict), *(f"  {each}" for each in failure_lines(verdict.failure))])


def failure_lines(failure: Failure) -> list[str]:
    """The failed step, its differences in the order in which they were found, and the results that agree."""
    head = f"{place(failure)}: {title(failure)}"
    if failure.reason:
        return [head, f"  {failure.reason}"]
    differing = {each.path.partition(".")[0].partition("[")[0] for each in failure.differences}
    agreeing = [str(name) for name in failure.call.expected.entries if name not in differing]
    rest = [f"  as expected: {', '.join(agreeing)}"] if agreeing else []
    return [head, *(f"  {each}" for each in _table(failure.differences)), *rest]


def place(failure: Failure) -> str:
    """The file and line of the failed call."""
    return f"{failure.step.file}:{failure.call.line}"


def why(failure: Failure) -> str:
    """The first difference of the failed step, or the reason in words."""
    if not failure.differences:
        return failure.reason
    first = failure.differences[0]
    return f"{first.path} is {first.actual}, expected {first.expected}"


def title(failure: Failure) -> str:
    """The failed step in one line, with the change that the runner made to the controller before it, if any."""
    when = f" ({failure.when})" if failure.when else ""
    return f"step {failure.number}{when}: {said(failure.step, failure.call)}"


def said(step: ScenarioStep, call: OperationCall) -> str:
    """A call as a scenario file writes it."""
    return f"{{{', '.join([f'op: {step.op}', *(f'{name}: {show(value)}' for name, value in call.said.items())])}}}"


def summary(verdicts: Sequence[ScenarioVerdict]) -> str:
    """How many scenarios passed, and how many failed."""
    failed = sum(verdict.failure is not None for verdict in verdicts)
    count = "1 scenario" if len(verdicts) == 1 else f"{len(verdicts)} scenarios"
    return f"{count}, {failed} failed" if failed else f"{count}, all as expected"


def to_json(verdict: ScenarioVerdict) -> str:
    """A verdict as one line of JSON."""
    scenario, failure = verdict.scenario, verdict.failure
    answer: dict[str, Any] = {
        "file": scenario.file,
        "line": scenario.line,
        "name": scenario.name,
        "verdict": "passed" if failure is None else "failed",
        "steps": len(scenario.steps),
        "runs": verdict.runs,
        "excused": list(verdict.excused),
    }
    if failure is not None:
        answer["failure"] = {
            "file": failure.step.file,
            "line": failure.call.line,
            "step": failure.number,
            "call": said(failure.step, failure.call),
            "when": failure.when,
            "reason": failure.reason,
            "differences": [
                {"path": each.path, "expected": each.expected, "actual": each.actual} for each in failure.differences
            ],
        }
    return json.dumps(answer, ensure_ascii=False)


def _table(rows: Sequence[Mismatch]) -> list[str]:
    """The differences in three columns. A row with a wide value takes three lines instead."""
    narrow = [row for row in rows if max(len(row.expected), len(row.actual)) <= WIDE]
    first = max((len(row.path) for row in narrow), default=0)
    second = max((len(row.expected) for row in [*narrow, Mismatch("", "expected", "")]), default=0)
    lines = [f"{'':{first}}  {'expected':{second}}  actual"] if narrow else []
    for row in rows:
        if row in narrow:
            lines.append(f"{row.path:{first}}  {row.expected:{second}}  {row.actual}")
        else:
            lines += [row.path, f"  expected  {row.expected}", f"  actual    {row.actual}"]
    return lines
