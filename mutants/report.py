"""The report of a run: a table of the folders, and every fault that no test noticed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from mutants.declarations import Identity
from mutants.draw import FOLDERS
from mutants.judge import Outcome

ENOUGH = 0.9
"""The share of the faults of each folder that must be noticed."""


@attrs.frozen
class Report:
    """The outcomes of a run of ``planned`` faults.

    ``declared``: the faults that change no result, with the reasons. ``unsound``: tests that also fail without a fault;
    a fault that only they noticed counts as not noticed. ``failed``: tests that failed while they were recorded.
    """

    seed: int
    planned: int
    outcomes: Sequence[Outcome]
    declared: Mapping[Identity, str]
    unsound: frozenset[str]
    failed: Sequence[str]

    def of(self, folder: str) -> list[Outcome]:
        """The outcomes of one folder."""
        return [outcome for outcome in self.outcomes if outcome.fault.folder == folder]

    def is_noticed(self, outcome: Outcome) -> bool:
        """Whether a test noticed the fault that does not fail without it."""
        return outcome.noticed_by is not None and outcome.noticed_by not in self.unsound

    def reason(self, outcome: Outcome) -> str | None:
        """The declared reason why the fault changes no result; None if it is noticed or not declared."""
        return None if self.is_noticed(outcome) else self.declared.get(outcome.fault.identity)

    def share(self, outcomes: Sequence[Outcome]) -> float:
        """The share of noticed faults among the faults that change a result; 1 if there are none."""
        counted = [outcome for outcome in outcomes if self.reason(outcome) is None]
        return sum(map(self.is_noticed, counted)) / len(counted) if counted else 1.0

    @property
    def exit_code(self) -> int:
        """0 if enough is noticed in each folder, 10 if not, 20 if not all faults were judged."""
        if len(self.outcomes) < self.planned:
            return 20
        return 0 if all(self.share(self.of(folder)) >= ENOUGH for folder in FOLDERS) else 10


def lines(report: Report, root: Path) -> list[str]:
    """The report as text."""
    table = [f"{'folder':<10}{'planted':>9}{'noticed':>9}{'no effect':>11}{'share':>8}"]
    for folder in FOLDERS:
        of = report.of(folder)
        noticed = sum(map(report.is_noticed, of))
        without = sum(report.reason(outcome) is not None for outcome in of)
        table.append(f"{folder:<10}{len(of):>9}{noticed:>9}{without:>11}{report.share(of):>8.0%}")
    found = [f"seed {report.seed}: {len(report.outcomes)} of {report.planned} faults judged", "", *table]
    missed = [outcome for outcome in report.outcomes if not report.is_noticed(outcome)]
    groups = {
        "Not noticed:": [outcome for outcome in missed if report.reason(outcome) is None],
        "Declared in mutants/declared.toml, because they change no result:": [
            outcome for outcome in missed if report.reason(outcome) is not None
        ],
    }
    for title, outcomes in groups.items():
        if outcomes:
            found += ["", title]
        for outcome in sorted(outcomes, key=lambda outcome: (outcome.fault.file, outcome.fault.start)):
            found += ["", *_shown(report, outcome, root)]
    found += [
        f"{outcome.fault.file}: declared, but noticed by {outcome.noticed_by}: {outcome.fault.change}"
        for outcome in report.outcomes
        if report.is_noticed(outcome) and outcome.fault.identity in report.declared
    ]
    if report.failed:
        found += ["", "Tests that fail without any fault, and were left out:", *report.failed]
    return found


def _shown(report: Report, outcome: Outcome, root: Path) -> list[str]:
    """One fault that was not noticed."""
    fault = outcome.fault
    source = (root / fault.file).read_bytes()
    text = source.splitlines()[fault.lines[0] - 1].decode().strip()
    why = report.reason(outcome) or _why(report, outcome)
    place = f"{fault.file}:{fault.lines[0]}"
    return [f"{place} {fault.function}: {fault.operator}: {why}", f"    {text}", f"    {fault.change}"]


def _why(report: Report, outcome: Outcome) -> str:
    if not outcome.reaching:
        return "no recorded test reaches it"
    if outcome.noticed_by is not None and outcome.noticed_by in report.unsound:
        return f"only {outcome.noticed_by} failed, which fails without the fault too"
    if outcome.noticed_by is None and outcome.how:
        return f"not judged: {outcome.how}"
    left_out = f"; {outcome.left_out} slower ones were left out for lack of time" if outcome.left_out else ""
    return f"none of the {outcome.ran} tests that reach it failed{left_out}"


def to_json(report: Report) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "seed": report.seed,
        "planned": report.planned,
        "folders": {
            folder: {
                "planted": len(report.of(folder)),
                "noticed": sum(map(report.is_noticed, report.of(folder))),
                "share": round(report.share(report.of(folder)), 3),
            }
            for folder in FOLDERS
        },
        "faults": [
            {
                "file": outcome.fault.file,
                "line": outcome.fault.lines[0],
                "function": outcome.fault.function,
                "operator": outcome.fault.operator,
                "before": outcome.fault.identity[2],
                "after": outcome.fault.identity[3],
                "noticed": report.is_noticed(outcome),
                "by": outcome.noticed_by,
                "how": outcome.how,
                "ran": outcome.ran,
                "reaching": outcome.reaching,
                "left_out": outcome.left_out,
                "reason": report.reason(outcome),
            }
            for outcome in report.outcomes
        ],
        "failing_without_a_fault": list(report.failed),
    }
