"""A frame that many logs share gives each of them the verdict of a frame of its own.

What it keeps depends on literals, sizes and hidden actions. So the logs here differ in one of these alone, or in what
it must not keep: the constants of processes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.answer.verdict import render, verdict_of
from holdfast.check.conform.judge import frame
from holdfast.check.conform.judge.frame import Frames
from holdfast.check.conform.judge.judge import Judgement, judge, judge_in
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.logs.log import Log
from holdfast.ir.errors import UsageError
from impl.sim.check import Question, check
from impl.sim.conformance.log import conform_log
from impl.sim.options import Options
from tests.conform.simulated_logs import (
    Line,
    model,
    with_another_node_epoch,
    with_another_stream_epoch,
    without_an_open,
)
from tests.conform.walked_logs import lines, system

EDITS = (without_an_open, with_another_stream_epoch, with_another_node_epoch)
PLAIN = JudgeOptions()
HIDDEN = JudgeOptions(hidden=("reserve", "send_close"))


def figures(judgement: Judgement) -> tuple[object, ...]:
    """All that an answer says: the verdict as text, and the figures of the judge's work."""
    assert judgement.ground is not None
    tally = judgement.tally
    counts = tally.peak, tally.steps, dict(tally.widest), dict(tally.hidden), dict(tally.unjudged)
    return (
        *(render(verdict_of(judgement.ground.frame.system, judgement)), judgement.kind, judgement.judged),
        *(dict(judgement.seen), sorted(tally.decisive), counts),
    )


class SharedFrames:
    """Judges logs of a model without a mapping in one frame, and each in a frame of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.system = system(name)
        self.frames = Frames(self.system)
        self.folder = folder

    def judged(self, log_lines: Sequence[Line], options: JudgeOptions = PLAIN) -> tuple[object, ...]:
        """The answer of the shared frame; it is the answer of a frame of its own."""
        path = self.folder / "events.ndjson"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in log_lines), encoding="utf-8")
        with Log([str(path)]) as log:
            assert log.header is not None
            shared = judge_in(self.frames.of(log.header.literals), log, options, Meter(Budget()))
        with Log([str(path)]) as log:
            own = judge(self.system, log, log.header.literals, options, Meter(Budget()))
        assert figures(shared) == figures(own)
        return figures(shared)


@cache
def simulated(seed: int, brokers: int) -> tuple[Line, ...]:
    """The lines of the log of a short simulated run."""
    checked = check(Question(seed=seed, options=Options(operations=30, span_ms=10_000, brokers=brokers)))
    return tuple(json.loads(line) for line in conform_log(checked.run.log).splitlines())


def drawn_logs(draw: random.Random, count: int) -> Iterator[Sequence[Line]]:
    """Logs of clusters of two sizes, half of them edited."""
    for _ in range(count):
        found = simulated(draw.randrange(5), draw.choice((2, 3)))
        yield draw.choice(EDITS)(draw, found) if draw.random() < 0.5 else found


@pytest.mark.parametrize(("room", "count"), [(frame.MOST_SIZES, 12), (1, 6)])
def test_drawn_logs_are_judged_alike(room: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs of several sizes, some of them wrong, in drawn order; also if a frame keeps only one size."""
    monkeypatch.setattr(frame, "MOST_SIZES", room)
    mapping, compiled = model("fast_close")
    options = JudgeOptions(hidden=tuple(mapping.hidden))
    frames = Frames(compiled)
    answers, sizes = set(), set()
    for log_lines in drawn_logs(random.Random(1), count):
        path = tmp_path / "events.ndjson"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in log_lines), encoding="utf-8")
        found = []
        for each in (frames, Frames(compiled)):
            with Log([str(path)], mapping) as log:
                meter = Meter(Budget(), lambda _: None)
                judgement = judge_in(each.of(mapping.about.literals), log, options, meter)
            assert judgement.ground is not None
            sizes.add(tuple(sorted(judgement.ground.layout.scope.sizes.items())))
            found.append(figures(judgement))
        assert found[0] == found[1]
        answers.add(judgement.kind)
    assert answers == {"conforms", "impossible"}
    assert len(sizes) > 1


def test_literals_belong_to_a_log(tmp_path: Path) -> None:
    """Logs that differ in nothing but a literal of their headers, which damages one of them."""
    shared = SharedFrames("ownership", tmp_path)
    right = lines("ownership", 1, 40)
    wrong = [{**right[0], "literals": {"NodeEpoch": {"1": 10**9}}}, *right[1:]]
    assert shared.judged(right)[1] == "conforms"
    with pytest.raises(UsageError, match="between the literals of NodeEpoch"):
        shared.judged(wrong)
    assert shared.judged(right)[1] == "conforms"


def literals_of(header: Line) -> dict[str, dict[int, int]]:
    """The literals of a header."""
    return {nat: {int(key): number for key, number in numbers.items()} for nat, numbers in header["literals"].items()}


def test_hidden_actions_belong_to_a_judgement(tmp_path: Path) -> None:
    """A log without its hidden steps conforms if these are hidden, before and after it was impossible without them."""
    shared = SharedFrames("ownership", tmp_path)
    shown = [line for line in lines("ownership", 2, 200) if line.get("action") not in HIDDEN.hidden]
    log_lines = [shown[0], *({**line, "seq": number} for number, line in enumerate(shown[1:], 1))]
    answers = [shared.judged(log_lines, options)[1] for options in (HIDDEN, PLAIN, HIDDEN)]
    assert answers == ["conforms", "impossible", "conforms"]


def test_constants_belong_to_a_log(tmp_path: Path) -> None:
    """Logs of the same sizes whose processes have other constants."""
    shared = SharedFrames("ownership", tmp_path)
    logs = [lines("ownership", seed, 60) for seed in range(2)]
    for log_lines in (*logs, logs[0]):
        assert shared.judged(log_lines)[1] == "conforms"


def test_windows_belong_to_a_judgement(tmp_path: Path) -> None:
    """A window that the user makes too small is too small, and no smaller for the next log."""
    shared = SharedFrames("ownership", tmp_path)
    log_lines = lines("ownership", 3, 100)
    nats = [nat.name for nat in shared.system.nats]
    small = JudgeOptions(windows=dict.fromkeys(nats, 2))
    answers = [shared.judged(log_lines, options)[1] for options in (PLAIN, small, PLAIN)]
    assert answers[0] == answers[2] == "conforms"
    assert answers[1] == "unknown"


def test_a_frame_keeps_few_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hidden steps that all machines keep together have one limit; the newest machine has its own."""
    monkeypatch.setattr(frame, "MOST_KEPT", 10)
    shared = SharedFrames("ownership", tmp_path)
    for seed in range(2):
        shared.judged(lines("ownership", seed, 20), HIDDEN)
        of_log = shared.frames.of(literals_of(lines("ownership", seed, 20)[0]))
        *older, _ = [sized.machine.kept for sized in of_log._sized.values()]
        assert sum(older) <= 10


def test_frames_are_bounded() -> None:
    """Of many literals only the newest keep their frame."""
    frames = Frames(system("ownership"))
    made = [frames.of({"NodeEpoch": {1: number}}) for number in range(1, frame.MOST_FRAMES + 2)]
    assert frames.of({"NodeEpoch": {1: frame.MOST_FRAMES + 1}}) is made[-1]
    assert frames.of({"NodeEpoch": {1: 1}}) is not made[0]
