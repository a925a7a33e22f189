"""The controller as a node: events, answers after the commit, changes of leader (streams.md 2)."""

from __future__ import annotations

import msgspec
import pytest

from impl import records as r
from impl import wire
from impl.controller import nodes, streams
from impl.controller.commits import SetCommit, StreamCommit
from impl.controller.node import Controller
from impl.controller.view import OperationResult, Profile, View
from impl.errors import E
from impl.items import CloseItem, CreateItem, OpenItem, TrimItem
from impl.metadata import snapshot
from impl.metadata.log import MetadataBatch, replay
from impl.rules import require, without
from tests.impl.node_story import EPOCH, NODE, answers_of, ask, leader, moving, opening, replies_of, with_streams

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


def test_an_operation_that_fails_by_mistake_is_no_refusal() -> None:
    """An exception other than a guard's is an error of the program, and is not reported as a refusal."""

    def operation(view: View) -> OperationResult:
        require(True, "EX-07", E.NONE)
        raise KeyError(view.now)

    with pytest.raises(KeyError):
        Controller().execute(operation)


# Answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_waits_for_the_commit() -> None:
    """EX-01: the request is answered when the quorum has committed its batch, and not before."""
    controller = leader()
    (append,) = ask(controller, wire.GetOpeningStreams(NODE, EPOCH))
    assert isinstance(append, wire.QuorumAppend)
    assert append.index == 0
    assert controller.image.nodes[NODE].epoch == EPOCH
    (reply,) = controller.handle(wire.CommitNotice(1, 1), 5)
    assert reply == wire.Reply(9, 1, (wire.ItemAnswer(values={"streams": []}),))


def test_without_the_wait_an_answer_comes_before_its_commit() -> None:
    """EX-01 removed: an answer may depend on state that is rolled back later (G-53)."""
    with without("EX-01"):
        outputs = ask(leader(), wire.GetOpeningStreams(NODE, EPOCH))
    assert len(replies_of(outputs)) == 1


def test_an_operation_without_records_waits_for_earlier_writes() -> None:
    """EX-02: an operation without records has read state that may be rolled back, so its answer waits."""
    controller = leader()
    ask(controller, wire.GetOpeningStreams(NODE, EPOCH), 1)
    assert ask(controller, wire.DescribeStreams(node=NODE), 2) == []
    with without("EX-02"):
        assert len(ask(controller, wire.DescribeStreams(node=NODE), 3)) == 1
    assert [reply.id for reply in replies_of(controller.handle(wire.CommitNotice(1, 1), 5))] == [1, 2]


def test_an_operation_without_records_is_answered_at_once() -> None:
    """EX-02: if nothing is pending, an operation without records is answered at once."""
    assert answers_of(ask(leader(batches=with_streams(1)), wire.DescribeStreams(stream=0))) == [E.NONE]


def test_commits_release_answers_in_their_order() -> None:
    """A commit of the first batch releases its answer alone."""
    controller = leader(batches=with_streams(2))
    ask(controller, opening((0, 1)), 1)
    ask(controller, opening((1, 1)), 2)
    begin = controller.log.committed
    assert [each.id for each in replies_of(controller.handle(wire.CommitNotice(1, begin + 1), 0))] == [1]
    assert [each.id for each in replies_of(controller.handle(wire.CommitNotice(1, begin + 2), 0))] == [2]


def test_a_commit_of_an_earlier_term_releases_nothing() -> None:
    """Commits of an earlier term release no answers, since their indexes belong to other batches."""
    controller = leader()
    ask(controller, wire.GetOpeningStreams(NODE, EPOCH))
    assert controller.handle(wire.CommitNotice(0, 1), 0) == []
    assert controller.log.committed == 0


# Requests with items ----------------------------------------------------------------------------------------------


def test_the_items_of_an_open_are_one_batch() -> None:
    """EX-05: the items of a request are one event. A refused item leaves the others alone."""
    controller = leader(batches=with_streams(2))
    begin = controller.log.end
    (append,) = ask(controller, opening((0, 1), (7, 1), (1, 1)))
    assert isinstance(append, wire.QuorumAppend)
    assert [record.KIND for record in append.batch.records] == ["STREAM", "RANGE", "STREAM", "RANGE"]
    assert controller.log.end == begin + 1
    outputs = controller.handle(wire.CommitNotice(1, begin + 1), 0)
    assert answers_of(outputs) == [E.NONE, E.STREAM_NOT_EXIST, E.NONE]


def test_items_are_judged_on_the_state_before_the_batch() -> None:
    """EX-05 and AM-05: two items open one stream under two epochs; the second does not see the first."""
    controller = leader(batches=with_streams(1))
    ask(controller, opening((0, 1), (0, 2)))
    assert answers_of(controller.handle(wire.CommitNotice(1, controller.log.end), 0)) == [E.NONE, E.NONE]
    assert (controller.image.streams[0].epoch, list(controller.image.ranges[0])) == (2, [0])


def test_the_items_of_a_create_are_events() -> None:
    """EX-06: each item is an event of its own, so the second sees the first; one reply holds both answers."""
    controller = leader(batches=with_streams(0))
    begin = controller.log.end
    outputs = ask(controller, wire.CreateStreams(NODE, EPOCH, (CreateItem(), CreateItem())))
    assert [output.index for output in outputs if isinstance(output, wire.QuorumAppend)] == [begin, begin + 1]
    assert controller.handle(wire.CommitNotice(1, begin + 1), 0) == []
    (reply,) = replies_of(controller.handle(wire.CommitNotice(1, begin + 2), 0))
    assert [answer.values["stream"] for answer in reply.answers] == [0, 1]


def test_closes_trims_and_deletes_answer_each_item() -> None:
    """EX-05, EX-06: as many answers as items."""
    controller = leader(batches=with_streams(2))
    ask(controller, opening((0, 1), (1, 1)))
    trims = wire.TrimStreams(NODE, EPOCH, (TrimItem(0, 1, 4), TrimItem(0, 1, 2)))
    closes = wire.CloseStreams(NODE, EPOCH, (CloseItem(0, 1), CloseItem(1, 1, 6)))
    for number, body in enumerate((trims, closes, wire.DeleteStreams(NODE, EPOCH, (0, 5)))):
        ask(controller, body, number)
    replies = replies_of(controller.handle(wire.CommitNotice(1, controller.log.end), 0))[1:]
    errors = [[answer.error for answer in reply.answers] for reply in replies]
    assert errors == [[E.NONE, E.OFFSET_NOT_MATCHED], [E.NONE, E.NONE], [E.NONE, E.NONE]]
    assert 0 not in controller.image.streams


def test_a_repeated_request_changes_nothing() -> None:
    """EX-07: the same open and close, delivered twice, end in the same state."""
    controller = leader(batches=with_streams(1))
    close = wire.CloseStreams(NODE, EPOCH, (CloseItem(0, 1, 6),))
    for body in (opening((0, 1)), close):
        ask(controller, body)
        before = snapshot.snapshot(controller.image)
        assert not any(isinstance(output, wire.QuorumAppend) for output in ask(controller, body))
        assert snapshot.snapshot(controller.image) == before


SINGLE: tuple[tuple[wire.Body, E], ...] = (
    (wire.GetOpeningStreams(NODE, EPOCH - 1), E.NODE_EPOCH_EXPIRED),
    (wire.PrepareObjects(2, 100), E.NONE),
    (wire.CommitStreamSetObject(SetCommit(NODE, EPOCH - 1, 0, 0)), E.NODE_EPOCH_EXPIRED),
    (wire.CommitStreamObject(StreamCommit(NODE, EPOCH - 1, 0, 9, 0, -1, 0, 1)), E.NODE_EPOCH_EXPIRED),
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
    controller = leader(batches=with_streams(1))
    for body, error in SINGLE:
        outputs = ask(controller, body)
        outputs += controller.handle(wire.CommitNotice(1, controller.log.end), 0)
        assert answers_of(outputs) == [error], body


def test_a_message_survives_the_wire() -> None:
    """A frame is decoded to an equal message, records and errors included."""
    append = wire.QuorumAppend(3, MetadataBatch((r.RemoveS3Stream(4), r.KV((r.KeyValue("k", b"\x00\xff"),)))))
    reply = wire.Reply(1, 2, (wire.ItemAnswer(E.NODE_LOCKED, {"start": 1}),))
    request = wire.Request(1, 2, wire.CommitStreamSetObject(SetCommit(1, 2, 3, 4)))
    for message in (append, reply, request, *(wire.Request(1, 2, body) for body, _ in SINGLE)):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=wire.Input | wire.Output) == message


def test_a_partition_returns_to_its_locked_owner() -> None:
    """ST-16: an open that the lock refuses moves the partition back, where the stream names one."""
    controller = leader(batches=moving(Profile()).log.batches)
    tags = streams.partition_tags("t", 0)
    for body in (
        *(wire.GetOpeningStreams(1, EPOCH), wire.GetOpeningStreams(2, EPOCH)),
        *(wire.CreateStreams(1, EPOCH, (CreateItem(tags), CreateItem())), opening((0, 1), (1, 1))),
        wire.CloseStreams(1, EPOCH, (CloseItem(0, 1), CloseItem(1, 1))),
        wire.RegisterNode(1, EPOCH, tags={nodes.LOCK_TAG: "OPEN"}),
    ):
        ask(controller, body)
    theirs = wire.OpenStreams(2, EPOCH, (OpenItem(0, 2), OpenItem(1, 2)))
    with without("ST-16.back"):
        assert ask(controller, theirs) == []
    assert controller.image.partitions["t", 0].replicas == (2,)
    ask(controller, theirs)
    assert controller.image.partitions["t", 0].replicas == (1,)
    replies = replies_of(controller.handle(wire.CommitNotice(1, controller.log.end), 0))
    assert [answer.error for answer in replies[-1].answers] == [E.NODE_LOCKED] * 2


# Changes of leader ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "items"),
    [(opening((0, 1), (1, 1)), 2), (wire.PrepareObjects(1, 1), 1), (wire.DeleteStreams(NODE, EPOCH, (1, 2, 3)), 3)],
)
def test_a_controller_that_does_not_lead_refuses(body: wire.Body, items: int) -> None:
    """EX-04: NOT_CONTROLLER, in batched requests for each item."""
    controller = Controller(leads=False)
    assert answers_of(ask(controller, body)) == [E.NOT_CONTROLLER] * items
    assert controller.log.end == 0


def test_without_the_check_two_controllers_answer() -> None:
    """EX-04 removed: a deposed controller appends to its own log, and two controllers answer."""
    controller = Controller(leads=False)
    with without("EX-04"):
        (append,) = ask(controller, wire.PrepareObjects(1, 1))
    assert isinstance(append, wire.QuorumAppend)


def test_a_lost_lead_takes_pending_batches_back() -> None:
    """EX-03: the state returns to the last commit, and pending requests get no answer."""
    controller = leader(batches=with_streams(1))
    before = snapshot.snapshot(controller.image)
    ask(controller, opening((0, 1)), 4)
    assert controller.handle(wire.ResignationNotice(2), 0) == [wire.Reply(9, 4, (wire.ItemAnswer(E.NOT_CONTROLLER),))]
    assert snapshot.snapshot(controller.image) == before
    assert controller.handle(wire.CommitNotice(1, 99), 0) == []


def test_without_the_roll_back_an_open_survives_that_nobody_committed() -> None:
    """EX-03 removed: the image differs from that of the committed log."""
    controller = leader(batches=with_streams(1))
    ask(controller, opening((0, 1)))
    with without("EX-03"):
        controller.handle(wire.ResignationNotice(2), 0)
    assert snapshot.snapshot(controller.image) != snapshot.snapshot(replay(with_streams(1)))


def test_a_message_about_an_earlier_term_ends_no_lead() -> None:
    """The leader of term 1 ignores a late message that term 0 has ended."""
    controller = leader()
    controller.handle(wire.ResignationNotice(0), 0)
    assert controller.term == 1


def test_a_leader_learns_nothing() -> None:
    """A leader ignores batches of another leader that arrive before it hears of that leader."""
    controller = leader()
    ask(controller, wire.PrepareObjects(1, 1))
    controller.handle(wire.LearnedBatches(0, tuple(with_streams(1))), 0)
    assert (controller.log.end, controller.image.streams) == (1, {})


def test_what_was_learned_twice_counts_once() -> None:
    """Learned batches may overlap with those in the log. A gap is an error."""
    batches = with_streams(2)
    controller = Controller(leads=False)
    controller.handle(wire.LearnedBatches(0, tuple(batches[:2])), 0)
    controller.handle(wire.LearnedBatches(1, tuple(batches[1:])), 0)
    assert controller.log.batches == batches
    with pytest.raises(ValueError, match="from 9 on are committed, but the log ends at 3"):
        controller.handle(wire.LearnedBatches(9, ()), 0)
