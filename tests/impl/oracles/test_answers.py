"""The oracle of the answers of controllers, on sequences of requests with and without a rule."""

from __future__ import annotations

import msgspec
import pytest

from impl import wire
from impl.bridge.guards.row import read
from impl.controller.commits import CommittedObject, SetCommit, StreamCommit
from impl.controller.continuity import CommittedRange
from impl.controller.node import Controller
from impl.controller.objects import InputTreatment
from impl.controller.view import Profile
from impl.items import CloseItem, CreateItem, OpenItem, TrimItem
from impl.oracles.answers.watch import AnswerWatch
from impl.rules import without
from impl.sim.check import check
from impl.sim.mix import question

Step = wire.Body | int
"""A request, or the milliseconds until the next round of the controller."""
NODES: tuple[Step, ...] = (
    wire.GetOpeningStreams(1, 10), wire.GetOpeningStreams(2, 20),
    wire.SetBroker(1, "active"), wire.SetBroker(2, "active"), wire.SetBroker(3, "active"),
)  # fmt: skip
OPENED: tuple[Step, ...] = (
    *NODES, wire.CreateStreams(1, 10, (CreateItem(),)), wire.OpenStreams(1, 10, (OpenItem(0, 3),)),
)  # fmt: skip
UPLOADED: tuple[Step, ...] = (
    *OPENED, wire.PrepareObjects(8, 600_000),
    wire.CommitStreamSetObject(SetCommit(1, 10, 0, 5, ranges=(CommittedRange(0, 0, 4),))),
    1_000,
    wire.CommitStreamSetObject(SetCommit(1, 10, 1, 6, ranges=(CommittedRange(0, 4, 8),))),
)  # fmt: skip
SEALED: tuple[Step, ...] = (*UPLOADED, wire.CloseStreams(1, 10, (CloseItem(0, 3, 12),)))
ELASTIC: tuple[Step, ...] = (*NODES, wire.CreateTopic("t", ((1,), (2,)), elastic=True))
LISTS: tuple[Step, ...] = (*NODES, wire.CreateTopic("l", ((1, 2),)))
REPLACED: tuple[Step, ...] = (*LISTS, wire.AlterReassignments({"l": {0: (3,)}}))
COMPACTED = SetCommit(1, 10, 2, -1, compacted=(0, 1))
ALONE = SetCommit(1, 10, 2, 7, stream_objects=(CommittedObject(3, 0, 8, 9),))

CASES: dict[str, tuple[Step, ...]] = {
    "ST-14": (*OPENED, wire.OpenStreams(2, 20, (OpenItem(0, 4),))),
    "ST-15": (*SEALED, wire.OpenStreams(1, 10, (OpenItem(0, 4),))),
    "ST-16": (
        *OPENED, wire.CloseStreams(1, 10, (CloseItem(0, 3),)),
        wire.RegisterNode(1, 10, "", {"CIRCUIT_BREAKER": "OPEN"}),
        wire.OpenStreams(2, 20, (OpenItem(0, 4),)),
    ),
    "ST-17.seal": (*UPLOADED, wire.CloseStreams(1, 10, (CloseItem(0, 3),)), wire.OpenStreams(2, 20, (OpenItem(0, 4),))),
    "ST-22": (*SEALED, wire.OpenStreams(1, 10, (OpenItem(0, 3),))),
    "ST-23": (*OPENED, wire.OpenStreams(1, 10, (OpenItem(0, 3),))),
    "ST-34": (*SEALED, wire.CloseStreams(1, 10, (CloseItem(0, 3, 13),))),
    "ST-35": (*UPLOADED, wire.CloseStreams(1, 10, (CloseItem(0, 3, 7),))),
    "ST-37.entry": SEALED,
    "ST-42": (
        *UPLOADED, wire.TrimStreams(1, 10, (TrimItem(0, 3, 2),)), wire.TrimStreams(1, 10, (TrimItem(0, 3, 1),)),
    ),
    "ST-43": (*OPENED, wire.TrimStreams(1, 10, (TrimItem(0, 3, 0),))),
    "ST-44.remove": (
        *UPLOADED, wire.CloseStreams(1, 10, (CloseItem(0, 3),)), wire.OpenStreams(1, 10, (OpenItem(0, 4),)),
        wire.TrimStreams(1, 10, (TrimItem(0, 4, 8),)),
    ),
    "ST-51": (*OPENED, wire.DeleteStreams(1, 10, (0,))),
    "ST-60": (wire.DescribeStreams(),),
    "CK-01.flag": (*OPENED, wire.GetOpeningStreams(1, 10, failover=True), wire.CreateStreams(1, 10, (CreateItem(),))),
    "CK-02.node": (*OPENED, wire.CloseStreams(2, 20, (CloseItem(0, 3),))),
    "OB-02.missing": (*OPENED, wire.CommitStreamSetObject(SetCommit(1, 10, 99, 0))),
    "OB-03.deep": (
        *UPLOADED, wire.CommitStreamObject(StreamCommit(1, 10, 3, 1, 0, 3, 0, 4)),
        wire.CloseStreams(1, 10, (CloseItem(0, 3),)), wire.DeleteStreams(1, 10, (0,)),
    ),
    "OB-03.keep": (
        *UPLOADED, wire.CommitStreamObject(StreamCommit(1, 10, 3, 1, 0, 3, 0, 4)),
        wire.CommitStreamObject(
            StreamCommit(1, 10, 4, 1, 0, 3, 0, 4, (3,), operations=(InputTreatment.KEEP_DATA,))
        ),
    ),
    "OB-06.state": (*UPLOADED, wire.CommitStreamSetObject(SetCommit(1, 10, 5, 0, compacted=(5,)))),
    "CS-03": (*UPLOADED, wire.CommitStreamSetObject(SetCommit(1, 10, 1, 6, ranges=(CommittedRange(0, 4, 8),)))),
    "CS-04.order": (*UPLOADED, wire.CommitStreamSetObject(COMPACTED)),
    "CS-04.time": (*UPLOADED, wire.CommitStreamSetObject(COMPACTED)),
    "CS-07.redundant": (
        *UPLOADED, wire.CommitStreamSetObject(ALONE),
        wire.CommitStreamSetObject(msgspec.structs.replace(ALONE, object=-1)),
    ),
    "CS-22": (*SEALED, wire.CommitStreamSetObject(SetCommit(1, 10, 2, 7, ranges=(CommittedRange(0, 8, 13),)))),
    "CS-29a": (*UPLOADED, wire.CommitStreamSetObject(SetCommit(1, 10, 2, 7, ranges=(CommittedRange(0, 9, 13),)))),
    "CS-33": (*SEALED, wire.CommitStreamSetObject(SetCommit(1, 10, 2, 7, ranges=(CommittedRange(0, 8, 10),)))),
    "CO-01": (*UPLOADED, wire.CommitStreamObject(StreamCommit(1, 9, 1, 1, 0, 3, 0, 4, (1,), attributes=7))),
    "CO-03": (*UPLOADED, wire.CommitStreamObject(StreamCommit(2, 20, 3, 1, 0, 3, 0, 4))),
    "CO-05": (*UPLOADED, wire.CommitStreamObject(StreamCommit(1, 10, 3, 1, 0, 3, 0, 4, (99,)))),
    "ND-01": (*NODES, wire.GetOpeningStreams(1, 9)),
    "ND-02": (*OPENED, wire.GetOpeningStreams(1, 11)),
    "ND-03": (*SEALED, wire.GetOpeningStreams(1, 11)),
    "ND-04.entry": (*SEALED, wire.RegisterNode(1, 10), wire.UnregisterNode(1)),
    "ND-10": (wire.RegisterNode(1, 10), wire.RegisterNode(1, 9)),
    "ND-11.locked": (wire.RegisterNode(1, 10, "", {"CIRCUIT_BREAKER": "OPEN"}), wire.UnregisterNode(1)),
    "RA-02.fenced": (*ELASTIC, wire.SetBroker(2, "fenced"), wire.AlterReassignments({"t": {0: (2,)}})),
    "RA-02.leaving": (*ELASTIC, wire.SetBroker(2, "shutting_down"), wire.AlterReassignments({"t": {0: (2,)}})),
    "RA-08.rows": (*ELASTIC, wire.AlterReassignments({"t": {0: None}})),
    "RA-10": (*ELASTIC, wire.AlterPartition("t", 0, 1, (1, 2))),
    "RA-42.twice": (*NODES, wire.CreateTopic("l", ((1, 1),))),
    "RA-03": (*ELASTIC, wire.AlterReassignments({"t": {0: (1,)}})),
    "RA-04": (*ELASTIC, wire.AlterReassignments({"t": {0: (2,)}})),
    "RA-44": (*LISTS, wire.AlterReassignments({"l": {0: (1, 3)}})),
    "RA-46": (*REPLACED, wire.AlterPartition("l", 0, 1, (1, 2, 3))),
    "RA-47.leader": (*LISTS, wire.AlterPartition("l", 0, 2, (1, 2))),
    "RA-47.leader_epoch": (
        *LISTS, wire.SetBroker(1, "fenced"), wire.SetBroker(1, "active"), wire.AlterPartition("l", 0, 2, (2,), 0),
    ),
    "CA-20": (*LISTS, wire.AlterReassignments({"l": {0: None}})),
    "CA-27": (*REPLACED, wire.AlterReassignments({"l": {0: (2, 3)}}), wire.AlterReassignments({"l": {0: None}})),
    "CA-43": (
        *ELASTIC, wire.AlterReassignments({"t": {0: (2,)}}), wire.SetBroker(1, "fenced"),
        wire.AlterReassignments({"t": {0: None}}),
    ),
    "CA-44": (*ELASTIC, wire.AlterReassignments({"t": {0: (2,)}}), wire.AlterReassignments({"t": {0: None}})),
    "EL-08.leaderless": (*LISTS, wire.ElectLeader("l", 0, "unclean")),
    "EL-08.unknown": (*LISTS, wire.ElectLeader("l", 7)),
    "OB-04": (*OPENED, wire.PrepareObjects(1, 500), 400, 10_000),
    "OB-05.retention": (*OPENED, wire.PrepareObjects(1, 500), *(10_000 for _ in range(30))),
    "FO-01.age": (
        *OPENED, wire.RegisterNode(1, 10), 1_000, wire.SetBroker(1, "fenced"), 1_000,
    ),
    "FO-01.registered": (*OPENED, 61_000, wire.SetBroker(1, "fenced"), 1_000),
    "FO-02": (
        *OPENED, wire.CreateStreams(2, 20, (CreateItem(),)), wire.OpenStreams(2, 20, (OpenItem(1, 3),)),
        wire.RegisterNode(1, 10), wire.RegisterNode(2, 20), 61_000, wire.SetBroker(1, "fenced"),
        wire.SetBroker(2, "fenced"), 1_000,
    ),
    "FO-03.target": (
        *OPENED, wire.RegisterNode(1, 10), 61_000, wire.SetBroker(1, "fenced"), wire.SetBroker(2, "fenced"), 1_000,
    ),
}  # fmt: skip
"""By rule: a sequence in which the oracle notices that the rule is missing."""


def found(steps: tuple[Step, ...], profile: Profile | None = None) -> list[str]:
    """What the oracle says of a controller that executes the steps. Its quorum commits at once."""
    watch, controller, now = AnswerWatch(), Controller(profile or Profile()), 0
    for step in steps:
        if isinstance(step, int):
            now += step
            mark = controller.image.mark()
            outputs = controller.handle(wire.WakeNotice(), now)
            for output in outputs:
                if isinstance(output, wire.DeleteObjects):
                    watch.deletes(controller, output.objects, now)
            watch.woken(controller, mark, now)
            for output in outputs:
                if isinstance(output, wire.DeleteObjects):
                    watch.deleted(controller, output.objects, now)
                    controller.handle(wire.DeletionNotice(output.objects), now)
        else:
            expected = watch.expect(controller, step, now)
            outputs = controller.handle(wire.Request(0, 0, step), now)
            watch.executed(expected, controller)
            outputs += controller.handle(wire.CommitNotice(0, controller.log.end), now)
            (reply,) = (each for each in outputs if isinstance(each, wire.Reply))
            watch.answered(expected, reply.answers)
        controller.handle(wire.CommitNotice(0, controller.log.end), now)
    return watch.found


@pytest.mark.parametrize("label", CASES)
def test_the_lack_of_a_rule_is_noticed(label: str) -> None:
    """With all rules the oracle says nothing, and without the rule it objects."""
    assert found(CASES[label]) == []
    with without(label):
        assert found(CASES[label])


def test_legacy_has_no_fast_close() -> None:
    """ST-30, which only a cluster of the older version reaches."""
    steps = (*UPLOADED, wire.CloseStreams(1, 10, (CloseItem(0, 3, 8),)))
    assert found(steps, Profile(v6=False)) == []
    with without("ST-30"):
        assert any("had to be UNSUPPORTED_VERSION" in each for each in found(steps, Profile(v6=False)))


def test_an_election_may_complete_a_reassignment() -> None:
    """The election drops the only active replica, so nobody leads (RA-45). Two of 20,000 runs of the mix do this."""
    assert not {each.oracle for each in check(question(8_877)).violations}


def test_a_wrong_value_is_noticed() -> None:
    """An answer with another offset than the metadata have."""
    watch, controller = AnswerWatch(), Controller()
    body = wire.DescribeStreams(stream=5)
    watch.answered(watch.expect(controller, body, 0), (wire.ItemAnswer(values={"streams": [5]}),))
    said = "DescribeStreams: item 0 is answered streams [5], and had to be answered []"
    assert watch.found == [f"{said}; the request: {body}"]


def test_a_built_in_defect_is_not_judged() -> None:
    """The facts describe the defects of AutoMQ too, so a controller that has one is passed over."""
    steps = CASES["ST-60"]
    with without("ST-60"):
        assert found(steps, Profile(as_built=frozenset({"AM-20"}))) == []


@pytest.mark.parametrize("label", ["ST-43", "FO-01.age"])
def test_simulated_controllers_are_watched(label: str) -> None:
    """A run of the mix that reaches the rule: of the requests, and of the rounds."""
    number = next(row.reached for row in read().rows if row.label == label)
    assert number is not None
    assert "answers" not in {each.oracle for each in check(question(number)).violations}
    assert "answers" in {each.oracle for each in check(question(number, (label,))).violations}
