"""A main of zone routing: the order of forwarded batches, what counts as in flight, and when an epoch is reported."""

from __future__ import annotations

from typing import Any, cast

import pytest

from impl import wire
from impl.broker.calls import Calls
from impl.broker.messages import Identity, PeerAnswer, PeerCall, RouteBatches
from impl.broker.partition.batches import Batch
from impl.broker.partition.host import Host
from impl.broker.uploader import Uploader
from impl.broker.zones.blocks import ProduceBlock
from impl.broker.zones.links import ChannelReader, DanglingError
from impl.broker.zones.main import Main
from impl.broker.zones.node_epochs import TICK_MS, NodeEpochs
from impl.errors import E
from impl.rules import RefusedError, without
from impl.tasks import FailedError, Gate, Tasks
from impl.zone.encodings import ChannelOffset, Forward, RouteEpochRecord, WalOffset

LINGER_MS, ANSWER_MS = 5_000, 30_000


class Bench:
    """A main with a channel, a partition, an uploader and a controller that answer when the test says so."""

    def __init__(self, *switches: str) -> None:
        self.tasks = Tasks()
        self.reads: dict[int, Gate[ProduceBlock]] = {}
        self.appends: list[tuple[str, Gate[int]]] = []
        """The batches that were appended, in their order: the value, and the gate of its offset."""
        self.leads = True
        self.uploads: list[tuple[Gate[None], Gate[None]]] = []
        """The lazy commits: the gates of the upload and of the trim."""
        self.halts: list[str] = []
        self.refusal = E.NONE
        calls = Calls(self.tasks)
        self.calls = calls
        self.epochs = NodeEpochs(
            self.tasks, calls, cast("Uploader", self), Identity(2, 9), LINGER_MS, self.halts.append
        )
        self.main = Main(
            *(self.tasks, cast("Host", self), cast("ChannelReader", self), self.epochs),
            answer_ms=ANSWER_MS,
            as_built=frozenset(switches),
        )
        self.outputs: list[Any] = []

    # What the main uses ------------------------------------------------------------------------------------------

    async def read(self, at: ChannelOffset) -> ProduceBlock:
        """A read of the channel."""
        gate = self.reads[at.wal.offset] = Gate(self.tasks)
        return await gate.wait()

    def log(self, key: tuple[str, int]) -> Bench:
        """The log of the partition."""
        assert key == ("t", 0)
        if not self.leads:
            raise RefusedError("RA-16.leads", E.NOT_LEADER_OR_FOLLOWER)
        return self

    async def append(self, batch: Batch, link: Any, acks: int) -> int:
        """An append to the log. The link is made only for a batch that has its offset."""
        gate: Gate[int] = Gate(self.tasks)
        place = len(self.appends)
        link(batch.placed(place, 0))
        self.appends.append((batch.values[0].decode(), gate))
        return await gate.wait() if acks == -1 else place

    async def commit_lazily(self, linger_ms: int) -> Gate[None]:
        """A lazy commit."""
        assert linger_ms == LINGER_MS
        committed: Gate[None] = Gate(self.tasks)
        trimmed: Gate[None] = Gate(self.tasks)
        self.uploads.append((committed, trimmed))
        await committed.wait()
        return trimmed

    # What the test does ------------------------------------------------------------------------------------------

    def run(self, ms: int = 0) -> list[Any]:
        """Let time pass. Returns what the main has emitted. The controller takes all reports."""
        found = self.tasks.run(self.tasks.now + ms)
        self.outputs += found
        for each in [each for each in found if isinstance(each, wire.Request)]:
            self.calls.replied(wire.Reply(0, each.id, (wire.ItemAnswer(self.refusal),)))
            self.run()
        return found

    def request(self, epoch: int, *offsets: int, hint: int = 3) -> None:
        """A proxy forwards the batches at these offsets of its channel."""
        encoded = [ChannelOffset(0, hint, 1, 2, WalOffset(4, offset, 10)).encode() for offset in offsets]
        body = RouteBatches(epoch, Forward(1, tuple(encoded)).encode())
        self.tasks.start(self.main.take(PeerCall(1, epoch * 100 + offsets[0], body), body))
        self.run()

    def has_read(self, offset: int) -> None:
        """A read ends. The value of the batch is the number of its offset."""
        self.reads[offset].open(ProduceBlock("t", 0, Batch(0, (str(offset).encode(),))))
        self.run()

    def has_appended(self, value: str) -> None:
        """An append is durable."""
        ((place, gate),) = [(place, gate) for place, (name, gate) in enumerate(self.appends) if name == value]
        gate.open(place)
        self.run()

    def answers(self) -> list[tuple[E, list[str]]]:
        """The answers so far: the error of each, and those of its batches."""
        return [
            (each.error, [name for name, _ in each.values.get("answers", [])])
            for each in self.outputs
            if isinstance(each, PeerAnswer)
        ]

    def reports(self) -> list[int]:
        """The epochs that were reported, but for those of a new cluster, which are below 0."""
        requests = (each.body for each in self.outputs if isinstance(each, wire.Request))
        return [each.epoch for each in requests if isinstance(each, wire.ReportRouteEpoch) and each.epoch >= 0]


def learned(bench: Bench, fenced: int) -> None:
    """The main learns of a fenced epoch."""
    bench.epochs.learn(RouteEpochRecord(0, fenced, fenced + 2, 0))


# Order ------------------------------------------------------------------------------------------------------------


def test_batches_of_a_connection_are_appended_in_their_order() -> None:
    """However their reads end, also over several requests (I-9)."""
    bench = Bench()
    bench.request(5, 10, 20)
    bench.request(6, 30)
    for offset in (30, 20, 10):
        bench.has_read(offset)
    assert [value for value, _ in bench.appends] == ["10", "20", "30"]


def test_without_stripes_they_are_not() -> None:
    """M-22 decides the order."""
    with without("M-22"):
        bench = Bench()
        bench.request(5, 10, 20)
        bench.has_read(20)
        bench.has_read(10)
    assert [value for value, _ in bench.appends] == ["20", "10"]


def test_other_connections_do_not_wait() -> None:
    """A stripe holds up only what is in it."""
    bench = Bench()
    bench.request(5, 10, hint=3)
    bench.request(5, 20, hint=4)
    bench.has_read(20)
    assert [value for value, _ in bench.appends] == ["20"]


def test_a_read_that_fails_fails_its_request() -> None:
    """Its other batches may be appended all the same (ZR-26), and what follows in the stripe goes on."""
    bench = Bench()
    bench.request(5, 10, 20)
    bench.reads[10].fail(DanglingError("gone"))
    bench.has_read(20)
    bench.has_appended("20")
    assert bench.answers() == [(E.UNKNOWN_SERVER_ERROR, [])]


def test_a_refusal_of_the_partition_is_that_of_its_batch() -> None:
    """The other batches of the request are answered on their own."""
    bench = Bench()
    bench.request(5, 10, 20)
    bench.has_read(10)
    bench.leads = False
    bench.has_read(20)
    bench.has_appended("10")
    assert bench.answers() == [(E.NONE, ["NONE", "NOT_LEADER_OR_FOLLOWER"])]


@pytest.mark.parametrize(("removed", "answered"), [((), []), (("M-04",), [(E.NONE, ["NONE"])])])
def test_what_is_answered_is_durable(removed: tuple[str, ...], answered: list[tuple[E, list[str]]]) -> None:
    """M-04. Without the rule the producer gets an offset that the main may lose."""
    with without(*removed):
        bench = Bench()
        bench.request(5, 10)
        bench.has_read(10)
    assert bench.answers() == answered


# Epochs -----------------------------------------------------------------------------------------------------------


def test_a_fenced_request_is_not_read() -> None:
    """It is refused before anything of it is read (M-01)."""
    bench = Bench()
    learned(bench, 5)
    bench.request(5, 10)
    assert (bench.answers(), bench.reads) == ([(E.UNKNOWN_SERVER_ERROR, [])], {})
    bench.request(6, 20)
    assert 20 in bench.reads


def reported(bench: Bench, fenced: int) -> list[int]:
    """Fence an epoch and let commits end. Returns all reports."""
    learned(bench, fenced)
    bench.run(TICK_MS)
    for committed, trimmed in bench.uploads:
        for gate in (committed, trimmed):
            if not gate.happened:
                gate.open(None)
                bench.run()
    return bench.reports()


@pytest.fixture
def looking() -> Bench:
    """A main that looks every second."""
    bench = Bench()
    bench.tasks.start(bench.epochs.run())
    bench.run()
    # A new main reports what is fenced already.
    bench.uploads.pop()[0].fail(FailedError("not yet"))
    bench.run()
    return bench


def test_an_epoch_in_flight_is_not_reported(looking: Bench) -> None:
    """Nor is a later one (M-03). The report comes when the append is durable."""
    looking.request(4, 10)
    looking.has_read(10)
    assert reported(looking, 4) == []
    looking.has_appended("10")
    assert reported(looking, 4) == [4]


def test_what_is_not_counted_is_reported(looking: Bench) -> None:
    """M-02. The request of the reported epoch is under way."""
    with without("M-02"):
        looking.request(4, 10)
        assert reported(looking, 4) == [4]
        looking.has_read(10)
        looking.has_appended("10")
    assert looking.answers() == [(E.NONE, ["NONE"])]


def test_a_report_waits_for_upload_and_trim(looking: Bench) -> None:
    """M-05, M-06."""
    learned(looking, 3)
    looking.run(TICK_MS)
    ((committed, trimmed),) = looking.uploads
    assert looking.reports() == []
    committed.open(None)
    looking.run()
    assert looking.reports() == []
    trimmed.open(None)
    looking.run()
    assert looking.reports() == [3]


def test_a_failed_commit_is_begun_again(looking: Bench) -> None:
    """By the next look (ZR-60)."""
    learned(looking, 3)
    looking.run(TICK_MS)
    looking.uploads.pop()[0].fail(FailedError("no"))
    looking.run()
    assert reported(looking, 3) == [3]


def test_a_process_with_a_successor_halts(looking: Bench) -> None:
    """Its report is refused, and it would be refused for ever (ZG-3)."""
    looking.refusal = E.NODE_EPOCH_EXPIRED
    assert reported(looking, 3) == [3]
    assert looking.halts == ["the controller answers NODE_EPOCH_EXPIRED"]
    assert len(reported(looking, 4)) == 1


@pytest.mark.parametrize(("switches", "found"), [((), []), (("ZG-2",), [4])])
def test_a_timeout_does_not_end_the_count(switches: tuple[str, ...], found: list[int]) -> None:
    """The producer is told, and the append is still under way. As built the epoch is reported (ZG-2)."""
    bench = Bench(*switches)
    bench.request(4, 10)
    bench.has_read(10)
    bench.run(ANSWER_MS)
    assert bench.answers() == [(E.NONE, ["REQUEST_TIMED_OUT"])]
    bench.tasks.start(bench.epochs.run())
    assert reported(bench, 4) == found
