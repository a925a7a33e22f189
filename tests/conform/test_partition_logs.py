"""Logs of simulated clusters' partitions conform to the models of moves; edited logs and faulty code do not."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from impl.bridge.log_models import OF_PARTITIONS
from tests.conform.partition_logs import (
    PARTITIONS,
    Edit,
    Generation,
    judged,
    reasons,
    simulated,
    with_an_early_election,
    with_another_leader_epoch,
    without_a_close,
    without_a_sent_close,
    without_all_closes,
)
from tests.conform.simulated_logs import Line

BUILDS: Sequence[tuple[Generation, str]] = (("G0", "legacy"), ("G0", "V6"), ("G1", "legacy"), ("G1", "V6"))
BOTH = (with_another_leader_epoch, without_a_close, without_a_sent_close)
EDITS: Sequence[tuple[Edit, Generation]] = (
    *((edit, "G0") for edit in (*BOTH, with_an_early_election, without_all_closes)),
    *((edit, "G1") for edit in BOTH),
)


def all_conform(generation: Generation, version: str, seeds: range, folder: Path) -> Counter[str]:
    """Judge the logs of some seeds by each model; returns the number of lines of each kind."""
    kinds: Counter[str] = Counter()
    for seed in seeds:
        checked, logs = simulated(seed, generation, version)
        assert not checked.violations
        assert len(logs) == PARTITIONS
        for number, lines in enumerate(logs):
            kinds.update(line["kind"] for line in lines)
            for name in OF_PARTITIONS:
                found = judged(name, generation, lines, folder)
                assert found.kind == "conforms", (seed, number, reasons(name, generation, found))
                assert found.judged == found.events == len(lines)
    return kinds


@pytest.mark.parametrize(("generation", "version"), BUILDS)
def test_logs_conform(generation: Generation, version: str, tmp_path: Path) -> None:
    """Every line is judged, since no kind of line is ignored, and the logs conform."""
    kinds = all_conform(generation, version, range(4), tmp_path)
    assert kinds.keys() >= {"REASSIGN", "CANCEL", "ELECT_LEADER:source", "CLOSE_STREAM:recovery", "CLOSED", "SERVE"}
    assert ("ELECT_LEADER:timer" in kinds) == (generation == "G0")


@pytest.mark.parametrize(
    ("generation", "version", "seed", "kind"),
    [
        # A broker asks for an election though it never had the log open, and the source still has it open.
        ("G0", "legacy", 0, "ELECT_LEADER:idle"),
        # The partition returns to its source before the source has closed it, and the source asks for an election.
        ("G0", "legacy", 3, "ELECT_LEADER:late"),
        # A process is taken over between the check of its reservation and its request to be active.
        ("G1", "legacy", 198, "BROKER_ACTIVE:late"),
        # A late repetition opens a stream again after its close.
        ("G1", "legacy", 126, "OPEN_STREAM:late"),
        # A shutdown stops waiting for a partition, and closes its streams without its flag.
        ("G1", "legacy", 1, "stream.closing:unflagged"),
        # The attempt to open has ended, and its open is granted.
        ("G1", "legacy", 57, "OPEN_STREAM:late"),
        # The controller takes a close of a process that has ended.
        ("G0", "legacy", 123, "CLOSE_STREAM:late"),
        # A process closes a stream whose open it never heard of.
        ("G0", "V6", 384, "CLOSE_STREAM:stray"),
        # G1 accepts a target that is in controlled shutdown.
        ("G1", "legacy", 116, "REASSIGN:leaving"),
        # A timer elects another broker while the source closes its last stream, so the source's request comes late.
        ("G0", "V6", 84, "ELECT_LEADER:late"),
        # A late repetition opens a stream between the request of the source and its execution.
        ("G0", "legacy", 132, "ELECT_LEADER:late"),
    ],
)
def test_rare_ways_conform(generation: Generation, version: str, seed: int, kind: str, tmp_path: Path) -> None:
    """Logs with rare events conform."""
    assert all_conform(generation, version, range(seed, seed + 1), tmp_path)[kind]


def test_a_worker_may_stand_for_a_broker_that_is_active_again(tmp_path: Path) -> None:
    """A worker may take over a broker that is active again, since it was told of the fencing earlier."""
    _, logs = simulated(95, "G1", "legacy")
    states = [_states_at_failover(lines) for lines in logs]
    assert any("BROKER_ACTIVE" in each for each in states)
    for lines in logs:
        assert {judged(name, "G1", lines, tmp_path).kind for name in OF_PARTITIONS} == {"conforms"}


def _states_at_failover(lines: Sequence[Line]) -> list[str]:
    """The controller's last line about each broker at the time when a worker registered for it."""
    newest: dict[int, str] = {}
    found: list[str] = []
    for line in lines:
        if line["kind"].startswith("BROKER_"):
            newest[line["node"]] = line["kind"]
        elif line["kind"] == "FAILOVER":
            found.append(newest.get(line["node"], ""))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("generation", "version"), BUILDS)
def test_twelve_logs_conform(generation: Generation, version: str, tmp_path: Path) -> None:
    """Twelve logs conform, with many moves, cancels, failovers and late messages."""
    kinds = all_conform(generation, version, range(12), tmp_path)
    assert kinds["REASSIGN"] > 100
    assert kinds["CANCEL"] > 15
    assert kinds["FAILOVER"] > 10
    assert kinds["RENEW_EPOCH"] > 4


def noticed(edit: Edit, generation: Generation, seeds: range, folder: Path) -> Counter[str]:
    """The answers of both models to the edited logs of some seeds, two edits a log."""
    found: Counter[str] = Counter()
    for seed in seeds:
        _, logs = simulated(seed, generation, "legacy")
        for number, lines in enumerate(logs):
            for time in range(2):
                edited = edit(random.Random(f"{seed} {number} {time}"), lines)
                if edited is not None:
                    found.update(judged(name, generation, edited, folder).kind for name in OF_PARTITIONS)
    return found


@pytest.mark.parametrize(
    ("edit", "generation"), EDITS, ids=lambda each: each if isinstance(each, str) else each.__name__
)
def test_edits_are_noticed(edit: Edit, generation: Generation, tmp_path: Path) -> None:
    """The lines of an edited log are renumbered, so the model must detect the edit, and does."""
    found = noticed(edit, generation, range(2), tmp_path)
    assert found.keys() == {"impossible"}
    assert found["impossible"] >= 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "generation"), EDITS, ids=lambda each: each if isinstance(each, str) else each.__name__
)
def test_all_edits_are_noticed(edit: Edit, generation: Generation, tmp_path: Path) -> None:
    """The models detect two edits in each log of five seeds."""
    found = noticed(edit, generation, range(5), tmp_path)
    assert found.keys() == {"impossible"}
    assert found["impossible"] >= 20


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (with_another_leader_epoch, "leader_epoch after the step is"),
        (without_a_sent_close, "RA-16.handles refuses end_close"),
        (without_a_close, "RA-18.closed refuses end_close"),
        (with_an_early_election, "RA-18 refuses ask_election"),
        (without_all_closes, "RA-18 refuses ask_election"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_the_guard_is_named(edit: Edit, named: str, tmp_path: Path) -> None:
    """For some edit of a seed the verdict names this guard; other edits may be stopped by an earlier guard."""
    _, logs = simulated(1, "G0", "legacy")
    texts = []
    for lines in logs:
        for time in range(4):
            edited = edit(random.Random(time), lines)
            if edited is not None:
                texts.append(reasons("reassignment", "G0", judged("reassignment", "G0", edited, tmp_path)))
    assert texts
    assert any(named in text for text in texts)


@pytest.mark.parametrize(
    ("rules", "generation", "version", "seed", "name", "named"),
    [
        (("ST-14", "RA-22"), "G1", "legacy", 0, "reassignment", "ST-14 refuses open"),
        (("RA-04",), "G0", "legacy", 0, "reassignment", "leader after the step is null in the model"),
        (("RA-05",), "G0", "legacy", 0, "reassignment", "leader_epoch after the step is above"),
        (("RA-11",), "G0", "legacy", 0, "reassignment", "CA-47 refuses begin_open"),
        (("FO-10.fence",), "G0", "legacy", 1, "reassignment", "FO-10.target refuses isolate"),
        (("FO-10.unfence",), "G0", "legacy", 1, "reassignment", "replica after the step is"),
        (("CK-01.expired",), "G0", "legacy", 1, "reassignment", "EX-07 refuses close_stray"),
        (("CA-41",), "G1", "V6", 0, "cancellation", "CA-41 refuses cancel with NO_REASSIGNMENT_IN_PROGRESS"),
        (("CA-53",), "G0", "legacy", 3, "cancellation", "replica after the step is"),
        (("CA-20.returned",), "G1", "V6", 1, "cancellation", "CA-20 refuses cancel with NO_REASSIGNMENT_IN_PROGRESS"),
    ],
    ids=lambda each: "+".join(each) if isinstance(each, tuple) else None,
)
def test_faulty_code_is_noticed(
    rules: tuple[str, ...], generation: Generation, version: str, seed: int, name: str, named: str, tmp_path: Path
) -> None:
    """If the code lacks a rule, the model finds some partition's log impossible, and the reasons name this text."""
    _, logs = simulated(seed, generation, version, rules)
    found = [judged(name, generation, lines, tmp_path) for lines in logs]
    texts = [reasons(name, generation, each) for each in found if each.kind == "impossible"]
    assert any(named in text for text in texts), texts
