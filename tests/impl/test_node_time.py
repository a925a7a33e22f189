"""The controller as time passes: timers, periodic checks, and what it keeps beside the log (streams.md 2)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from impl import records as r
from impl import wire
from impl.controller import nodes, objects, streams
from impl.controller.node import PERIOD_MS, Controller
from impl.controller.view import OperationResult, Profile
from impl.errors import E
from impl.rules import without
from tests.impl.node_story import EPOCH, NODE, ask, leader, moving, opening, with_streams

# Memory beside the log --------------------------------------------------------------------------------------------


def test_a_timer_elects_the_target() -> None:
    """EL-02: it fires after at least 10 s and at most 11 s."""
    controller = moving(Profile())
    assert controller.tick(9_999) == []
    ((name, outcome),) = controller.tick(1_001)
    assert (name, outcome.error, controller.image.partitions["t", 0].leader) == ("t-0", E.NONE, 2)


@pytest.mark.parametrize(("timer", "fired"), [("epoch", ["t-0"]), ("automq", [])])
def test_a_failover_keeps_the_timers_that_can_be_restored(timer: str, fired: list[str]) -> None:
    """EL-12: a failover restores the timer of a partition without a leader; as built it is lost (EL-06)."""
    controller = moving(msgspec.convert({"timer": timer}, Profile))
    controller.fail_over()
    assert [name for name, _ in controller.tick(11_000)] == fired


@pytest.mark.parametrize(("timer", "fired"), [("epoch", ["t-0"]), ("automq", [])])
def test_a_request_for_an_election_disarms_as_built(timer: str, fired: list[str]) -> None:
    """EL-04: as built even a refused request disarms, here with a fenced target; by default none does (EL-13)."""
    controller = moving(msgspec.convert({"timer": timer}, Profile))
    controller.execute(lambda _: OperationResult((r.BrokerRegistration(2, "fenced"),)))
    assert controller.elect("t", 0).error is E.PREFERRED_LEADER_NOT_AVAILABLE
    assert [name for name, _ in controller.tick(11_000)] == fired


def test_a_failover_forgets_the_generations_of_objects() -> None:
    """OB-05: the retention begins anew with the new controller."""
    controller = Controller()
    controller.execute(lambda view: objects.prepare(view, 1, 10))
    controller.advance(11)
    controller.execute(controller.object_clock.check)
    deleted = []
    for _ in range(2):
        controller.fail_over()
        controller.advance(controller.profile.object_retention_ms)
        deleted.append(controller.execute(controller.object_clock.check).values["deletes"])
    assert deleted == [[], []]


@pytest.mark.parametrize(("as_built", "kept"), [(frozenset(), True), (frozenset({"AM-02"}), False)])
def test_a_failover_over_a_snapshot_loses_the_flag_as_built(as_built: frozenset[str], kept: bool) -> None:
    """AM-02: the successor has loaded a snapshot without failover flags, so the old process passes CK-01 again."""
    controller = Controller(Profile(as_built=as_built))
    controller.execute(lambda view: streams.get_opening_streams(view, NODE, EPOCH, True))
    controller.fail_over()
    assert controller.image.nodes[NODE].failover is kept
    error = controller.execute(lambda view: streams.create_stream(view, NODE, EPOCH)).error
    assert error is (E.NODE_FENCED if kept else E.NONE)


# Time -------------------------------------------------------------------------------------------------------------


def _wake(controller: Controller, now: int) -> list[wire.Output]:
    outputs = controller.handle(wire.WakeNotice(), now)
    assert outputs[-1] == wire.Wake(now + PERIOD_MS)
    controller.handle(wire.CommitNotice(1, controller.log.end), now)
    return outputs[:-1]


def test_a_leader_wakes_each_second() -> None:
    """OB-04, EL-02, FO-01: a leader runs all periodic checks every second; with nothing to do it writes nothing."""
    assert Controller(leads=False).handle(wire.ElectionNotice(1), 7) == [wire.Wake(7 + PERIOD_MS)]
    assert _wake(leader(), 1_000) == []


def test_the_wheel_elects() -> None:
    """EL-01: the timer's election is an event of the node."""
    controller = leader(batches=moving(Profile()).log.batches)
    assert _wake(controller, 9_000) == []
    (append,) = _wake(controller, 10_000)
    assert isinstance(append, wire.QuorumAppend)
    assert append.batch.records == (r.PartitionChange("t", 0, leader=2, marker=-1, original=()),)


def moved_on_late() -> Controller:
    """The partition moves again half a second after its timer has fired, before the controller wakes."""
    controller = leader(batches=moving(Profile()).log.batches)
    controller.handle(wire.Request(9, 1, wire.AlterReassignments({"t": {0: (1,)}})), 10_500)
    controller.handle(wire.CommitNotice(1, controller.log.end), 10_500)
    return controller


def test_nothing_disarms_a_timer_that_has_fired() -> None:
    """EL-12: its election waits for the wake of the controller, and only its tag keeps it from electing broker 1."""
    assert _wake(moved_on_late(), 10_600) == []
    with without("EL-12.tag"):
        (append,) = _wake(moved_on_late(), 10_600)
    assert isinstance(append, wire.QuorumAppend)
    assert [record.leader for record in append.batch.records if isinstance(record, r.PartitionChange)] == [1]


def moved_as_built() -> Controller:
    """A controller whose timer as built runs since a move at 0."""
    controller = leader(Profile(timer="automq"), moving(Profile()).log.batches)
    controller.handle(wire.Request(9, 1, wire.AlterReassignments({"t": {0: (1,)}})), 0)
    controller.handle(wire.CommitNotice(1, controller.log.end), 0)
    assert controller.timers.armed
    return controller


def test_a_controller_that_does_not_lead_drops_its_timers() -> None:
    """EL-06: as built timers stay in memory, and are dropped when they fire on a controller that does not lead."""
    controller = moved_as_built()
    controller.handle(wire.ResignationNotice(2), 0)
    assert controller.handle(wire.WakeNotice(), 20_000) == [wire.Wake(21_000)]
    assert not controller.timers.armed


def test_a_timer_that_fires_before_the_next_lead_is_dropped() -> None:
    """EL-06: it fires while the controller does not lead, and the controller leads again before its next wake."""
    controller = moved_as_built()
    controller.handle(wire.ResignationNotice(2), 5_000)
    controller.handle(wire.ElectionNotice(3), 10_400)
    assert _wake(controller, 10_900) == []


def test_expired_objects_are_deleted_in_the_end() -> None:
    """OB-04, OB-05: marked when the deadline has passed, deleted between one and two retentions later."""
    controller = leader()
    ask(controller, wire.PrepareObjects(1, 500))
    deleted = {now: each for now in range(1_000, 200_000, 1_000) for each in _deletes(_wake(controller, now))}
    ((when, objects_deleted),) = deleted.items()
    assert objects_deleted == (0,)
    assert 60_000 <= when - 1_000 <= 121_000
    assert list(controller.image.objects) == [0]
    (append,) = controller.handle(wire.DeletionNotice((0,)), 200_000)
    assert isinstance(append, wire.QuorumAppend)
    assert append.batch.records == (r.RemoveS3Object(0),)


def test_nothing_is_checked_while_objects_are_deleted() -> None:
    """OB-05: no check runs during a deletion. The end of another controller's deletion does not count."""
    controller = leader()
    ask(controller, wire.PrepareObjects(1, 500))
    deleting = next(now for now in range(1_000, 200_000, 1_000) if _deletes(_wake(controller, now)))
    ask(controller, wire.PrepareObjects(1, 500))
    late = [append for now in range(deleting + 1_000, deleting + 200_000, 1_000) for append in _wake(controller, now)]
    assert late == []
    assert controller.handle(wire.DeletionNotice((7,)), controller.now) == []
    assert _wake(controller, controller.now + 1_000) == []
    assert controller.handle(wire.DeletionNotice((0,)), controller.now)
    assert controller.handle(wire.DeletionNotice((0,)), controller.now) == []
    assert len(_wake(controller, controller.now + 1_000)) == 1


@pytest.mark.parametrize(("handshake", "elected"), [("G0", True), ("G1", False)])
def test_leaders_are_balanced_every_five_minutes(handshake: str, elected: bool) -> None:
    """EL-10: in G0 this elects the target of a move whose timer was lost (EL-06); in G1 there is no balancing."""
    profile = msgspec.convert({"handshake": handshake, "timer": "automq"}, Profile)
    controller = leader(profile, moving(profile).log.batches)
    assert [_wake(controller, now) for now in range(1_000, 300_000, 1_000)] == [[]] * 299
    assert len(_wake(controller, 300_000)) == elected
    assert (controller.image.partitions["t", 0].leader == 2) is elected


def _deletes(outputs: Sequence[wire.Output]) -> list[tuple[int, ...]]:
    return [output.objects for output in outputs if isinstance(output, wire.DeleteObjects)]


def test_a_fenced_node_with_open_streams_is_failed_over() -> None:
    """FO-01, FO-02: after 60 s of life, to an active broker."""
    controller = leader(batches=with_streams(1))
    for body in (
        *(wire.SetBroker(1, "active"), wire.SetBroker(2, "active"), wire.RegisterNode(NODE, EPOCH, "wal")),
        *(opening((0, 1)), wire.SetBroker(1, "fenced")),
    ):
        ask(controller, body)
    assert _wake(controller, 60_000) == []
    (append,) = _wake(controller, 61_000)
    assert isinstance(append, wire.QuorumAppend)
    assert [record.KIND for record in append.batch.records] == ["KV"]


def test_a_broker_that_is_fenced_is_failed_over_at_once() -> None:
    """FO-01: an old process needs no wait for the next scan."""
    controller = leader(batches=with_streams(1))
    brokers = (wire.SetBroker(1, "active"), wire.SetBroker(2, "active"))
    for body in (*brokers, wire.RegisterNode(NODE, EPOCH, "wal"), opening((0, 1))):
        ask(controller, body)
    outputs = controller.handle(wire.Request(9, 1, wire.SetBroker(1, "fenced")), 100_000)
    appended = [record.KIND for output in outputs for record in output.batch.records]
    assert appended == ["BROKER", "KV"]


def test_a_node_that_shuts_down_has_a_minute() -> None:
    """ND-30: fenced within 60 s of its controlled shutdown, it counts as shutting down, and is not failed over."""
    controller = leader(batches=with_streams(1))
    for body in (
        *(wire.SetBroker(1, "active"), wire.SetBroker(2, "active"), wire.RegisterNode(NODE, EPOCH, "wal")),
        *(opening((0, 1)),),
    ):
        ask(controller, body)
    controller.handle(wire.Request(9, 1, wire.SetBroker(1, "shutting_down")), 100_000)
    controller.handle(wire.Request(9, 1, wire.SetBroker(1, "fenced")), 101_000)
    assert _wake(controller, 102_000) == []
    state = nodes.registration(controller.view, NODE, left=controller.heartbeats.left)["state"]
    assert state == "CONTROLLED_SHUTDOWN"
    assert len(_wake(controller, 161_000)) == 1
