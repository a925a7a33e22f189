"""The controller as a node: events, answers after the commit, changes of leader, time (streams.md 2)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from impl import records as r
from impl import wire
from impl.controller import nodes, objects, partitions, streams
from impl.controller.node import PERIOD_MS, Controller
from impl.controller.view import OperationResult, Profile, View
from impl.errors import E
from impl.items import CloseItem, CreateItem, OpenItem, TrimItem
from impl.metadata import snapshot
from impl.metadata.log import MetadataBatch, replay
from impl.rules import require, without

NODE, EPOCH = 1, 5


def _leader(profile: Profile = Profile(), batches: Sequence[MetadataBatch] = ()) -> Controller:  # noqa: B008 - frozen
    controller = Controller(profile, leads=False)
    if batches:
        controller.handle(wire.LearnedBatches(0, tuple(batches)), 0)
    controller.handle(wire.ElectionNotice(1), 0)
    return controller


def _ask(controller: Controller, body: wire.Body, number: int = 1) -> list[wire.Output]:
    return controller.handle(wire.Request(9, number, body), controller.now)


def _replies(outputs: Sequence[wire.Output]) -> list[wire.Reply]:
    return [output for output in outputs if isinstance(output, wire.Reply)]


def _answers(outputs: Sequence[wire.Output]) -> list[E]:
    (reply,) = _replies(outputs)
    return [answer.error for answer in reply.answers]


def _with_streams(count: int) -> list[MetadataBatch]:
    """The log of a controller that has registered NODE and created streams."""
    controller = Controller()
    controller.execute(lambda view: streams.get_opening_streams(view, NODE, EPOCH))
    for _ in range(count):
        controller.execute(lambda view: streams.create_stream(view, NODE, EPOCH))
    return controller.log.batches


def _open(*items: tuple[int, int]) -> wire.OpenStreams:
    return wire.OpenStreams(NODE, EPOCH, tuple(OpenItem(stream, epoch) for stream, epoch in items))


# One operation ----------------------------------------------------------------------------------------------------


def test_an_operation_is_one_batch() -> None:
    """INV-14: the records of an operation are applied and committed together."""
    controller = Controller()
    outcome = controller.execute(lambda view: streams.get_opening_streams(view, NODE, EPOCH))
    assert (outcome.error, [batch.records for batch in controller.log.batches]) == (E.NONE, [outcome.records])
    assert controller.log.committed == 1
    assert controller.image.nodes[NODE].epoch == EPOCH


def test_a_refusal_is_an_outcome_without_records() -> None:
    """INV-14: a refused operation appends nothing."""
    controller = Controller()
    outcome = controller.execute(lambda view: streams.create_stream(view, NODE, EPOCH))
    assert outcome == OperationResult(error=E.NODE_EPOCH_NOT_EXIST)
    assert controller.log.batches == []


def test_the_clock_moves_only_by_hand() -> None:
    """Operations see the time that ``advance`` has set."""
    controller = Controller(now=40)
    controller.advance(2)
    assert controller.execute(lambda view: OperationResult(values={"now": view.now})).values == {"now": 42}


# Answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_waits_for_the_commit() -> None:
    """EX-01: the request is answered when the quorum has committed its batch, and not before."""
    controller = _leader()
    (append,) = _ask(controller, wire.GetOpeningStreams(NODE, EPOCH))
    assert isinstance(append, wire.QuorumAppend)
    assert append.index == 0
    assert controller.image.nodes[NODE].epoch == EPOCH
    (reply,) = controller.handle(wire.CommitNotice(1, 1), 5)
    assert reply == wire.Reply(9, 1, (wire.ItemAnswer(values={"streams": []}),))


def test_without_the_wait_an_answer_comes_before_its_commit() -> None:
    """EX-01 removed: an answer may depend on state that is rolled back later (G-53)."""
    with without("EX-01"):
        outputs = _ask(_leader(), wire.GetOpeningStreams(NODE, EPOCH))
    assert len(_replies(outputs)) == 1


def test_an_operation_without_records_waits_for_earlier_writes() -> None:
    """EX-02: an operation without records has read state that may be rolled back, so its answer waits."""
    controller = _leader()
    _ask(controller, wire.GetOpeningStreams(NODE, EPOCH), 1)
    assert _ask(controller, wire.DescribeStreams(node=NODE), 2) == []
    with without("EX-02"):
        assert len(_ask(controller, wire.DescribeStreams(node=NODE), 3)) == 1
    assert [reply.id for reply in _replies(controller.handle(wire.CommitNotice(1, 1), 5))] == [1, 2]


def test_an_operation_without_records_is_answered_at_once() -> None:
    """EX-02: if nothing is pending, an operation without records is answered at once."""
    assert _answers(_ask(_leader(batches=_with_streams(1)), wire.DescribeStreams(stream=0))) == [E.NONE]


def test_commits_release_answers_in_their_order() -> None:
    """A commit of the first batch releases its answer alone."""
    controller = _leader(batches=_with_streams(2))
    _ask(controller, _open((0, 1)), 1)
    _ask(controller, _open((1, 1)), 2)
    begin = controller.log.committed
    assert [each.id for each in _replies(controller.handle(wire.CommitNotice(1, begin + 1), 0))] == [1]
    assert [each.id for each in _replies(controller.handle(wire.CommitNotice(1, begin + 2), 0))] == [2]


def test_a_commit_of_an_earlier_term_releases_nothing() -> None:
    """Commits of an earlier term release no answers, since their indexes belong to other batches."""
    controller = _leader()
    _ask(controller, wire.GetOpeningStreams(NODE, EPOCH))
    assert controller.handle(wire.CommitNotice(0, 1), 0) == []
    assert controller.log.committed == 0


# Requests with items ----------------------------------------------------------------------------------------------


def test_the_items_of_an_open_are_one_batch() -> None:
    """EX-05: the items of a request are one event. A refused item leaves the others alone."""
    controller = _leader(batches=_with_streams(2))
    begin = controller.log.end
    (append,) = _ask(controller, _open((0, 1), (7, 1), (1, 1)))
    assert isinstance(append, wire.QuorumAppend)
    assert [record.KIND for record in append.batch.records] == ["STREAM", "RANGE", "STREAM", "RANGE"]
    assert controller.log.end == begin + 1
    outputs = controller.handle(wire.CommitNotice(1, begin + 1), 0)
    assert _answers(outputs) == [E.NONE, E.STREAM_NOT_EXIST, E.NONE]


def test_items_are_judged_on_the_state_before_the_batch() -> None:
    """EX-05 and AM-05: two items open one stream under two epochs; the second does not see the first."""
    controller = _leader(batches=_with_streams(1))
    _ask(controller, _open((0, 1), (0, 2)))
    assert _answers(controller.handle(wire.CommitNotice(1, controller.log.end), 0)) == [E.NONE, E.NONE]
    assert (controller.image.streams[0].epoch, list(controller.image.ranges[0])) == (2, [0])


def test_the_items_of_a_create_are_events() -> None:
    """EX-06: each item is an event of its own, so the second sees the first; one reply holds both answers."""
    controller = _leader(batches=_with_streams(0))
    begin = controller.log.end
    outputs = _ask(controller, wire.CreateStreams(NODE, EPOCH, (CreateItem(), CreateItem())))
    assert [output.index for output in outputs if isinstance(output, wire.QuorumAppend)] == [begin, begin + 1]
    assert controller.handle(wire.CommitNotice(1, begin + 1), 0) == []
    (reply,) = _replies(controller.handle(wire.CommitNotice(1, begin + 2), 0))
    assert [answer.values["stream"] for answer in reply.answers] == [0, 1]


def test_closes_trims_and_deletes_answer_each_item() -> None:
    """EX-05, EX-06: as many answers as items."""
    controller = _leader(batches=_with_streams(2))
    _ask(controller, _open((0, 1), (1, 1)))
    trims = wire.TrimStreams(NODE, EPOCH, (TrimItem(0, 1, 4), TrimItem(0, 1, 2)))
    closes = wire.CloseStreams(NODE, EPOCH, (CloseItem(0, 1), CloseItem(1, 1, 6)))
    for number, body in enumerate((trims, closes, wire.DeleteStreams(NODE, EPOCH, (0, 5)))):
        _ask(controller, body, number)
    replies = _replies(controller.handle(wire.CommitNotice(1, controller.log.end), 0))[1:]
    errors = [[answer.error for answer in reply.answers] for reply in replies]
    assert errors == [[E.NONE, E.OFFSET_NOT_MATCHED], [E.NONE, E.NONE], [E.NONE, E.NONE]]
    assert 0 not in controller.image.streams


def test_a_repeated_request_changes_nothing() -> None:
    """EX-07: the same open and close, delivered twice, end in the same state."""
    controller = _leader(batches=_with_streams(1))
    close = wire.CloseStreams(NODE, EPOCH, (CloseItem(0, 1, 6),))
    for body in (_open((0, 1)), close):
        _ask(controller, body)
        before = snapshot.snapshot(controller.image)
        assert not any(isinstance(output, wire.QuorumAppend) for output in _ask(controller, body))
        assert snapshot.snapshot(controller.image) == before


SINGLE: tuple[tuple[wire.Body, E], ...] = (
    (wire.GetOpeningStreams(NODE, EPOCH - 1), E.NODE_EPOCH_EXPIRED),
    (wire.PrepareObjects(2, 100), E.NONE),
    (wire.CommitStreamSetObject(wire.SetCommit(NODE, EPOCH - 1, 0, 0)), E.NODE_EPOCH_EXPIRED),
    (wire.CommitStreamObject(wire.StreamCommit(NODE, EPOCH - 1, 0, 9, 0, -1, 0, 1)), E.NODE_EPOCH_EXPIRED),
    (wire.RegisterNode(NODE, EPOCH, "wal", {"a": "b"}), E.NONE),
    (wire.UnregisterNode(NODE), E.NONE),
    (wire.PutIfAbsent("k", b"v"), E.NONE),
    (wire.DescribeStreams(), E.INVALID_REQUEST),
    (wire.SetBroker(1, "active"), E.NONE),
    (wire.CreateTopic("t", ((1,),), elastic=True), E.NONE),
    (wire.AlterReassignments({"t": {0: (1,), 1: None}}), E.NONE),
    (wire.ListReassignments(), E.NONE),
    (wire.AlterPartition("t", 0, 1, (1,)), E.NONE),
    (wire.ElectLeader("t", 0), E.ELECTION_NOT_NEEDED),
    (wire.Heartbeat(1), E.NONE),
    (wire.DrainBroker(1), E.NONE),
)


def test_every_request_is_answered() -> None:
    """Each request runs its operation, with its arguments in their places."""
    controller = _leader(batches=_with_streams(1))
    for body, error in SINGLE:
        outputs = _ask(controller, body)
        outputs += controller.handle(wire.CommitNotice(1, controller.log.end), 0)
        assert _answers(outputs) == [error], body


def test_a_partition_returns_to_its_locked_owner() -> None:
    """ST-16: an open that the lock refuses moves the partition back, where the stream names one."""
    controller = _leader(batches=_moving(Profile()).log.batches)
    tags = streams.partition_tags("t", 0)
    for body in (
        *(wire.GetOpeningStreams(1, EPOCH), wire.GetOpeningStreams(2, EPOCH)),
        *(wire.CreateStreams(1, EPOCH, (CreateItem(tags), CreateItem())), _open((0, 1), (1, 1))),
        wire.CloseStreams(1, EPOCH, (CloseItem(0, 1), CloseItem(1, 1))),
        wire.RegisterNode(1, EPOCH, tags={nodes.LOCK_TAG: "OPEN"}),
    ):
        _ask(controller, body)
    theirs = wire.OpenStreams(2, EPOCH, (OpenItem(0, 2), OpenItem(1, 2)))
    with without("ST-16.back"):
        assert _ask(controller, theirs) == []
    assert controller.image.partitions["t", 0].replicas == (2,)
    _ask(controller, theirs)
    assert controller.image.partitions["t", 0].replicas == (1,)
    replies = _replies(controller.handle(wire.CommitNotice(1, controller.log.end), 0))
    assert [answer.error for answer in replies[-1].answers] == [E.NODE_LOCKED] * 2


# Changes of leader ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "items"),
    [(_open((0, 1), (1, 1)), 2), (wire.PrepareObjects(1, 1), 1), (wire.DeleteStreams(NODE, EPOCH, (1, 2, 3)), 3)],
)
def test_a_controller_that_does_not_lead_refuses(body: wire.Body, items: int) -> None:
    """EX-04: NOT_CONTROLLER, in batched requests for each item."""
    controller = Controller(leads=False)
    assert _answers(_ask(controller, body)) == [E.NOT_CONTROLLER] * items
    assert controller.log.end == 0


def test_without_the_check_two_controllers_answer() -> None:
    """EX-04 removed: a deposed controller appends to its own log, and two controllers answer."""
    controller = Controller(leads=False)
    with without("EX-04"):
        (append,) = _ask(controller, wire.PrepareObjects(1, 1))
    assert isinstance(append, wire.QuorumAppend)


def test_a_lost_lead_takes_pending_batches_back() -> None:
    """EX-03: the state returns to the last commit, and pending requests get no answer."""
    controller = _leader(batches=_with_streams(1))
    before = snapshot.snapshot(controller.image)
    _ask(controller, _open((0, 1)), 4)
    assert controller.handle(wire.ResignationNotice(2), 0) == [wire.Reply(9, 4, (wire.ItemAnswer(E.NOT_CONTROLLER),))]
    assert snapshot.snapshot(controller.image) == before
    assert controller.handle(wire.CommitNotice(1, 99), 0) == []


def test_without_the_roll_back_an_open_survives_that_nobody_committed() -> None:
    """EX-03 removed: the image differs from that of the committed log."""
    controller = _leader(batches=_with_streams(1))
    _ask(controller, _open((0, 1)))
    with without("EX-03"):
        controller.handle(wire.ResignationNotice(2), 0)
    assert snapshot.snapshot(controller.image) != snapshot.snapshot(replay(_with_streams(1)))


def test_a_message_about_an_earlier_term_ends_no_lead() -> None:
    """The leader of term 1 ignores a late message that term 0 has ended."""
    controller = _leader()
    controller.handle(wire.ResignationNotice(0), 0)
    assert controller.term == 1


def test_a_leader_learns_nothing() -> None:
    """A leader ignores batches of another leader that arrive before it hears of that leader."""
    controller = _leader()
    _ask(controller, wire.PrepareObjects(1, 1))
    controller.handle(wire.LearnedBatches(0, tuple(_with_streams(1))), 0)
    assert (controller.log.end, controller.image.streams) == (1, {})


def test_what_was_learned_twice_counts_once() -> None:
    """Learned batches may overlap with those in the log. A gap is an error."""
    batches = _with_streams(2)
    controller = Controller(leads=False)
    controller.handle(wire.LearnedBatches(0, tuple(batches[:2])), 0)
    controller.handle(wire.LearnedBatches(1, tuple(batches[1:])), 0)
    assert controller.log.batches == batches
    with pytest.raises(ValueError, match="from 9 on are committed, but the log ends at 3"):
        controller.handle(wire.LearnedBatches(9, ()), 0)


# Memory beside the log --------------------------------------------------------------------------------------------


def _moving(profile: Profile) -> Controller:
    """A controller with an elastic partition that moves from broker 1 to broker 2."""
    controller = Controller(profile)
    for broker in (1, 2):
        controller.execute(lambda view, broker=broker: partitions.set_broker(view, broker, "active"))
    controller.execute(lambda view: partitions.create_topic(view, "t", [[1]], True))
    controller.execute(lambda view: partitions.alter(view, {"t": {0: [2]}}))
    return controller


def test_a_timer_elects_the_target() -> None:
    """EL-02: it fires after at least 10 s and at most 11 s."""
    controller = _moving(Profile())
    assert controller.tick(9_999) == []
    ((name, outcome),) = controller.tick(1_001)
    assert (name, outcome.error, controller.image.partitions["t", 0].leader) == ("t-0", E.NONE, 2)


@pytest.mark.parametrize(("timer", "fired"), [("epoch", ["t-0"]), ("automq", [])])
def test_a_failover_keeps_the_timers_that_can_be_restored(timer: str, fired: list[str]) -> None:
    """EL-12: a failover restores the timer of a partition without a leader; as built it is lost (EL-06)."""
    controller = _moving(msgspec.convert({"timer": timer}, Profile))
    controller.fail_over()
    assert [name for name, _ in controller.tick(11_000)] == fired


@pytest.mark.parametrize(("timer", "fired"), [("epoch", ["t-0"]), ("automq", [])])
def test_a_request_for_an_election_disarms_as_built(timer: str, fired: list[str]) -> None:
    """EL-04: as built even a refused request disarms, here with a fenced target; by default none does (EL-13)."""
    controller = _moving(msgspec.convert({"timer": timer}, Profile))
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
    assert _wake(_leader(), 1_000) == []


def test_the_wheel_elects() -> None:
    """EL-01: the timer's election is an event of the node."""
    controller = _leader(batches=_moving(Profile()).log.batches)
    assert _wake(controller, 9_000) == []
    (append,) = _wake(controller, 10_000)
    assert isinstance(append, wire.QuorumAppend)
    assert append.batch.records == (r.PartitionChange("t", 0, leader=2, marker=-1, original=()),)


def test_a_controller_that_does_not_lead_drops_its_timers() -> None:
    """EL-06: as built timers stay in memory, and are dropped when they fire on a controller that does not lead."""
    controller = _leader(Profile(timer="automq"), _moving(Profile()).log.batches)
    controller.handle(wire.Request(9, 1, wire.AlterReassignments({"t": {0: (1,)}})), 0)
    controller.handle(wire.CommitNotice(1, controller.log.end), 0)
    assert controller.timers.armed
    controller.handle(wire.ResignationNotice(2), 0)
    assert controller.handle(wire.WakeNotice(), 20_000) == [wire.Wake(21_000)]
    assert not controller.timers.armed


def test_expired_objects_are_deleted_in_the_end() -> None:
    """OB-04, OB-05: marked when the deadline has passed, deleted between one and two retentions later."""
    controller = _leader()
    _ask(controller, wire.PrepareObjects(1, 500))
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
    controller = _leader()
    _ask(controller, wire.PrepareObjects(1, 500))
    deleting = next(now for now in range(1_000, 200_000, 1_000) if _deletes(_wake(controller, now)))
    _ask(controller, wire.PrepareObjects(1, 500))
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
    controller = _leader(profile, _moving(profile).log.batches)
    assert [_wake(controller, now) for now in range(1_000, 300_000, 1_000)] == [[]] * 299
    assert len(_wake(controller, 300_000)) == elected
    assert (controller.image.partitions["t", 0].leader == 2) is elected


def _deletes(outputs: Sequence[wire.Output]) -> list[tuple[int, ...]]:
    return [output.objects for output in outputs if isinstance(output, wire.DeleteObjects)]


def test_a_fenced_node_with_open_streams_is_failed_over() -> None:
    """FO-01, FO-02: after 60 s of life, to an active broker."""
    controller = _leader(batches=_with_streams(1))
    for body in (
        *(wire.SetBroker(1, "active"), wire.SetBroker(2, "active"), wire.RegisterNode(NODE, EPOCH, "wal")),
        *(_open((0, 1)), wire.SetBroker(1, "fenced")),
    ):
        _ask(controller, body)
    assert _wake(controller, 60_000) == []
    (append,) = _wake(controller, 61_000)
    assert isinstance(append, wire.QuorumAppend)
    assert [record.KIND for record in append.batch.records] == ["KV"]


def test_a_broker_that_is_fenced_is_failed_over_at_once() -> None:
    """FO-01: an old process needs no wait for the next scan."""
    controller = _leader(batches=_with_streams(1))
    brokers = (wire.SetBroker(1, "active"), wire.SetBroker(2, "active"))
    for body in (*brokers, wire.RegisterNode(NODE, EPOCH, "wal"), _open((0, 1))):
        _ask(controller, body)
    outputs = controller.handle(wire.Request(9, 1, wire.SetBroker(1, "fenced")), 100_000)
    appended = [record.KIND for output in outputs for record in output.batch.records]  # type: ignore[union-attr]
    assert appended == ["BROKER", "KV"]


def test_a_node_that_shuts_down_has_a_minute() -> None:
    """ND-30: fenced within 60 s of its controlled shutdown, it counts as shutting down, and is not failed over."""
    controller = _leader(batches=_with_streams(1))
    for body in (
        *(wire.SetBroker(1, "active"), wire.SetBroker(2, "active"), wire.RegisterNode(NODE, EPOCH, "wal")),
        *(_open((0, 1)),),
    ):
        _ask(controller, body)
    controller.handle(wire.Request(9, 1, wire.SetBroker(1, "shutting_down")), 100_000)
    controller.handle(wire.Request(9, 1, wire.SetBroker(1, "fenced")), 101_000)
    assert _wake(controller, 102_000) == []
    state = nodes.registration(controller.view, NODE, left=controller.heartbeats.left)["state"]
    assert state == "CONTROLLED_SHUTDOWN"
    assert len(_wake(controller, 161_000)) == 1


def test_a_message_survives_the_wire() -> None:
    """A frame is decoded to an equal message, records and errors included."""
    append = wire.QuorumAppend(3, MetadataBatch((r.RemoveS3Stream(4), r.KV((r.KeyValue("k", b"\x00\xff"),)))))
    reply = wire.Reply(1, 2, (wire.ItemAnswer(E.NODE_LOCKED, {"start": 1}),))
    request = wire.Request(1, 2, wire.CommitStreamSetObject(wire.SetCommit(1, 2, 3, 4)))
    for message in (append, reply, request, *(wire.Request(1, 2, body) for body, _ in SINGLE)):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=wire.Input | wire.Output) == message


def test_an_operation_that_fails_by_mistake_is_no_refusal() -> None:
    """An exception other than a guard's is an error of the program, and is not reported as a refusal."""

    def operation(view: View) -> OperationResult:
        require(True, "EX-07", E.NONE)
        raise KeyError(view.now)

    with pytest.raises(KeyError):
        Controller().execute(operation)
