"""The balancer as the target of a campaign: cycles, planted faults, and the files that repeat findings."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path

import attrs
import pytest

import spark.cli.look
import spark.cli.run
from holdfast.ir.errors import UsageError
from impl.sim.balancer_cases.play import SITUATIONS
from spark.campaign.balancer_target import BalancerTarget, labels
from spark.campaign.engine import check_same
from spark.campaign.page.html import render
from spark.campaign.places import CASES
from spark.campaign.reading import read_campaign
from spark.campaign.summary import summarise
from spark.campaign.text import render_summary
from spark.campaign.units import UnitConfig, UnitResult, run_unit
from spark.cluster.storage import FolderStorage
from tests.cli.running import Run
from tests.spark.balancers import balancers, ran_balancers
from tests.spark.running import InlineWorkers, here, place, tables


@pytest.fixture(scope="module")
def parity(tmp_path_factory: pytest.TempPathFactory) -> FolderStorage:
    """A campaign in parity mode, which has cycles."""
    return ran_balancers(tmp_path_factory.mktemp("balancer") / "parity", balancers())


@cache
def unit(seed: int = 7, runs: int = 100, mode: str = "parity", removed: tuple[str, ...] = ()) -> UnitResult:
    """A unit."""
    target = BalancerTarget.of(balancers(mode=mode, removed=removed))
    return run_unit(seed, UnitConfig(pickle.dumps(target), runs))


# Units ------------------------------------------------------------------------------------------------------------


def test_a_unit_covers() -> None:
    """A unit counts its runs, rounds, events, pairs, rules, situations and kinds of round."""
    found = unit()
    assert (found.runs, sum(stop.runs for stop in found.stops)) == (100, 100)
    assert found.steps == sum(stop.steps for stop in found.stops) > 100
    assert all(taken for _, taken, _ in found.actions)
    assert sum(times for *_, times in found.pairs) > 100
    assert {name for name, *_ in found.situations} <= set(SITUATIONS)
    assert len(found.situations) > 15
    assert {label for _, label, _, decisive in found.rules if decisive} >= {"BG-06", "BG-07", "BG-13", "BG-14"}
    assert int.from_bytes(found.states, "little").bit_count() > 50


def test_a_unit_depends_on_its_arguments_alone() -> None:
    """The same unit gives the same result after other units; another seed and another mode give other ones."""
    first = unit()
    assert unit(8) != first
    assert unit(mode="safe") != first
    assert unit.__wrapped__() == first


def test_parity_circles_and_the_safe_mode_rests() -> None:
    """P-17, P-19. In parity some placements return, and some plans change nothing; in safe mode none does."""
    parity, safe = ([unit(seed, 300, mode) for seed in (1, 2)] for mode in ("parity", "safe"))

    assert {each.property for part in parity for each in part.sightings} == {"P-17", "P-19"}
    assert [stop.reason for part in safe for stop in part.stops if stop.runs] == ["rested"] * 2
    assert [part.sightings for part in safe] == [()] * 2


@pytest.mark.parametrize(
    ("removed", "label"),
    [
        ("BG-05", "AB-36"),
        ("BG-07", "P-07"),
        ("BG-09", "P-11"),
        ("BG-10", "AB-57"),
        ("BG-13", "P-13"),
        ("BG-13.still", "P-13"),
        ("BG-14", "P-24"),
        ("BG-15", "P-24"),
        ("BG-15.sources", "P-24"),
    ],
)
def test_a_planted_fault_is_found(removed: str, label: str) -> None:
    """Without a rule of planning, an oracle objects that does not object with the rule."""
    assert label not in {each.property for each in unit(4, 200).sightings}
    assert label in {each.property for each in unit(4, 200, removed=(removed,)).sightings}


@pytest.mark.slow
def test_a_hard_goal_that_is_outvoted_is_found() -> None:
    """BG-08, P-09. Only two hard goals, of which one is far exceeded, can outvote the other: one run in a thousand."""
    found = {each.property for seed in range(5) for each in unit(seed, 1000, removed=("BG-08",)).sightings}
    assert "P-09" in found


def test_a_run_at_the_limit_of_rounds_has_no_answer(tmp_path: Path) -> None:
    """With one round a run that planned something is not at rest: it is counted apart, and is no good end."""
    asked = attrs.evolve(balancers(mode="safe"), depth=1)
    summary = summarise(ran_balancers(tmp_path, asked))
    assert {stop.reason for stop in summary.stops if stop.runs} == {"rested", "round limit"}
    assert summary.not_judged > 50
    assert f"{summary.not_judged} runs reached the limit of rounds" in render_summary(summary).replace("\n  ", " ")
    assert spark.cli.run.exit_code(summary, asked, None, "") == 20


# Findings ---------------------------------------------------------------------------------------------------------


def test_a_finding_is_shrunk_and_repeats(parity: FolderStorage, holdfast: Run) -> None:
    """Each finding has a small scenario, which passes: the planner plans what the finding says."""
    summary = summarise(parity)
    assert {finding.property for finding in summary.findings} == {"P-17", "P-19"}
    for finding in summary.findings:
        assert finding.shrunk is not None
        assert finding.shrunk.steps <= min(finding.drawn, 12)
        assert finding.shrunk.sentence in finding.shrunk.text
        again = holdfast(*finding.shrunk.replay.split()[1:])
        assert (again.code, again.err) == (0, "")
    assert len(parity.list(CASES)) == summary.signatures


def test_a_scenario_of_a_cycle_fails_in_safe_mode(parity: FolderStorage, holdfast: Run, tmp_path: Path) -> None:
    """The scenario shows a defect: where it is mended, the scenario does not pass."""
    for finding in summarise(parity).findings:
        assert finding.shrunk is not None
        safe = tmp_path / "safe.yaml"
        safe.write_text(f"{finding.shrunk.case}profile: {{balancer: safe}}\n", encoding="utf-8")
        assert holdfast("scenario", "run", safe).code == 12


def test_a_finding_of_a_planted_fault_repeats_without_the_rule(holdfast: Run, tmp_path: Path) -> None:
    """The command names the removed rule; with the rule, the scenario fails."""
    storage = ran_balancers(tmp_path, balancers(runs=64, removed=("BG-13",)))
    [finding] = [each for each in summarise(storage).findings if each.property == "P-13"][:1]
    assert finding.shrunk is not None
    words = finding.shrunk.replay.split()[1:]
    assert words[-1] == "--without=BG-13"
    assert holdfast(*words).code == 0
    assert holdfast(*words[:-1]).code == 12


def test_the_text_and_the_page_show_situations(parity: FolderStorage) -> None:
    """Both name the mode, the situations, and the command that repeats a finding."""
    summary = summarise(parity)
    said, page = render_summary(summary), render(summary)
    assert "balancer, parity mode: violated" in said
    assert "\n  situations " in said
    assert "Campaign of the balancer on random clusters" in page
    assert "<caption>Situations: how many runs reached each" in page
    assert f"holdfast scenario run {parity.name}/{CASES}/" in page


# Tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tasks", [1, 2, 7])
def test_tables_do_not_depend_on_partitions(parity: FolderStorage, tmp_path: Path, tasks: int) -> None:
    """Any number of tasks, in any order, gives the same bytes, and the same files of cases."""
    other = ran_balancers(tmp_path, balancers(), InlineWorkers(tasks=tasks, order=lambda parts: parts[::-1]))
    assert tables(other) == tables(parity)
    paths = [f"{CASES}/{name}" for name in parity.list(CASES)]
    assert [other.read(path) for path in paths] == [parity.read(path) for path in paths]


def test_another_mode_is_another_campaign(parity: FolderStorage) -> None:
    """A campaign does not go on in another mode, or without a rule. Its header keeps what was asked."""
    assert read_campaign(parity).config == balancers()
    assert read_campaign(parity).kind == "balancer"
    check_same(parity, read_campaign(parity), BalancerTarget.of(balancers()))
    for other in (balancers(mode="safe"), balancers(removed=("BG-13",))):
        with pytest.raises(UsageError, match="not one campaign"):
            check_same(parity, read_campaign(parity), BalancerTarget.of(other))


@pytest.mark.parametrize("label", ["nothing", "BG-01", "BG-16", "ST-14"])
def test_a_rule_that_planning_lacks_is_refused(label: str) -> None:
    """A rule that no run could miss would make a campaign that finds nothing."""
    with pytest.raises(UsageError, match=f"--without {label}: planning has no such rule"):
        BalancerTarget.of(balancers(removed=(label,)))
    assert label not in labels()


# The command ------------------------------------------------------------------------------------------------------


def test_the_command_makes_campaigns_of_the_balancer(
    holdfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command makes a campaign, resumes it after a unit is gone, and shows, compares and plans it."""
    monkeypatch.setattr(spark.cli.run, "start_cluster", here)
    monkeypatch.setattr(spark.cli.look, "SAMPLE", 0.1)
    words = ["campaign", "run", "--target", "balancer", "--runs", 128, "--seed", 5]
    ran = holdfast(*words, "--out", tmp_path / "a")
    assert ran.code == 12
    before = tables(place(tmp_path / "a"))
    max((tmp_path / "a" / "runs").iterdir()).unlink()
    assert holdfast("campaign", "resume", tmp_path / "a").out == ran.out
    assert tables(place(tmp_path / "a")) == before
    assert holdfast(*words, "--balancer", "safe", "--out", tmp_path / "b").code == 0
    assert holdfast("campaign", "status", tmp_path / "b").code == 0
    assert holdfast("campaign", "report", tmp_path / "a", "--junit", tmp_path / "r.xml").code == 0
    assert "holdfast scenario run" in (tmp_path / "r.xml").read_text(encoding="utf-8")
    compared = holdfast("campaign", "diff", tmp_path / "b", tmp_path / "a")
    assert compared.code == 12
    assert "balancer" in compared.out
    for source in ((tmp_path / "a",), ("--target", "balancer")):
        planned = holdfast("campaign", "plan", *source, "--runs", "1e6", "--cores", 4)
        assert planned.code == 0
        assert "1,000,000 traces / 2,048 a unit = 489" in planned.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--target", "balancer", "--depth", 3), "--depth: it belongs to other targets"),
        (("--target", "balancer", "--brokers", 3), "--brokers: it belongs to other targets"),
        (("--target", "balancer", "--in", "logs"), "--in: it belongs to other targets"),
        (("--target", "balancer", "--guided"), "--guided: it belongs to --target cluster"),
        (("--target", "balancer", "--balancer", "fast"), "fast"),
        (("--target", "balancer", "--without", "nothing"), "--without nothing: planning has no such rule"),
        (("--target", "cluster", "--balancer", "safe"), "--balancer: it belongs to --target balancer"),
        (("--target", "ownership", "--balancer", "safe"), "--balancer: it belongs to --target balancer"),
    ],
)
def test_wrong_options_are_one_line(holdfast: Run, tmp_path: Path, words: tuple[object, ...], message: str) -> None:
    """A wrong option is one line, and no campaign begins."""
    ran = holdfast("campaign", "run", *words, "--out", tmp_path / "a")
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "a" / "campaign.parquet").exists()
