"""Runs of a WAL alone: with all rules they violate nothing, and without one of them some run shows it."""

from __future__ import annotations

import pytest

from impl.broker.wal import OverCapacityError, Wal, WalLimits
from impl.broker.wal_format import WalRecord, decode_header
from impl.rules import decided, without
from impl.sim.part_cases.registry import judged_run
from impl.sim.part_cases.wal import WalRun
from impl.sim.part_cases.wal_processes import WalProcess
from impl.sim.tape import stream
from impl.store.bucket import Bucket
from impl.store.interface import Delete, Operation, Put
from impl.tasks import Gate, Tasks
from tests.impl.sim.part_findings import findings


@pytest.mark.parametrize(
    ("label", "seeds", "violated"),
    [
        ("WL-03.newer", range(80, 140), {"WL-03"}),
        ("WL-03.verify", range(150), {"INV-02"}),
        ("WL-04", range(20), {"WL-04"}),
        ("WL-06.newest", range(40, 120), {"WL-06"}),
        ("WL-05.verify", range(40), {"INV-02"}),
        ("WL-08", range(40), {"INV-02"}),
    ],
)
def test_a_missing_rule_is_found(label: str, seeds: range, violated: set[str]) -> None:
    """Some run with these seeds violates the property that the rule protects, and none violates another one."""
    with without(label):
        found = [judged_run("wal", seed) for seed in seeds]
    labels = {each.label for each in found if each is not None}
    assert labels
    assert labels <= violated


def _run() -> tuple[WalRun, WalProcess]:
    """A run without faults, with a process that serves."""
    run = WalRun(lambda: 0.0)
    run._begin((1, False))
    process = run._processes[0]
    run._settle_one(process)
    assert process.is_ready
    return run, process


def _acked(run: WalRun, process: WalProcess) -> int:
    """The offset of a new record that a process acknowledges."""
    run._append()
    run._settle_one(process)
    run._look()
    assert run.found is None
    return process.acked[-1]


def test_a_lost_record_is_a_violation() -> None:
    """The judge refuses a recovery that does not find an acknowledged record."""
    run, process = _run()
    _acked(run, process)
    process.crash()
    run._store.objects.execute(Delete(tuple(each for each in run._store.objects.objects if each.startswith("wal/"))))
    run._begin((2, False))
    run._settle_one(run._processes[1])
    assert run.found is not None
    assert run.found.label == "INV-02"


def test_offsets_that_start_again_are_a_violation() -> None:
    """The judge refuses an offset below one that was acknowledged before the process began."""
    run, process = _run()
    offset = _acked(run, process)
    process.floor = offset + 1
    run._ack(process, WalRecord(0, 1, 99, 1, b""), offset)
    assert run.found is not None
    assert run.found.label == "WL-06"


def test_only_a_trim_beyond_the_end_covers_the_newest_object() -> None:
    """WL-06.newest decides in no run in which each trim is at or below an acknowledged offset."""
    counts = {False: 0, True: 0}
    for seed in range(200):
        run = WalRun(stream(seed, "wal"))
        before = decided["WL-06.newest"]
        run.play()
        counts[run._beyond > 0] += decided["WL-06.newest"] - before
    assert counts[False] == 0
    assert counts[True] > 0


def test_a_trim_without_room_is_not_remembered() -> None:
    """WL-06. A trim that was refused is not durable, so a smaller one has to write a marker of its own."""
    tasks = Tasks()
    sent: list[Put] = []

    def send(number: int, operation: Operation) -> tuple[int, Operation]:
        if isinstance(operation, Put):
            sent.append(operation)
        return number, operation

    wal = Wal(tasks, Bucket(tasks, send), 3, 1, limits=WalLimits(bulk=1, unflushed=100))
    for base in range(2):
        wal.append(WalRecord(1, 1, base, 1, b"0123456789"))
    with pytest.raises(OverCapacityError):
        wal.trim(70)
    with pytest.raises(OverCapacityError):
        wal.trim(60)
    tasks.run(0)
    assert {decode_header(each.data).trim for each in sent} == {-1}


def test_a_wal_that_ends_no_append_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """WL-05. At the end of a run nothing disturbs the newest process."""
    monkeypatch.setattr(Wal, "append", lambda wal, _: Gate(wal._tasks))
    assert "WL-05: the newest process does not acknowledge a record, though nothing disturbs it" in findings("wal", 40)


def test_a_wal_that_ends_no_trim_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """WL-06. Only the trim after a recovery ends."""
    whole = Wal.trim
    monkeypatch.setattr(Wal, "reset", lambda wal: whole(wal, wal.next - 1))
    monkeypatch.setattr(Wal, "trim", lambda wal, _: Gate(wal._tasks))
    assert findings("wal", 40) == {"WL-06: a trim never ends, though nothing disturbs it"}
