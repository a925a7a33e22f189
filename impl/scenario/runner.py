"""Runs scenarios step by step, and compares each result with its expectation, up to the first one that differs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from impl.balancer.stages import LoadStages
from impl.scenario import (
    assignment,
    balancer,
    encodings,
    epochs,
    execution,
    inject,
    objects,
    queries,
    streams,
    zone,
)
from impl.scenario.language import OperationCall, Scenario, ScenarioStep
from impl.scenario.matching import Mismatch, differences
from impl.scenario.session import Perform, Result, ScenarioSession

PERFORM: dict[str, Perform] = {
    **streams.PERFORM,
    **objects.PERFORM,
    **inject.PERFORM,
    **queries.PERFORM,
    **assignment.PERFORM,
    **encodings.PERFORM,
    **zone.PERFORM,
    **epochs.PERFORM,
    **balancer.PERFORM,
    **execution.PERFORM,
}
"""The functions that run the operations of the language."""


class Failure(msgspec.Struct, frozen=True):
    """The step that failed: its number from 1, the result, and the differences; or the reason in words.

    ``when``: the change that the runner made to the controller before, such as a change of controller, in words.
    """

    step: ScenarioStep
    number: int
    call: OperationCall
    result: Result = {}
    differences: tuple[Mismatch, ...] = ()
    reason: str = ""
    when: str = ""


class ScenarioVerdict(msgspec.Struct, frozen=True):
    """The outcome of a scenario after ``runs`` runs. ``failure``: None if every result was as expected.

    ``excused``: the rules by which changes of controller were allowed to alter results. ``rounds``: the loads in each
    round of the balancer that the scenario has planned.
    """

    scenario: Scenario
    failure: Failure | None = None
    runs: int = 1
    excused: tuple[str, ...] = ()
    rounds: tuple[LoadStages, ...] = ()


Hook = Callable[[ScenarioSession, int], str | None]
"""Called with the session and the number of a step, from 1. Returns a problem in words, or None."""


def run(
    scenario: Scenario, as_built: frozenset[str] = frozenset(), *, before: Hook | None = None, after: Hook | None = None
) -> ScenarioVerdict:
    """Run a scenario in a session of its own. The hooks run before each step, and after each call."""
    session = ScenarioSession(scenario, as_built)
    for number, step in enumerate(scenario.steps, 1):
        if before is not None:
            before(session, number)
        failure = _run_step(session, step, number, after)
        if failure is not None:
            break
    else:
        failure = None
    return ScenarioVerdict(scenario, failure, rounds=tuple(session.balancer.rounds))


def _run_step(session: ScenarioSession, step: ScenarioStep, number: int, after: Hook | None) -> Failure | None:
    for _ in range(step.repeat):
        for call in step.calls:
            failure = _run_call(session, step, number, call)
            if failure is not None:
                return failure
            problem = None if after is None else after(session, number)
            if problem is not None:
                return Failure(step, number, call, reason=problem)
    return None


def _run_call(session: ScenarioSession, step: ScenarioStep, number: int, call: OperationCall) -> Failure | None:
    try:
        result = PERFORM[step.op](session, call.arguments)
    except Exception as error:  # noqa: BLE001 - a bug of the controller fails the step
        return Failure(step, number, call, reason=f"the controller failed: {type(error).__name__}: {error}")
    found = differences(call.expected, result, step.tolerance)
    return Failure(step, number, call, result, tuple(found)) if found else None
