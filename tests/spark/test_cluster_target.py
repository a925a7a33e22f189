"""Simulated clusters as the target of a campaign: their units, their findings, and the files that repeat them."""

from __future__ import annotations

import pickle
import re
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest
from msgspec.structs import replace

import spark.cli.look
import spark.cli.run
from holdfast.ir.errors import UsageError
from impl.oracles.answers.watch import REQUEST
from impl.oracles.verdict import Violation
from impl.sim.check import CheckResult, check
from impl.sim.coverage import RunCoverage
from spark.campaign import cluster_target
from spark.campaign.cluster_target import ClusterTarget, only_alike, told_apart, without_numbers
from spark.campaign.config import traces_per_unit
from spark.campaign.engine import begin, check_same
from spark.campaign.page.html import render
from spark.campaign.places import CASES
from spark.campaign.reading import read_campaign
from spark.campaign.summary import Summary, summarise
from spark.campaign.text import render_summary
from spark.campaign.units import UnitConfig, UnitResult, run_unit
from spark.cluster.storage import FolderStorage
from tests.cli.running import Run
from tests.spark.clusters import cases, clusters, go_on, ran_clusters
from tests.spark.running import DriverDiedError, InlineWorkers, here, place, tables


@cache
def unit(removed: tuple[str, ...] = (), **options: object) -> UnitResult:
    """A unit of eight runs."""
    asked = clusters(removed=removed, **dict(options))
    return run_unit(7, UnitConfig(pickle.dumps(ClusterTarget.of(asked)), 8))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> FolderStorage:
    """A campaign of clusters without ST-14, which lets two brokers serve a stream."""
    return ran_clusters(tmp_path_factory.mktemp("clusters") / "broken", clusters(removed=("ST-14",)))


# Units ------------------------------------------------------------------------------------------------------------


def test_a_unit_covers() -> None:
    """A unit counts its runs, events, pairs, rules, situations and images."""
    found = unit()
    assert (found.runs, sum(stop.runs for stop in found.stops)) == (8, 8)
    assert found.steps == sum(stop.steps for stop in found.stops) > 1000
    assert not found.sightings
    assert sum(taken for _, taken, _ in found.actions) > sum(times for *_, times in found.pairs) > 100
    assert sum(decisive > 0 for *_, decisive in found.rules) > 10
    assert all(refused <= decisive for *_, refused, decisive in found.rules)
    assert any(refused for *_, refused, _ in found.rules)
    assert int.from_bytes(found.states, "little").bit_count() > 20
    assert all(0 < runs <= 8 and first < 8 for _, runs, first in found.situations)


def test_a_unit_depends_on_its_arguments_alone() -> None:
    """The same unit gives the same result after other units, and another seed gives another one."""
    asked = clusters()
    config = UnitConfig(pickle.dumps(ClusterTarget.of(asked)), 8)
    assert run_unit(7, config) == unit() != run_unit(8, config)


def test_a_run_has_one_seed() -> None:
    """The first runs of a unit are the same, however many runs the unit has."""
    ready = ClusterTarget.of(clusters()).ready()
    assert ready.of(7, 3) == ready.of(7, 3) != ready.of(7, 4)
    assert 0 <= ready.of(7, 3).seed < 1 << 48


def test_units_of_clusters_are_small() -> None:
    """A unit of clusters has at most 64 runs, since a run takes long; a unit of a model has at least 1,024."""
    assert [traces_per_unit(runs, "cluster") for runs in (1, 1_000, 20_000)] == [4, 8, 64]
    assert traces_per_unit(20_000) == 1024


# Findings ---------------------------------------------------------------------------------------------------------


def test_findings_are_told_apart_by_what_happened(broken: FolderStorage) -> None:
    """All runs that violate something make few findings, whose signatures hold no number and no seed."""
    summary = summarise(broken)
    assert summary.violations >= len(summary.findings) >= 1
    assert len(summary.findings) <= 4
    assert not any(letter.isdigit() for finding in summary.findings for letter in finding.action)


def test_numbers_are_left_out() -> None:
    """Messages that differ only in their numbers are one, however many numbers are listed."""
    one, two = (f"value {v} of stream {s} from b{b}.0 at {v} ms" for v, s, b in ((1, 2, 3), (40, 5, 1)))
    assert without_numbers(one) == without_numbers(two) == "value N of stream N from bN at N ms"
    assert without_numbers("streams 1, 2, 3 are not open") == without_numbers("streams 7 are not open")
    assert without_numbers("value -1 at 0") == without_numbers("value 8 at 4") == "value N at N"
    assert without_numbers("value x-1") == "value x-N"
    names = ("object/12", "object/3, object/4", "object/3, object/12, object/7")
    assert {without_numbers(f"2 belong to nobody: {each}") for each in names} == {"N belong to nobody: object/N"}
    assert without_numbers("object/1, wal/2") == "object/N, wal/N"


def test_shrinking_ends_after_a_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer steps to spend, less is left out."""
    ready = ClusterTarget.of(clusters(removed=("ST-14",))).ready()
    number = next(number for number in range(64) if check(ready.of(7, number)).violations)
    found = ready.show(7, number)
    monkeypatch.setattr(cluster_target, "SHRINKING", 1)
    assert found.drawn >= ready.show(7, number).steps > found.steps > 0


def test_requests_are_left_out() -> None:
    """Two wrong answers of one kind are one finding, however many items their requests have."""
    coverage = RunCoverage({}, {}, {}, frozenset(), frozenset(), {}, {}, {})
    one, two = (Violation("answers", -1, f"Trim: item {n} is wrong{REQUEST}({'1, ' * n})") for n in (1, 3))
    assert told_apart(one, coverage) == told_apart(two, coverage) == ("answers", "Trim: item N is wrong", ())


def test_findings_have_the_situations_of_their_stream() -> None:
    """Without a stream, or with another one, they have none."""
    reached = frozenset(
        {
            ("two processes serve", 3),
            ("two processes serve", 4),
            ("an open overtakes a close", 3),
            ("a recovery ends", 3),
        }
    )
    coverage = RunCoverage({}, {}, {}, reached, frozenset(), {}, {}, {})
    found = {key: told_apart(Violation("log", key, "m"), coverage)[2] for key in (-1, 3, 4, 5)}
    assert found == {
        -1: (),
        3: ("an open overtakes a close", "two processes serve"),
        4: ("two processes serve",),
        5: (),
    }


def test_a_finding_is_shrunk_to_one_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the violations of a run those of the same oracle and words count; with all rules, any counts."""
    question = ClusterTarget.of(clusters(removed=("ST-14",))).question
    closed, unread = Violation("heal", -1, "streams 1, 2 are open"), Violation("heal", -1, "streams 3 cannot be read")
    made = CheckResult(Any, (unread, closed), {})
    monkeypatch.setattr(cluster_target, "check", lambda _: made)
    wanted = Violation("heal", -1, "streams 7 are open")
    ask = only_alike(wanted, question)
    assert ask(question).violations == (closed,)
    assert ask(replace(question, without=())) is made


def test_a_finding_is_shrunk_and_repeats(broken: FolderStorage, holdfast: Run) -> None:
    """Each finding has a file, which the simulator repeats, and which shows the same violation."""
    for finding in summarise(broken).findings:
        assert finding.shrunk is not None
        assert finding.shrunk.steps < finding.drawn
        words = finding.shrunk.replay.split()
        again = holdfast(*words[1:])
        assert again.code == 12
        assert finding.shrunk.sentence in again.out
        assert finding.shrunk.text in again.out
    assert len(broken.list(CASES)) == summarise(broken).signatures


def test_the_page_shows_situations_and_timelines(broken: FolderStorage) -> None:
    """The page has the timeline of each finding, the command that repeats it, and the situations."""
    summary = summarise(broken)
    page = render(summary)
    assert "VIOLATED" in page
    assert "<caption>Situations: how many runs reached each" in page
    found = summary.circumstances[0]
    row = f'<th scope="row">{found.situation}</th><td>{found.circumstances}</td><td class="number">{found.runs}</td>'
    assert row in page
    assert f"holdfast simulate {broken.name}/{CASES}/" in page
    assert "scope" not in page.partition("<main")[0].partition("<h1>")[2]


def test_the_text_shows_what_was_covered(broken: FolderStorage) -> None:
    """The text names the cluster, the situations that were reached, and the others."""
    said = render_summary(summarise(broken))
    assert "cluster V6, 3 brokers, 4 clients, 2 streams, without ST-14: violated" in said.replace("\n  ", " ")
    assert "\n  situations " in said
    assert "\n  not reached " in said
    assert re.search(rf"\n  circumstances +{len(summarise(broken).circumstances)}: a situation with ", said)


# Tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tasks", [1, 2, 7])
def test_tables_do_not_depend_on_partitions(broken: FolderStorage, tmp_path: Path, tasks: int) -> None:
    """Any number of tasks, in any order, gives the same bytes, and the same files of cases."""
    other = ran_clusters(
        tmp_path, clusters(removed=("ST-14",)), InlineWorkers(tasks=tasks, order=lambda parts: parts[::-1])
    )
    assert tables(other) == tables(broken)
    assert [other.read(case) for case in cases(other)] == [broken.read(case) for case in cases(broken)]


def test_a_killed_campaign_goes_on(broken: FolderStorage, tmp_path: Path) -> None:
    """A campaign whose driver died after a unit gives the same tables once it goes on."""
    asked, storage = clusters(removed=("ST-14",)), place(tmp_path)
    begin(storage, asked, ClusterTarget.of(asked))
    with pytest.raises(DriverDiedError):
        go_on(storage, asked, InlineWorkers(dies_after=1))
    assert len(storage.list("runs")) == 1
    go_on(storage, asked)
    assert tables(storage) == tables(broken)


def test_another_cluster_is_another_campaign(tmp_path: Path) -> None:
    """A campaign does not go on with other options, or without another rule."""
    asked, storage = clusters(), place(tmp_path)
    begin(storage, asked, ClusterTarget.of(asked))
    check_same(storage, read_campaign(storage), ClusterTarget.of(asked))
    for other in (clusters(brokers=4), clusters(removed=("ST-14",)), clusters(version="legacy")):
        with pytest.raises(UsageError, match="not one campaign"):
            check_same(storage, read_campaign(storage), ClusterTarget.of(other))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"generation": "G0"}, "--generation: only --partitions are elected"),
        ({"faults": "pauses"}, "--faults: "),
        ({"switch": ("nothing",)}, "--switch: "),
        ({"partitions": 2}, "--streams: each of the --partitions has streams"),
    ],
)
def test_options_are_those_of_simulate(options: dict[str, object], message: str) -> None:
    """Options that `holdfast simulate` refuses are refused in the same words."""
    with pytest.raises(UsageError, match=message):
        ClusterTarget.of(clusters(**options))


def test_an_unknown_rule_is_refused() -> None:
    """A rule that no guard has is named."""
    with pytest.raises(UsageError, match="--without: "):
        ClusterTarget.of(clusters(removed=("ST-99",)))


def test_partitions_are_simulated(tmp_path: Path) -> None:
    """Clusters with partitions have events of partitions."""
    asked = clusters(traces=4, partitions=2, streams=None, generation="G0")
    summary: Summary = summarise(ran_clusters(tmp_path, asked))
    taken = {action.name for action in summary.actions if action.taken}
    assert {"begin_open", "serve", "AlterReassignments"} <= taken
    assert "G0, 2 partitions" in summary.model


def test_a_configuration_of_clusters_is_read_as_it_was_written(broken: FolderStorage) -> None:
    """The header keeps the options of the clusters."""
    asked = clusters(removed=("ST-14",))
    assert read_campaign(broken).config == asked
    assert read_campaign(broken).kind == "cluster"
    assert attrs.evolve(asked, cluster=None).to_json().count("cluster") == 1


# The command ------------------------------------------------------------------------------------------------------


def test_the_command_makes_clusters(holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command makes a campaign of clusters, resumes it, and shows it."""
    monkeypatch.setattr(spark.cli.run, "start_cluster", here)
    words = ["campaign", "run", "--target", "cluster", "--runs", 4, "--seed", "0x5", "--out", tmp_path / "a"]
    ran = holdfast(*words, "--steps", 30, "--faults", "pause,crash_fast", "--version", "legacy")
    assert ran.code == 0
    assert ran.out.startswith(
        "cluster legacy, 3 brokers, 4 clients, 4 streams, faults pause, crash_fast: nothing found"
    )
    assert holdfast("campaign", "resume", tmp_path / "a").out == ran.out
    assert holdfast("campaign", "status", tmp_path / "a").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "cluster", "--depth", 3], "--depth: it belongs to models, and not to clusters; leave it out"),
        (["--target", "cluster", "--no-swarm"], "--swarm: it belongs to models, and not to clusters; leave it out"),
        (["--target", "ownership", "--brokers", 3], "--brokers: it belongs to --target cluster; leave it out"),
        (["--target", "cluster", "--faults", "rain"], "--faults: "),
    ],
)
def test_options_of_another_target_are_refused(
    holdfast: Run, tmp_path: Path, words: list[object], message: str
) -> None:
    """An option of another target is refused in one line, and no campaign begins."""
    ran = holdfast("campaign", "run", "--out", tmp_path / "a", *words)
    assert ran.code == 2
    assert message in ran.err
    assert not (tmp_path / "a" / "campaign.parquet").exists()


def test_two_campaigns_of_clusters_are_compared(broken: FolderStorage, holdfast: Run, tmp_path: Path) -> None:
    """A comparison shows the options that differ, the findings and the situations of only one campaign."""
    whole = ran_clusters(tmp_path / "whole", clusters())
    ran = holdfast("campaign", "diff", whole.name, broken.name)
    assert ran.code == 12
    assert "\n  without " in ran.out
    assert "findings only in B" in ran.out
    assert "\n  circumstances, " in ran.out
    assert "holdfast simulate " in ran.out


def test_a_plan_takes_its_rates_from_clusters(
    broken: FolderStorage, holdfast: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan of clusters has units of clusters, whether its rates come from a campaign or from runs now."""
    monkeypatch.setattr(spark.cli.look, "SAMPLE", 0.1)
    for source in ((broken.name,), ("--target", "cluster")):
        ran = holdfast("campaign", "plan", *source, "--runs", 20000, "--cores", 4)
        assert ran.code == 0
        assert "20,000 traces / 64 a unit = 313" in ran.out
