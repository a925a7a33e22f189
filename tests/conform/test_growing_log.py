"""A log that grows gets the verdict of a whole log at each length, and only its new lines are judged."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from holdfast.check.conform.judge.frame import Frame
from holdfast.check.conform.judge.growing_log import GrowingLog, ImpossibleEventError
from impl.bridge.log_models import OF_PARTITIONS
from impl.sim.check import Question, check
from impl.sim.conformance.log import conform_log
from impl.sim.options import Options
from tests.conform import partition_logs
from tests.conform.simulated_logs import (
    Line,
    judged,
    model,
    renumbered,
    with_another_node_epoch,
    with_another_stream_epoch,
    without_an_open,
)

SHORT = Options(operations=80, span_ms=30_000)
RUNS = [("ownership", "legacy"), ("stream_log", "legacy"), ("fast_close", "V6")]
EDITS = (without_an_open, with_another_stream_epoch, with_another_node_epoch)


@cache
def _lines(version: str) -> list[Line]:
    checked = check(Question(seed=3, version=version, options=SHORT))
    return [json.loads(line) for line in conform_log(checked.run.log).splitlines()]


def _growing(name: str) -> GrowingLog:
    mapping, system = model(name)
    return GrowingLog(Frame.of(system, mapping.about.literals), mapping, mapping.hidden)


def _verdict(log: GrowingLog, lines: Sequence[Line]) -> int | None:
    """The line of the first impossible event; None if the log conforms."""
    try:
        log.judge(lines)
    except ImpossibleEventError as error:
        return error.facts.event.at.line
    return None


def _whole(name: str, lines: Sequence[Line], folder: Path) -> int | None:
    found = judged(name, lines, folder)
    assert found.kind in ("conforms", "impossible")
    return None if found.facts is None else found.facts.event.at.line


@pytest.mark.parametrize(("name", "version"), RUNS)
def test_every_length_gets_the_verdict_of_a_whole_log(name: str, version: str, tmp_path: Path) -> None:
    """Edited logs and whole ones, at lengths drawn from a seed, get the verdict that ``judge`` gives."""
    lines = _lines(version)
    draw, impossible = random.Random(name), 0
    for log in (lines, *(edit(draw, lines) for edit in EDITS)):
        growing = _growing(name)
        lengths = sorted({len(log), *(draw.randrange(20, len(log)) for _ in range(3))})
        for length in lengths:
            wanted = _whole(name, log[:length], tmp_path)
            assert _verdict(growing, log[:length]) == wanted, length
            impossible += wanted is not None
            if wanted is not None:
                break
    assert impossible


@pytest.mark.parametrize(("name", "version"), RUNS)
def test_a_line_may_change(name: str, version: str, tmp_path: Path) -> None:
    """If an earlier line changes, comes or goes, what follows it is judged anew."""
    lines = _lines(version)
    draw, growing = random.Random(name), _growing(name)
    half = len(lines) // 2
    assert _verdict(growing, lines[:half]) is None
    for edit in EDITS:
        edited = edit(draw, lines[:half])
        assert _verdict(growing, edited) == _whole(name, edited, tmp_path)
        assert _verdict(growing, lines[: half + 20]) is None
    assert _verdict(growing, lines) is None


@pytest.mark.parametrize(("name", "version"), RUNS)
def test_a_line_may_come_late(name: str, version: str) -> None:
    """A line that is missing at first makes the log impossible, until it comes."""
    lines = _lines(version)
    place = next(each for each, line in enumerate(lines) if line["kind"] == "OPEN_STREAM" and each > 40)
    growing = _growing(name)
    assert _verdict(growing, renumbered([*lines[:place], *lines[place + 1 :]])) is not None
    assert _verdict(growing, lines) is None


def test_only_new_events_are_judged() -> None:
    """Until a new element comes, no event is judged twice; with a new element, all are."""
    lines = _lines("V6")
    growing = _growing("fast_close")
    growing.judge(lines)
    whole = growing.judged
    growing.judge(lines)
    assert growing.judged == whole
    # The last lines name no new element.
    other = _growing("fast_close")
    for length in range(len(lines) - 20, len(lines) + 1):
        other.judge(lines[:length])
    assert other.judged == whole
    from_the_start = _growing("fast_close")
    for length in (20, len(lines)):
        from_the_start.judge(lines[:length])
    assert from_the_start.judged > whole


@pytest.mark.parametrize("name", OF_PARTITIONS)
def test_the_log_of_a_partition_grows(name: str, tmp_path: Path) -> None:
    """The models of moves judge the growing log of a partition; a wrong leader epoch is impossible at its line."""
    _, logs = partition_logs.simulated(1, "G0", "legacy")
    mapping, system = partition_logs.model(name, "G0")
    lines = logs[0]
    edited = partition_logs.with_another_leader_epoch(random.Random(1), lines)
    assert edited is not None
    wanted = partition_logs.judged(name, "G0", edited, tmp_path)
    assert wanted.facts is not None
    growing = GrowingLog(Frame.of(system, mapping.about.literals), mapping, mapping.hidden)
    for length in range(1, len(lines) + 1, 15):
        growing.judge(lines[:length])
    growing.judge(lines)
    assert _verdict(growing, edited) == wanted.facts.event.at.line
