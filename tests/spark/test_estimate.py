"""Plans: numbers as people write them, and arithmetic that a reader can check."""

from __future__ import annotations

import re

import attrs
import pytest

from holdfast.ir.errors import UsageError
from spark.campaign.estimate import MeasuredCosts, measured, parse_count, plan, render_plan, size, span
from tests.spark.samples import summary

RATES = MeasuredCosts(
    source="runs/a", runs_per_second=1_000_000.0, bytes_per_unit=16_000.0, setup_seconds=2.0, start_seconds=6.0
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("10000000", 10_000_000),
        ("1_000_000", 1_000_000),
        ("1,000,000", 1_000_000),
        ("1e12", 10**12),
        ("1E+9", 10**9),
        ("2.5e6", 2_500_000),
        ("1.50e1", 15),
        ("3.0", 3),
    ],
)
def test_counts_as_people_write_them(text: str, number: int) -> None:
    """Numbers are read exactly, also where a float would not be exact."""
    assert parse_count("--runs", text) == number


@pytest.mark.parametrize(
    "text", ["", "1e", "e9", "-5", "1.5", "2.55e1", "1e999999999", "nan", "1__0", "ten", "٣", "1 0"]
)
def test_what_is_no_count_is_refused_by_name(text: str) -> None:
    """A wrong number is one line that shows how to write one. Huge exponents cost no time."""
    with pytest.raises(UsageError, match=r"--runs .*it is no whole number; write one"):
        parse_count("--runs", text)


def test_a_plan_by_hand() -> None:
    """10^12 runs are 476,838 units of 2^21, so 239 on the busiest of 2,000 cores, of 2.097 s each."""
    found = plan(10**12, 2_000, RATES)
    assert (found.units, found.rounds) == (476_838, 239)
    assert found.seconds == pytest.approx(6 + 2 + 239 * 2.097152)
    assert found.machine_hours == pytest.approx(250 * found.seconds / 3600)
    assert found.bytes == 476_838 * 16_000


def test_units_are_not_split() -> None:
    """More cores than units do not make a campaign faster, and the plan says so."""
    found = plan(10_000_000, 2_000, RATES)
    assert found.seconds == plan(10_000_000, found.units, RATES).seconds
    assert f"{2_000 - found.units:,} cores would have nothing to do" in render_plan(found)


def test_every_line_of_the_plan_adds_up() -> None:
    """Each formula of the plan, evaluated, gives the number after its equals sign."""
    text = render_plan(plan(10**9, 64, RATES))
    for name, formula, result in (
        ("units", r"([\d,]+) traces / ([\d,]+) a unit", r"([\d,]+)"),
        ("rounds", r"([\d,]+) units / ([\d,]+) cores", r"([\d,]+) units"),
        ("machines", r"([\d,]+) cores / ([\d,]+) a machine", r"([\d,]+) machines"),
    ):
        found = re.search(rf"^  {name} +{formula} = {result}", text, re.MULTILINE)
        assert found is not None, name
        over, under, said = (int(group.replace(",", "")) for group in found.groups())
        assert -(-over // under) == said
    found = re.search(r"time +([\d.]+) s \+ ([\d.]+) s \+ ([\d,]+) \* ([\d.]+) s = ([\d,]+) s", text)
    assert found is not None
    start, setup, rounds, unit, total = (float(group.replace(",", "")) for group in found.groups())
    assert start + setup + rounds * unit == pytest.approx(total, abs=1)


def test_rates_come_from_a_campaign() -> None:
    """The set-up time is that of one worker, not the sum; the bytes are the size of the campaign's files."""
    found = summary(traces=400_000)
    rates = measured(found, start_seconds=6.2)
    assert rates.setup_seconds == 1.5
    assert rates.bytes_per_unit * 4 == found.bytes
    assert rates.runs_per_second == pytest.approx(400_000 / found.rates.seconds)
    assert "runs/a" in render_plan(plan(10**9, 8, rates))


@pytest.mark.parametrize(
    ("traces", "cores", "rates", "named"),
    [
        (0, 8, RATES, "--runs 0"),
        (10**16, 8, RATES, "--runs"),
        (10, 0, RATES, "--cores 0"),
        (10, 8, attrs.evolve(RATES, runs_per_second=0.0), "no rate was measured"),
    ],
)
def test_a_plan_of_nothing_is_refused(traces: int, cores: int, rates: MeasuredCosts, named: str) -> None:
    """A plan for zero is one line that names the number."""
    with pytest.raises(UsageError, match=named):
        plan(traces, cores, rates)


def test_rates_of_nothing_are_no_rates() -> None:
    """A campaign without units has no rates, and nothing is divided by zero."""
    with pytest.raises(UsageError, match="no rate was measured"):
        plan(10, 8, measured(summary(done=0)))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.2, "less than 1 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (3599.7, "1 h"),
        (7 * 3600 + 5 * 60, "7 h 5 min"),
        (86_399, "1 day"),
        (90_000, "1 day 1 h"),
        (1e9, "11,574 days 2 h"),
    ],
)
def test_spans_of_time(seconds: float, text: str) -> None:
    """A span has at most two units, and is rounded before it is split into them."""
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("octets", "text"), [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (999_960, "1.0 MB"), (3.1e12, "3.1 TB")]
)
def test_sizes(octets: float, text: str) -> None:
    """Sizes use powers of ten."""
    assert size(octets) == text
