"""Logs of simulated clusters' partitions, judged by `reassignment` and `cancellation`, and edits of such logs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

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
from impl.sim import options
from impl.sim.check import CheckResult, Question, check
from impl.sim.conformance.partitions import partition_logs
from tests.conform.simulated_logs import Line, renumbered

Generation = Literal["G0", "G1"]
Edit = Callable[[random.Random, Sequence[Line]], list[Line] | None]
"""A function that returns an edited log, or None if there is nothing to edit."""

PARTITIONS = 3
CLOSES = ("CLOSE_STREAM", "CLOSE_STREAM:recovery")
RECORDS = ("REASSIGN", "CANCEL", "ELECT_LEADER:source", "ELECT_LEADER:timer", "RENEW_EPOCH")
"""The kinds of lines that record a change of the registration."""


@cache
def model(name: str, generation: Generation) -> tuple[Mapping, System]:
    """The mapping of a model, and the generation's model with the mapping's variants."""
    mapping = read_mapping(Path(name))
    variants = (*mapping.about.variants, *(("G1",) if generation == "G1" else ()))
    return mapping, compile_model(load_model(name), variants=variants)


def judged(name: str, generation: Generation, lines: Sequence[Line], folder: Path) -> Judgement:
    """The model's verdict on a partition's log."""
    mapping, system = model(name, generation)
    path = folder / "events.ndjson"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    with Log([str(path)], mapping) as log:
        return judge(system, log, mapping.about.literals, JudgeOptions(), Meter(Budget(), lambda now: None))


def reasons(name: str, generation: Generation, judgement: Judgement) -> str:
    """The verdict as text, with the reasons why an event is impossible."""
    return render(verdict_of(model(name, generation)[1], judgement, ()))


def simulated(
    seed: int, generation: Generation, version: str, without: tuple[str, ...] = ()
) -> tuple[CheckResult, list[list[Line]]]:
    """A run, and the logs of its partitions."""
    with_partitions = options.Options(partitions=PARTITIONS)
    asked = Question(seed=seed, options=with_partitions, generation=generation, version=version, without=without)
    checked = check(asked)
    logs = partition_logs(checked.run.log, elects=generation == "G1")
    return checked, [[json.loads(line) for line in text.splitlines()] for text in logs.values()]


# Edits ----------------------------------------------------------------------------------------------------------


def with_another_leader_epoch(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Change a record's leader epoch to one less, or to the next record's."""
    places = [place for place, line in enumerate(lines) if line["kind"] in RECORDS]
    if not places:
        return None
    place = draw.choice(places)
    by = draw.choice([-1, 1]) if place != places[-1] else -1
    state = {**lines[place]["state"], "leaderEpoch": lines[place]["state"]["leaderEpoch"] + by}
    return [*lines[:place], {**lines[place], "state": state}, *lines[place + 1 :]]


def without_a_close(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Remove one close that ended a lease."""
    return _without_one(draw, lines, CLOSES)


def without_a_sent_close(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Remove one close that ended a lease, and the line of its sending."""
    places = [place for place, line in enumerate(lines) if line["kind"] == "CLOSE_STREAM"]
    if not places:
        return None
    place = draw.choice(places)
    gone = lines[place]
    sent = max(
        each
        for each, line in enumerate(lines[:place])
        if line["event"] == "stream.closing" and (line["node"], line["stream"]) == (gone["node"], gone["stream"])
    )
    return renumbered([line for each, line in enumerate(lines) if each not in (place, sent)])


def with_an_early_election(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Let the source ask for the election before its closes."""
    places = [place for place, line in enumerate(lines) if line["kind"] == "ELECT_LEADER:source"]
    places = [place for place in places if any(line["kind"] == "FREEZE" for line in lines[:place])]
    if not places:
        return None
    place = draw.choice(places)
    begin = max(each for each, line in enumerate(lines[:place]) if line["kind"] == "FREEZE")
    early = {**lines[place], "t": lines[begin]["t"]}
    return renumbered([*lines[:begin], early, *lines[begin:place], *lines[place + 1 :]])


def without_all_closes(draw: random.Random, lines: Sequence[Line]) -> list[Line] | None:
    """Let a source ask for an election, and remove every line of its closes."""
    places = [place for place, line in enumerate(lines) if line["kind"] == "ELECT_LEADER:source"]
    if not places:
        return None
    place = draw.choice(places)
    node = lines[place]["node"]
    begin = max(each for each, line in enumerate(lines[:place]) if _is(line, "FREEZE", node))
    of_close = ("FREEZE", "FLAG", "stream.closing", "CLOSE_STREAM", "CLOSED")
    gone = [each for each in range(begin, place) if any(_is(lines[each], event, node) for event in of_close)]
    return renumbered([line for each, line in enumerate(lines) if each not in gone])


def _is(line: Line, event: str, node: int) -> bool:
    return line["event"] == event and line.get("node") == node


def _without_one(draw: random.Random, lines: Sequence[Line], kinds: Sequence[str]) -> list[Line] | None:
    places = [place for place, line in enumerate(lines) if line["kind"] in kinds]
    if not places:
        return None
    gone = draw.choice(places)
    return renumbered([line for place, line in enumerate(lines) if place != gone])
