"""Logs of simulated clusters, judged by the models of the repository, and edits of such logs."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.answer.verdict import render, verdict_of
from holdfast.check.conform.judge.judge import Judgement, judge
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.mappings.mapping import Mapping
from holdfast.check.conform.mappings.mapping_file import read_mapping
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from impl.sim.check import CheckResult, Question, check
from impl.sim.conformance.log import conform_log

Line = dict[str, Any]

REQUESTS = ("OPEN_STREAM", "CLOSE_STREAM", "CLOSE_STREAM:recovery")
"""The kinds of lines whose stream epoch the controller compares."""
STEPS = ("append.acked",)
"""The kinds of lines that have the stream epoch of the handle."""


@cache
def model(name: str) -> tuple[Mapping, System]:
    """The mapping of a model, and the model with the mapping's variants."""
    mapping = read_mapping(Path(name))
    return mapping, compile_model(load_model(name), variants=mapping.about.variants)


def judged(name: str, lines: Sequence[Line], folder: Path) -> Judgement:
    """The model's verdict on a log."""
    mapping, system = model(name)
    path = folder / "events.ndjson"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    with Log([str(path)], mapping) as log:
        options = JudgeOptions(hidden=tuple(mapping.hidden))
        return judge(system, log, mapping.about.literals, options, Meter(Budget(), lambda now: None))


def reasons(name: str, judgement: Judgement) -> str:
    """The verdict as text, with the reasons why an event is impossible."""
    return render(verdict_of(model(name)[1], judgement, ()))


def simulated(seed: int, version: str, without: tuple[str, ...] = ()) -> tuple[CheckResult, list[Line]]:
    """A simulated run, and the lines of its log."""
    checked = check(Question(seed=seed, version=version, without=without))
    return checked, [json.loads(line) for line in conform_log(checked.run.log).splitlines()]


def renumbered(lines: Sequence[Line]) -> list[Line]:
    """The lines, numbered from 1 so that no gap shows."""
    return [{**line, "n": number} for number, line in enumerate(lines, start=1)]


def without_an_open(draw: random.Random, lines: Sequence[Line]) -> list[Line]:
    """Remove one open that changed something."""
    gone = draw.choice([place for place, line in enumerate(lines) if line["kind"] == "OPEN_STREAM"])
    return renumbered([line for place, line in enumerate(lines) if place != gone])


def with_another_stream_epoch(draw: random.Random, lines: Sequence[Line]) -> list[Line]:
    """Change the stream epoch of an open, a close or an acknowledged append."""
    places = [place for place, line in enumerate(lines) if line["kind"] in (*REQUESTS, *STEPS)]
    return _edited(lines, draw.choice(places), "streamEpoch", draw.choice([-1, 1]))


def with_another_node_epoch(draw: random.Random, lines: Sequence[Line]) -> list[Line]:
    """Change the node epoch of a registration."""
    places = [place for place, line in enumerate(lines) if line["kind"] == "GET_OPENING_STREAMS"]
    return _edited(lines, draw.choice(places), "nodeEpoch", draw.choice([-1, 1]))


def _edited(lines: Sequence[Line], place: int, field: str, by: int) -> list[Line]:
    line = lines[place]
    return [*lines[:place], {**line, field: line[field] + by}, *lines[place + 1 :]]
