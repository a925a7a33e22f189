"""Runs a scenario again and again, each time with a change of controller before another step.

A change of controller loses its memory by rule: the generations of destroyed objects begin anew (OB-05), the heartbeats
of brokers are forgotten (ND-30), and election timers are armed anew (EL-12) or, as built, lost (EL-06). A result that
differs is excused by such a rule only if the scenario passes with the same change where that memory is kept.
"""

from __future__ import annotations

from copy import deepcopy

from msgspec.structs import replace

from impl.scenario.language import Scenario
from impl.scenario.runner import Verdict, run
from impl.scenario.world import World

TIMED = {"object_clock": ("OB-05",), "registration": ("ND-30",), "tick": ("EL-06", "EL-12")}
"""The operations that look at the memory of the controller, with the rules about its loss."""


def run_with_failovers(
    scenario: Scenario, as_built: frozenset[str] = frozenset(), *, at: tuple[int, ...] | None = None
) -> Verdict:
    """Run a scenario plainly, then with a change of controller before each step (``at``: before these steps only)."""
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
            runs += 1
            if run(scenario, as_built, before=_Change(number, keeps=True)).failure is not None:
                rules = []
        excused |= dict.fromkeys(rules)
        when = f"with a change of controller before step {number}"
        failure = None if rules else replace(verdict.failure, when=when)
        verdict = Verdict(scenario, failure)
    return replace(verdict, runs=runs, excused=tuple(excused))


class _Change:
    """A change of controller before one step; remembers the rules by which memory was lost or restored.

    ``keeps``: the new controller has the memory of the old one.
    """

    def __init__(self, number: int, *, keeps: bool = False) -> None:
        self.number = number
        self.keeps = keeps
        self.lost: set[str] = set()

    def __call__(self, world: World, number: int) -> str | None:
        if number == self.number:
            before = world.memory()
            controller = world.controller
            kept = deepcopy((controller.object_clock, controller.heartbeats, controller.timers))
            controller.fail_over()
            if self.keeps:
                controller.object_clock, controller.heartbeats, controller.timers = kept
            after = world.memory()
            self.lost = {rule for rule in before if before[rule] != after.get(rule)}
        return None

    def excuses(self, scenario: Scenario, failed: int) -> list[str]:
        """The rules that explain a failure: their memory was lost, and a step since then looked at it."""
        since = {step.op for step in scenario.steps[self.number - 1 : failed]}
        return sorted(rule for op in since for rule in TIMED.get(op, ()) if rule in self.lost)
