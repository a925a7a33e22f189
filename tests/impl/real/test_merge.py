"""One log of many files: the order of events, the effects of calls, and requests whose controller was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.broker.messages import StoreRequest
from impl.errors import E
from impl.metadata.log import MetadataBatch
from impl.real.event_file import BatchAppend, EventFile, ObjectAnswer, RequestAnswer, RequestExecution
from impl.real.merge import merge
from impl.real.problems import ClusterError
from impl.real.store_effects import StoreCall, StoreOutcome
from impl.records import AssignedStreamId
from impl.sim.event_log import AppendedBatch, ExecutedRequest, StoreEffect
from impl.store.interface import Conflict, Get, ObjectData, Put, PutResult
from impl.wire import CreateTopic, Request

CREATE = Request(0, 7, CreateTopic("t", ((1,),)))


def controller(folder: Path, name: str, at: int, batches: int) -> EventFile:
    """The file of a controller that begins with a number of batches."""
    events = EventFile(folder / f"{name}.events", name)
    events.note(at, "elected", term=1, batches=batches)
    return events


def append(events: EventFile, at: int, delivery: int, index: int, *, answered: bool) -> None:
    """A request that writes a batch."""
    events.add(at, "execute", RequestExecution("b1.0", delivery, CREATE))
    events.add(at, "batch", BatchAppend(index, MetadataBatch((AssignedStreamId(index),))))
    if answered:
        events.add(at, "answer", RequestAnswer(delivery, (E.NONE,)))


def test_the_successor_tells_what_became_of_a_request(tmp_path: Path) -> None:
    """Without an answer, a request happened if the next controller has found its batch, and else it is lost."""
    first = controller(tmp_path, "c.0", 1, 0)
    append(first, 10, 1, 0, answered=True)
    append(first, 20, 2, 1, answered=False)
    append(first, 30, 3, 2, answered=False)
    first.add(40, "execute", RequestExecution("b1.0", 4, CREATE))
    controller(tmp_path, "c.1", 50, 2)
    events = merge(tmp_path, []).log.events
    executed = [subject for *_, subject in events if isinstance(subject, ExecutedRequest)]
    assert [(each.unknown, each.lost) for each in executed] == [
        (False, False),
        (True, False),
        (False, True),
        (False, True),
    ]
    assert executed[0].answers is not None
    assert [answer.error for answer in executed[0].answers] == [E.NONE]
    assert [each.lost for *_, each in events if isinstance(each, AppendedBatch)] == [False, False, True]


def test_the_last_controller_loses_nothing(tmp_path: Path) -> None:
    """Without a successor, every batch counts."""
    append(controller(tmp_path, "c.0", 1, 0), 10, 1, 0, answered=False)
    executed = [subject for *_, subject in merge(tmp_path, []).log.events if isinstance(subject, ExecutedRequest)]
    assert [(each.unknown, each.lost) for each in executed] == [(True, False)]


def test_events_of_one_step_stay_together(tmp_path: Path) -> None:
    """Files are merged by time; what a process did in one step is not torn apart by others at that time."""
    append(controller(tmp_path, "c.0", 1, 0), 2_000, 1, 0, answered=True)
    broker = EventFile(tmp_path / "b1.0.events", "b1.0")
    for at in (1_000, 2_000, 3_000):
        broker.note(at, "start", node=1, epoch=1)
    events = merge(tmp_path, []).log.events
    assert [(time, kind) for time, _, kind, _ in events] == [
        (0, "elected"),
        (1, "start"),
        (2, "start"),
        (2, "execute"),
        (2, "batch"),
        (3, "start"),
    ]


def outcome(at: int, kind: str, key: str, status: int = 200, etag: str = "e") -> StoreOutcome:
    """A call of b1.0 that took effect."""
    return StoreOutcome(at, "b1.0", StoreCall(kind, key), status, etag)


def broker(folder: Path) -> EventFile:
    """The file of a broker."""
    events = EventFile(folder / "b1.0.events", "b1.0")
    events.note(0, "start", node=1, epoch=1)
    return events


def effects(folder: Path, outcomes: list[StoreOutcome]) -> list[tuple[int, int, object]]:
    """The effects in the merged log: the time, the number of the call, and the answer."""
    events = merge(folder, outcomes).log.events
    return [(at, each.request.id, each.answer) for at, *_, each in events if isinstance(each, StoreEffect)]


def test_an_effect_belongs_to_a_call_under_way(tmp_path: Path) -> None:
    """A read that was answered before cannot have it, and one that was answered first has the first of two."""
    events = broker(tmp_path)
    for number, at in ((1, 1_000), (2, 4_000), (3, 4_000)):
        events.add(at, "store", StoreRequest(number, Get("reservation/1")))
    events.add(3_000, "stored", ObjectAnswer(1, "ObjectData", "e"))
    events.add(7_000, "stored", ObjectAnswer(3, "ObjectData", "e"))
    events.add(8_000, "stored", ObjectAnswer(2, "ObjectData", "e"))
    found = effects(tmp_path, [outcome(at, "get", "reservation/1") for at in (2_000, 5_000, 6_000)])
    assert found == [(2, 1, ObjectData(b"", "e")), (5, 3, ObjectData(b"", "e")), (6, 2, ObjectData(b"", "e"))]


def test_answers_tell_reads_apart(tmp_path: Path) -> None:
    """Of two reads at once, the one that has seen the newer object has the later effect."""
    events = broker(tmp_path)
    for number in (1, 2):
        events.add(1_000, "store", StoreRequest(number, Get("reservation/1")))
    events.add(5_000, "stored", ObjectAnswer(1, "ObjectData", '"new"'))
    events.add(6_000, "stored", ObjectAnswer(2, "ObjectData", '"old"'))
    outcomes = [outcome(2_000, "get", "reservation/1", 206, "old"), outcome(4_000, "get", "reservation/1", 200, "new")]
    assert [(at, number) for at, number, _ in effects(tmp_path, outcomes)] == [(2, 2), (4, 1)]


def test_a_late_put_belongs_to_the_attempt_without_answer(tmp_path: Path) -> None:
    """The first attempt was given up, the second one met a conflict: the late effect is the first one's."""
    events = broker(tmp_path)
    events.add(1_000, "store", StoreRequest(1, Put("wal/1/a", b"data", new=True)))
    events.add(2_000, "stored", ObjectAnswer(1, "Unsure"))
    events.add(3_000, "store", StoreRequest(2, Put("wal/1/a", b"data", new=True)))
    events.add(6_000, "stored", ObjectAnswer(2, "Conflict"))
    found = effects(tmp_path, [outcome(4_000, "put", "wal/1/a"), outcome(5_000, "put", "wal/1/a", 412)])
    assert found == [(4, 1, PutResult("e")), (5, 2, Conflict())]


def test_a_write_that_nobody_asked_for_is_an_error(tmp_path: Path) -> None:
    """The store has an object of a process whose log does not have the call: the log is not whole."""
    broker(tmp_path)
    with pytest.raises(ClusterError, match=r"b1\.0: the store has a put of wal/1/a that no line of its log asks for"):
        merge(tmp_path, [outcome(1, "put", "wal/1/a")])


def test_torn_files_are_named(tmp_path: Path) -> None:
    """A torn last line is left out, and counted."""
    events = broker(tmp_path)
    events.note(1, "crash")
    path = tmp_path / "b1.0.events"
    path.write_bytes(path.read_bytes()[:-4])
    merged = merge(tmp_path, [])
    assert (merged.torn, merged.lines, merged.files) == (("b1.0.events",), 1, 1)
