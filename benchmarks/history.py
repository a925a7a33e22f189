"""The results of releases: a file of JSON for each, and their table side by side.

A file names the processor and the versions of programs, but no machine, no folder and no message of a failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs
import msgspec
from packaging.version import InvalidVersion, Version
from rich.console import Console
from rich.table import Table

from benchmarks.goals import GOALS, Reading, readings
from benchmarks.machine import Machine
from benchmarks.measurements import Blank, Measurements
from benchmarks.report import amount, bound
from benchmarks.scope_search import ScopeSearch
from holdfast.ir.errors import UsageError


@attrs.frozen
class StoredReading:
    """A goal as it was when a release was measured. ``reached`` is None if ``outcome`` says that there is none."""

    wanted: float
    unit: str
    at_most: bool
    reached: float | None
    outcome: str


@attrs.frozen
class ReleaseRecord:
    """The results of one release.

    ``goals``: by the key of a goal. ``rates``: distinct states per second, by scope and checker, such as
    ``one_word.tlc``. ``load_after``: as ``Machine.load``, at the end.
    """

    release: str
    machine: Machine
    load_after: float
    goals: dict[str, StoredReading]
    rates: dict[str, float]


def release_file(release: str, folder: Path) -> Path:
    """The file for the results of a release.

    Raises UsageError if it is no version, or if there are results of it, which are never replaced.
    """
    try:
        path = folder / f"{Version(release)}.json"
    except InvalidVersion:
        raise UsageError(f"--release {release!r} is no version; write it as 1.2.3") from None
    if path.exists():
        raise UsageError(f"{_shown(path)} has the results of release {release}; remove it to measure that release anew")
    return path


def store(path: Path, measured: Measurements, facts: Machine, load_after: float) -> None:
    """Write the results of a release to the file that ``release_file`` gave."""
    goals = {reading.goal.key: _stored(reading) for reading in readings(measured)}
    rates = {name: value.rate for name, value in measured.values.items() if isinstance(value, ScopeSearch)}
    record = ReleaseRecord(path.name.removesuffix(".json"), facts, load_after, goals, rates)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(record), indent=2)
    path.write_bytes(text + b"\n")


def _stored(reading: Reading) -> StoredReading:
    goal = reading.goal
    reached = None if isinstance(reading.reached, Blank) else reading.reached
    return StoredReading(goal.wanted, goal.unit, goal.at_most, reached, reading.outcome)


def releases(folder: Path) -> list[ReleaseRecord]:
    """All stored results, the oldest release first. Raises UsageError if a file holds something else."""
    found = [_read(path) for path in sorted(folder.glob("*.json"))]
    return sorted(found, key=lambda record: Version(record.release))


def _read(path: Path) -> ReleaseRecord:
    try:
        record = msgspec.json.decode(path.read_bytes(), type=ReleaseRecord)
    except (msgspec.MsgspecError, OSError) as error:
        raise UsageError(f"{_shown(path)} does not hold the results of a release: {error}; remove it") from error
    if path.name != f"{record.release}.json":
        raise UsageError(f"{_shown(path)} holds the results of release {record.release}; rename it to that release")
    return record


def _shown(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def show_history(found: Sequence[ReleaseRecord], console: Console) -> None:
    """Print the releases side by side, each with the machine on which it was measured."""
    if not found:
        console.print("No release has been measured; python -m benchmarks --whole --release X.Y.Z measures one.")
        return
    table = Table(title="Goals, by release", title_justify="left")
    table.add_column("")
    table.add_column("goal now", justify="right")
    for record in found:
        table.add_column(record.release, justify="right")
    for goal in GOALS:
        cells = [record.goals.get(goal.key) for record in found]
        table.add_row(goal.name, bound(goal), *("" if cell is None else _cell(cell) for cell in cells))
    console.print(table)
    if any(record.rates for record in found):
        console.print(_rates(found))
    for record in found:
        facts = record.machine
        console.print(
            f"{record.release}: {facts.cores} cores, {facts.processor}; load {facts.load:.2f} before, "
            f"{record.load_after:.2f} after; Python {facts.python}, llvmlite {facts.llvmlite}",
            highlight=False,
            soft_wrap=True,
        )


def _rates(found: Sequence[ReleaseRecord]) -> Table:
    table = Table(title="Distinct states per second, by release", title_justify="left")
    table.add_column("")
    for record in found:
        table.add_column(record.release, justify="right")
    for name in dict.fromkeys(name for record in found for name in record.rates):
        table.add_row(name, *(f"{record.rates[name]:,.0f}" if name in record.rates else "" for record in found))
    return table


def _cell(stored: StoredReading) -> str:
    """A figure in its unit, and whether it met the goal of that time."""
    return stored.outcome if stored.reached is None else f"{amount(stored.reached, stored.unit)}, {stored.outcome}"
