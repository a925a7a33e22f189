"""The channel of a proxy: the epochs of its records, its trims, and what a new process does with it."""

from __future__ import annotations

from typing import Any

import pytest

from impl.broker.messages import Identity, StoreRequest
from impl.broker.partition.batches import Batch
from impl.broker.wal import FencedError, WalLimits
from impl.broker.zones.blocks import ProduceBlock
from impl.broker.zones.channel import FULL_MS, NotStartedError, RouterChannel, StoredBlock
from impl.broker.zones.links import ChannelReader, DanglingError
from impl.store.bucket import Bucket
from impl.store.memory import MemoryStore
from impl.tasks import Gate, Tasks
from impl.zone.encodings import ChannelOffset

LIMITS = WalLimits(bulk=1, linger_ms=10)
"""Each record gets an object of its own."""


class Process:
    """A process with a channel on a store that answers at once."""

    def __init__(self, store: MemoryStore, epoch: int, limits: WalLimits = LIMITS) -> None:
        self._store, self._tasks = store, Tasks()
        bucket = Bucket(self._tasks, StoreRequest)
        self.channel = RouterChannel(self._tasks, bucket, Identity(1, epoch), limits)
        self._reader = ChannelReader(bucket)

    def start(self) -> Process:
        """Start the channel."""
        self._result(self._tasks.start(self.channel.start()))
        return self

    def send(self, value: str, target: int = 2) -> Gate[StoredBlock]:
        """Begin to append a batch. Nothing has reached the store yet."""
        return self.channel.append(target, 5, ProduceBlock("t", 0, Batch(0, (value.encode(),))))

    def append(self, value: str, target: int = 2) -> StoredBlock:
        """Append a batch."""
        found: StoredBlock = self._result(self.send(value, target))
        return found

    def run(self, ms: int = 10) -> None:
        """Let the store answer all that is asked."""
        waiting = self._asked(ms)
        while waiting:
            for request in waiting:
                self._tasks.answer(request.id, self._store.execute(request.operation))
            waiting = self._asked(0)

    def _asked(self, ms: int) -> list[StoreRequest]:
        """What the process asks of the store. Its steps for the event log need no answer."""
        return [each for each in self._tasks.run(self._tasks.now + ms) if isinstance(each, StoreRequest)]

    def read(self, stored: StoredBlock) -> str | None:
        """The value at an offset; None if there is nothing."""
        gate = self._tasks.start(self._reader.read(ChannelOffset.decode(stored.offset)))
        self.run()
        try:
            return gate.result().batch.values[0].decode()
        except DanglingError:
            return None

    def _result(self, gate: Gate[Any]) -> Any:
        self.run()
        return gate.result()


@pytest.fixture
def store() -> MemoryStore:
    """A store."""
    return MemoryStore()


def test_records_are_read_where_they_lie(store: MemoryStore) -> None:
    """Two records share an object, which sorts them by their targets (ZR-16). Each is found at its offset."""
    process = Process(store, 1, WalLimits(bulk=10_000, linger_ms=10)).start()
    gates = [process.send("b", target=9), process.send("a", target=3)]
    process.run()
    process.run()  # The linger ends.
    found = [gate.result() for gate in gates]
    assert [process.read(each) for each in found] == ["b", "a"]
    places = [ChannelOffset.decode(each.offset) for each in found]
    assert places[1].wal.offset < places[0].wal.offset
    assert [place.attributes for place in places] == [9, 3]


def test_a_record_has_the_epoch_of_the_end_of_its_append(store: MemoryStore) -> None:
    """Not that of its begin (ZR-20, M-13)."""
    process = Process(store, 1).start()
    process.channel.switch(4)
    gate = process.send("a")
    process.channel.switch(5)
    process.run()
    assert gate.result().epoch == 5


def test_a_trim_takes_the_epochs_up_to_it(store: MemoryStore) -> None:
    """The records of later epochs stay (ZR-64)."""
    process = Process(store, 1).start()
    found = []
    for epoch in (4, 5, 6):
        process.channel.switch(epoch)
        found.append(process.append(str(epoch)))
    process.channel.trim(5)
    process.run()
    assert [process.read(each) for each in found] == [None, None, "6"]


def test_a_new_process_keeps_what_the_one_before_has_written(store: MemoryStore) -> None:
    """Until a trim covers a record of its own (ZR-65)."""
    old = Process(store, 1).start()
    old.channel.switch(4)
    stored = old.append("old")
    new = Process(store, 2).start()
    new.channel.switch(6)
    assert new.read(stored) == "old"
    new.append("new")
    new.append("newer")
    assert new.read(stored) == "old"
    new.channel.trim(6)
    new.run()
    assert new.read(stored) is None


def test_nothing_is_appended_before_the_list(store: MemoryStore) -> None:
    """It would lie over the objects of the process before, and the next trim would delete these."""
    old = Process(store, 1).start()
    old.channel.switch(4)
    stored = old.append("old")
    new = Process(store, 2)
    with pytest.raises(NotStartedError):
        new.send("too early")
    new.start()
    new.channel.switch(5)
    new.append("new")
    new.channel.trim(4)
    new.run()
    assert new.read(stored) == "old"


NARROW = WalLimits(bulk=1, linger_ms=10, unflushed=200)
"""Room for one record that is not stored yet."""


def test_a_full_channel_lets_batches_wait_in_their_order(store: MemoryStore) -> None:
    """ZR-19. A batch that comes when there is room again still waits for the earlier ones."""
    process = Process(store, 1, NARROW).start()
    process.channel.switch(4)
    gates = [process.send(value) for value in "abc"]
    process.run()
    assert [gate.happened for gate in gates] == [True, False, False]
    gates.append(process.send("d"))
    process.run()
    assert not gates[-1].happened
    for _ in "bcd":
        process.run(FULL_MS)
    found = [gate.result() for gate in gates]
    assert [process.read(each) for each in found] == list("abcd")
    places = [ChannelOffset.decode(each.offset).wal.offset for each in found]
    assert places == sorted(places)


def test_batches_that_wait_hold_up_the_next_epoch(store: MemoryStore) -> None:
    """ZR-19, ZR-20. It comes when all batches before it have their place: "c" ends behind it, "b" before it."""
    process = Process(store, 1, NARROW).start()
    process.channel.switch(4)
    gates = [process.send(value) for value in "abc"]
    process.channel.switch(5)
    gates.append(process.send("d"))
    for _ in range(5):
        process.run(FULL_MS)
    assert [gate.result().epoch for gate in gates] == [4, 4, 5, 5]
    process.channel.switch(6)
    assert process.append("e").epoch == 6


def test_a_batch_that_waits_learns_that_the_channel_has_failed(store: MemoryStore) -> None:
    """A newer process has taken the channel over meanwhile."""
    process = Process(store, 1, NARROW).start()
    other = Process(store, 1, NARROW).start()
    other.append("z")
    gates = [process.send(value) for value in "ab"]
    for _ in gates:
        process.run(FULL_MS)
    for gate in gates:
        with pytest.raises(FencedError):
            gate.result()


def test_an_old_process_does_not_start(store: MemoryStore) -> None:
    """A newer one has written (ZR-17)."""
    Process(store, 2).start().append("new")
    with pytest.raises(FencedError):
        Process(store, 1).start()


def test_a_late_put_replaces_nothing(store: MemoryStore) -> None:
    """Two processes with one epoch choose the same key. The first object stays, and the other process stops."""
    one, other = Process(store, 1).start(), Process(store, 1).start()
    stored = one.append("one")
    with pytest.raises(FencedError):
        other.append("other")
    assert one.read(stored) == "one"
