"""Measures ``holdfast campaign run --target log``: the events that one core judges in a second, over many logs.

The logs are those of simulated clusters. Three are damaged and three impossible; the measurement fails unless the
target names these six, and all others conform. Recording takes longer than judging, so most logs are copies of a few
recorded ones under other names. The target reads and judges each copy like any other log; it does not know of copies.

Seconds are the processor time of one thread. They include reading the files and compiling the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from benchmarks.clock import own
from impl.sim.check import Question, check
from impl.sim.conformance.log import conform_log
from impl.sim.options import Options
from spark.campaign.config import Config, LogCollection
from spark.campaign.log_target import DAMAGED, IMPOSSIBLE, LogTarget, ReadyLogs

MODEL = "fast_close"
RATE = 5_000
"""The goal, in events per second."""

Line = dict[str, Any]


@attrs.frozen
class WrittenLogs:
    """A folder of logs. ``recorded``: the number of simulated runs. ``wrong``: by name, what becomes of a log."""

    folder: Path
    logs: int
    recorded: int
    wrong: dict[str, str]


@attrs.frozen
class LogFigures:
    """The measured figures. ``first``: seconds for the logs of the first half, ``second``: for those of the second
    half, whose sizes a process has mostly met before. ``events`` counts those of each half.
    """

    logs: int
    recorded: int
    events: tuple[int, int]
    first: float
    second: float

    @property
    def rate(self) -> float:
        """Events per second, over all logs."""
        return sum(self.events) / (self.first + self.second)


def write_logs(folder: Path, logs: int, recorded: int, operations: int) -> WrittenLogs:
    """Write ``logs`` logs of runs of ``operations`` operations, of which ``recorded`` are simulated; edit six."""
    folder.mkdir(parents=True, exist_ok=True)
    texts: list[str] = []
    for number in range(logs):
        if number < recorded:
            found = check(Question(seed=number, options=Options(operations=operations)))
            if found.violations or found.error:
                raise RuntimeError(f"seed {number} of the benchmark violates something")
            texts.append(conform_log(found.run.log).decode())
        Path(folder, f"log{number:06}.ndjson").write_text(texts[number % recorded], encoding="utf-8")
    wrong: dict[str, str] = {}
    for place, (kind, edit) in enumerate(EDITS):
        name = f"log{(2 * place + 1) * logs // (2 * len(EDITS)):06}.ndjson"
        path = Path(folder, name)
        path.write_text(edit(path.read_text(encoding="utf-8").splitlines(keepends=True)), encoding="utf-8")
        wrong[name] = kind
    return WrittenLogs(folder, logs, min(recorded, logs), wrong)


def measured(logs: int = 200, recorded: int = 20, operations: int = 300) -> LogFigures:
    """Write logs, and judge them in this process. Raises RuntimeError if any answer is not the expected one."""
    with TemporaryDirectory() as folder:
        return judged(write_logs(Path(folder), logs, recorded, operations))


def judged(written: WrittenLogs) -> LogFigures:
    """Judge written logs in this process. Raises RuntimeError if any answer is not the expected one."""
    collection = LogCollection(place=str(written.folder), model=MODEL, map=MODEL)
    config = Config(target="log", scope="", traces=written.logs, depth=1, seed=0, traces_per_unit=1, log=collection)
    begun = own()
    ready = LogTarget.of(config).ready()
    half = written.logs // 2
    before = _half(ready, 0, half, written)
    middle = own()
    after = _half(ready, half, written.logs - half, written)
    return LogFigures(written.logs, written.recorded, (before, after), middle - begun, own() - middle)


def _half(ready: ReadyLogs, first: int, logs: int, written: WrittenLogs) -> int:
    """Judge some logs; the number of their events."""
    result = ready.run(first, logs)
    expected = {name: kind for name, kind in written.wrong.items() if name in ready.target.names[first : first + logs]}
    found = dict(result.logs)
    others = {stop.reason: stop.runs for stop in result.stops}
    if found.keys() != expected.keys() or others["no answer"]:
        raise RuntimeError(f"of the logs of the benchmark {sorted(found)} are wrong, and not {sorted(expected)}")
    for kind in (DAMAGED, IMPOSSIBLE):
        if others[kind] != sum(each == kind for each in expected.values()):
            raise RuntimeError(f"of the logs of the benchmark {others[kind]} are {kind}, and not {sorted(expected)}")
    return result.steps


def lines(found: LogFigures) -> Iterator[str]:
    """The figures, and whether the goal is met."""
    yield (
        f"{found.logs:,} logs, {found.recorded:,} of them recorded and the others copies; three are damaged and three "
        "impossible, and the target names these six"
    )
    halves = zip(found.events, (found.first, found.second), strict=True)
    first, second = (f"{events / seconds:,.0f}" for events, seconds in halves)
    met = "met" if found.rate >= RATE else "missed"
    yield (
        f"{sum(found.events):,} events: {found.rate:,.0f} per second on one core, {first} in the first half of the "
        f"logs and {second} in the second (goal at least {RATE:,}); {met}"
    )


# Edits ----------------------------------------------------------------------------------------------------------


def _cut(texts: list[str]) -> str:
    """The last line is cut off."""
    return "".join(texts)[:-20]


def _without_a_line(texts: list[str]) -> str:
    """A line is missing."""
    return "".join([*texts[: len(texts) // 2], *texts[len(texts) // 2 + 1 :]])


def _torn(texts: list[str]) -> str:
    """A line is no JSON."""
    middle = len(texts) // 2
    return "".join([*texts[:middle], texts[middle].replace('"', "", 1), *texts[middle + 1 :]])


def _raised(kind: str, field: str) -> Callable[[list[str]], str]:
    """An edit that raises a field of the middle one of the lines of a kind."""

    def edit(texts: list[str]) -> str:
        events: list[Line] = [json.loads(text) for text in texts]
        places = [place for place, line in enumerate(events) if line["kind"] == kind]
        line = events[places[len(places) // 2]]
        line[field] += 1
        return "".join(f"{json.dumps(each)}\n" for each in events)

    return edit


EDITS: tuple[tuple[str, Callable[[list[str]], str]], ...] = (
    (DAMAGED, _cut),
    (IMPOSSIBLE, _raised("append.acked", "streamEpoch")),
    (DAMAGED, _without_a_line),
    (IMPOSSIBLE, _raised("OPEN_STREAM", "streamEpoch")),
    (DAMAGED, _torn),
    (IMPOSSIBLE, _raised("GET_OPENING_STREAMS", "nodeEpoch")),
)
"""What becomes of a log, and the edit that makes it so."""
