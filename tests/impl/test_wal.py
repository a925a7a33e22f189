"""The WAL: acknowledged records are recovered, despite other writers and late operations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from impl.broker.wal import FencedError, OverCapacityError, Wal, WalLimits
from impl.broker.wal_format import ALIGNMENT, WalRecord
from impl.rules import without
from impl.store.bucket import Bucket
from impl.store.interface import Get, List, Put
from impl.store.memory import MemoryStore
from impl.tasks import Tasks
from tests.impl.wal_world import LostError, Process, World, ended


def started(world: World, epoch: int | None = None) -> Process:
    """The next process, after everything it has sent so far has arrived."""
    process = world.begin(epoch)
    process.settle()
    assert process.ready
    return process


def sent(process: Process, kind: type, text: str = "") -> list[int]:
    """The numbers of sent operations of a kind, with a text in their keys, that have not arrived."""
    return [number for number, each in process.sent.items() if isinstance(each, kind) and text in each.key]


def arrive(process: Process, kind: type, text: str = "") -> None:
    """Deliver the one operation of a kind."""
    (number,) = sent(process, kind, text)
    process.arrive(number)


# What a process does alone --------------------------------------------------------------------------------------------


def test_an_append_is_acknowledged_after_its_put_and_the_reading_of_the_reservation() -> None:
    """WL-05. An append is acknowledged after its put and then the read of the reservation."""
    process = started(World())
    process.append()
    assert not process.acked
    arrive(process, Put)
    assert not process.acked
    arrive(process, Get, "reservation")
    assert len(process.acked) == 1


def test_a_later_append_waits_for_an_earlier_one() -> None:
    """WL-05. The later append's object is stored first. Its acknowledgement waits for the earlier one."""
    process = started(World())
    process.append()
    process.append()
    first, second = sent(process, Put)
    process.arrive(second)
    assert not sent(process, Get)
    process.arrive(first)
    process.settle()
    assert [record.base for _, record in process.acked] == [1, 2]


def test_the_next_process_recovers_what_is_not_trimmed() -> None:
    """All untrimmed records are recovered in the order of offsets. After a reset none are."""
    world = World()
    process = started(world)
    for _ in range(4):
        process.append()
    process.settle()
    process.trim(2)
    process.settle()
    started(world)
    assert world.recovered == {3: 2, 4: 2}
    started(world)
    assert world.recovered == {3: 2, 4: 2}


def test_trimmed_objects_are_deleted_but_for_the_newest() -> None:
    """WL-06. The newest one says how far the WAL is trimmed, and where the next object starts."""
    world = World()
    process = started(world)
    for _ in range(3):
        process.append()
    process.settle()
    process.trim(3)
    process.settle()
    (key,) = (key for key in world.store.objects if key.startswith("wal/"))
    successor = started(world)
    assert successor.wal.next >= process.wal.next
    assert key not in world.store.objects


def test_a_smaller_trim_is_the_last_one() -> None:
    """WL-06. A trim below the last one writes nothing."""
    process = started(World())
    process.append()
    process.append()
    process.settle()
    (first, _), (second, _) = process.acked
    gate = process.wal.trim(second)
    assert process.wal.trim(first) is gate
    process.run()
    assert len(process.sent) == 1


def test_a_bulk_ends_by_its_bytes_or_by_time() -> None:
    """WL-04. Its records go into one object, by stream and base, and keep the order of their appends."""
    tasks = Tasks()
    bucket = Bucket(tasks, lambda number, operation: (number, operation))
    wal = Wal(tasks, bucket, 3, 1, limits=WalLimits(bulk=200, linger_ms=250))
    for base in (5, 4):
        wal.append(WalRecord(1, 1, base, 1, b""))
    assert tasks.run(0) == []
    assert tasks.run(249) == []
    assert len(tasks.run(250)) == 1
    for base in range(5):
        wal.append(WalRecord(1, 1, base, 1, b""))
    assert len(tasks.run(251)) == 1
    assert tasks.due is None or tasks.due > 251
    assert wal.next == 2 * ALIGNMENT


def test_appends_of_one_object_are_acknowledged_in_the_order_of_their_offsets() -> None:
    """PL-02. Otherwise a trim up to the first record could remove a later one that is not uploaded."""
    tasks, store = Tasks(), MemoryStore()
    bucket = Bucket(tasks, lambda number, operation: (number, operation))
    wal = Wal(tasks, bucket, 3, 1, limits=WalLimits(bulk=200))
    acked: list[int] = []

    async def append(stream: int) -> None:
        acked.append(await wal.append(WalRecord(stream, 1, 0, 1, b"")).wait())

    tasks.start(wal.start())
    for stream in (2, 1, 3, 0, 4):
        tasks.start(append(stream))
    outputs = tasks.run(0)
    while outputs:
        for number, operation in outputs:
            tasks.answer(number, store.execute(operation))
        outputs = tasks.run(0)
    assert len(acked) == 5
    assert acked == sorted(acked)


def test_limits_are_kept() -> None:
    """WL-04. Objects beyond the limit wait, and bytes beyond the limit are refused."""
    tasks = Tasks()
    bucket = Bucket(tasks, lambda number, operation: (number, operation))
    wal = Wal(tasks, bucket, 3, 1, limits=WalLimits(bulk=1, in_flight=2, unflushed=200))
    record = WalRecord(1, 1, 1, 1, b"0123456789")
    for _ in range(4):
        wal.append(record)
    with pytest.raises(OverCapacityError, match="200 bytes wait"):
        wal.append(record)
    assert len(tasks.run(0)) == 2
    with pytest.raises(ValueError, match="too large for an object"):
        wal.append(WalRecord(1, 1, 1, 1, b"x" * ALIGNMENT))


def test_a_put_of_unknown_outcome_fences() -> None:
    """WL-05. After all attempts the outcome is unknown, so the process acknowledges nothing more."""
    process = started(World())
    process.append()
    process.append()
    while sent(process, Put):
        process.lose(sent(process, Put)[0], late=False)
    process.settle()
    assert process.wal.fenced
    assert not process.acked
    with pytest.raises(FencedError):
        process.wal.append(WalRecord(1, 1, 1, 1, b""))


# Two processes --------------------------------------------------------------------------------------------------------


def test_a_process_that_lost_the_reservation_acknowledges_nothing() -> None:
    """WL-05, WL-09. Without the reservation nothing is acknowledged, though the object may be recovered."""
    world = World()
    old = started(world)
    old.append()
    arrive(old, Put)
    started(world)
    old.settle()
    assert old.wal.fenced
    assert not old.acked
    assert world.recovered == {1: 2}


def test_a_reservation_that_cannot_be_read_is_not_its_own() -> None:
    """WL-01. If the reservation cannot be read, the stored object is not acknowledged."""
    process = started(World())
    process.append()
    arrive(process, Put)
    while sent(process, Get):
        process.lose(sent(process, Get)[0], late=False)
    process.settle()
    assert process.wal.fenced


def test_a_reservation_is_put_once() -> None:
    """The reservation is put once, since a late repetition would take the WAL from a newer process."""
    world = World()
    process = world.begin()
    process.lose(*sent(process, Put), late=True)
    process.settle()
    assert ended(process.main) == "unsure"
    assert len(world.late) == 1


def test_an_old_process_does_not_start() -> None:
    """WL-03. The old process has the reservation, but the WAL has a newer process's objects, so it does not start."""
    world = World()
    old = world.begin()
    started(world)
    arrive(old, Put)
    old.settle()
    assert ended(old.main) == "fenced"


def late_object(world: World) -> tuple[Process, Process]:
    """An old process's object arrives after a newer process has listed and written over its slot."""
    old = started(world)
    old.append()
    old.append()
    old.crash()
    new = started(world)
    new.append()
    new.append()
    new.settle()
    while world.late:
        world.arrive_late()
    return old, new


def without_verify(world: World) -> None:
    """The old process acknowledges a record after the listing."""
    old = started(world)
    started(world)
    old.append()
    old.settle()


def without_order(world: World) -> None:
    """The second object is acknowledged and the first never arrives, so recovery ends at the hole."""
    process = started(world)
    process.append()
    process.settle()
    process.append()
    process.append()
    first, second = sent(process, Put)
    process.arrive(second)
    while len(process.acked) < 2:
        arrive(process, Get, "reservation")
    del process.sent[first]
    process.crash()
    started(world)


def without_overlap(world: World) -> None:
    """The late objects make a hole before those of the newer process."""
    late_object(world)
    started(world)


CASES: dict[str, tuple[Callable[[World], None], str]] = {
    "WL-05.verify": (without_verify, "WL-05.verify"),
    "WL-05.in_order": (without_order, "WL-05.in_order"),
    "WL-08": (without_overlap, "WL-08"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_missing_rule_loses_what_was_acknowledged(case: str) -> None:
    """Without the rule the events lose a record, and with it they do not."""
    events, label = CASES[case]
    # With the rule the process may stop, so that its later operations do not exist.
    with suppress(ValueError):
        events(World())
    with without(label), pytest.raises(LostError):
        events(World())


@pytest.mark.parametrize("epoch", [1, 2])
def test_a_late_object_in_a_trimmed_slot_is_left_out(epoch: int) -> None:
    """WL-06. The next process has trimmed its own object in the slot and deleted it, so the late one overlaps nothing.

    The second record of the late object is one more than the trimmed object had. Replayed first, it would take the
    place of an acknowledged record of its stream. The next process may have the same epoch.
    """
    world = World(limits=WalLimits())
    old = started(world)
    old.append_together(2)
    old.crash()
    new = started(world, epoch)
    new.append()
    new.settle()
    new.trim(1)
    new.settle()
    acked = new.append()
    new.settle()
    world.arrive_late()
    started(world)
    assert world.recovered == {acked.base: 3}


def test_a_trim_within_an_object_spares_the_rest() -> None:
    """WL-06. Only the last record of an object trims its slot: the others of the object are recovered."""
    world = World(limits=WalLimits())
    old = started(world)
    old.append_together(3)
    old.settle()
    old.trim(2)
    old.settle()
    (left,) = world.acked
    started(world)
    assert world.recovered == {left: 2}


def same_key(world: World) -> None:
    """A process puts an object, and then the object of the one before it arrives under the same key."""
    old = started(world)
    old.append()
    old.crash()
    new = started(world, old.epoch)
    new.append()
    new.settle()
    assert new.acked
    world.arrive_late()
    started(world)


def test_a_late_object_of_the_same_epoch_replaces_nothing() -> None:
    """AM-15. A process that starts again with an equal epoch writes under the keys of the one before."""
    same_key(World())


def test_a_late_object_of_the_same_epoch_replaces_another_as_built() -> None:
    """AM-15. The last writer wins, and what was acknowledged is lost."""
    with pytest.raises(LostError):
        same_key(World(as_built=frozenset({"AM-15"})))


def test_only_the_first_object_is_compared_as_built() -> None:
    """AM-03. The second late object makes the hole."""
    with pytest.raises(LostError):
        without_overlap(World(as_built=frozenset({"AM-03"})))


def test_a_process_that_reserves_late_acknowledges_nothing() -> None:
    """FO-06. If verified only before the barrier, the newer process misses later appends of an older one."""

    def events(world: World) -> None:
        old = started(world)
        new = world.begin()
        while not any(isinstance(each, List) for each in new.sent.values()):
            new.arrive()
        new.arrive()
        # The older process's reservation was under way all the time.
        world.store.execute(Put("reservation/3", reservation(1)))
        old.append()
        old.settle()
        new.settle()
        assert world.verifies_late == (ended(new.main) == "fenced")

    events(World())
    with pytest.raises(LostError):
        events(World(verifies_late=False))


def reservation(epoch: int) -> bytes:
    """The bytes of the reservation of a process."""
    world = World()
    world.processes = [Process(world, each + 1) for each in range(epoch - 1)]
    started_process = world.begin()
    (put,) = started_process.sent.values()
    assert isinstance(put, Put)
    return put.data
