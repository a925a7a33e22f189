"""Logs of what readers of other zones show conform to `snapshot_read`; edited logs and faulty code do not."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from holdfast.cli.app import main
from impl.broker.messages import StepEvent
from impl.sim.conformance.shown_logs import shown_logs
from impl.sim.event_log import EventLog
from tests.conform.shown_logs import (
    SHORT,
    Edit,
    judged,
    reasons,
    simulated,
    with_a_later_end,
    with_an_earlier_apply,
    with_another_epoch,
    without_a_replay,
    without_the_end_of_an_upload,
)

EDITS = (with_a_later_end, with_another_epoch, without_a_replay, without_the_end_of_an_upload, with_an_earlier_apply)


def all_conform(seed: int, folder: Path) -> Counter[str]:
    """Judge all logs of a seed; returns the number of lines of each action."""
    actions: Counter[str] = Counter()
    checked, logs = simulated(seed)
    assert not checked.violations
    for lines in logs:
        actions.update(line["action"] for line in lines)
        found = judged(lines, folder)
        assert found.kind == "conforms", (seed, reasons(found))
        assert found.judged == found.events == len(lines)
    return actions


def test_short_logs_conform_until_they_are_edited(tmp_path: Path) -> None:
    """The logs of a short run conform, and with a later end in a snapshot they are impossible."""
    checked, logs = simulated(0, options=SHORT)
    assert not checked.violations
    edited = 0
    for lines in logs:
        found = judged(lines, tmp_path)
        assert found.kind == "conforms", reasons(found)
        other = with_a_later_end(random.Random(0), lines)
        if other is not None:
            edited += 1
            assert judged(other, tmp_path).kind == "impossible"
    assert edited >= 2


@pytest.mark.long
@pytest.mark.parametrize(
    "seed",
    [
        # The cache of the reader loses records that are not uploaded, while a request to their main is under way.
        17,
        # The store does not answer a reader, which shows a record that is only in the WAL.
        38,
        # A main that has begun anew gives a session the number of the one before it.
        14,
        20,
    ],
)
def test_logs_conform(seed: int, tmp_path: Path) -> None:
    """Under all faults the logs conform."""
    actions = all_conform(seed, tmp_path)
    assert actions.keys() >= {"collect", "answer", "extend", "replay", "apply", "open_session", "lose_session", "move"}


@pytest.mark.long
def test_all_steps_of_a_log_occur() -> None:
    """Together, the runs of the last test have all steps that a log may have."""
    actions = {line["action"] for seed in (17, 38) for log in simulated(seed)[1] for line in log}
    assert actions >= {"ask_upload", "end_upload", "collect_removal", "fail_replay", "evict", "elect", "upload"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 115))
def test_more_logs_conform(seed: int, tmp_path: Path) -> None:
    """The logs of more seeds conform."""
    assert all_conform(seed, tmp_path)["apply"]


@pytest.mark.long
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_edits_are_rejected(edit: Edit, tmp_path: Path) -> None:
    """An end, an epoch, a replay or an upload that is edited: no run explains the log."""
    tried = 0
    for number, lines in enumerate(simulated(1)[1]):
        edited = edit(random.Random(number), lines)
        if edited is not None:
            tried += 1
            assert judged(edited, tmp_path).kind == "impossible", number
    assert tried >= 5


@pytest.mark.long
@pytest.mark.parametrize(
    ("rule", "seed", "named"),
    [
        ("M-16", 1, "M-16 refuses answer"),
        ("M-17", 1, "M-17 refuses collect"),
        ("M-18", 0, "M-18 refuses replay"),
        ("ZR-51", 17, "ZR-51 refuses evict"),
    ],
)
def test_faulty_code_is_noticed(rule: str, seed: int, named: str, tmp_path: Path) -> None:
    """If the code lacks a rule, a log is impossible, and the reasons name the rule."""
    _, logs = simulated(seed, (rule,))
    impossible = [found for found in (judged(lines, tmp_path) for lines in logs) if found.kind == "impossible"]
    assert impossible
    assert all(named in reasons(found) for found in impossible)


@pytest.mark.long
def test_a_record_that_is_passed_over_is_noticed(tmp_path: Path) -> None:
    """If a reader passes over records that only the WAL has, though the store answers it, its log is impossible."""
    log = EventLog()
    is_keep = [isinstance(each[3], StepEvent) and each[3].action == "keep" for each in simulated(1)[0].run.log.events]
    log.events = [each for each, keep in zip(simulated(1)[0].run.log.events, is_keep, strict=True) if not keep]
    logs = [[json.loads(line) for line in text.splitlines()[1:]] for text in shown_logs(log).values()]
    found = [reasons(each) for each in (judged(lines, tmp_path) for lines in logs) if each.kind == "impossible"]
    assert found
    assert all("ZR-50 refuses replay" in each for each in found)


@pytest.mark.long
def test_a_run_writes_its_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes the logs into a folder, each time the same bytes, and conform needs no mapping for them."""
    folders = []
    for name in ("one", "two"):
        file = str(tmp_path / f"{name}.ndjson")
        assert main(["simulate", "--zones", "3", "--seed", "1", "--steps", "60", "--log", file]) == 0
        folders.append(tmp_path / f"{name}.reads")
    one, two = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert one == two
    capsys.readouterr()
    assert main(["conform", "snapshot_read", str(folders[0] / min(one)), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "conforms"
