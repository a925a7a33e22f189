"""Guided campaigns of clusters: rounds, kept runs, and that nothing but the tables of earlier rounds guides a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest
from msgspec.structs import replace

import spark.campaign.config
import spark.campaign.engine
import spark.campaign.guide
import spark.cli.run
from holdfast.ir.errors import UsageError
from impl.sim.check import Question, check
from impl.sim.coverage import DECISION, LACK
from impl.sim.descent import ParentRun, descend
from impl.sim.tape import Fault
from spark.campaign.blind import compare_with_blind
from spark.campaign.cluster_target import ClusterTarget
from spark.campaign.engine import begin
from spark.campaign.guide import Guide, GuideBook, ReachedFeature, guide_of
from spark.campaign.reading import unit_row
from spark.campaign.summary import summarise
from spark.cluster.storage import FolderStorage
from tests.cli.running import Run
from tests.spark.clusters import clusters, go_on, ran_clusters
from tests.spark.running import DriverDiedError, InlineWorkers, here, place, tables
from tests.spark.samples import Sample, campaign


@pytest.fixture(scope="module", autouse=True)
def short_rounds() -> Iterator[None]:
    """Rounds of two units."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark.campaign.config, "WAVE", 2)
        patch.setattr(spark.campaign.engine, "WAVE", 2)
        yield


ASKED = clusters(traces=12, per_unit=2, steps=40, guided=True)
"""Three rounds of two units of two runs."""


@pytest.fixture(scope="module")
def guided(tmp_path_factory: pytest.TempPathFactory) -> FolderStorage:
    """A guided campaign of three rounds."""
    return ran_clusters(tmp_path_factory.mktemp("guided") / "a", ASKED)


def coverage(storage: FolderStorage, unit: int) -> Any:
    """The row of a unit in ``coverage``."""
    return unit_row(storage, ("coverage", unit))[0]


def features(row: Any) -> set[tuple[str, ...]]:
    """The pairs, situations in their circumstances, and moments that a unit reached."""
    pairs = {(each["first"], each["second"]) for each in row["pairs"]}
    pairs |= {(each["situation"], each["circumstances"]) for each in row["circumstances"]}
    return pairs | {(each["situation"], each["event"], each["before"]) for each in row["moments"]}


def _images(storage: FolderStorage) -> int:
    """The number of kinds of image that any unit met."""
    bits = [coverage(storage, unit)["states"] for unit in range(ASKED.units)]
    return sum(any(unit[place] >> bit & 1 for unit in bits) for place in range(len(bits[0])) for bit in range(8))


def fresh_book() -> None:
    """Forget the tables that this process has read, as a new worker does."""
    spark.campaign.guide._books.clear()


# What is kept -----------------------------------------------------------------------------------------------------


def test_units_keep_the_runs_that_reach_something_first(guided: FolderStorage) -> None:
    """A unit keeps exactly the features that no earlier round had and that no other kept run of it has."""
    known: set[tuple[str, ...]] = set()
    for first in (0, 2, 4):
        rows = [coverage(guided, unit) for unit in (first, first + 1)]
        for row in rows:
            kept = [tuple(each["feature"]) for run in row["kept"] for each in run["reached"]]
            assert len(kept) == len(set(kept))
            assert set(kept) == features(row) - known
        known |= features(rows[0]) | features(rows[1])


def test_circumstances_guide_no_search_for_a_lack(tmp_path: Path) -> None:
    """Where a rule is switched off they are counted, but no run is kept for them, and none is a parent by them."""
    storage = ran_clusters(tmp_path / "a", attrs.evolve(ASKED, removed=("CS-24",), traces=8))
    rows = [coverage(storage, unit) for unit in range(4)]
    circumstances = {(each["situation"], each["circumstances"]) for row in rows for each in row["circumstances"]}
    assert circumstances
    kept = {tuple(each["feature"]) for row in rows for run in row["kept"] for each in run["reached"]}
    found = set().union(*map(features, rows)) - circumstances
    assert kept == found == GuideBook(storage, seeks_lack=True).before(4).features


def test_a_blind_campaign_keeps_no_run(tmp_path: Path) -> None:
    """Without --guided no run is kept, so the tables stay small."""
    blind = ran_clusters(tmp_path / "blind", attrs.evolve(ASKED, guided=False, traces=2))
    assert not coverage(blind, 0)["kept"]
    assert coverage(blind, 0)["moments"]


def test_the_first_round_is_blind(guided: FolderStorage, tmp_path: Path) -> None:
    """The first round covers what a blind campaign covers, and later rounds do not."""
    blind = ran_clusters(tmp_path / "blind", attrs.evolve(ASKED, guided=False))
    same = [features(coverage(guided, unit)) == features(coverage(blind, unit)) for unit in range(6)]
    assert same[:2] == [True, True]
    assert not all(same[2:])


# What guides ------------------------------------------------------------------------------------------------------


def test_a_guide_has_the_first_run_of_each_feature(guided: FolderStorage) -> None:
    """Each feature of the rounds before is in it, with the run that reached it first and its number in all runs."""
    rows = [coverage(guided, unit) for unit in range(4)]
    guide = GuideBook(guided).before(4)
    assert guide.features == set().union(*map(features, rows))
    first: dict[tuple[str, ...], tuple[int, str]] = {}
    for run in (run for row in rows for run in row["kept"]):
        for each in run["reached"]:
            first.setdefault(tuple(each["feature"]), (each["at"], run["case"]))
    assert {each.feature: (each.at, each.case) for each in guide.reached} == first
    times = sum(each["times"] for row in rows for each in row["pairs"])
    times += sum(each["runs"] for row in rows for each in (*row["circumstances"], *row["moments"]))
    assert sum(each.times for each in guide.reached) == times


def test_a_guide_depends_on_earlier_rounds_alone(guided: FolderStorage) -> None:
    """A book that has read more, or less, gives the same guide."""
    book = GuideBook(guided)
    one, more = book.before(2), book.before(4)
    assert one.reached != more.reached
    assert book.before(2).reached == one.reached == GuideBook(guided).before(2).reached
    assert not book.before(0).reached


def test_a_book_that_could_not_be_read_is_read_anew(guided: FolderStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of a unit cannot be read once. Then nothing counts twice."""
    whole, failures = unit_row, [OSError("S3 is away")]

    def fails_once(storage: FolderStorage, file: tuple[str, int]) -> Any:
        if file[1] == 3 and failures:
            raise failures.pop()
        return whole(storage, file)

    monkeypatch.setattr(spark.campaign.guide, "unit_row", fails_once)
    with pytest.raises(OSError, match="S3 is away"):
        guide_of(guided, ASKED, b"", 4)
    assert guide_of(guided, ASKED, b"", 4).reached == GuideBook(guided).before(4).reached


def test_a_run_that_misses_a_rule_is_followed_closely() -> None:
    """Of the runs with such a parent, fewer than half are crossed."""
    question = ClusterTarget.of(ASKED).ready().question
    case = msgspec.json.encode(ParentRun.of(check(question).run))
    guide = Guide((ReachedFeature(feature=(LACK, "ST-14", ""), times=1, case=case, at=1_000),))
    ready = ClusterTarget.of(ASKED).ready().guided(guide)
    close = sum(bool(ready.of(ASKED.seed_of(4), run).options.recorded) for run in range(100))
    assert close > 50


def test_rare_features_are_drawn_more_often() -> None:
    """A feature that was reached a third as often is drawn three times as often."""
    found = tuple(ReachedFeature(feature=(name,), times=times, case=b"", at=0) for name, times in (("a", 3), ("b", 1)))
    drawn = [Guide(found).rare(number / 400).feature for number in range(400)]
    assert drawn.count(("a",)) == 100
    assert drawn.count(("b",)) == 300


def test_moments_of_a_missing_rule_are_drawn_half_of_the_time() -> None:
    """However many others there are, and a rare moment of the rule more often than another one."""
    others = [ReachedFeature(feature=(str(number),), times=1, case=b"", at=0) for number in range(6)]
    lacks = [ReachedFeature(feature=(LACK, "ST-14", name), times=n, case=b"", at=0) for name, n in (("", 3), ("a", 1))]
    guide = Guide((*others[:3], *lacks, *others[3:]))
    drawn = [guide.rare(number / 800).feature for number in range(800)]
    assert [drawn.count(each.feature) for each in lacks] == pytest.approx([100, 300], abs=1)
    assert [drawn.count(each.feature) for each in others] == pytest.approx([400 / 6] * 6, abs=1)


@pytest.mark.parametrize("lacks", [0, 1])
def test_decisions_of_rules_are_drawn_as_often_as_other_moments(lacks: int) -> None:
    """However many others there are, and a rule that seldom decides more often than another one. This holds where a
    rule is switched off; otherwise they are not drawn.
    """
    others = [ReachedFeature(feature=(str(number),), times=1, case=b"", at=0) for number in range(9)]
    rules = [ReachedFeature(feature=(DECISION, name, ""), times=n, case=b"", at=0) for name, n in (("A", 1), ("B", 9))]
    missing = [ReachedFeature(feature=(LACK, "C", ""), times=5, case=b"", at=0)] * lacks
    reached = (*missing, *others[:3], *rules, *others[3:])
    guide = Guide(reached, seeks_lack=True)
    drawn = [guide.rare(number / 1800).feature for number in range(1800)]
    assert [drawn.count(each.feature) for each in rules] == pytest.approx([405, 45] if lacks else [810, 90], abs=1)
    assert [drawn.count(each.feature) for each in others] == pytest.approx([50 if lacks else 100] * 9, abs=1)
    assert drawn.count((LACK, "C", "")) == pytest.approx(900 * lacks, abs=1)
    assert not {Guide(reached).rare(number / 1800).feature for number in range(1800)} & {each.feature for each in rules}


def test_a_guide_has_the_rules_that_decided(guided: FolderStorage) -> None:
    """Each rule that decided in an earlier round is there, with the number of runs; its case is a run it decided in."""
    guide = GuideBook(guided).before(4)
    found = {each.feature[1]: each for each in guide.reached if each.is_decision}
    rows = [coverage(guided, unit) for unit in range(4)]
    assert set(found) == {each["rule"] for row in rows for each in row["rules"] if each["decisive"]}
    assert {each.times for each in found.values()} <= set(range(1, 9))
    rare = min(found.values(), key=lambda each: (each.times, each.feature))
    parent = msgspec.json.decode(rare.case, type=ParentRun)
    options = replace(ClusterTarget.of(ASKED).question.options, recorded=parent.faults, operations_of=parent.script)
    run = check(Question(seed=parent.seed, options=options)).run
    assert run.first_decided[rare.feature[1]] == rare.at


def test_rules_are_no_moments_of_a_report(guided: FolderStorage) -> None:
    """A report has a table of rules, so its moments are those of situations."""
    assert any(each["situation"] == DECISION for each in coverage(guided, 0)["moments"])
    assert DECISION not in {each.situation for each in summarise(guided).moments}


@pytest.mark.parametrize(("closely", "least", "most"), [(False, 60, 90), (True, 5, 35)])
def test_children_of_a_run_that_misses_a_rule_stay_close(*, closely: bool, least: int, most: int) -> None:
    """Most runs are crossed, which takes no operation and no fault of a parent; of these parents few are."""
    question = ClusterTarget.of(ASKED).ready().question
    parent = ParentRun(1, 1_000, (), (Fault("link c0 b1", 1, "loss", 0.5, 2_000),))
    crossed = sum(
        not descend(question, seed, parent, 2_000, parent, closely=closely).options.recorded for seed in range(100)
    )
    assert least < crossed < most


def test_runs_of_later_rounds_have_parents(guided: FolderStorage) -> None:
    """About four fifths of the runs of a guided round are made of kept runs, the others are drawn."""
    ready = ClusterTarget.of(ASKED).ready()
    later = ready.guided(GuideBook(guided).before(4))
    seed = ASKED.seed_of(4)
    same = [later.of(seed, run) == ready.of(seed, run) for run in range(100)]
    assert 10 < same.count(True) < 35
    assert [later.of(seed, run) for run in range(9)] == [later.of(seed, run) for run in range(9)]


# Any order, any accident ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "workers",
    [
        InlineWorkers(tasks=1),
        InlineWorkers(tasks=2, order=lambda parts: parts[::-1]),
        InlineWorkers(tasks=2, times=2),
    ],
    ids=["one task", "backwards", "twice"],
)
def test_partitions_change_nothing(guided: FolderStorage, tmp_path: Path, workers: InlineWorkers) -> None:
    """The tables are the same, byte for byte, however units are divided, ordered and repeated."""
    fresh_book()
    again = ran_clusters(tmp_path / "again", ASKED, workers)
    assert tables(again) == tables(guided)


@pytest.mark.parametrize("units", [1, 2, 3, 5])
def test_a_dead_driver_loses_nothing(guided: FolderStorage, tmp_path: Path, units: int) -> None:
    """A campaign that died between two rounds, or within one, goes on to the same tables."""
    storage = place(tmp_path / "a")
    begin(storage, ASKED, ClusterTarget.of(ASKED))
    with pytest.raises(DriverDiedError):
        go_on(storage, ASKED, InlineWorkers(dies_after=units))
    assert 0 < len(storage.list("runs")) < 6
    fresh_book()
    go_on(storage, ASKED)
    assert tables(storage) == tables(guided)


def test_a_lost_unit_is_made_again(guided: FolderStorage, tmp_path: Path) -> None:
    """If a file of an early round is gone, it is made again as it was, though later rounds are there."""
    storage = ran_clusters(tmp_path / "a", ASKED)
    storage.delete("runs/0000000002.parquet")
    storage.delete("coverage/0000000002.parquet")
    go_on(storage, ASKED)
    assert tables(storage) == tables(guided)


# Findings ---------------------------------------------------------------------------------------------------------


def test_a_violating_run_with_a_parent_is_repeated(guided: FolderStorage, holdfast: Run, tmp_path: Path) -> None:
    """A violating run that has a parent is shrunk, and its file repeats it without the parent."""
    asked = attrs.evolve(ASKED, removed=("ST-14",))
    ready = ClusterTarget.of(asked).ready().guided(GuideBook(guided).before(2))
    seed = asked.seed_of(2)
    made = [run for run in range(80) if ready.of(seed, run).options.operations_of is not None]
    violating = next(run for run in made if check(ready.of(seed, run)).violations)
    shown = ready.show(seed, violating)
    (tmp_path / "case.json").write_text(shown.case, encoding="utf-8")
    ran = holdfast("simulate", tmp_path / "case.json")
    assert ran.code == 12
    assert shown.sentence in ran.out
    assert shown.steps < shown.drawn


# The command ------------------------------------------------------------------------------------------------------


def test_the_command_runs_and_resumes(holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--guided`` is kept in the configuration, so a resumed campaign is guided, too."""
    monkeypatch.setattr(spark.cli.run, "start_cluster", here)
    words = ["campaign", "run", "--target", "cluster", "--guided", "--runs", 12, "--steps", 30, "--out", tmp_path / "a"]
    ran = holdfast(*words)
    assert ran.code == 0
    assert "\n  moments " in ran.out
    place(tmp_path / "a").delete("runs/0000000002.parquet")
    assert holdfast("campaign", "resume", tmp_path / "a").out == ran.out
    assert summarise(place(tmp_path / "a")).asked.guided


def test_the_page_compares_guided_with_blind(guided: FolderStorage, holdfast: Run, tmp_path: Path) -> None:
    """The page says what each of two campaigns with the same number of runs has reached, and what only one has."""
    blind = ran_clusters(tmp_path / "blind", attrs.evolve(ASKED, guided=False))
    one, two = summarise(guided), summarise(blind)
    moments = compare_with_blind(one, two).rows[0]
    assert (moments.guided, moments.blind) == (len(one.moments), len(two.moments))
    assert moments.only_guided is not None
    assert moments.only_blind is not None
    assert moments.guided - moments.only_guided == moments.blind - moments.only_blind > 0
    images = next(row for row in compare_with_blind(one, two).rows if row.kind == "kinds of image")
    assert (images.guided, images.blind) == (_images(guided), _images(blind))
    page = tmp_path / "page.html"
    assert holdfast("campaign", "report", guided.name, "--blind", blind.name, "--html", page).code == 0
    assert f'<td class="number">{moments.guided}</td><td class="number">{moments.blind}</td>' in page.read_text("utf-8")
    assert holdfast("campaign", "report", guided.name, "--html", page).code == 0
    assert "Guided and blind" not in page.read_text("utf-8")


def test_only_the_same_budget_is_compared(guided: FolderStorage) -> None:
    """A campaign with other runs, or another guided one, is no blind one to compare with."""
    one = summarise(guided)
    blind = attrs.evolve(one, name="b", asked=attrs.evolve(ASKED, guided=False))
    unshrunk = summarise(campaign(Sample(findings=2, shrunk=False), "b")).findings
    assert compare_with_blind(one, blind)
    for other, message in (
        (one, "is a guided campaign; name one"),
        (attrs.evolve(blind, asked=attrs.evolve(blind.asked, traces=11)), "another number of runs"),
        (attrs.evolve(blind, asked=attrs.evolve(blind.asked, removed=("ST-14",))), "another set of rules"),
        (attrs.evolve(blind, done=5), "is not complete; resume it"),
        (attrs.evolve(blind, fingerprint="x"), "another implementation"),
        (attrs.evolve(blind, findings=unshrunk), "its findings are not shrunk yet"),
    ):
        with pytest.raises(UsageError, match=message):
            compare_with_blind(one, other)
    with pytest.raises(UsageError, match="is no guided campaign"):
        compare_with_blind(blind, blind)


@pytest.mark.parametrize("target", ["ownership", "log"])
def test_other_targets_are_not_guided(holdfast: Run, tmp_path: Path, target: str) -> None:
    """Only runs of clusters have a script and a tape."""
    ran = holdfast("campaign", "run", "--target", target, "--guided", "--out", tmp_path / "a")
    assert ran.code == 2
    assert "--guided: it belongs to --target cluster; leave it out" in ran.err
