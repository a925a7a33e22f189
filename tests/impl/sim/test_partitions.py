"""Runs with partitions: moves, cancels, elections and crashes lose nothing."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from impl.broker.messages import StepEvent
from impl.sim.case_file import case_of, read_case, text
from impl.sim.check import CheckResult, Question, check
from impl.sim.conformance.log import conform_log
from impl.sim.options import Options
from impl.sim.partitions import script
from impl.sim.script import ScriptOperation, unique_values
from impl.sim.small import recorded
from impl.sim.timeline import timeline

SHORT = Options(partitions=6, operations=150, span_ms=60_000)
KINDS = [("V6", "G1"), ("legacy", "G1"), ("V6", "G0"), ("legacy", "G0")]


@cache
def checked(seed: int, version: str, generation: str) -> CheckResult:
    """A run with faults, and the oracles' verdict."""
    return check(Question(seed=seed, options=SHORT, version=version, generation=generation))


def history(run: CheckResult) -> str:
    """A digest of the history and of the log."""
    lines = "\n".join(run.run.history.lines()).encode()
    return hashlib.sha256(lines + conform_log(run.run.log)).hexdigest()


@pytest.mark.parametrize(("version", "generation"), KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_in_moves(seed: int, version: str, generation: str) -> None:
    """The oracles accept the run, and it heals: every partition is led, written, and read to its end."""
    found = checked(seed, version, generation)
    assert (found.violations, found.error) == ((), None)
    assert found.run.missing == ""
    assert found.looked["acknowledged"] > 60
    assert found.looked["streams"] == 6
    assert found.run.counts["handovers"] >= 3
    assert found.run.counts["cancels"] >= 1


def test_one_seed_gives_one_run() -> None:
    """A seed gives the same bytes of history and log."""
    again = check(Question(seed=0, options=SHORT))
    assert history(again) == history(checked(0, "V6", "G1"))
    assert history(again) != history(checked(1, "V6", "G1"))


def test_the_generations_are_different() -> None:
    """In G0 the source of a move asks for the election, in G1 the target once it serves."""
    opened = {}
    for generation in ("G0", "G1"):
        log = checked(0, "V6", generation).run.log
        opened[generation] = sum(
            isinstance(subject, StepEvent) and subject.action == "serve" for *_, subject in log.events
        )
    assert min(opened.values()) > 10
    assert history(checked(0, "V6", "G0")) != history(checked(0, "V6", "G1"))


def swap(partitions: int) -> Options:
    """All partitions of broker 1 move to broker 2, and those of broker 2 to broker 1, at the same time."""
    swaps = (ScriptOperation(script.OPERATOR, 100, "swap", 0),)
    return Options(partitions=partitions, brokers=2, faults="none", operations_of=swaps)


@pytest.mark.parametrize(("version", "generation"), KINDS)
def test_fifty_partitions_change_places(version: str, generation: str) -> None:
    """LP-06. Two brokers with two threads each swap all their partitions."""
    found = check(Question(seed=1, options=swap(50), version=version, generation=generation))
    assert found.violations == ()
    assert found.run.counts["handovers"] >= 50
    assert found.run.counts["healing ms"] < 60_000


def test_a_swap_needs_threads_for_closes() -> None:
    """LP-06. With shared threads, opens hold all of them, and the closes they wait for get none (RA-12)."""
    found = check(Question(seed=1, options=swap(50), switches=("LP-06",)))
    assert [each.oracle for each in found.violations] == ["heal"]
    assert "no leader that serves" in found.violations[0].message


def test_a_missing_rule_shows() -> None:
    """ST-14 or RA-22 alone is enough. Without both, two brokers write a partition at once."""
    rules = ("ST-14", "RA-22")
    found = [check(Question(seed=seed, options=SHORT, without=rules)).violations for seed in range(3)]
    assert "log" in {violation.oracle for violations in found for violation in violations}


@pytest.mark.parametrize("minutes", [1, 3])
def test_no_balancing_hides_a_missed_election(minutes: int) -> None:
    """EL-12, EL-10. Nobody elects, so clients wait, whether the balancing would be due early or late in the end."""
    options = replace(SHORT, span_ms=minutes * 60_000)
    found = check(Question(seed=2, options=options, generation="G0", without=("EL-12.leaderless",)))
    assert [each.oracle for each in found.violations] == ["heal"]
    assert "no leader that serves" in found.violations[0].message


def test_a_script_has_moves_and_what_follows_them() -> None:
    """A script has moves, swaps, and moves that are cancelled or replaced soon after. Append values are unique."""
    found = [script.make(seed, clients=4, partitions=6, operations=300) for seed in range(20)]
    for each in found:
        assert len(each) == 300
        assert unique_values(each)
        assert sum(operation.f in ("move", "swap") for operation in each) >= script.MOVES
    kinds = {operation.f for each in found for operation in each}
    assert kinds == {"append", "fetch", "move", "swap", "cancel", "elect"}


def test_a_run_is_kept_in_a_file(tmp_path: Path) -> None:
    """A file repeats the same run."""
    question = Question(seed=3, options=SHORT, version="legacy", generation="G0", without=("ST-14", "RA-22"))
    before = next(
        found for seed in range(20) if (found := check(replace(question, seed=seed))).violations and found.run.healed
    )
    again = recorded(replace(question, seed=before.run.seed), before)
    path = tmp_path / "case.json"
    path.write_text(text(case_of(again, before.violations[0])))
    found = check(read_case(path, "case.json").question())
    assert found.violations == before.violations
    assert list(found.run.history.lines()) == list(before.run.history.lines())


def test_a_timeline_tells_of_partitions() -> None:
    """The timeline has each partition's owner, leader and server, and the operators' requests."""
    lines = timeline(checked(0, "V6", "G1").run)
    told = "\n".join(lines)
    assert "begins: move of partition" in told
    assert "belongs to node" in told
    assert "serves partition" in told
    assert "of partition" in told
