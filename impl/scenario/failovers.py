"""Runs a scenario once for each of its steps, each time with a change of controller before that step.

By rule, a new controller lacks the memory of the old one: the generations of destroyed objects begin again (OB-05), the
heartbeats of brokers are forgotten (ND-30), and election timers are armed again (EL-12) or, as built, lost (EL-06).
Such a rule excuses a different result only if the scenario passes with the same change and with the memory kept.
"""

from __future__ import annotations

from copy import deepcopy

from msgspec.structs import replace

from impl.scenario.language import Scenario
from impl.scenario.runner import ScenarioVerdict, run
from impl.scenario.session import ScenarioSession

TIMED = {"object_clock": ("OB-05",), "registration": ("ND-30",), "tick": ("EL-06", "EL-12")}
"""By operation that reads the memory of the controller: the rules about the loss of that memory."""


def run_with_failovers(
    scenario: Scenario, as_built: frozenset[str] = frozenset(), *, at: tuple[int, ...] | None = None
) -> ScenarioVerdict:
    """Run a scenario without a change of controller, then again with a change before each step, one step a run.

    ``at``: the steps before which the controller changes; None for all. Stops at the first failure without an excuse.
    """
    verdict = run(scenario, as_built)
    excused: dict[str, None] = {}
    runs = 1
    for number in range(1, len(scenario.steps) + 1) if at is None else at:
        if verdict.failure is not None or number > len(scenario.steps):
            break
        change = _Change(number)
        verdict = run(scenario, as_built, before=change)
        runs += 1
        if verdict.failure is None:
            continue
        rules = change.excuses(scenario, verdict.failure.number)
        if rules:
            # If the failure remains without the loss of memory, the loss does not explain it.
            runs += 1
            if run(scenario, as_built, before=_Change(number, keeps=True)).failure is not None:
                rules = []
        excused |= dict.fromkeys(rules)
        when = f"with a change of controller before step {number}"
        failure = None if rules else replace(verdict.failure, when=when)
        verdict = replace(verdict, failure=failure)
    return replace(verdict, runs=runs, excused=tuple(excused))


class _Change:
    """A change of controller before one step. ``lost``: the rules about the memory that the change altered.

    ``keeps``: whether the new controller keeps the memory of the old one.
    """

    def __init__(self, number: int, *, keeps: bool = False) -> None:
        self.number = number
        self.keeps = keeps
        self.lost: set[str] = set()

    def __call__(self, session: ScenarioSession, number: int) -> str | None:
        if number == self.number:
            before = session.memory()
            controller = session.controller
            kept = deepcopy((controller.object_clock, controller.heartbeats, controller.timers))
            controller.fail_over()
            if self.keeps:
                controller.object_clock, controller.heartbeats, controller.timers = kept
            after = session.memory()
            self.lost = {rule for rule in before if before[rule] != after.get(rule)}
        return None

    def excuses(self, scenario: Scenario, failed: int) -> list[str]:
        """The rules that may explain a failure: their memory was lost, and a step since the change has read it."""
        since = {step.op for step in scenario.steps[self.number - 1 : failed]}
        return sorted(rule for op in since for rule in TIMED.get(op, ()) if rule in self.lost)
