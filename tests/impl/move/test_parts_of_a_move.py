"""The parts of the world of a move: the link, the store, and the history."""

from __future__ import annotations

from fractions import Fraction

import pytest

from impl.broker.object_format import object_key
from impl.broker.partition.meta_stream import decode
from impl.broker.partition.meta_values import LogMeta
from impl.broker.partition.segment_metas import StreamEnds, load
from impl.metadata.log import replay
from impl.sim.move.conditions import MIB, Conditions, nearest
from impl.sim.move.fair_link import FairLink
from impl.sim.move.history import DATA, META, TIMES, stored
from impl.sim.move.steady_store import StandInError, SteadyStore
from impl.sim.queue import Queue
from impl.sim.storage import _records
from impl.sim.tape import Tape
from impl.store.interface import Delete, Get, List, ObjectData, ObjectPage, Put


def ends(*sizes: tuple[int, int], rate: int = 10) -> list[int]:
    """The times at which transfers end on a link of 10 bytes a millisecond. Each has a start and a size."""
    queue = Queue()
    link, found = FairLink(queue, Fraction(rate)), [-1] * len(sizes)

    def begin(number: int, size: int) -> None:
        link.send(size, lambda: found.__setitem__(number, queue.now))

    for number, (time, size) in enumerate(sizes):
        queue.at(time, begin, number, size)
    queue.run(10_000)
    return found


def test_transfers_share_a_link() -> None:
    """Two transfers at a time run at half speed. The rest of the longer one has the whole link."""
    assert ends((0, 1_000)) == [100]
    assert ends((0, 1_000), (0, 1_000)) == [200, 200]
    assert ends((0, 1_000), (0, 100)) == [110, 20]
    assert ends((0, 1_000), (50, 100)) == [110, 70]
    assert ends((0, 0)) == [0]


def test_a_link_rounds_each_end_and_carries_nothing_over() -> None:
    """A link counts thirds of a millisecond exactly, and carries no rounding over."""
    assert ends((0, 1), (0, 1), (0, 1), rate=3) == [1, 1, 1]
    assert ends((0, 4), (1, 4), rate=3) == [2, 3]
    assert [nearest(Fraction(each, 4)) for each in (1, 2, 3)] == [0, 1, 1]


def test_the_store_takes_time_for_bytes() -> None:
    """Before ``limit`` an operation takes only its latency. Large objects and the WAL are stored by size alone."""
    queue = Queue()
    store = SteadyStore(queue, Tape(0, {}), Conditions())
    answers: list[tuple[int, object]] = []

    def asked(*operations: Put | Get | List | Delete) -> list[tuple[int, object]]:
        answers.clear()
        begin = queue.now
        for each in operations:
            store.send(1, each, lambda answer: answers.append((queue.now - begin, answer)))
        queue.run(queue.now + 1_000)
        return answers

    assert [time for time, _ in asked(Put("a/x", bytes(MIB)), Put("wal/1/x", b"abc"))] == [30, 30]
    assert store.stand_ins == {"wal/1/x": 3}
    (_, listed) = asked(List("a/"))[0]
    assert isinstance(listed, ObjectPage)
    store.limit()
    assert [time for time, _ in asked(Put("a/y", bytes(MIB)))] == [38]
    ((time, found),) = asked(Get("a/y", 0, 10))
    assert (time, isinstance(found, ObjectData)) == (30, True)
    assert [(each.kind, each.size) for each in store.transfers] == [("put", MIB), ("get", 10)]
    with pytest.raises(StandInError, match="wal/1/x is kept by its size, and broker 1 reads it"):
        asked(Get("wal/1/x"))
    asked(Delete(("wal/1/x",)))
    assert store.stand_ins == {}


@pytest.mark.parametrize("size", [1, 10**9, 10**12])
def test_a_history_is_what_a_broker_finds(size: int) -> None:
    """The real replay builds the segments from the object of the meta stream, and the metadata have all bytes."""
    history = stored(size)
    image = replay([history.batch])
    values = dict(decode(record.payload) for record in _records(history.objects[object_key(META)]))
    log = LogMeta.decode(values[LogMeta.KEY])
    assert len(values[LogMeta.KEY]) == history.log_bytes
    segments = load(log.segments, 0, history.end, StreamEnds(image.streams[DATA].end, image.streams[TIMES].end))
    assert (segments.start, segments.end, len(segments.segments)) == (0, history.end, history.segments)
    assert size <= history.end * 1_024 < size + 1_024
    held = [image.objects[each].size for each in image.stream_objects[DATA]]
    assert sum(held) == sum(each.size for each in segments.segments) == history.end * 1_024
    assert {object_key(each) for each in image.objects} == history.objects.keys() | history.sizes.keys()
