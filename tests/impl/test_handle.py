"""A stream handle: its flags, its offsets, and the operations that a close waits for (CL-01 to CL-10)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from impl import wire
from impl.broker import log_cache
from impl.broker import messages as m
from impl.broker.calls import Calls
from impl.broker.handle import StreamHandle
from impl.broker.settings import Settings
from impl.broker.storage import Storage
from impl.broker.uploader import Uploader
from impl.broker.wal_format import WalRecord
from impl.errors import E
from impl.items import CloseItem, OpenItem, TrimItem
from impl.rules import RefusedError, without
from impl.store.interface import Put
from impl.tasks import FailedError, Gate, Tasks
from tests.impl.crash_world import SMALL, Flight, World, append, contents, is_request, numbers, opened, payload

VERSIONS = pytest.mark.parametrize("v6", [False, True], ids=["legacy", "V6"])


# With a storage of the test's own ---------------------------------------------------------------------------------


class FakeStorage:
    """A storage in which each append waits until the test ends it."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self.waiting: list[tuple[WalRecord, Gate[None]]] = []

    async def append(self, record: WalRecord, link: WalRecord | None = None) -> None:
        """Wait until the test ends the append."""
        gate: Gate[None] = Gate(self._tasks)
        self.waiting.append((record, gate))
        assert link is None, "no test has a link"
        await gate.wait()

    def end(self, place: int = 0, *, fails: bool = False) -> WalRecord:
        """End one of the waiting appends, with success or an error."""
        record, gate = self.waiting.pop(place)
        if fails:
            gate.fail(FailedError("the storage fails"))
        else:
            gate.open(None)
        self._tasks.run(0)
        return record


class Bench:
    """A handle of stream 7 under epoch 3, from offset 10; its reads find one record for the whole range."""

    def __init__(self) -> None:
        self.tasks = Tasks()
        self.calls = Calls(self.tasks)
        self.storage = FakeStorage(self.tasks)
        self.handle = StreamHandle(
            self.tasks,
            self.calls,
            m.Identity(1, 100),
            Settings(fast_close=True),
            cast(Storage, self.storage),
            cast(Uploader, self),
            self._read,
            OpenItem(7, 3),
            wire.ItemAnswer(values={"start": 4, "next": 10}),
        )
        self.reads: list[Gate[None]] = []

    async def _read(self, stream: int, begin: int, end: int) -> list[WalRecord]:
        gate: Gate[None] = Gate(self.tasks)
        self.reads.append(gate)
        await gate.wait()
        return [WalRecord(stream, 3, begin, end - begin, b"")]

    def force(self, _: int) -> Gate[None]:
        """A replacement of the uploader."""
        gate: Gate[None] = Gate(self.tasks)
        gate.open(None)
        return gate

    def sent(self) -> list[Any]:
        """The bodies of the requests since the last call."""
        outputs = self.tasks.run(self.tasks.now)
        return [output.body for output in outputs if isinstance(output, wire.Request)]


def refused(call: Any, *arguments: Any) -> E:
    """The error of a refusal."""
    with pytest.raises(RefusedError) as found:
        call(*arguments)
    return found.value.error


def test_offsets_are_given_out_before_the_write() -> None:
    """CL-02, CL-03. Two appends are under way at once, and only the acknowledged one can be read."""
    bench = Bench()
    first, second = bench.handle.append(3, b"a"), bench.handle.append(1, b"b")
    bench.tasks.run(0)
    assert [(record.base, record.count) for record, _ in bench.storage.waiting] == [(10, 3), (13, 1)]
    assert (bench.handle.next, bench.handle.confirm) == (14, 10)
    bench.storage.end()
    assert first.result() == 10
    assert (bench.handle.next, bench.handle.confirm) == (14, 13)
    bench.storage.end()
    assert second.result() == 13
    assert bench.handle.confirm == 14


@pytest.mark.parametrize("count", [0, -1])
def test_a_batch_has_a_record(count: int) -> None:
    """CL-02. An illegal argument changes nothing."""
    bench = Bench()
    assert refused(bench.handle.append, count, b"") is E.INVALID_REQUEST
    assert bench.handle.next == 10
    assert bench.handle.is_usable


def test_no_append_follows_a_failed_one() -> None:
    """CL-04. Without the rule the acknowledged offsets have a hole."""

    def scenario() -> int | E:
        bench = Bench()
        bench.handle.append(2, b"")
        bench.tasks.run(0)
        bench.storage.end(fails=True)
        try:
            gate = bench.handle.append(1, b"")
        except RefusedError as error:
            return error.error
        bench.tasks.run(0)
        bench.storage.end()
        return gate.result()

    assert scenario() is E.STREAM_ALREADY_CLOSED
    with without("CL-04"):
        assert scenario() == 12


@pytest.mark.parametrize(
    ("begin", "end", "error"),
    [
        (3, 10, E.OFFSET_OUT_OF_RANGE_BOUNDS),
        (4, 11, E.OFFSET_OUT_OF_RANGE_BOUNDS),
        (8, 7, E.INVALID_REQUEST),
    ],
)
def test_a_fetch_stays_within_the_confirmed_offsets(begin: int, end: int, error: E) -> None:
    """CL-05."""
    assert refused(Bench().handle.fetch, begin, end) is error


def test_an_empty_fetch_reads_nothing() -> None:
    """CL-05. Also at the confirm offset."""
    bench = Bench()
    gate = bench.handle.fetch(10, 10)
    bench.tasks.run(0)
    assert gate.result() == []
    assert not bench.reads


def test_a_handle_with_a_flag_reads_and_writes_nothing() -> None:
    """CL-02, CL-05, CL-07. From the moment of the close on."""
    bench = Bench()
    bench.handle.close()
    assert refused(bench.handle.append, 1, b"") is E.STREAM_ALREADY_CLOSED
    assert refused(bench.handle.fetch, 4, 10) is E.STREAM_ALREADY_CLOSED
    assert len(bench.sent()) == 1


def test_trims_come_one_after_the_other_and_behind_fetches() -> None:
    """CL-06. A trim moves the start at once. Its request waits for earlier trims and fetches."""
    bench = Bench()
    bench.handle.fetch(4, 10)
    bench.handle.trim(6)
    bench.handle.trim(8)
    assert bench.sent() == []
    assert bench.handle.start == 6
    bench.reads[0].open(None)
    assert bench.sent() == [wire.TrimStreams(1, 100, (TrimItem(7, 3, 6),))]
    bench.calls.replied(wire.Reply(0, 1, (wire.ItemAnswer(E.STREAM_NOT_OPENED),)))
    assert bench.sent() == [wire.TrimStreams(1, 100, (TrimItem(7, 3, 8),))]


def test_a_trim_below_the_start_is_done() -> None:
    """CL-06. A trim below the start sends no request."""
    bench = Bench()
    gate = bench.handle.trim(3)
    assert bench.sent() == []
    assert gate.result() is None
    assert refused(bench.handle.trim, 11) is E.OFFSET_OUT_OF_RANGE_BOUNDS


def test_a_close_waits_for_appends_and_for_the_last_trim() -> None:
    """CL-07. A close waits for appends without a limit, and 10 s for the last trim. A repetition is the same close."""
    bench = Bench()
    bench.handle.append(2, b"")
    bench.handle.trim(5)
    assert len(bench.sent()) == 1
    gate = bench.handle.close()
    assert bench.handle.close() is gate
    bench.tasks.run(60_000)
    assert not [body for body in bench.sent() if isinstance(body, wire.CloseStreams)]
    bench.storage.end()
    bench.tasks.outputs.clear()
    bench.tasks.run(69_999)
    closes = [
        body
        for body in (output.body for output in bench.tasks.run(70_001) if isinstance(output, wire.Request))
        if isinstance(body, wire.CloseStreams)
    ]
    assert closes == [wire.CloseStreams(1, 100, (CloseItem(7, 3, 12),))]


def test_a_close_by_force_waits_for_nothing() -> None:
    """CL-09. A forced close seals the acknowledged records; as built, all that have an offset (AM-01)."""
    bench = Bench()
    bench.handle.append(2, b"")
    bench.tasks.run(0)
    bench.handle.force_close()
    assert bench.sent() == [wire.CloseStreams(1, 100, (CloseItem(7, 3, 10),))]
    bench = Bench()
    bench.handle.append(2, b"")
    bench.tasks.run(0)
    with without("CL-08.confirm"):
        bench.handle.force_close()
        assert bench.sent() == [wire.CloseStreams(1, 100, (CloseItem(7, 3, 12),))]


# In a broker ------------------------------------------------------------------------------------------------------


def _next_offset(world: World, *, late: bool) -> tuple[int, int]:
    """The offsets of a late append of the first owner and of the second owner's first append.

    ``late``: the append is sent after the close has begun.
    """
    first, second = world.serving(1, 2)
    stream = opened(first)
    hold = wire.CommitStreamSetObject if late else Put

    def holds(flight: Flight) -> bool:
        if hold is Put:
            message = flight.message
            return flight.process is first and isinstance(message, m.StoreAnswer)
        return is_request(flight, hold)

    if late:
        assert append(first, stream, 0).error is E.NONE
    world.holds = holds
    if late:
        first.send(m.Close(stream))
        world.rest(200)
        appending = first.send(m.Append(stream, 1, payload(1)))
    else:
        appending = first.send(m.Append(stream, 1, payload(0)))
        world.rest(200)
        first.send(m.Close(stream))
    world.rest(200)
    world.release()
    world.run(lambda: appending in first.done)
    done = second.ask(m.Open(stream, 1))
    assert done.error is E.NONE
    offset = int(append(second, stream, 9).values["offset"])
    return int(first.done[appending].values.get("offset", -1)), offset


def test_a_handle_that_closes_takes_no_append() -> None:
    """CL-07.flag."""
    assert _next_offset(World(v6=False), late=True) == (-1, 1)


def test_without_the_flag_a_handle_that_closes_takes_appends() -> None:
    """CL-07.flag. The append is acknowledged, and the next owner uses its offset again."""
    with without("CL-07.flag"):
        mine, next_owner = _next_offset(World(v6=False), late=True)
        assert mine == next_owner == 1


@VERSIONS
def test_a_close_waits_for_the_append_under_way(v6: bool) -> None:
    """CL-07.wait. Without the rule the stream ends below a record that is acknowledged afterwards."""
    assert _next_offset(World(v6=v6), late=False) == (0, 1)
    with without("CL-07.wait"):
        assert _next_offset(World(v6=v6), late=False) == (0, 0)


def test_a_legacy_close_uploads_first() -> None:
    """CL-08. Without the rule the next owner reuses the offsets of records that are in no object."""

    def scenario() -> list[int]:
        world = World(v6=False)
        first, second = world.serving(1, 2)
        stream = opened(first)
        assert append(first, stream, 0).error is E.NONE
        assert first.ask(m.Close(stream)).error is E.NONE
        assert second.ask(m.Open(stream, 1)).error is E.NONE
        assert append(second, stream, 1).error is E.NONE
        return numbers(contents(second, stream))

    assert scenario() == [0, 1]
    with without("CL-08"):
        assert scenario() == [1]


def test_an_open_waits_for_the_uploads_of_its_own_broker() -> None:
    """CL-01. Without the rule the controller refuses, until the entry is gone (G-46)."""

    def opens() -> int:
        world = World()
        (process,) = world.serving(1)
        stream = opened(process)
        assert append(process, stream, 0).error is E.NONE
        asked: list[Flight] = []

        def holds(flight: Flight) -> bool:
            asked.extend([flight] if is_request(flight, wire.OpenStreams) else [])
            return is_request(flight, wire.CommitStreamSetObject)

        world.holds = holds
        assert process.ask(m.Close(stream)).error is E.NONE
        again = process.send(m.Open(stream, 1))
        world.rest(1_500)
        world.release()
        world.run(lambda: again in process.done)
        assert process.done[again].values["next"] == 1
        return len(asked)

    assert opens() == 0
    with without("CL-01"):
        assert opens() > 0


@VERSIONS
def test_a_destroyed_stream_is_gone(v6: bool) -> None:
    """CL-10. Commands for it are refused, and the broker serves other streams as before."""
    world = World(v6=v6)
    (process,) = world.serving(1)
    stream, other = opened(process), opened(process)
    for number in range(4):
        assert append(process, stream, number).error is E.NONE
    assert append(process, other, 0).error is E.NONE
    assert process.ask(m.Destroy(stream)).error is E.NONE
    assert stream not in world.image.streams
    assert append(process, stream, 9).error is E.STREAM_ALREADY_CLOSED
    assert append(process, other, 1).error is E.NONE
    assert process.ask(m.Close(other)).error is E.NONE
    assert process.ask(m.Open(other, 1)).error is E.NONE
    assert numbers(contents(process, other)) == [0, 1]


def test_reads_are_whole_while_blocks_leave_the_cache() -> None:
    """PL-11 to PL-13. Reads are complete, whichever parts of a stream are in objects and in the cache."""
    world = World(cache=log_cache.CacheLimits(block=SMALL.block, capacity=10 * SMALL.block // 3))
    (process,) = world.serving(1)
    stream = opened(process)
    for number in range(40):
        assert append(process, stream, number, count=1 + number % 2).error is E.NONE
        if number % 5 == 0:
            assert numbers(contents(process, stream)) == list(range(number + 1))
    assert numbers(contents(process, stream, 30)) == list(range(20, 40))


def test_the_owner_of_a_trimmed_stream_reads_the_rest() -> None:
    """CL-06. What is below the start is out of range."""
    world = World()
    (process,) = world.serving(1)
    stream = opened(process)
    for number in range(8):
        assert append(process, stream, number).error is E.NONE
    assert process.ask(m.Trim(stream, 5)).error is E.NONE
    assert process.ask(m.Fetch(stream, 4)).error is E.OFFSET_OUT_OF_RANGE_BOUNDS
    assert numbers(contents(process, stream, 5)) == [5, 6, 7]
    assert process.ask(m.Trim(stream, 9)).error is E.OFFSET_OUT_OF_RANGE_BOUNDS
    assert world.image.streams[stream].start == 5
