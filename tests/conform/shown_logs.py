"""Logs of what readers of other zones show in simulated clusters, judged by `snapshot_read`, and edits of such logs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
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
from impl.sim.conformance.shown_logs import HEADER, shown_logs
from impl.sim.options import Options
from tests.conform.simulated_logs import Line

Edit = Callable[[random.Random, Sequence[Line]], list[Line] | None]
"""A function that returns an edited log, or None if there is nothing to edit."""

ZONES = Options(partitions=4, zones=3, brokers=3)
SHORT = Options(partitions=2, zones=3, brokers=3, operations=40)


@cache
def model() -> System:
    """The model in the variant that the header of the logs names."""
    return compile_model(load_model("snapshot_read"), variants=("log_grain",))


@cache
def simulated(
    seed: int, without: tuple[str, ...] = (), options: Options = ZONES
) -> tuple[CheckResult, list[list[Line]]]:
    """A run, and the lines of each of its logs without the header. Nobody changes these lines."""
    checked = check(Question(seed=seed, options=options, without=without))
    texts = shown_logs(checked.run.log).values()
    return checked, [[json.loads(line) for line in text.splitlines()[1:]] for text in texts]


def judged(lines: Sequence[Line], folder: Path) -> Judgement:
    """The model's verdict on a log, whose lines are numbered anew."""
    path = folder / "events.ndjson"
    numbered = [{**line, "seq": number} for number, line in enumerate(lines, start=1)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (HEADER, *numbered)), encoding="utf-8")
    with Log([str(path)]) as log:
        assert log.header is not None
        return judge(model(), log, log.header.literals, JudgeOptions(), Meter(Budget(), lambda now: None))


def reasons(judgement: Judgement) -> str:
    """The verdict as text, with the reasons why an event is impossible."""
    return render(verdict_of(model(), judgement, ()))


# Edits ----------------------------------------------------------------------------------------------------------


def with_a_later_end(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """A main shows one record more than it has."""
    return _changed(draw, lines, "collect", lambda line: {**line, "o": line["o"] + 1})


def with_another_epoch(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """A main shows the partition under the leader epoch before, and the reader under this one."""
    return _changed(draw, lines, "collect", lambda line: {**line, "e": line["e"] - 1})


def without_a_replay(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """The reader applies a snapshot, and has not replayed all of the WAL below its end."""
    places = [
        place
        for place, line in enumerate(lines)
        if line["action"] == "replay" and _next_of(lines[place + 1 :], line["m"]) in ("replay", "apply")
    ]
    return _without(draw, lines, places)


def without_the_end_of_an_upload(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """A main shows the partition before the upload for the session has ended."""
    places = [
        place
        for place, line in enumerate(lines)
        if line["action"] == "end_upload" and _next_of(lines[place + 1 :], line["m"]) == "collect"
    ]
    return _without(draw, lines, places)


def with_an_earlier_apply(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """The reader applies a snapshot before its last replay for it."""
    places = [
        place
        for place, (one, two) in enumerate(pairwise(lines))
        if (one["action"], two["action"]) == ("replay", "apply")
    ]
    if not places:
        return None
    place = draw.choice(places)
    one, two = ({**each, "t": lines[place]["t"]} for each in lines[place : place + 2])
    return [*lines[:place], two, one, *lines[place + 2 :]]


def _changed(
    draw: random.Random, lines: Sequence[Line], action: str, change: Callable[[Line], Line]
) -> list[Line] | None:
    places = [place for place, line in enumerate(lines) if line["action"] == action and line["o"]]
    if not places:
        return None
    place = draw.choice(places)
    return [*lines[:place], change(lines[place]), *lines[place + 1 :]]


def _without(draw: random.Random, lines: Sequence[Line], places: Sequence[int]) -> list[Line] | None:
    if not places:
        return None
    place = draw.choice(places)
    return [*lines[:place], *lines[place + 1 :]]


def _next_of(lines: Sequence[Line], main: str) -> str | None:
    """The next action of a main with its session."""
    return next((line["action"] for line in lines if line.get("m") == main and line["action"] != "extend"), None)
