"""The summary of a campaign: its sums against a plain recount, the order of files, and errors in files."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holdfast.ir.errors import UsageError
from spark.campaign import reading
from spark.campaign.places import CAMPAIGN, FINDINGS, unit_number, unit_path
from spark.campaign.summary import summarise
from spark.campaign.tables import from_parquet, to_parquet
from spark.campaign.text import render_status, render_summary, timing_line
from spark.campaign.words import rate
from tests.spark.samples import MemoryStorage, Sample, campaign, campaign_row, config_of, summary

SMALL = Sample(traces=95_000, traces_per_unit=10_000, removed=("ST-14",), findings=3)


def rows(held: MemoryStorage, table: str) -> list[dict[str, Any]]:
    """All rows of a table."""
    return [row for name in held.list(table) for row in from_parquet(held.files[f"{table}/{name}"])]


def test_sums_are_those_of_a_plain_recount() -> None:
    """A plain recount of every table gives the same sums."""
    held = campaign(SMALL)
    found = summarise(held)
    runs, coverage, timing = (rows(held, table) for table in ("runs", "coverage", "timing"))
    assert (found.done, found.asked.units) == (10, 10)
    assert found.runs == sum(row["runs"] for row in runs) == 95_000
    assert found.steps == sum(row["steps"] for row in runs)
    assert found.violations == sum(row["violations"] for row in runs) > 0
    assert found.rates.seconds == pytest.approx(sum(row["seconds"] for row in timing))
    assert (found.rates.setups, found.rates.setup_seconds) == (2, 3.0)
    assert found.bytes == sum(len(data) for path, data in held.files.items() if "/" in path)
    taken: Counter[str] = Counter()
    decisive: Counter[tuple[str, str]] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for row in coverage:
        taken.update({each["action"]: each["taken"] for each in row["actions"]})
        decisive.update({(each["action"], each["rule"]): each["decisive"] for each in row["rules"]})
        pairs.update({(each["first"], each["second"]): each["times"] for each in row["pairs"]})
    assert {each.name: each.taken for each in found.actions} == taken
    assert {(each.action, each.label): each.decisive for each in found.rules} == decisive
    assert {(each.first, each.second): each.times for each in found.pairs} == pairs
    assert found.unseen_pairs == 100 - len(pairs)
    assert found.never_taken == ("commit",)
    assert {(each.action, each.label) for each in found.undecisive} == {("open", "ND-01")}
    assert sum(stop.runs for stop in found.stops) == found.runs
    assert [(each.name, each.unit, each.run) for each in found.witnesses] == [("handed_over", 0, 17)]


def test_lengths_are_those_of_the_runs_there_are() -> None:
    """A unit without runs of a kind of end does not count for their lengths: its zeros are ignored."""
    held = campaign(SMALL)
    for unit, (least, most) in enumerate([(0, 0), (4, 9), (0, 0), (2, 3)]):
        row = from_parquet(held.files[unit_path("runs", unit)])[0]
        row["stops"] = [{"reason": "depth", "runs": int(most > 0), "steps": most, "shortest": least, "longest": most}]
        held.write(unit_path("runs", unit), to_parquet("runs", [row]))
    for unit in range(4, 10):
        held.delete(unit_path("runs", unit))
    (depth,) = summarise(held).stops
    assert (depth.runs, depth.steps, depth.shortest, depth.longest) == (2, 12, 2, 9)


def test_the_order_of_files_does_not_matter() -> None:
    """The summary does not depend on how a storage orders or groups files."""

    class Backwards(MemoryStorage):
        def list(self, folder: str) -> list[str]:
            return super().list(folder)[::-1]

    held = campaign(SMALL)
    other = Backwards()
    for path in sorted(held.files, reverse=True):
        other.write(path, held.files[path])
    assert summarise(other) == summarise(held)


def test_memory_holds_few_units_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read while units are added, a few units ahead, not all at the start."""

    class Counting(MemoryStorage):
        reads = 0

        def read(self, path: str) -> bytes | None:
            self.reads += 1
            return super().read(path)

    monkeypatch.setattr(reading, "TOGETHER", 2)
    held = Counting()
    held.files = campaign(SMALL).files
    ahead = [held.reads // 3 - number for number, _ in reading.units_of(held, range(10), config_of(SMALL))]
    assert max(ahead) == 2


def test_a_finding_is_its_shortest_run_in_all_units() -> None:
    """Of equally short runs the first unit's counts. The number of runs comes from the runs, not from the table."""
    held = campaign(SMALL)
    sightings = [
        (each["steps"], row["unit"], each["run"], each["times"])
        for row in rows(held, "runs")
        for each in row["sightings"]
        if each["property"] == "one_owner"
    ]
    (finding,) = (each for each in summarise(held).findings if each.property == "one_owner")
    assert (finding.drawn, finding.unit, finding.run) == min(sightings)[:3]
    assert (finding.times, finding.units) == (sum(each[3] for each in sightings), len(sightings))
    assert finding.shrunk is not None
    assert "holdfast replay 'ownership tiny -ST-14" in finding.shrunk.replay


def test_findings_met_most_often_come_first() -> None:
    """Findings are ordered by their number of runs, and then by signature."""
    times = [finding.times for finding in summary(findings=6, traces=200_000).findings]
    assert times == sorted(times, reverse=True)
    assert len(times) == 6


def test_what_is_running_has_no_shrunk_runs_yet() -> None:
    """A finding is in the summary as soon as a unit met it, without a shrunk run."""
    found = summary(findings=2, done=3, shrunk=False)
    assert [finding.shrunk for finding in found.findings] == [None, None]
    assert (found.verdict, found.is_complete) == ("violated", False)


@pytest.mark.parametrize(
    ("sample", "verdict", "complete"),
    [
        ({"done": 0}, "out_of_budget", False),
        ({"done": 19}, "out_of_budget", False),
        ({}, "not_found", True),
        ({"traces": 7, "traces_per_unit": 1_000}, "not_found", True),
        ({"findings": 2, "done": 16, "stop_after": 2}, "violated", True),
        ({"findings": 2, "done": 13, "stop_after": 2}, "violated", False),
        ({"findings": 2, "done": 16, "stop_after": 3}, "violated", False),
    ],
)
def test_the_verdict(sample: dict[str, Any], verdict: str, complete: bool) -> None:
    """Only a complete campaign has found nothing. One that met enough findings is complete when a round ends."""
    found = summary(**sample)
    assert (found.verdict, found.is_complete) == (verdict, complete)


# Files that are not as they should be -----------------------------------------------------------------------------


def replaced(table: str, unit: int, **values: Any) -> Callable[[MemoryStorage], None]:
    """Replace values in a unit's row."""

    def change(held: MemoryStorage) -> None:
        path = unit_path(table, unit)
        held.write(path, to_parquet(table, [{**from_parquet(held.files[path])[0], **values}]))

    return change


def asked(**values: Any) -> Callable[[MemoryStorage], None]:
    """Replace values in the campaign's row."""
    return lambda held: held.write(CAMPAIGN, to_parquet("campaign", [{**campaign_row(SMALL), **values}]))


def edited(table: str, path: str, **values: Any) -> Callable[[MemoryStorage], None]:
    """Change values of a file's rows and keep its digest, as another tool does."""

    def change(held: MemoryStorage) -> None:
        before = pq.ParquetFile(pa.BufferReader(held.files[path])).schema_arrow.metadata
        changed = to_parquet(table, [{**row, **values} for row in from_parquet(held.files[path])])
        held.write(path, parquet(changed, before))

    return change


def parquet(data: bytes, metadata: dict[bytes, bytes] | None) -> bytes:
    """A Parquet file with other metadata."""
    out = io.BytesIO()
    pq.write_table(pq.ParquetFile(pa.BufferReader(data)).read().replace_schema_metadata(metadata), out)
    return out.getvalue()


def without_metadata(held: MemoryStorage) -> None:
    """Write a file again as a tool does that knows nothing of digests."""
    path = unit_path("runs", 1)
    held.write(path, parquet(held.files[path], None))


def foreign_finding(held: MemoryStorage) -> None:
    """A finding that no unit met."""
    row = {**from_parquet(held.files[FINDINGS])[0], "signature": "f" * 16}
    held.write(FINDINGS, to_parquet("findings", [row]))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda held: held.delete(CAMPAIGN), "holds no campaign"),
        (lambda held: held.write(CAMPAIGN, b"PAR1 and no more"), "campaign.parquet cannot be read"),
        (lambda held: held.write(CAMPAIGN, held.files[unit_path("timing", 0)]), "other columns"),
        (asked(version=99), "version 99"),
        (asked(config="{"), "cannot be understood"),
        (asked(config="[]"), "cannot be understood"),
        (lambda held: held.delete(unit_path("coverage", 4)), "coverage/0000000004.parquet is missing"),
        (lambda held: held.write(unit_path("timing", 2), b""), "timing/0000000002.parquet cannot be read"),
        (lambda held: held.write(unit_path("runs", 2), to_parquet("runs", [])), "has 0 rows"),
        (lambda held: held.write(unit_path("runs", 3), held.files[unit_path("runs", 2)]), "holds unit 2"),
        (
            lambda held: held.files.update(
                campaign(attrs.evolve(SMALL, seed=2)).files | {CAMPAIGN: held.files[CAMPAIGN]}
            ),
            "runs/0000000000.parquet is one of another campaign: its seed is",
        ),
        (lambda held: held.write("runs/notes.txt", b"hello"), "runs/notes.txt"),
        (lambda held: held.write("runs/7.parquet", held.files[unit_path("runs", 7)]), "runs/7.parquet"),
        (
            lambda held: held.write(unit_path("runs", 10), held.files[unit_path("runs", 9)]),
            "runs/0000000010.parquet is there, and the campaign has",
        ),
        (foreign_finding, "ffffffffffffffff"),
        (edited("campaign", CAMPAIGN, model="Other"), "campaign.parquet is not as it was written: its digest"),
        (edited("findings", FINDINGS, sentence="Other"), "findings.parquet is not as it was written: its digest"),
        (edited("runs", unit_path("runs", 3), violations=0), "runs/0000000003.parquet is not as"),
        (edited("coverage", unit_path("coverage", 3), rules=[]), "coverage/0000000003.parquet is not as"),
        (without_metadata, "runs/0000000001.parquet is not as it was written: it was not written by"),
    ],
)
def test_files_that_do_not_agree_are_named(change: Callable[[MemoryStorage], None], named: str) -> None:
    """Contradicting files are one line that names the file. Nothing is left out silently."""
    held = campaign(SMALL)
    change(held)
    with pytest.raises(UsageError) as caught:
        summarise(held)
    assert named in str(caught.value)
    assert "runs/a" in str(caught.value) or "runs/notes" in str(caught.value) or "runs/7" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_of_files_are_those_of_units() -> None:
    """A unit's file name gives back its number, and names sort like numbers."""
    units = [0, 9, 10, 123_456_789, 10**10 - 1, 10**10]
    names = [unit_path("runs", unit).removeprefix("runs/") for unit in units]
    assert [unit_number("runs", name) for name in names] == units
    assert names[:5] == sorted(names[:5])


# In words ---------------------------------------------------------------------------------------------------------


def test_the_summary_holds_no_times() -> None:
    """Two campaigns that differ only in speed have the same summary."""
    held = campaign(SMALL)
    before = summarise(held)
    for unit in range(10):
        replaced("timing", unit, seconds=3.25 * unit, setup_seconds=1.0)(held)
    after = summarise(held)
    assert before.rates != after.rates
    assert render_summary(after) == render_summary(before)
    assert timing_line(after) != timing_line(before)


def test_the_summary_shows_the_run_and_its_replay_line() -> None:
    """The most frequent finding is first, with its run. Then come the coverage and the list."""
    text = render_summary(summarise(campaign(SMALL)))
    assert text.startswith("one_owner: violated after 2 steps")
    assert "Ownership, scope default, without ST-14: violated: 3 findings, met by" in text
    assert "holdfast replay 'ownership tiny -ST-14" in text.splitlines()[-1]
    assert "never taken     commit" in text
    assert all(len(line) <= 96 for line in text.splitlines() if "holdfast replay" not in line)


def test_what_shrinks_alike_is_one_finding() -> None:
    """Findings with equal shrunk runs are one: runs are added, a unit counts once, and the shortest run is shown."""
    apart, alike = (summary(findings=6, traces=500_000, alike=each) for each in (False, True))
    by_name = {finding.signature: finding for finding in apart.findings}

    assert (len(apart.findings), len(alike.findings)) == (6, 3)
    assert apart.signatures == alike.signatures == 6
    assert sorted(name for finding in alike.findings for name in finding.signatures) == sorted(by_name)
    for finding in alike.findings:
        members = [by_name[name] for name in finding.signatures]
        assert finding.times == sum(each.times for each in members)
        assert max(each.units for each in members) <= finding.units <= alike.done
        assert finding.shrunk in [each.shrunk for each in members]


def test_many_findings_are_listed_in_part() -> None:
    """A long list says how many findings it leaves out."""
    text = render_summary(summary(findings=40, traces=100_000))
    assert text.endswith("\n  and 30 findings more")


def test_status_says_what_is_left() -> None:
    """The remaining time is given for one core, and for those available."""
    found = summary(done=7)
    found = attrs.evolve(found, rates=attrs.evolve(found.rates, seconds=70.0))
    text = render_status(found, cores=2)
    assert "units           7 of 20 done" in text
    assert "left            13 units: 2 min 10 s on one core, 1 min 5 s on 2 cores" in text
    assert "left" not in render_status(summary(), cores=2)


def test_status_of_what_has_not_begun() -> None:
    """Before the first unit there is no rate, and no error."""
    text = render_status(summary(done=0))
    assert "no answer yet" in text
    assert "rate" not in text


def test_small_rates_are_not_rounded_to_nothing() -> None:
    """A rate below ten has two digits, since clusters are made at some runs a second."""
    assert [rate(number) for number in (0.0, 0.034, 1.26, 9.96, 12.4, 45_678.9)] == [
        "0", "0.034", "1.3", "10", "12", "45,679",
    ]  # fmt: skip
