"""The estimated costs of a campaign: time, machine hours and storage, computed from measured rates."""

from __future__ import annotations

import math
import re
import textwrap

import attrs

from holdfast.check.summary import entry
from holdfast.check.walk.options import MOST_RUNS
from holdfast.ir.errors import UsageError
from holdfast.trace.text import WIDTH, count
from spark.campaign.config import traces_per_unit
from spark.campaign.places import UNIT_TABLES
from spark.campaign.summary import Summary
from spark.campaign.words import rate

_NUMBER = re.compile(r"(\d+)(?:\.(\d+))?(?:[eE]\+?(\d{1,2}))?", re.ASCII)
MANY_FILES = 3_000_000
"""With more files than this, listing them takes minutes."""


@attrs.frozen(kw_only=True)
class MeasuredCosts:
    """The costs measured on one core. ``source`` says in words where they were measured.

    ``setup_seconds``: the time of a worker before its first unit. ``start_seconds``: the time until the cluster is
    ready; 0 if that was not measured. ``kind``: of the target, on which the size of units depends.
    """

    source: str
    runs_per_second: float
    bytes_per_unit: float
    setup_seconds: float
    start_seconds: float
    kind: str = "model"


@attrs.frozen(kw_only=True)
class CampaignPlan:
    """A planned campaign. ``render_plan`` shows the formula of each number."""

    traces: int
    cores: int
    cores_per_machine: int
    rates: MeasuredCosts

    @property
    def each(self) -> int:
        """The number of traces of a unit."""
        return min(self.traces, traces_per_unit(self.traces, self.rates.kind))

    @property
    def units(self) -> int:
        """The number of units."""
        return -(-self.traces // self.each)

    @property
    def rounds(self) -> int:
        """The number of units on the busiest core."""
        return -(-self.units // self.cores)

    @property
    def unit_seconds(self) -> float:
        """Seconds of a unit on one core."""
        return self.each / self.rates.runs_per_second

    @property
    def seconds(self) -> float:
        """Seconds from start to end."""
        return self.rates.start_seconds + self.rates.setup_seconds + self.rounds * self.unit_seconds

    @property
    def machines(self) -> int:
        """The number of machines that provide the cores."""
        return -(-self.cores // self.cores_per_machine)

    @property
    def machine_hours(self) -> float:
        """The hours of all machines together."""
        return self.machines * self.seconds / 3600

    @property
    def bytes(self) -> int:
        """The size of the tables."""
        return math.ceil(self.units * self.rates.bytes_per_unit)


def check_numbers(traces: int, cores: int, cores_per_machine: int) -> None:
    """Raise UsageError if a number of a plan is out of range."""
    for name, value, most in (("--runs", traces, MOST_RUNS), ("--cores", cores, 10**6)):
        if not 1 <= value <= most:
            raise UsageError(f"{name} {value}: it is out of range; choose a number from 1 to {most:,}")
    if cores_per_machine < 1:
        raise UsageError(f"a machine with {cores_per_machine} cores runs nothing; choose a number from 1")


def plan(traces: int, cores: int, rates: MeasuredCosts, *, cores_per_machine: int = 8) -> CampaignPlan:
    """The plan for a number of traces and cores. Raises UsageError for numbers out of range, or if no rate is known."""
    check_numbers(traces, cores, cores_per_machine)
    if rates.runs_per_second <= 0:
        raise UsageError(f"{rates.source}: no unit is done, so no rate was measured; run some units first")
    return CampaignPlan(traces=traces, cores=cores, cores_per_machine=cores_per_machine, rates=rates)


def measured(summary: Summary, *, start_seconds: float = 0.0) -> MeasuredCosts:
    """The measured rates of a campaign. Its tables do not record how long the cluster took to start."""
    runs, done = summary.rates, max(1, summary.done)
    return MeasuredCosts(
        source=summary.name,
        runs_per_second=runs.runs_per_second,
        bytes_per_unit=summary.bytes / done,
        setup_seconds=runs.setup_seconds / max(1, runs.setups),
        start_seconds=start_seconds,
        kind=summary.asked.kind,
    )


def parse_count(option: str, text: str) -> int:
    """The whole number in a text: ``10000000``, ``1_000_000``, ``1e12``, ``2.5e6``.

    Raises UsageError, which names the option, if the text is no whole number.
    """
    # Exact: no float is involved, because 1e23 as a float is not 10**23.
    found = _NUMBER.fullmatch(re.sub(r"(?<=\d)[_,](?=\d)", "", text.strip()))
    if found is not None and len(text) < 64:
        whole, part, power = found[1], (found[2] or "").rstrip("0"), int(found[3] or 0)
        if len(part) <= power:
            return int(whole + part + "0" * (power - len(part)))
    raise UsageError(f"{option} {text}: it is no whole number; write one, such as 10000000, 1_000_000 or 1e12")


# In words ----------------------------------------------------------------------------------------------------------


def render_plan(found: CampaignPlan) -> str:
    """The plan as text, with the formula of each number below it; without a final newline."""
    rates = found.rates
    title = f"{count(found.traces, 'trace')} on {count(found.cores, 'core')}: {span(found.seconds)}, "
    title += f"{found.machine_hours:,.1f} machine hours, {size(found.bytes)}"
    unit = f"{found.unit_seconds:,.3g} s"
    start, setup, bytes_each = (
        f"{rates.start_seconds:,.1f} s",
        f"{rates.setup_seconds:,.1f} s",
        size(rates.bytes_per_unit),
    )
    started = f", {start} to start" if rates.start_seconds else ""
    speed, machines = f"{rate(rates.runs_per_second)} traces a second", count(found.machines, "machine")
    files, hours = found.units * len(UNIT_TABLES), f"{found.machine_hours:,.1f}"
    rows = {
        "measured": f"{speed} and core, {bytes_each} a unit, {setup} to set up a worker{started}",
        "measured in": rates.source,
        "units": f"{found.traces:,} traces / {found.each:,} a unit = {found.units:,}",
        "a unit takes": f"{found.each:,} traces / {speed} = {unit}",
        "rounds": f"{found.units:,} units / {found.cores:,} cores = {count(found.rounds, 'unit')} on the busiest core",
        "time": f"{start} + {setup} + {found.rounds:,} * {unit} = {found.seconds:,.0f} s = {span(found.seconds)}",
        "machines": f"{found.cores:,} cores / {found.cores_per_machine:,} a machine = {machines}",
        "machine hours": f"{machines} * {found.seconds:,.0f} s / 3,600 = {hours}",
        "output": f"{found.units:,} units * {bytes_each} = {size(found.bytes)}, in {files:,} files",
    }
    lines = [*textwrap.wrap(title, WIDTH), "", *(line for name, text in rows.items() for line in entry(name, text))]
    for note in _notes(found):
        lines += ["", *textwrap.wrap(note, WIDTH)]
    return "\n".join(lines)


def _notes(found: CampaignPlan) -> list[str]:
    notes = []
    if not found.rates.start_seconds:
        notes.append("What the cluster takes to start was not measured and is not included.")
    if found.units < found.cores:
        idle = found.cores - found.units
        notes.append(f"{count(idle, 'core')} would have nothing to do: fewer cores are as fast.")
    files = found.units * len(UNIT_TABLES)
    if files > MANY_FILES:
        notes.append(
            f"{files:,} files take long to list and to read: several campaigns, each with a seed, are handier."
        )
    return notes


def span(seconds: float) -> str:
    """A duration in words, rounded to at most two units: ``42 s``, ``3 min 20 s``, ``7 h 5 min``, ``12 days 3 h``."""
    # Each test rounds to the unit of its result, so that no result reads "60 min" or "24 h".
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s" if whole or not seconds else "less than 1 s"
    if whole < 3600:
        return _two(whole, 60, "min", 1, "s")
    if round(seconds / 60) < 24 * 60:
        return _two(round(seconds / 60), 60, "h", 1, "min")
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{count(days, 'day')}{f' {hours} h' if hours else ''}"


def _two(value: int, base: int, large: str, unit: int, small: str) -> str:
    first, second = divmod(value, base * unit)
    return f"{first:,} {large}{f' {second} {small}' if second else ''}"


def size(octets: float) -> str:
    """A number of bytes in words, with decimal units: ``812 bytes``, ``14.2 kB``, ``3.1 TB``."""
    if round(octets) < 1000:
        return f"{round(octets)} bytes" if round(octets) != 1 else "1 byte"
    for power, unit in enumerate(("kB", "MB", "GB", "TB", "PB"), start=1):
        if octets < 999.95 * 1000**power or unit == "PB":
            return f"{octets / 1000**power:,.1f} {unit}"
    raise AssertionError("the last unit takes everything")
