"""Logs of route epochs of simulated clusters conform to `route_epoch`; edited logs and faulty code do not."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.cli.app import main
from impl.sim.conformance.routes import route_log
from impl.sim.event_log import EventLog, StoreEffect
from impl.store.interface import Put
from tests.conform.route_logs import (
    SHORT,
    Edit,
    judged,
    reasons,
    simulated,
    with_a_report_above_the_fence,
    with_an_advanced_commit,
    with_an_early_trim,
    with_another_tag,
    without_a_link,
    without_an_upload,
)

EDITS = (
    with_another_tag,
    with_a_report_above_the_fence,
    with_an_advanced_commit,
    with_an_early_trim,
    without_an_upload,
    without_a_link,
)


def all_conform(seeds: range, folder: Path) -> Counter[str]:
    """Judge the logs of some seeds; returns the number of lines of each action."""
    actions: Counter[str] = Counter()
    for seed in seeds:
        checked, lines = simulated(seed)
        assert not checked.violations
        actions.update(line["action"] for line in lines)
        found = judged(lines, folder)
        assert found.kind == "conforms", (seed, reasons(found))
        assert found.judged == found.events == len(lines)
    return actions


@pytest.mark.parametrize("seed", range(3))
def test_a_short_log_conforms_until_it_is_edited(seed: int, tmp_path: Path) -> None:
    """The log of a short run conforms, and with a report above the fence it is impossible."""
    checked, lines = simulated(seed, options=SHORT)
    assert not checked.violations
    found = judged(lines, tmp_path)
    assert found.kind == "conforms", reasons(found)
    edited = with_a_report_above_the_fence(random.Random(0), lines)
    assert edited is not None
    assert judged(edited, tmp_path).kind == "impossible"


def test_logs_conform(tmp_path: Path) -> None:
    """Under all faults the logs conform. They have uploads, trims, reports, commits and recoveries."""
    actions = all_conform(range(2), tmp_path)
    assert actions.keys() >= {"admit", "fail", "answer", "upload", "trim_wal", "publish", "commit", "bump", "recover"}


@pytest.mark.parametrize(
    "seed",
    [
        # An older process applies an older record than the newer process of its node has applied.
        8,
        # A process whose WAL another one has recovered stores a link that nobody finds.
        14,
        # A process whose WAL another broker has recovered learns of an epoch, and reports it.
        29,
        # A stream is opened again by the node that had a link of it, which a recovery had not found.
        43,
        # The controller waits for a node whose next process does not serve yet.
        60,
        # A process admits batches before it serves.
        70,
        # A copy of an older report arrives behind a newer one.
        5,
        # A new leader of the controllers does not know that a node is leaving, and does not wait for it.
        34,
    ],
)
def test_rare_ways_conform(seed: int, tmp_path: Path) -> None:
    """Logs in which processes of one node overlap conform."""
    all_conform(range(seed, seed + 1), tmp_path)


@pytest.mark.slow
def test_twelve_logs_conform(tmp_path: Path) -> None:
    """Twelve logs conform, in which nodes are recovered, and batches refused."""
    actions = all_conform(range(100, 112), tmp_path)
    assert actions["recover"] > 40
    assert actions["commit"] > 80
    assert actions["refuse"]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_edits_are_rejected(edit: Edit, tmp_path: Path) -> None:
    """An epoch that is edited, a report that is advanced, a step that is left out: no run explains the log."""
    _, lines = simulated(0)
    for time in range(3):
        edited = edit(random.Random(time), lines)
        assert edited is not None
        assert judged(edited, tmp_path).kind == "impossible", time


@pytest.mark.parametrize(
    ("rule", "seed", "named"),
    [
        ("M-05", 0, "M-05 refuses publish"),
        ("M-06", 0, "M-05 refuses publish"),
        ("M-09", 0, "refuses commit"),
        ("M-11", 1, "M-09 refuses commit"),
        ("M-11.active", 0, "M-09 refuses commit"),
        ("M-12", 2, "ZR-55 refuses commit"),
        ("M-13", 0, "M-13 refuses send"),
        ("M-15", 2, "M-15 refuses recover"),
        ("ZR-57", 8, "ZR-55 refuses commit"),
        ("ND-30", 43, "M-09 refuses commit"),
        ("ZG-1", 0, "refuses append"),
    ],
)
def test_faulty_code_is_noticed(rule: str, seed: int, named: str, tmp_path: Path) -> None:
    """If the code lacks a rule, the log is impossible, and the reasons name this text."""
    is_switch = rule.startswith("ZG-")
    _, lines = simulated(seed, () if is_switch else (rule,), (rule,) if is_switch else ())
    found = judged(lines, tmp_path)
    assert found.kind == "impossible"
    assert named in reasons(found)


def test_an_ack_without_a_durable_link_is_noticed(tmp_path: Path) -> None:
    """If a store acknowledges objects of WALs and keeps none, no link is durable, and the first ack is impossible."""
    log = EventLog()
    log.events = [event for event in simulated(0)[0].run.log.events if not is_wal_effect(event[3])]
    _, *lines = map(json.loads, route_log(log).splitlines())
    found = judged(lines, tmp_path)
    assert found.kind == "impossible"
    assert "ZR-31.answer refuses answer" in reasons(found)


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "remedy"),
    [(JudgeOptions(project="Main"), "try --project Request"), (JudgeOptions(joint=100), "try a smaller --joint")],
)
def test_too_many_batches_are_unknown(options: JudgeOptions, remedy: str, tmp_path: Path) -> None:
    """A world has room for few batches only, and the reason names the option that helps."""
    found = judged(simulated(0)[1], tmp_path, options)
    assert found.kind == "unknown"
    assert re.fullmatch(rf"the log names [0-9,]+ elements of Request, and there is room for 64; {remedy}", found.reason)


def is_wal_effect(subject: object) -> bool:
    """Whether an object of a WAL was stored."""
    return (
        isinstance(subject, StoreEffect)
        and isinstance(subject.request.operation, Put)
        and subject.request.operation.key.startswith("wal/")
    )


def test_a_run_writes_its_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes the log beside the others, each time the same bytes, and conform needs no mapping for it."""
    logs = []
    for name in ("one", "two"):
        file = str(tmp_path / f"{name}.ndjson")
        assert main(["simulate", "--zones", "3", "--seed", "1", "--steps", "60", "--log", file]) == 0
        logs.append(tmp_path / f"{name}.routes.ndjson")
    one, two = (log.read_bytes() for log in logs)
    assert one == two
    capsys.readouterr()
    assert main(["conform", "route_epoch", str(logs[0]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "conforms"
