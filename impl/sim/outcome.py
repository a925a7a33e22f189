"""The outcome of a run, without the run itself: small enough to send to another process, and to add up."""

from __future__ import annotations

from collections import Counter

import msgspec

from impl.oracles.verdict import Violation
from impl.sim.check import CheckResult
from impl.tasks import Place


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of the run of a seed.

    ``error``: why there is no verdict, None if there is one. ``looked``: how much the oracles have looked at.
    ``counts``: figures of the run. ``drawn``: the kinds of faults that the run had; ``happened``: how often each kind
    did. ``crashed``: how often a task waited at an await when its process crashed. ``decided``: how often each rule
    refused a request or decided a branch.
    """

    seed: int
    violations: tuple[Violation, ...]
    error: str | None
    looked: dict[str, int]
    counts: dict[str, int]
    drawn: tuple[str, ...]
    happened: dict[str, int]
    crashed: dict[Place, int]
    decided: dict[str, int]


def outcome(checked: CheckResult) -> RunSummary:
    """The outcome of a run that the oracles have judged."""
    run = checked.run
    return RunSummary(
        seed=run.seed,
        violations=checked.violations,
        error=checked.error,
        looked=checked.looked,
        counts=run.counts,
        drawn=tuple(sorted(run.drawn)),
        happened=run.happened,
        crashed=run.crashed,
        decided=run.decided,
    )


class Totals:
    """Outcomes added up. ``least`` and ``most``: of each count, the least and the most of a run.

    ``drew`` and ``had``: how many runs drew a kind of fault, and in how many of these it happened.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.violated: list[RunSummary] = []
        self.errors: list[RunSummary] = []
        self.counts: Counter[str] = Counter()
        self.least: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.looked: Counter[str] = Counter()
        self.drew: Counter[str] = Counter()
        self.had: Counter[str] = Counter()
        self.happened: Counter[str] = Counter()
        self.crashed: Counter[Place] = Counter()
        self.decided: Counter[str] = Counter()

    def add(self, each: RunSummary) -> None:
        """Add the outcome of a further run."""
        self.runs += 1
        if each.violations:
            self.violated.append(each)
        if each.error is not None:
            self.errors.append(each)
        self.counts.update(each.counts)
        for name, count in each.counts.items():
            self.least[name] = min(self.least.get(name, count), count)
            self.most[name] = max(self.most.get(name, count), count)
        self.looked.update(each.looked)
        self.drew.update(each.drawn)
        self.had.update(kind for kind, count in each.happened.items() if count and kind in each.drawn)
        self.happened.update(each.happened)
        self.crashed.update(each.crashed)
        self.decided.update(each.decided)
