"""Runs scenarios step by step, and compares each result with its expectation, up to the first one that differs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from impl.scenario import assignment, inject, objects, queries, streams
from impl.scenario.language import Call, Scenario, Step
from impl.scenario.matching import Difference, differences
from impl.scenario.world import Perform, Result, World

PERFORM: dict[str, Perform] = {
    **streams.PERFORM,
    **objects.PERFORM,
    **inject.PERFORM,
    **queries.PERFORM,
    **assignment.PERFORM,
}
"""The functions that run the operations of the language."""


class Failure(msgspec.Struct, frozen=True):
    """The step that failed: its number from 1, the result, and the differences; or the reason in words.

    ``when``: the change that the runner made to the controller before, such as a change of controller, in words.
    """

    step: Step
    number: int
    call: Call
    result: Result = {}
    differences: tuple[Difference, ...] = ()
    reason: str = ""
    when: str = ""


class ScenarioVerdict(msgspec.Struct, frozen=True):
    """The outcome of a scenario after ``runs`` runs. ``failure``: None if every result was as expected.

    ``excused``: the rules by which changes of controller were allowed to alter results.
    """

    scenario: Scenario
    failure: Failure | None = None
    runs: int = 1
    excused: tuple[str, ...] = ()


Hook = Callable[[World, int], str | None]
"""Called with the world and the number of a step, from 1. Returns a problem in words, or None."""


def run(
    scenario: Scenario, as_built: frozenset[str] = frozenset(), *, before: Hook | None = None, after: Hook | None = None
) -> ScenarioVerdict:
    """Run a scenario in a world of its own. The hooks run before each step, and after each call."""
    world = World(scenario, as_built)
    for number, step in enumerate(scenario.steps, 1):
        if before is not None:
            before(world, number)
        failure = _run_step(world, step, number, after)
        if failure is not None:
            return ScenarioVerdict(scenario, failure)
    return ScenarioVerdict(scenario)


def _run_step(world: World, step: Step, number: int, after: Hook | None) -> Failure | None:
    for _ in range(step.repeat):
        for call in step.calls:
            failure = _run_call(world, step, number, call)
            if failure is not None:
                return failure
            problem = None if after is None else after(world, number)
            if problem is not None:
                return Failure(step, number, call, reason=problem)
    return None


def _run_call(world: World, step: Step, number: int, call: Call) -> Failure | None:
    try:
        result = PERFORM[step.op](world, call.arguments)
    except Exception as error:  # noqa: BLE001 - a bug of the controller fails the step
        return Failure(step, number, call, reason=f"the controller failed: {type(error).__name__}: {error}")
    found = differences(call.expected, result, step.tolerance)
    return Failure(step, number, call, result, tuple(found)) if found else None
