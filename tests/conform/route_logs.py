"""Logs of route epochs of simulated clusters with zones, judged by `route_epoch`, and edits of such logs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.answer.verdict import render, verdict_of
from holdfast.check.conform.judge.judge import Judgement, judge
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.logs.log import Log
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from impl.sim.check import CheckResult, Question, check
from impl.sim.conformance.routes import HEADER, route_log
from impl.sim.options import Options
from tests.conform.simulated_logs import Line

Edit = Callable[[random.Random, Sequence[Line]], list[Line] | None]
"""A function that returns an edited log, or None if there is nothing to edit."""

ZONES = Options(partitions=4, zones=3, brokers=3)
SHORT = Options(partitions=2, zones=3, brokers=3, operations=40)


@cache
def model() -> System:
    """The model in the variant that the header of the logs names."""
    return compile_model(load_model("route_epoch"), variants=("log_grain",))


@cache
def simulated(
    seed: int, without: tuple[str, ...] = (), switches: tuple[str, ...] = (), options: Options = ZONES
) -> tuple[CheckResult, list[Line]]:
    """A run, and the lines of its log without the header. Nobody changes these lines."""
    checked = check(Question(seed=seed, options=options, without=without, switches=switches))
    _, *lines = route_log(checked.run.log).splitlines()
    return checked, [json.loads(line) for line in lines]


def judged(lines: Sequence[Line], folder: Path, options: JudgeOptions = JudgeOptions()) -> Judgement:  # noqa: B008
    """The model's verdict on a log."""
    path = folder / "events.ndjson"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (HEADER, *lines)), encoding="utf-8")
    with Log([str(path)]) as log:
        assert log.header is not None
        return judge(model(), log, log.header.literals, options, Meter(Budget(), lambda now: None))


def reasons(judgement: Judgement) -> str:
    """The verdict as text, with the reasons why an event is impossible."""
    return render(verdict_of(model(), judgement, ()))


# Edits ----------------------------------------------------------------------------------------------------------


def with_another_tag(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Change the epoch with which a proxy tags a record by one, wherever it is told."""
    sent = [line for line in lines if line["action"] == "send"]
    name, by = draw.choice(sent)["r"], draw.choice([-1, 1])
    return [_tagged(line, by) if line.get("r") == name else line for line in lines]


def with_a_report_above_the_fence(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Advance a report to one more than the epoch that its main knows to be fenced."""
    place = draw.choice([place for place, line in enumerate(lines) if line["action"] == "publish"])
    main = lines[place]["m"]
    known = [line["f"] for line in lines[:place] if line["action"] == "learn" and line["m"] == main]
    return _with_report(lines, place, known[-1] + 1)


def with_an_advanced_report(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Raise the epoch of a report by one. The main may know that epoch to be fenced, too, and have nothing left."""
    place = draw.choice([place for place, line in enumerate(lines) if line["action"] == "publish"])
    return _with_report(lines, place, lines[place]["v"] + 1)


def with_an_advanced_commit(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Raise the epoch of a commit by one."""
    places = [place for place, line in enumerate(lines) if line["action"] == "commit"]
    if not places:
        return None
    place = draw.choice(places)
    epoch = lines[place]["c"] + 1
    line = {**lines[place], "c": epoch, "post": {"committed": epoch}}
    return [*lines[:place], line, *lines[place + 1 :]]


def with_an_early_trim(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Let a channel be trimmed up to an epoch that is not committed yet."""
    place = draw.choice([place for place, line in enumerate(lines) if line["action"] == "apply_record"])
    line = dict(lines[place])
    line["c"] = line["e"]
    line["post"] = {**line["post"], "trimmed_to": {line["p"]: line["c"]}}
    return [*lines[:place], line, *lines[place + 1 :]]


def without_an_upload(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Leave out the upload of a batch whose link is trimmed."""
    trimmed = {line["r"] for line in lines if line["action"] == "trim_wal"}
    return _without_one(draw, lines, [n for n, line in enumerate(lines) if _is(line, "upload", trimmed)])


def without_a_link(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Leave out the link of a batch that is uploaded."""
    uploaded = {line["r"] for line in lines if line["action"] == "upload"}
    return _without_one(draw, lines, [n for n, line in enumerate(lines) if _is(line, "link", uploaded)])


def _tagged(line: Line, by: int) -> Line:
    found = dict(line)
    if "e" in line:
        found["e"] += by
    if "post" in line:
        found["post"] = {"tag": {name: epoch + by for name, epoch in line["post"]["tag"].items()}}
    return found


def _with_report(lines: Sequence[Line], place: int, epoch: int) -> list[Line]:
    line = {**lines[place], "v": epoch, "post": {"report": {lines[place]["m"]: epoch}}}
    return [*lines[:place], line, *lines[place + 1 :]]


def _is(line: Line, action: str, batches: set[str]) -> bool:
    return line["action"] == action and line["r"] in batches


def _without_one(draw: random.Random, lines: Sequence[Line], places: Sequence[int]) -> list[Line] | None:
    if not places:
        return None
    gone = draw.choice(places)
    left = [line for place, line in enumerate(lines) if place != gone]
    return [{**line, "seq": number} for number, line in enumerate(left, start=1)]
