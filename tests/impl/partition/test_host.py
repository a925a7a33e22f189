"""Partitions on real brokers with a real controller: served, moved, cancelled, and taken over after a crash."""

from __future__ import annotations

from typing import Any

import pytest

from impl import wire
from impl.broker.messages import Consume, FindLeaders, Produce, Stop
from impl.broker.partition.host import HostedPartition, meta_key
from impl.broker.partition.meta_values import ProducerSnapshots
from impl.errors import E
from impl.records import StreamState
from impl.rules import without
from tests.impl.crash_world import Flight, Process, World

TOPIC = "t"


class Moves:
    """Brokers 1, 2 and 3, and one partition that begins on broker 1."""

    def __init__(self, *, elects: bool = True, v6: bool = True, partitions: int = 1) -> None:
        self.world = World(v6=v6, elects=elects, threads=4)
        self.brokers = dict(zip((1, 2, 3), self.world.serving(1, 2, 3), strict=True))
        self.sent: list[tuple[int, wire.Body]] = []
        """The brokers' requests, each with its node."""
        self.held: tuple[type, ...] = ()
        """The kinds of requests that are not delivered at present."""
        self.world.holds = self._holds
        self.control(wire.CreateTopic(TOPIC, ((1,),) * partitions, elastic=True))
        for partition in range(partitions):
            self.until_led(1, partition)

    def _holds(self, flight: Flight) -> bool:
        if not isinstance(flight.message, wire.Request):
            return False
        body = flight.message.body
        self.sent.append((flight.process.identity.node, body))
        return isinstance(body, self.held)

    def asked(self, node: int, kind: type) -> int:
        """The number of requests of a kind that a broker has sent."""
        return sum(sender == node and isinstance(body, kind) for sender, body in self.sent)

    def hosted(self, node: int, partition: int = 0) -> HostedPartition:
        """A partition as one broker knows it."""
        return self.brokers[node].broker._host.hosted[TOPIC, partition]

    def control(self, body: wire.Body) -> None:
        """Ask the controller for something."""
        self.world.control(wire.Request(0, 1_000_000, body))

    def move(self, node: int, partition: int = 0) -> None:
        """Give a partition to a node."""
        self.control(wire.AlterReassignments({TOPIC: {partition: (node,)}}))

    def until_led(self, node: int, partition: int = 0, ms: int = 300_000) -> None:
        """Run until a broker serves a partition as its leader."""

        def leads() -> bool:
            return self.read(self.brokers[node], partition) is not None

        self.world.run(leads, ms)

    def send(self, process: Process, *values: str, partition: int = 0, **numbers: int) -> E | int:
        """Send a batch to a broker. Returns its offset, or the reason of the refusal."""
        done = process.ask(Produce(TOPIC, partition, tuple(value.encode() for value in values), **numbers))
        return done.error if done.error is not E.NONE else int(str(done.values["offset"]))

    def read(self, process: Process, partition: int = 0) -> list[tuple[int, str]] | None:
        """The records that a broker reads of a partition; None if it does not lead it."""
        if not process.alive:
            return None
        done = process.ask(Consume(TOPIC, partition, 0))
        if done.error is not E.NONE:
            return None
        batches: Any = done.values["batches"]
        return [(base + place, value.decode()) for base, values in batches for place, value in enumerate(values)]

    def streams(self, node: int) -> set[int]:
        """The streams that are OPENED on a node."""
        image = self.world.image
        return {each for each in image.opened_on.get(node, ()) if image.streams[each].state is StreamState.OPENED}


GENERATIONS = [(True, True), (True, False), (False, False)]
"""V6 and legacy with G1, and legacy with G0."""


@pytest.mark.parametrize(("elects", "v6"), GENERATIONS)
def test_a_partition_moves(elects: bool, v6: bool) -> None:
    """Confirmed records keep their offsets. The old broker refuses, and has no stream open."""
    moves = Moves(elects=elects, v6=v6)
    first, second = moves.brokers[1], moves.brokers[2]
    assert [moves.send(first, "a", "b"), moves.send(first, "c")] == [0, 2]
    moves.move(2)
    moves.until_led(2)
    assert moves.send(first, "x") is E.NOT_LEADER_OR_FOLLOWER
    assert moves.send(second, "d") == 3
    assert moves.read(second) == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]
    moves.world.run(lambda: not moves.streams(1))
    assert len(moves.streams(2)) == 3
    row = moves.world.image.partitions[TOPIC, 0]
    assert (row.leader, row.leader_epoch, row.partition_epoch) == (2, 2, 2)


@pytest.mark.parametrize(("elects", "v6"), GENERATIONS)
def test_there_and_back(elects: bool, v6: bool) -> None:
    """The partition moves A→B→C→A, one move after the other."""
    moves = Moves(elects=elects, v6=v6)
    expected = []
    for number, node in enumerate((2, 3, 1)):
        moves.move(node)
        moves.until_led(node)
        assert moves.send(moves.brokers[node], str(number)) == number
        expected.append((number, str(number)))
        assert moves.read(moves.brokers[node]) == expected


def test_a_move_and_its_cancel() -> None:
    """A move is cancelled before the target begins. The origin opens again what it has closed, and goes on."""
    moves = Moves()
    assert moves.send(moves.brokers[1], "a") == 0
    moves.move(2)
    moves.move(1)
    moves.until_led(1)
    assert moves.send(moves.brokers[1], "b") == 1
    moves.world.rest(10_000)
    assert moves.read(moves.brokers[1]) == [(0, "a"), (1, "b")]
    assert moves.streams(2) == set()


def test_a_move_to_a_third_broker() -> None:
    """A→B→C before B has the streams: B gives up (PT-04), and C serves."""
    moves = Moves()
    moves.send(moves.brokers[1], "a")
    moves.move(2)
    moves.move(3)
    moves.until_led(3)
    assert moves.read(moves.brokers[3]) == [(0, "a")]
    moves.world.rest(10_000)
    assert moves.streams(1) | moves.streams(2) == set()


def test_copies_are_known_after_a_move() -> None:
    """An idempotent producer without an answer repeats the batch at the new leader, which recognises the copy."""
    moves = Moves()
    assert moves.send(moves.brokers[1], "a", producer=5, producer_epoch=0, sequence=0) == 0
    moves.move(2)
    moves.until_led(2)
    assert moves.send(moves.brokers[2], "a", producer=5, producer_epoch=0, sequence=0) == 0
    assert moves.send(moves.brokers[2], "b", producer=5, producer_epoch=0, sequence=1) == 1
    assert moves.read(moves.brokers[2]) == [(0, "a"), (1, "b")]


def test_the_owner_crashes() -> None:
    """Another broker recovers the WAL, and it or a third one serves the confirmed records."""
    moves = Moves()
    for number in range(5):
        assert moves.send(moves.brokers[1], str(number)) == number
    moves.brokers[1].crash()
    moves.control(wire.SetBroker(1, "fenced"))
    moves.world.run(lambda: any(moves.read(moves.brokers[node]) is not None for node in (2, 3)), 600_000)
    (leader,) = [node for node in (2, 3) if moves.read(moves.brokers[node]) is not None]
    assert moves.read(moves.brokers[leader]) == [(number, str(number)) for number in range(5)]
    assert moves.send(moves.brokers[leader], "5") == 5


def test_a_process_that_ends_in_order_leaves_its_partitions() -> None:
    """PT-06. The controller gives the partitions to another broker, which finds the result of a clean close."""
    moves = Moves()
    moves.send(moves.brokers[1], "a")
    moves.brokers[1].take(Stop())
    moves.world.run(lambda: not moves.brokers[1].alive)
    assert moves.brokers[1].halted == "shut down"
    assert moves.streams(1) == set()
    (home,) = moves.world.image.partitions[TOPIC, 0].replicas
    assert home in (2, 3)
    moves.until_led(home, ms=5_000)
    assert moves.read(moves.brokers[home]) == [(0, "a")]
    log = moves.hosted(home).log
    assert log is not None
    assert log.meta.get(ProducerSnapshots) is not None


def test_a_new_process_recovers_first() -> None:
    """A new process opens nothing before its WAL is empty and the broker is active."""
    moves = Moves()
    moves.send(moves.brokers[1], "a")
    moves.brokers[1].crash()
    moves.world.rest(1_000)
    moves.sent.clear()
    moves.brokers[1] = moves.world.begin(1)
    moves.move(2)
    moves.move(1)
    moves.until_led(1)
    kinds = [type(body) for node, body in moves.sent if node == 1]
    assert kinds.index(wire.SetBroker) < kinds.index(wire.OpenStreams)
    assert moves.read(moves.brokers[1]) == [(0, "a")]


@pytest.mark.parametrize(("elects", "v6"), GENERATIONS)
def test_a_late_copy_of_a_close_closes_nothing(elects: bool, v6: bool) -> None:
    """CA-47. After a recovery has closed the streams, the same process opens them under a new leader epoch.

    Otherwise a late copy of the close would end the lease of a live writer, whose records the next owner does not find
    (AM-20).
    """
    moves = Moves(elects=elects, v6=v6)
    assert moves.send(moves.brokers[1], "a") == 0
    moves.brokers[1].crash()
    moves.sent.clear()
    again = moves.brokers[1] = moves.world.begin(1)
    moves.until_led(1)
    copies = [body for _, body in moves.sent if isinstance(body, wire.CloseStreams)]
    assert len(copies) == 3
    for number, body in enumerate(copies):
        moves.world.control(wire.Request(again.place, 1_000_000 + number, body))
    assert moves.send(again, "b") == 1
    moves.move(2)
    moves.until_led(2)
    assert moves.read(moves.brokers[2]) == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("elects", [True, False])
def test_nobody_waits_for_the_timer(elects: bool) -> None:
    """In G1 the target asks to lead when it can serve. In G0 the source asks when it has closed."""
    moves = Moves(elects=elects, v6=False)
    moves.send(moves.brokers[1], "a")
    moves.sent.clear()
    moves.held = (wire.CloseStreams,)
    moves.move(2)
    moves.world.rest(3_000)
    assert moves.asked(1, wire.CloseStreams) > 0
    assert moves.asked(1, wire.ElectLeader) + moves.asked(2, wire.ElectLeader) == 0
    moves.held = ()
    moves.world.held, held = [], moves.world.held
    moves.world.flights.extend(held)
    moves.until_led(2, ms=5_000)
    assert moves.asked(2 if elects else 1, wire.ElectLeader) == 1
    log = moves.hosted(2).log
    assert log is not None
    assert log.leader_epoch == moves.world.image.partitions[TOPIC, 0].leader_epoch == 2


def test_the_target_waits_for_the_meta_stream() -> None:
    """RA-22. The target waits for the meta stream without repeated requests to the controller."""
    moves = Moves()
    moves.send(moves.brokers[1], "a")
    moves.sent.clear()
    moves.held = (wire.CloseStreams,)
    moves.move(2)
    moves.world.rest(20_000)
    assert moves.asked(2, wire.OpenStreams) == 0
    closes = [body.items[0].stream for _, body in moves.sent if isinstance(body, wire.CloseStreams)]
    meta = int.from_bytes(moves.world.image.kv[meta_key(TOPIC, 0)])
    assert closes.index(meta) == 2


@pytest.mark.parametrize("removed", ["PT-04", "RA-22.epoch"])
def test_a_target_that_was_passed_over_gives_up(removed: str) -> None:
    """Either rule is enough; the second one only once the new target has opened the meta stream."""
    moves = Moves()
    moves.send(moves.brokers[1], "a")
    moves.held = (wire.CloseStreams,)
    moves.move(2)
    moves.world.rest(1_000)
    with without(removed):
        moves.move(3)
        moves.world.rest(1_000)
        last = moves.hosted(2).last
        assert last is not None
        assert last.happened == (removed != "PT-04")
        moves.held = ()
        moves.world.held, held = [], moves.world.held
        moves.world.flights.extend(held)
        moves.until_led(3)
        moves.world.rest(1_000)
        assert last.happened
    assert moves.streams(2) == set()


def test_a_broker_that_is_not_elected_refuses() -> None:
    """A broker without an election refuses requests, though it has the partition open: nobody leads."""
    moves = Moves()
    moves.held = (wire.ElectLeader,)
    moves.move(2)
    moves.world.rest(3_000)
    assert moves.hosted(2).log is not None
    assert moves.send(moves.brokers[2], "a") is E.NOT_LEADER_OR_FOLLOWER


def test_a_process_that_was_replaced_halts() -> None:
    """A replaced process halts when the controller refuses its open: another process is registered."""
    moves = Moves()
    old, moves.brokers[1] = moves.brokers[1], moves.world.begin(1)
    moves.world.run(lambda: moves.world.image.nodes[1].epoch == moves.brokers[1].identity.epoch)
    moves.control(wire.CreateTopic("other", ((1,),), elastic=True))
    moves.world.rest(1_000)
    assert old.halted == "the controller answers NODE_EPOCH_EXPIRED"


def test_a_read_has_whole_batches() -> None:
    """A read returns whole batches, also if it begins or ends inside one."""
    moves = Moves()
    moves.send(moves.brokers[1], "a", "b", "c")
    moves.send(moves.brokers[1], "d", "e")
    moves.send(moves.brokers[1], "f")
    first, second, third = (0, (b"a", b"b", b"c")), (3, (b"d", b"e")), (5, (b"f",))
    done = moves.brokers[1].ask(Consume(TOPIC, 0, 1, 2))
    assert done.values == {"batches": [first], "confirmed": 6}
    done = moves.brokers[1].ask(Consume(TOPIC, 0, 2, 2))
    assert done.values == {"batches": [first, second], "confirmed": 6}
    done = moves.brokers[1].ask(Consume(TOPIC, 0, 5))
    assert done.values == {"batches": [third], "confirmed": 6}
    assert moves.brokers[1].ask(Consume(TOPIC, 0, 7)).error is E.OFFSET_OUT_OF_RANGE_BOUNDS


def test_who_leads() -> None:
    """Any broker names the leader, when asked and in a refusal."""
    moves = Moves(partitions=2)
    found = moves.brokers[3].ask(FindLeaders(TOPIC))
    assert found.values == {"leaders": {0: (1, 0), 1: (1, 0)}}
    refused = moves.brokers[3].ask(Produce(TOPIC, 1, (b"a",)))
    assert (refused.error, refused.values) == (E.NOT_LEADER_OR_FOLLOWER, {"leader": 1, "leader_epoch": 0})
    assert moves.brokers[3].ask(FindLeaders("other")).error is E.UNKNOWN_TOPIC_OR_PARTITION


def test_a_batch_out_of_order_is_refused() -> None:
    """A producer that leaves a gap is refused, and the broker goes on."""
    moves = Moves()
    assert moves.send(moves.brokers[1], "a", producer=5, producer_epoch=1, sequence=0) == 0
    refused = moves.send(moves.brokers[1], "c", producer=5, producer_epoch=1, sequence=2)
    assert refused is E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert moves.send(moves.brokers[1], "b", producer=5, producer_epoch=0, sequence=0) is E.INVALID_PRODUCER_EPOCH
    assert moves.read(moves.brokers[1]) == [(0, "a")]


def test_a_shutdown_gives_up_at_last() -> None:
    """PT-06. After 30 s a shutdown no longer waits for a partition whose streams do not close."""
    moves = Moves()
    moves.send(moves.brokers[1], "a")
    moves.held = (wire.CloseStreams,)
    moves.brokers[1].take(Stop())
    moves.world.rest(29_000)
    assert sum(isinstance(body, wire.CloseStreams) for _, body in moves.sent) == 3
    assert moves.brokers[1].alive
    hosted = moves.hosted(1)
    assert hosted.last is not None
    assert not hosted.last.happened
    moves.world.rest(2_000)
    moves.held = ()
    moves.world.held, held = [], moves.world.held
    moves.world.flights.extend(held)
    moves.world.run(lambda: not moves.brokers[1].alive)
    assert moves.brokers[1].halted == "shut down"


def test_the_first_meta_stream_counts() -> None:
    """If a request arrives twice, or from two brokers, one meta stream is made."""
    moves = Moves()
    known = moves.world.image.kv[meta_key(TOPIC, 0)]
    moves.control(wire.PutIfAbsent(meta_key(TOPIC, 0), b"other"))
    assert moves.world.image.kv[meta_key(TOPIC, 0)] == known


def swapped(*, elects: bool) -> Moves:
    """Six partitions move from broker 1 to 2 and six back, all at once: more than there are threads."""
    moves = Moves(elects=elects, v6=False, partitions=12)
    for partition in range(6):
        moves.move(2, partition)
    for partition in range(6):
        moves.until_led(2, partition)
    for partition in range(12):
        node = 2 if partition < 6 else 1
        moves.send(moves.brokers[node], str(partition), partition=partition)
    moves.control(wire.AlterReassignments({TOPIC: {number: (1 if number < 6 else 2,) for number in range(12)}}))
    for partition in range(12):
        moves.until_led(1 if partition < 6 else 2, partition)
    return moves


@pytest.mark.parametrize("elects", [True, False])
def test_two_brokers_swap_their_partitions(elects: bool) -> None:
    """LP-06."""
    moves = swapped(elects=elects)
    for partition in range(12):
        assert moves.read(moves.brokers[1 if partition < 6 else 2], partition) == [(0, str(partition))]


def test_opens_and_closes_that_share_threads_wait_for_each_other() -> None:
    """Without RA-12 opens hold all threads of both brokers, and no close begins."""
    with without("RA-12"), pytest.raises(AssertionError, match="nothing has come of it"):
        swapped(elects=True)
