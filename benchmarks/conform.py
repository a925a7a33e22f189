"""Measures ``holdfast conform``: the judge's speed on logs of random runs of ownership and on a dump, and its memory.

Seconds are the processor time of one thread. They include both passes over the log.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs

from benchmarks.clock import own
from benchmarks.controller import prepared
from holdfast.check.budget import Budget, Meter
from holdfast.check.conform.dump_log import DumpLog
from holdfast.check.conform.judge.judge import judge
from holdfast.check.conform.judge.setup import JudgeOptions
from holdfast.check.conform.logs.log import Log
from holdfast.check.conform.mappings.mapping_file import read_mapping
from holdfast.check.conform.walks.log_walk import LogWalk
from holdfast.ir.variants import load_variant
from impl.metadata.dump import write_dump

MODEL = "ownership"
HIDDEN = ("reserve", "send_close")
WHOLE_SECONDS = 5.0
"""The goal for 100,000 events without unknown outcomes and hidden actions, in seconds."""

UNKNOWN_RATE, HIDDEN_RATE = 20_000, 5_000
"""The goals, in events per second, with 1 % of unknown outcomes and with two hidden actions."""

DUMP_RATE = 50_000
"""The goal for a dump, in records per second."""

MEGABYTES = 200
"""The goal for the memory of a million events."""

RECORDS = 12
"""The number of records that one round of the controller's operations writes."""

COUNTED = ("append", "open")
"""Actions that advance a number. The log must give the new number, so their outcomes are never made unknown."""


@attrs.frozen
class ConformanceFigures:
    """The measured figures.

    ``whole``, ``unknown``, ``hidden``: events per second. ``dump``: records per second, for ``records`` records.
    ``memory``: peak bytes of the process, by number of events.
    """

    events: int
    whole: float
    unknown: float
    hidden: float
    dump: float
    records: int
    memory: dict[int, int]


def measured(events: int = 100_000, repeat: int = 3, most: int | None = None) -> ConformanceFigures:
    """Measure everything. Of ``repeat`` measurements, the fastest counts.

    ``most``: the number of events of the larger log for the memory; by default twice ``events``.
    """
    with TemporaryDirectory() as folder:
        largest = most or 2 * events
        log = Path(folder, "whole.log")
        _walk(log, largest)
        lines = log.read_text(encoding="utf-8").splitlines()[: events + 1]
        whole = _rate(_written(Path(folder, "a.log"), lines), (), repeat)
        unknown = _rate(_written(Path(folder, "b.log"), _with_unknown(lines)), (), repeat)
        hidden = _rate(_written(Path(folder, "c.log"), _without(lines)), HIDDEN, repeat)
        dump = Path(folder, "dump.txt")
        records = _dump(dump, events)
        dumped = max(_once_dump(dump, records) for _ in range(repeat))
        memory = {count: _memory(log, count, Path(folder, "d.log")) for count in (events, largest)}
    return ConformanceFigures(events, whole, unknown, hidden, dumped, records, memory)


def lines(found: ConformanceFigures) -> Iterator[str]:
    """The figures, and whether the goals are met."""

    def goal(text: str, met: bool) -> str:
        return f"{text}; {'met' if met else 'missed'}"

    seconds = 100_000 / found.whole
    yield goal(
        f"all is told: {found.whole:,.0f} events per second, {seconds:.1f} s for 100,000 "
        f"({found.events:,} events; goal at most {WHOLE_SECONDS:g} s)",
        seconds <= WHOLE_SECONDS,
    )
    unknown = f"1 % of outcomes are unknown: {found.unknown:,.0f} events per second (goal at least {UNKNOWN_RATE:,})"
    yield goal(unknown, found.unknown >= UNKNOWN_RATE)
    hidden = f"{' and '.join(HIDDEN)} are hidden: {found.hidden:,.0f} events per second (goal at least {HIDDEN_RATE:,})"
    yield goal(hidden, found.hidden >= HIDDEN_RATE)
    dump = f"a dump: {found.dump:,.0f} records per second ({found.records:,} records; goal at least {DUMP_RATE:,})"
    yield goal(dump, found.dump >= DUMP_RATE)
    (few, small), (many, large) = found.memory.items()
    each = (large - small) / (many - few)
    million = large + each * (1_000_000 - many)
    yield goal(
        f"memory: {small / 1e6:.0f} MB for {few:,} events, {large / 1e6:.0f} MB for {many:,}; "
        f"at {each:.0f} bytes an event {million / 1e6:.0f} MB for a million (goal at most {MEGABYTES} MB)",
        million <= MEGABYTES * 1e6,
    )


def _walk(path: Path, events: int) -> None:
    system = load_variant(MODEL)
    walk = LogWalk(system, system.scope("default"), seed=1, stretched=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in walk.lines(events))


def _written(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def _with_unknown(texts: list[str]) -> list[str]:
    """The log with unknown outcomes for one in a hundred requests."""
    chance = random.Random(1)  # noqa: S311 - it hides nothing
    found = texts[:1]
    for text in texts[1:]:
        line = json.loads(text)
        if not chance.randrange(100) and line["action"] not in COUNTED:
            line["error"] = "?"
            # An unknown answer cannot tell the state after the request.
            line.pop("post", None)
        found.append(json.dumps(line))
    return found


def _without(texts: list[str]) -> list[str]:
    """The log without the hidden actions."""
    found = texts[:1]
    for text in texts[1:]:
        line = json.loads(text)
        if line["action"] not in HIDDEN:
            found.append(json.dumps(line | {"seq": len(found)}))
    return found


def _rate(path: Path, hidden: tuple[str, ...], repeat: int) -> float:
    """Events per second."""
    return max(_once(path, hidden) for _ in range(repeat))


def _once(path: Path, hidden: tuple[str, ...]) -> float:
    system = load_variant(MODEL)
    with Log([str(path)]) as log:
        assert log.header is not None, "a walk writes a header"
        begun = own()
        found = judge(system, log, log.header.literals, JudgeOptions(hidden=hidden), Meter(Budget()))
        seconds = own() - begun
    if found.kind != "conforms":
        raise RuntimeError(
            f"{path.name} of the benchmark is {found.kind} after {found.judged:,} events: {found.reason}"
        )
    return found.judged / seconds


def _dump(path: Path, records: int) -> int:
    """Write the dump of a controller under the operations of its own benchmark. Returns the number of its records."""
    controller, operations = prepared(records // RECORDS)
    for operation in operations:
        controller.execute(operation)
    batches = controller.log.batches
    path.write_text("".join(f"{line}\n" for line in write_dump(batches)), encoding="utf-8")
    return sum(len(batch.records) for batch in batches)


def _once_dump(path: Path, records: int) -> float:
    """Judge a dump once: records per second."""
    system = load_variant("controller_tables")
    with DumpLog([str(path)], read_mapping(Path("automq-metadata"))) as log:
        begun = own()
        found = judge(system, log, {}, JudgeOptions(), Meter(Budget()))
        log.conclude(found)
        seconds = own() - begun
    if found.kind != "conforms":
        raise RuntimeError(f"the dump of the benchmark is {found.kind} after {found.judged:,} events: {found.reason}")
    return records / seconds


def _memory(log: Path, events: int, path: Path) -> int:
    """The peak memory, in bytes, of a new process that judges the first ``events`` events of a log."""
    with log.open(encoding="utf-8") as source, path.open("w", encoding="utf-8") as file:
        for number, line in enumerate(source):
            if number > events:
                break
            file.write(line)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.conform", path], check=True, capture_output=True, text=True
    )
    return int(done.stdout)


def _peak() -> int:
    """The peak memory of this process in bytes.

    Linux counts ``VmHWM`` from the start of the program; ``ru_maxrss`` would include the memory of the parent process.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    _once(Path(sys.argv[1]), ())
    sys.stdout.write(f"{_peak()}\n")
