"""The requests of an operator against a controller that a test plays by hand."""

from __future__ import annotations

from typing import Any

import pytest

from impl import wire
from impl.client.admin import Admin
from impl.errors import E
from impl.tasks import Gate
from tests.impl.client.scripted import Script


class Requests(Script):
    """A node with an admin."""

    def __init__(self) -> None:
        super().__init__()
        self.admin = Admin(self.node, lambda topic, partition: 100 * len(topic) + partition, patience_ms=5_000)

    def outcome(self) -> list[tuple[str, int, str, str | None]]:
        """The ended operations: kind, key, ending and error."""
        return [(op.f, op.key, op.kind, op.error) for op in self.ends]


def test_a_request_moves_several_partitions() -> None:
    """Each partition of a request is an operation with its own end."""
    script = Requests()
    gate = script.start(script.admin.reassign("m", {("t", 0): 2, ("t", 1): 3, ("uu", 0): 1}))
    asked = script.next()
    assert asked.to == 7
    assert asked.body == wire.AlterReassignments({"t": {0: (2,), 1: (3,)}, "uu": {0: (1,)}})
    rows = {"t-0": "NONE", "t-1": "INVALID_REPLICA_ASSIGNMENT", "uu-0": "NONE"}
    script.answer(asked, topics={"t", "uu"}, rows=rows)
    assert gate.result() == {("t", 0): "ok", ("t", 1): "fail", ("uu", 0): "ok"}
    assert [(op.process, op.value) for op in script.history.ops[:3]] == [
        ("c.m.t-0.0", 2),
        ("c.m.t-1.0", 3),
        ("c.m.uu-0.0", 1),
    ]
    assert script.outcome() == [
        ("move", 100, "ok", None),
        ("move", 101, "fail", "INVALID_REPLICA_ASSIGNMENT"),
        ("move", 200, "ok", None),
    ]


def test_a_request_goes_on_to_the_next_controller() -> None:
    """A request is repeated at the next controller after a short delay, as often as needed."""
    script = Requests()
    script.start(script.admin.cancel("m", [("t", 0)]))
    for _ in range(3):
        asked = script.next()
        assert asked.body == wire.AlterReassignments({"t": {0: None}})
        script.answer(asked, E.NOT_CONTROLLER)
        assert script.pass_time() == 150
    script.answer(script.next(), rows={"t-0": "NONE"})
    assert script.outcome() == [("cancel", 100, "ok", None)]


def test_a_refusal_after_a_change_of_the_controller_proves_nothing() -> None:
    """The previous controller may have cancelled the move, so that the next one finds nothing to cancel."""
    script = Requests()
    script.start(script.admin.cancel("m", [("t", 0)]))
    script.answer(script.next(), E.NOT_CONTROLLER)
    script.pass_time()
    script.answer(script.next(), rows={"t-0": "NO_REASSIGNMENT_IN_PROGRESS"})
    assert script.outcome() == [("cancel", 100, "info", "NO_REASSIGNMENT_IN_PROGRESS")]


@pytest.mark.parametrize("lost", [True, False])
def test_a_move_is_not_repeated_without_an_answer(lost: bool) -> None:
    """Without an answer the outcome of a move is unknown, and the request is not repeated."""
    script = Requests()
    gate = script.start(script.admin.reassign("m", {("t", 0): 2}))
    asked = script.next()
    if lost:
        script.lose(asked)
    script.pass_time()
    assert gate.result() == {("t", 0): "info"}
    assert script.outcome() == [("move", 100, "info", "connection lost" if lost else "timeout")]
    assert not script.sent


def test_a_controller_that_is_gone() -> None:
    """If the controller refuses the connection the request had no effect, so it is repeated until it fails."""
    script = Requests()
    gate = script.start(script.admin.reassign("m", {("t", 0): 2}))
    while not gate.happened:
        script.refuse(script.next())
        script.pass_time()
    assert script.ends[0].at == 5_100
    assert script.outcome() == [("move", 100, "fail", "unreachable")]


def test_a_topic_that_is_there_after_a_lost_answer() -> None:
    """After a lost answer the topic exists: the client cannot know who created it."""
    script = Requests()
    gate = script.start(script.admin.create_topic("m", "t", (1, 2)))
    asked = script.next()
    assert asked.body == wire.CreateTopic("t", ((1,), (2,)), elastic=True)
    script.lose(asked)
    script.pass_time()
    script.answer(script.next(), E.TOPIC_ALREADY_EXISTS)
    assert gate.result() == "info"
    error = E.TOPIC_ALREADY_EXISTS.name
    assert script.outcome() == [("create", 100, "info", error), ("create", 101, "info", error)]


@pytest.mark.parametrize(("kind", "repeats"), [("preferred", True), ("unclean", False)])
def test_elections(kind: str, repeats: bool) -> None:
    """Without an answer a preferred election is repeated. An unclean one is not, since it could later lose records."""
    script = Requests()
    gate: Gate[Any] = script.start(script.admin.elect("m", "t", 1, kind))
    script.lose(script.next())
    script.pass_time()
    assert bool(script.sent) == repeats
    if repeats:
        script.answer(script.next())
    assert gate.result() == ("ok" if repeats else "info")
    assert script.history.ops[0].value == kind


def test_a_list_is_no_operation_of_the_history() -> None:
    """A list changes nothing, so the history does not have it."""
    script = Requests()
    gate = script.start(script.admin.list_reassignments({"t": [0]}))
    asked = script.next()
    assert asked.body == wire.ListReassignments({"t": (0,)})
    script.answer(asked, reassignments={"t-0": {"replicas": [2, 1]}})
    assert gate.result() == {"t-0": {"replicas": [2, 1]}}
    assert script.history.ops == []
