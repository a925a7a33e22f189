"""Whole runs with the reference broker: no record is lost, and the bucket has the acknowledged ones."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace

from impl.client.history import FINAL, History
from impl.records import NodeWALUncommittedOffsets
from impl.rules import without
from impl.sim.awaits import awaits
from impl.sim.brokers import SMALL, simulate_brokers
from impl.sim.options import Options
from impl.sim.run import Run
from impl.sim.script import ScriptOperation
from impl.sim.storage import contents

SHORT = Options(operations=150, span_ms=60_000)


@cache
def _run(seed: int, v6: bool) -> Run:
    return simulate_brokers(seed, SHORT, v6=v6)


def _acked(run: Run) -> dict[int, set[tuple[int, int]]]:
    """By existing stream, the offsets and values of acknowledged sends above all trims."""
    catalog = run.simulation.load.catalog
    written = {op.index: op.value for op in run.history.ops if op.kind == "invoke"}
    found: dict[int, set[tuple[int, int]]] = {key: set() for key in catalog.living()}
    for op in run.history.ops:
        if op.kind == "ok" and op.f == "send" and op.key in found and (op.offset or 0) >= catalog.entry(op.key).start:
            found[op.key].add((op.offset or 0, written[op.index]))
    return found


def _read(history: History) -> dict[int, set[tuple[int, int]]]:
    """By stream, the records of its last final read."""
    polls = [op for op in history.ops if op.kind == "ok" and op.f == "poll" and op.phase == FINAL]
    return {op.key: {(base, value) for base, _, value in op.value} for op in polls}


@pytest.mark.parametrize("v6", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_nothing_acknowledged_is_lost(seed: int, v6: bool) -> None:
    """The run heals, and every acknowledged batch is in the final reads and in the bucket."""
    run = _run(seed, v6)
    assert run.missing == ""
    assert run.counts["handovers"] >= 3
    acked, read = _acked(run), _read(run.history)
    assert sum(map(len, acked.values())) > 10
    assert {key: acked[key] - read[key] for key in acked if acked[key] - read[key]} == {}
    stored = contents(run.simulation.store.memory.objects, run.simulation.cluster.leader.image)
    assert stored.missing == ()
    there = {(each.stream, each.base, int(each.payload)) for each in (*stored.objects, *stored.wal)}
    wanted = {(run.simulation.load.catalog.entry(key).stream, *each) for key in acked for each in acked[key]}
    assert wanted <= there


def test_the_two_versions_are_different() -> None:
    """Fast closes seal streams in V6 only."""
    assert _seals(_run(1, True)) > 0
    assert _seals(_run(1, False)) == 0


def _seals(run: Run) -> int:
    """The number of batches of a run that seal streams."""
    batches = [event[3].batch for event in run.log.events if event[2] == "batch"]
    return sum(any(isinstance(each, NodeWALUncommittedOffsets) for each in batch.records) for batch in batches)


def test_a_missing_object_is_named() -> None:
    """An object in the metadata but not in the bucket is missing. One in the bucket alone is an orphan."""
    run = _run(2, True)
    objects = dict(run.simulation.store.memory.objects)
    image = run.simulation.cluster.leader.image
    key = next(key for key in sorted(objects) if key.startswith("object/"))
    objects["object/999999"] = objects[key]
    assert contents(objects, image).orphans == ("object/999999",)
    before = contents(objects, image)
    live = [each for rows in image.set_objects.values() for each in rows]
    del objects[f"object/{live[0]}"]
    after = contents(objects, image)
    assert after.missing == (live[0],)
    assert len(after.objects) < len(before.objects)


def test_most_awaits_of_a_broker_are_crashed() -> None:
    """Within few runs crashes hit tasks in the WAL, in uploads, in recoveries, in closes, and in calls."""
    crashed = {place for seed in range(6) for v6 in (False, True) for place in _run(seed, v6).crashed}
    functions = {function for _, _, function in crashed}
    assert {"Calls._answer", "Bucket._certain", "Storage.append", "Uploader.run"} <= functions
    assert len(functions) > 12


def test_the_awaits_of_the_broker_are_known() -> None:
    """Each place where a crash finds a waiting task is an await in the source."""
    crashed = {(file, line) for seed in range(6) for file, line, _ in _run(seed, True).crashed}
    known = {(file, line) for file, line, _ in awaits("broker")}
    assert {place for place in crashed if place[0].startswith("broker")} <= known
    assert len(known) > 100


def test_a_removed_rule_shows_in_the_history() -> None:
    """Without ST-14 two brokers own a stream at once, and two values have one offset."""
    with without("ST-14"):
        run = simulate_brokers(1, SHORT)
    written = {op.index: op.value for op in run.history.ops if op.kind == "invoke"}
    seen: dict[tuple[int, int], set[int]] = {}
    for op in run.history.ops:
        if op.kind == "ok" and op.f == "send":
            seen.setdefault((op.key, op.offset or 0), set()).add(written[op.index])
    assert any(len(values) > 1 for values in seen.values())


def test_ranges_are_found_in_the_index_of_an_object() -> None:
    """MD-03. If the metadata lack the ranges, reads cost operations of the store, and nothing is lost."""
    named = simulate_brokers(4, replace(SHORT, faults="none"))
    unnamed = simulate_brokers(4, replace(SHORT, faults="image_unnamed"))
    assert unnamed.happened["image_unnamed"] > 0
    assert unnamed.counts["store operations"] > named.counts["store operations"]
    acked, read = _acked(unnamed), _read(unnamed.history)
    assert sum(map(len, acked.values())) > 10
    assert {key: acked[key] - read[key] for key in acked if acked[key] - read[key]} == {}


def test_a_stream_goes_away_and_back() -> None:
    """RA-13. A broker that has a stream open under an old epoch closes it before it opens it again."""
    before, after = (ScriptOperation(0, at, "append", 0, value=at + 1) for at in (0, 3_000))
    script = (before, ScriptOperation(-1, 1_000, "move", 0, hop=0), after)
    run = simulate_brokers(1, replace(SHORT, faults="none", operations_of=script))
    stream = run.simulation.load.catalog.entry(0).stream
    steps = [(name, each.action, each.values) for _, name, kind, each in run.log.events if kind == "step"]
    found = [
        (name, action, values["epoch"])
        for name, action, values in steps
        if action in ("hear", "send_close") and values["stream"] == stream
    ]
    first, *_ = found
    assert found[:3] == [(first[0], "hear", 1), (first[0], "send_close", 1), (first[0], "hear", 2)]


def test_settings_reach_the_broker() -> None:
    """The as-built switches change the broker's behaviour, which the run would otherwise not test."""
    run = simulate_brokers(3, replace(SHORT, faults="none"), replace(SMALL, upload_interval_ms=1_000))
    slow = simulate_brokers(3, replace(SHORT, faults="none"), replace(SMALL, upload_interval_ms=50_000))
    assert run.counts["store operations"] > slow.counts["store operations"]
