"""The balancer of a controller: when it plans, what it sends, and how it takes answers. The reports of brokers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from impl import wire
from impl.balancer.configuration import configured
from impl.balancer.meter import RateMeter
from impl.balancer.metrics_record import MetricsRecord
from impl.balancer.node import BalancerNode
from impl.balancer.reporter import MetricsReporter
from impl.balancer.resources import TopicPartition
from impl.errors import E
from impl.metadata.log import MetadataBatch
from impl.records import BrokerRegistration, MetadataRecord, Partition, PartitionChange, Topic
from impl.rules import without

ROUND_MS = 60_000
MIB = 1 << 20


class Cluster:
    """Two loaded brokers with four partitions each, an empty one, and the balancer of a controller."""

    def __init__(self, settings: Mapping[str, str | float] | None = None) -> None:
        self.leads = True
        self.locked: set[int] = set()
        configuration = configured({} if settings is None else settings)
        self.node = BalancerNode(lambda: configuration, lambda: self.leads, lambda _, each: each in self.locked, now=0)
        self._learned = 0
        self.learn(*(BrokerRegistration(broker, "active") for broker in (1, 2, 3)), Topic("t", elastic=True))
        self.learn(*(Partition("t", each, (1 + each % 2,), (1 + each % 2,), 1 + each % 2) for each in range(8)))

    def learn(self, *records: MetadataRecord) -> None:
        """Commit a batch."""
        self.node.learn(self._learned, (MetadataBatch(records),))
        self._learned += 1

    def report(self, now: int, brokers: tuple[int, ...] = (1, 2, 3)) -> None:
        """Report the brokers, each partition with 10 MiB/s in and out."""
        for broker in brokers:
            self.node.take([MetricsRecord(now, broker, "", None, None, {3: 1.0, 6: 2.0}).encode()])
            for number in range(8) if broker < 3 else ():
                if 1 + number % 2 == broker:
                    values = {0: 10.0 * MIB, 1: 10.0 * MIB, 2: 5.0}
                    self.node.take([MetricsRecord(now, broker, "", "t", number, values).encode()])

    def requested(self, now: int) -> list[dict[str, dict[int, tuple[int, ...] | None]]]:
        """The reassignments that the balancer asks for at a time."""
        return [
            each.body.topics
            for each in self.node.wake(now)
            if isinstance(each, wire.Request) and isinstance(each.body, wire.AlterReassignments)
        ]

    def answer(self, now: int, error: E = E.NONE, row: E = E.NONE) -> list[wire.Request | wire.Wake]:
        """The outputs after the answer to the request under way. ``row``: the error of one of its partitions."""
        return self.node.replied(wire.Reply(0, 1, (wire.ItemAnswer(error, {"rows": {"t-0": row.name}}),)), now)


def test_a_round() -> None:
    """The first round begins an interval after the start. Its plan is one request; the next round comes after it."""
    cluster = Cluster()
    cluster.report(50_000)
    assert cluster.node.wake(ROUND_MS - 1) == [wire.Wake(ROUND_MS)]
    (asked,) = cluster.requested(ROUND_MS)
    moves = cluster.node.rounds[0].moves
    assert any(move.destination == 3 for move in moves)
    assert asked == {"t": {move.partition.partition: (move.destination,) for move in moves}}
    assert cluster.node.wake(ROUND_MS + 10) == []  # The answer is missing.
    assert cluster.answer(ROUND_MS + 20) == [wire.Wake(2 * ROUND_MS + 20)]
    (begun,) = cluster.node.rounds
    assert (begun.eligible, begun.sent, begun.dropped, begun.error) == ((1, 2, 3), len(begun.moves), 0, "")


def test_the_batches_of_a_plan() -> None:
    """A plan with several batches waits between them, and for each answer."""
    cluster = Cluster({"execution.concurrency": 1})
    cluster.report(50_000)
    assert len(cluster.requested(ROUND_MS)) == 1
    count = len(cluster.node.rounds[0].moves)
    assert count > 1
    assert cluster.answer(ROUND_MS + 20) == [wire.Wake(ROUND_MS + 5_020)]
    assert cluster.requested(ROUND_MS + 5_019) == []
    assert len(cluster.requested(ROUND_MS + 5_020)) == 1
    assert cluster.node.rounds[0].sent == 2


@pytest.mark.parametrize("error", [{"error": E.NOT_CONTROLLER}, {"row": E.INVALID_REPLICA_ASSIGNMENT}])
def test_an_error_ends_the_round(error: dict[str, E]) -> None:
    """A request or a partition that is refused drops the other batches. The next round comes at its time."""
    cluster = Cluster({"execution.concurrency": 1})
    cluster.report(50_000)
    assert cluster.requested(ROUND_MS)
    assert cluster.answer(ROUND_MS + 20, **error) == [wire.Wake(2 * ROUND_MS + 20)]
    (begun,) = cluster.node.rounds
    assert begun.dropped == len(begun.moves) - 1
    assert begun.error


def test_another_controller_leads() -> None:
    """A controller that does not lead keeps its model, and begins no round. When it leads, its next tick plans."""
    cluster = Cluster()
    cluster.leads = False
    cluster.report(50_000)
    assert cluster.node.wake(ROUND_MS) == [wire.Wake(2 * ROUND_MS)]
    assert cluster.node.rounds == []
    cluster.report(110_000)
    cluster.leads = True
    assert len(cluster.requested(2 * ROUND_MS)) == 1


def test_without_the_look_at_the_leader_every_controller_plans() -> None:
    """BG-18 keeps the others from planning."""
    cluster = Cluster()
    cluster.leads = False
    cluster.report(50_000)
    with without("BG-18"):
        assert len(cluster.requested(ROUND_MS)) == 1


@pytest.mark.parametrize(("fenced", "asked"), [("active", 1), ("fenced", 0)])
def test_a_broker_that_dies_meanwhile(fenced: str, asked: int) -> None:
    """What would go to a broker that is fenced by then is left out; nothing is asked if nothing is left."""
    cluster = Cluster({"execution.concurrency": 1})
    cluster.report(50_000)
    assert cluster.requested(ROUND_MS)
    cluster.learn(BrokerRegistration(3, fenced))
    cluster.answer(ROUND_MS + 20)
    assert len(cluster.requested(ROUND_MS + 5_020)) == asked


def test_brokers_that_a_round_leaves_out() -> None:
    """A broker without a report of its own is not eligible (AB-22); neither is a stale or a locked one."""
    cluster = Cluster()
    cluster.report(50_000, brokers=(1, 2))
    assert cluster.requested(ROUND_MS) == []
    cluster.report(110_000, brokers=(1, 3))
    cluster.node.wake(2 * ROUND_MS)
    assert [each.eligible for each in cluster.node.rounds] == [(1, 2), (1, 3)]

    other = Cluster()
    other.locked = {3}
    other.report(50_000)
    assert other.requested(ROUND_MS) == []
    assert other.node.rounds[0].eligible == (1, 2)


def test_a_partition_that_has_moved_needs_a_report() -> None:
    """The target of a move is not eligible before the first report of the partition there (AB-15, AB-22)."""
    cluster = Cluster()
    cluster.report(50_000)
    cluster.learn(PartitionChange("t", 0, leader=-1, replicas=(3,)), PartitionChange("t", 0, leader=3))
    cluster.requested(ROUND_MS)
    assert cluster.node.rounds[0].eligible == (1, 2)


def test_missing_batches() -> None:
    """A gap in the metadata is an error."""
    with pytest.raises(ValueError, match="batches from 9 on are committed, but the balancer has seen 2"):
        Cluster().node.learn(9, ())


def test_a_record_that_cannot_be_read() -> None:
    """A record of a newer format is refused, and the others of its poll count (D-05)."""
    cluster = Cluster()
    cluster.report(50_000, brokers=(1, 2))
    known = MetricsRecord(50_000, 3, "", None, None, {3: 1.0, 6: 2.0}).encode()
    cluster.node.take([b"", known[:1] + b"\x01" + known[2:], known])
    assert cluster.node.refused == 2
    assert cluster.requested(ROUND_MS)
    assert cluster.node.rounds[0].eligible == (1, 2, 3)


def test_a_steady_rate() -> None:
    """The first tick is the first rate; a change is visible by two thirds after a minute."""
    meter = RateMeter(0)
    for now in range(0, 60_000, 1_000):
        meter.add(100, now)
    assert RateMeter(0).rate(4_999) == 0.0
    assert meter.rate(60_000) == pytest.approx(100.0)
    for now in range(60_000, 120_000, 1_000):
        meter.add(400, now)
    assert meter.rate(120_000) == pytest.approx(100 + 300 * (1 - math.exp(-1)))


def test_a_report() -> None:
    """A report has a record for the broker and one for each open partition, idle ones too, in their order."""
    reporter = MetricsReporter(7, "a")
    for number in (2, 1):
        reporter.opened(TopicPartition("t", number), 0)
    for _ in range(5):
        reporter.appended(TopicPartition("t", 1), 100, took=20, now=1_000)
        reporter.appended(TopicPartition("t", 9), 100, took=40, now=1_000)  # It is closed here.
    reporter.read(TopicPartition("t", 1), 50, 1_000)
    reporter.closed(TopicPartition("t", 3))
    records = [MetricsRecord.decode(each) for each in reporter.report(10_000, pending_append_ms=5)]
    assert [(each.topic, each.partition) for each in records] == [(None, None), ("t", 1), ("t", 2)]
    assert {(each.broker, each.rack, each.time_ms) for each in records} == {(7, "a", 10_000)}
    assert records[0].values == {3: 30.0, 4: 5.0, 5: 0.0, 6: 2.0}
    assert records[1].values[2] == 500.0
    assert records[1].values[0] == pytest.approx(100 * math.exp(-5 / 60))
    assert records[2].values == {0: 0.0, 1: 0.0, 2: 0.0}
    reporter.closed(TopicPartition("t", 1))
    assert len(reporter.report(20_000)) == 2
