"""A reader of another zone: when it takes an answer for the next one of its session, and whom it asks for uploads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import msgspec
import pytest

from impl.broker.messages import GetPartitionSnapshot, PartitionSnapshot, PeerRequest, PeerResult, StepEvent
from impl.broker.peers import Peers
from impl.broker.wal_format import WalRecord
from impl.broker.zones.snapshot_cache import OVERHEAD, SnapshotCache
from impl.broker.zones.snapshot_reader import SnapshotReader
from impl.broker.zones.wal_replay import WalReplay
from impl.errors import E
from impl.metadata.image import Image, Stream
from impl.rules import without
from impl.tasks import Tasks

PAUSE_MS = 10
ADD = PartitionSnapshot("ADD", "t", 0, 4, stream=7, end=2, segments=((0, 0, 2),))


class Bench:
    """A reader of mains that answer as the test says. ``wal``: by main, its records by their places."""

    def __init__(self, capacity: int = 1 << 20) -> None:
        self.tasks = Tasks()
        self.peers = Peers(self.tasks)
        self.image = Image()
        self.wal: dict[int, list[tuple[int, WalRecord]]] = {}
        self.asked: dict[int, tuple[int, GetPartitionSnapshot]] = {}
        """By main: the number of the last request to it, and the request."""
        self.steps: list[str] = []
        replay, cache = cast("WalReplay", self), SnapshotCache(capacity)
        self.reader = SnapshotReader(
            self.tasks, self.peers, replay, cache, cast("Any", None), lambda: self.image, PAUSE_MS
        )

    async def records(self, node: int, _: int, begin: int, end: int) -> AsyncIterator[WalRecord]:
        """The records of a WAL."""
        for place, record in self.wal.get(node, ()):
            if begin <= place < end:
                yield record

    def follow(self, *mains: int) -> None:
        """Follow mains."""
        self.reader.follow(mains)
        self.run(0)

    def run(self, ms: int) -> None:
        """Let time pass."""
        for output in self.tasks.run(self.tasks.now + ms):
            match output:
                case PeerRequest(node, number, GetPartitionSnapshot() as body):
                    self.asked[node] = number, body
                case StepEvent(action, values):
                    self.steps.append(action if action != "apply" else f"apply {values['shown_by']}")

    async def inline(self, records: list[WalRecord]) -> AsyncIterator[WalRecord]:
        """The records that an answer has."""
        for each in records:
            yield each

    def answer(
        self,
        main: int,
        session: int,
        epoch: int,
        *found: PartitionSnapshot,
        wal_epoch: int = 1,
        wal_end: int = 0,
        records: list[WalRecord] | None = None,
    ) -> GetPartitionSnapshot:
        """A main answers. Returns the next request to it."""
        values = {"session": session, "session_epoch": epoch, "partitions": found}
        values |= {"wal_epoch": wal_epoch, "wal_end": wal_end, "records": records}
        number, _ = self.asked[main]
        self.steps.clear()
        self.peers.take(PeerResult(number, E.NONE, values))
        self.run(0)
        steps = list(self.steps)
        self.run(PAUSE_MS)
        self.steps[:] = steps
        return self.asked[main][1]


def test_a_session_goes_on() -> None:
    """The reader echoes what it has got, and applies what comes after that."""
    bench = Bench()
    bench.follow(2)
    assert bench.answer(2, 5, 1) == GetPartitionSnapshot(5, 1, commit=False)
    assert bench.answer(2, 5, 2, ADD) == GetPartitionSnapshot(5, 2, commit=False)
    assert bench.steps == ["take_answer", "show", "apply 2"]


@pytest.mark.parametrize(
    ("given", "then", "shows"),
    [
        # A process that has begun anew numbers its sessions from 1, too.
        ((1, 1, 9), (1, 1), False),
        # Another reader has that session of the new process, and happens to have as many answers.
        ((1, 3, 9), (0, 0), False),
        # A copy of an older session.
        ((1, 5, 1), (0, 0), False),
        ((2, 1, 1), (2, 1), False),
        ((1, 3, 1), (1, 3), True),
    ],
)
def test_an_answer_of_another_session_is_not_taken(
    given: tuple[int, int, int], then: tuple[int, int], shows: bool
) -> None:
    """Session, number of the answer and epoch of the WAL have to go on, or nothing of the main is shown any more."""
    bench = Bench()
    bench.follow(2)
    bench.answer(2, 1, 1)
    bench.answer(2, 1, 2, ADD)
    session, epoch, wal_epoch = given
    assert bench.answer(2, session, epoch, wal_epoch=wal_epoch) == GetPartitionSnapshot(*then, commit=False)
    assert ("hide" not in bench.steps) is shows
    assert ("take_answer" in bench.steps) is (then != (0, 0))


def test_the_main_of_a_lost_record_is_asked() -> None:
    """ZR-51. A record of main 3 takes the room of one of main 2 that is not uploaded: main 2 is asked, and once.

    The request to main 2 that is under way does not count.
    """
    bench = Bench(capacity=OVERHEAD + 1)
    bench.image.streams |= {7: Stream(), 8: Stream()}
    bench.wal = {2: [(5, record(7))], 3: [(5, record(8))]}
    bench.follow(2, 3)
    for main in (2, 3):
        bench.answer(main, 1, 1)
    assert not bench.answer(2, 1, 2, wal_end=6).commit
    assert not bench.answer(3, 1, 2, wal_end=6).commit
    assert bench.steps == ["take_answer", "keep", "evict"]
    assert bench.answer(2, 1, 3, wal_end=6).commit
    assert not bench.answer(2, 1, 4, wal_end=6).commit


def test_records_of_an_answer_are_taken_instead_of_the_wal() -> None:
    """ZR-42. Without a list the reader reads the WAL; an empty list says that there is nothing new."""
    for records, kept in ((None, ["keep"]), ([], []), ([record(8), record(9)], ["keep", "keep"])):
        bench = Bench()
        bench.wal = {2: [(5, record(7))]}
        bench.follow(2)
        bench.answer(2, 1, 1)
        bench.answer(2, 1, 2, wal_end=6, records=records)
        assert bench.steps == ["take_answer", *kept]


def record(stream: int) -> WalRecord:
    """A record at offset 0."""
    return WalRecord(stream, 1, 0, 1, b"x")


@pytest.mark.parametrize(("epoch", "shown_by"), [(3, 2), (4, 2), (5, 3)])
def test_a_main_that_led_before_shows_nothing(epoch: int, shown_by: int) -> None:
    """M-19.epoch. Main 3 adds what main 2 shows under leader epoch 4: only a newer epoch is taken.

    Any other one ends the session with main 3. Without the rule the older one takes the place of the newer one.
    """
    bench = shows_of_main_2()
    asked = bench.answer(3, 1, 2, msgspec.structs.replace(ADD, leader_epoch=epoch))
    assert f"apply {shown_by}" in bench.steps
    assert (asked.session == 0) is (shown_by == 2)
    with without("M-19.epoch"):
        bench = shows_of_main_2()
        bench.answer(3, 1, 2, msgspec.structs.replace(ADD, leader_epoch=epoch))
        assert "apply 3" in bench.steps


def shows_of_main_2() -> Bench:
    """A reader that shows the partition of main 2, and has a session with main 3."""
    bench = Bench()
    bench.follow(2, 3)
    for main in (2, 3):
        bench.answer(main, 1, 1)
    bench.answer(2, 1, 2, ADD)
    return bench


def test_a_partition_that_was_opened_anew_is_shown_again() -> None:
    """M-19. A removal and an addition in one answer: the removal comes first. Without the rule nothing is shown."""
    for labels, shown_by in (((), 2), (("M-19",), None)):
        with without(*labels):
            bench = shows_of_main_2()
            removed = PartitionSnapshot("REMOVE", "t", 0, 4)
            bench.answer(2, 1, 3, removed, msgspec.structs.replace(ADD, leader_epoch=5))
            assert bench.steps[-1] == f"apply {shown_by}"
