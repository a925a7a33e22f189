"""A run as a person reads it, and the figures of runs."""

from __future__ import annotations

import re
from functools import cache

from msgspec.structs import replace

from impl.oracles.verdict import Violation
from impl.sim.awaits import awaits_of_brokers
from impl.sim.check import CheckResult, Question, check
from impl.sim.faults import KINDS
from impl.sim.options import Options
from impl.sim.outcome import Totals, outcome
from impl.sim.script import ScriptOperation
from impl.sim.summary import summary, title
from impl.sim.timeline import timeline

APPEND, MOVE = ScriptOperation(0, 100, "append", 1, value=7), ScriptOperation(-1, 1_000, "move", 1)
QUIET = Options(faults="none", operations_of=(APPEND, MOVE, ScriptOperation(0, 2_000, "append", 1, value=8)))
BROKEN = Question(seed=0, options=QUIET, without=("ST-14",))


@cache
def _checked(question: Question) -> CheckResult:
    return check(question)


def _told(lines: list[str]) -> list[str]:
    """The lines of the timeline without their times."""
    return [re.sub(r"^ *-?[\d.]* *", "", line) for line in lines]


def test_a_violation_is_told_from_its_cause() -> None:
    """The timeline has the servers of the stream, the metadata, the missing rule, and the consequence."""
    checked = _checked(BROKEN)
    violation = checked.violations[0]
    assert violation.key == 1
    lines = _told(timeline(checked.run, violation))
    order = [
        "b2.0          serves stream 1 under epoch 1 from offset 0 on",
        "client.2.0    ends: append of value 7 to stream 1: acknowledged at offset 0 by b2.0",
        "director.1    begins: move of stream 1 to node 3",
        "c0            opens stream 1 under epoch 2 for b3.0",
        "c0            rule ST-14 is switched off; it would have decided here",
        "=             stream 1 is OPENED, epoch 2, node 3 from offset 0; served by b2.0 under epoch 1",
        "b3.0          serves stream 1 under epoch 2 from offset 0 on",
        f"VIOLATED      {violation.oracle}: {violation.message}",
    ]
    places = [lines.index(each) for each in order]
    assert places == sorted(places)
    assert lines[-1] == order[-1]


def test_other_streams_are_left_out() -> None:
    """The timeline of a violation has only its stream; without a violation it has all streams."""
    checked = _checked(BROKEN)
    some, whole = timeline(checked.run, checked.violations[0]), timeline(checked.run)
    assert not [line for line in some if re.search(r"stream [023]\b", line)]
    assert [line for line in whole if "stream 3" in line]
    assert len(some) < len(whole)


def test_times_ascend() -> None:
    """Times ascend, from before the script, which begins at 0, to the end."""
    lines = timeline(_checked(replace(BROKEN, options=Options(operations=40, span_ms=10_000))).run)
    times = [float(line[:10]) for line in lines]
    assert times == sorted(times)
    assert times[0] < 0 < times[-1]


def test_everything_that_happens_is_told() -> None:
    """The timeline has crashes, pauses, elections and faults."""
    kinds = ("crash_fast", "pause", "replace", "failover", "store_error", "epoch_equal", "stop")
    options = Options(operations=80, span_ms=30_000, faults=kinds)
    text = "\n".join(line for seed in range(5) for line in timeline(_checked(Question(seed=seed, options=options)).run))
    for words in (
        "crashes",
        "pauses for",
        "goes on",
        "leads the controllers in term",
        "ends itself: ",
        "starts as node",
    ):
        assert words in text
    for words in (
        "store_error at store/",
        "leads no more",
        "asks to close stream",
        "commits [",
        "puts wal/",
        "deletes wal",
    ):
        assert words in text
    assert "{" not in text
    assert "00000000" not in text


# Figures ----------------------------------------------------------------------------------------------------------


def _totals(*questions: Question) -> Totals:
    totals = Totals()
    for question in questions:
        totals.add(outcome(_checked(question)))
    return totals


def test_the_figures_of_one_run() -> None:
    """The figures have the drawn faults, those that happened, and the judged operations."""
    question = Question(seed=3, options=Options(operations=80, span_ms=30_000))
    text = "\n".join(summary(question, _totals(question)))
    run = _checked(question).run
    assert "3 brokers, 3 controllers, 4 streams, 4 clients" in text
    assert "operations    80, append " in text
    assert f"{run.counts['acks']:,} appends acknowledged" in text
    for kind in run.drawn:
        assert f"{kind} {run.happened.get(kind, 0)}" in text.replace("\n                ", " ")


def test_the_figures_of_many_runs() -> None:
    """The figures have a line for each kind of fault, and every await of the broker."""
    questions = [Question(seed=seed, options=Options(operations=80, span_ms=30_000)) for seed in range(3)]
    totals = _totals(*questions)
    lines = summary(questions[0], totals)
    table = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ") and line.split()[0] in KINDS}
    assert set(table) == set(KINDS)
    assert [int(row[0]) for row in table.values()] == [totals.drew[kind] for kind in table]
    assert f"at least {totals.least['handovers']} in each run" in " ".join(lines)
    listed = sum(len(re.findall(r"\b\d+:\d", line)) for line in lines if line.startswith("    "))
    assert listed == len({(file, line) for file, line, _ in awaits_of_brokers(partitions=False, zones=False)}) > 100


def test_the_title_says_what_was_changed() -> None:
    """The version, the seeds, and the rules."""
    question = replace(BROKEN, version="legacy", switches=("AM-03",))
    assert title(question, "seeds 1..9") == "cluster legacy, seeds 1..9, without ST-14, with AM-03"


def test_a_stream_of_no_key_shows_all() -> None:
    """A violation of the whole run has the key -1."""
    run = _checked(BROKEN).run
    assert len(timeline(run, Violation("heal", -1, "x"))) == len(timeline(run)) + 1
