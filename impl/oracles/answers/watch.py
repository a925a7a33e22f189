"""Watches the controllers of a run: each answer and each change of the metadata has to be one that the facts allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from impl import wire
from impl.controller.node import Controller
from impl.errors import E
from impl.oracles.answers import commits, nodes, partitions, rounds, streams
from impl.oracles.answers.expected_answer import OPEN, ExpectedAnswer

T = TypeVar("T")
REQUEST = "; the request: "
"""Stands in a message before the request, by which violations are not told apart."""
PERIOD_MS = 10_000
"""The time between two looks at all objects."""


class ExpectedReply(msgspec.Struct, frozen=True):
    """The expected answers to a request, and the end of the log of the controller before it."""

    body: wire.Body
    items: tuple[ExpectedAnswer, ...]
    begin: int


class LeavingBrokers(msgspec.Struct, frozen=True):
    """When a controller that leads in ``term`` last heard of each broker in controlled shutdown (ND-30)."""

    term: int
    heard: dict[int, int] = {}


class DeletionClock(msgspec.Struct, frozen=True):
    """Since when a controller deletes ``objects``, or nothing. ``looked``: when all objects were looked at."""

    term: int
    since: int
    objects: tuple[int, ...] = ()
    looked: int = 0


class AnswerWatch:
    """The oracle ``answers``. ``found``: what controllers have answered or done wrongly, in words.

    It judges no controller with a defect of AutoMQ built in, since the facts describe AutoMQ too.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self._clocks: dict[Controller, DeletionClock] = {}
        self._leaving: dict[Controller, LeavingBrokers] = {}

    # Requests -------------------------------------------------------------------------------------------------

    def expect(self, controller: Controller, body: wire.Body, now: int) -> ExpectedReply | None:
        """The answers that a controller has to give to a request which it is about to execute; None if any will do."""
        if controller.term is None or controller.profile.as_built:
            return None
        self._hear(controller, controller.term, body, max(now, controller.now))
        items = tuple(_expected(controller, body, max(now, controller.now)))
        return ExpectedReply(body, items, controller.log.end)

    def _hear(self, controller: Controller, term: int, body: wire.Body, now: int) -> None:
        """ND-30. The begin of a shutdown counts as a heartbeat. A broker that is active again leaves no more."""
        known = self._leaving.get(controller)
        if known is None or known.term != term:
            known = self._leaving[controller] = LeavingBrokers(term)
        state = controller.image.brokers.get
        match body:
            case wire.SetBroker(node, "active"):
                known.heard.pop(node, None)
            case wire.SetBroker(node, "shutting_down") if state(node) != "shutting_down":
                known.heard[node] = now
            case wire.Heartbeat(node) if state(node) == "shutting_down":
                known.heard[node] = now

    def executed(self, expected: ExpectedReply | None, controller: Controller) -> None:
        """Look at the metadata after a request."""
        if expected is None or controller.term is None:
            return
        for each in expected.items:
            if each.effect is not None:
                self._note(expected.body, each.effect(controller.image))
        writes, wrote = [each.writes for each in expected.items], controller.log.end > expected.begin
        # ST-16: a lock that refuses an open also moves the partition back.
        locked = any(E.NODE_LOCKED in each.errors for each in expected.items)
        if wrote and set(writes) == {False} and not locked:
            self._note(expected.body, ["it has changed the metadata, and had to change nothing"])
        if not wrote and any(writes):
            self._note(expected.body, ["it has not changed the metadata, and had to"])

    def answered(self, expected: ExpectedReply | None, answers: Sequence[wire.ItemAnswer]) -> None:
        """Compare the answers to a request with the expected ones. Of some requests no item is judged, or the first."""
        if expected is not None:
            for number, (item, answer) in enumerate(zip(expected.items, answers, strict=False)):
                self._note(expected.body, (f"item {number} is answered {each}" for each in _wrong(item, answer)))

    def _note(self, body: wire.Body, wrong: Iterable[str]) -> None:
        self.found += (f"{type(body).__name__}: {each}{REQUEST}{body}" for each in wrong)

    # Rounds ---------------------------------------------------------------------------------------------------

    def woken(self, controller: Controller, mark: int, now: int) -> None:
        """Look at a round of a controller. ``mark``: of the metadata before it."""
        if controller.term is None or controller.profile.as_built:
            return
        image, clock = controller.image, self._clocks.get(controller)
        if clock is None or clock.term != controller.term:
            clock = self._clocks[controller] = DeletionClock(controller.term, now)
        self.found += rounds.wrong_changes(image, mark, now)
        self.found += rounds.wrong_failovers(image, now)
        leaving = self._leaving.get(controller)
        if leaving is not None and leaving.term == controller.term:
            self.found += rounds.early_failovers(image, leaving.heard, now)
        # This looks at every object, so it is done seldom.
        if not clock.objects and now // PERIOD_MS != clock.looked // PERIOD_MS:
            self._clocks[controller] = msgspec.structs.replace(clock, looked=now)
            self.found += rounds.overdue(image, mark, now, clock.since, controller.profile.object_retention_ms)

    def deletes(self, controller: Controller, objects: Sequence[int], now: int) -> None:
        """A controller deletes objects from the store."""
        if controller.term is not None and not controller.profile.as_built:
            retention = controller.profile.object_retention_ms
            self.found += rounds.too_early(controller.image, objects, now, retention)
            self._clocks[controller] = DeletionClock(controller.term, now, tuple(objects))

    def deleted(self, controller: Controller, objects: Sequence[int], now: int) -> None:
        """The store has deleted objects."""
        clock = self._clocks.get(controller)
        if clock is not None and clock.objects == tuple(objects):
            self._clocks[controller] = DeletionClock(clock.term, now)


def _wrong(expected: ExpectedAnswer, answer: wire.ItemAnswer) -> Iterator[str]:
    """What is wrong with an answer. Only a success has values to look at."""
    if expected.errors and answer.error not in expected.errors:
        yield f"{answer.error.name}, and had to be {' or '.join(each.name for each in expected.errors)}"
    elif answer.error is E.NONE:
        for name, wanted in expected.values.items():
            found = answer.values.get(name)
            if _plain(found) != wanted:
                yield f"{name} {found}, and had to be answered {wanted}"


def _plain(value: Any) -> Any:
    """The value of an answer; of descriptions of streams, only their ids."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and "state" in value[0]:
        return [each["stream"] for each in value]
    return value


def _expected(controller: Controller, body: wire.Body, now: int) -> Iterable[ExpectedAnswer]:
    """The expected answer to each item of a request; none for requests that these modules say nothing of."""
    image, profile = controller.image, controller.profile
    match body:
        case wire.OpenStreams(node, epoch, items):
            return [_opened(controller, streams.opened(image, node, epoch, item), item.stream) for item in items]
        case wire.CloseStreams(node, epoch, items):
            return [streams.closed(image, node, epoch, item, fast=profile.v6) for item in items]
        case wire.CreateStreams(node, epoch, items):
            return [streams.created(image, node, epoch, item) for item in items[:1]]
        case wire.TrimStreams(node, epoch, items):
            numbers = [item.stream for item in items]
            return _in_turn(items, numbers, lambda item: streams.trimmed(image, node, epoch, item))
        case wire.DeleteStreams(_, _, deleted):
            return _in_turn(deleted, deleted, lambda number: streams.deleted(image, number))
        case _:
            return _alone(controller, body, now)


def _opened(controller: Controller, expected: ExpectedAnswer, stream: int) -> ExpectedAnswer:
    """ST-16. A lock that refuses the open of a stream also moves the stream's partition back to the locked owner."""
    if E.NODE_LOCKED not in expected.errors:
        return expected
    effect = partitions.moved_back(controller.image, controller.profile, stream)
    return msgspec.structs.replace(expected, effect=effect)


def _alone(controller: Controller, body: wire.Body, now: int) -> Iterable[ExpectedAnswer]:
    """The expected answer to a request without items."""
    image, profile = controller.image, controller.profile
    match body:
        case wire.DescribeStreams():
            return [streams.described(image, body)]
        case wire.PrepareObjects():
            return [commits.prepared(image, body, now)]
        case wire.CommitStreamSetObject(commit):
            return [commits.set_committed(image, commit)]
        case wire.CommitStreamObject(commit):
            return [commits.stream_committed(image, commit)]
        case wire.GetOpeningStreams():
            return [nodes.registered(image, body, fast=profile.v6)]
        case wire.RegisterNode():
            return [nodes.in_registry(image, body)]
        case wire.UnregisterNode(node):
            return [nodes.unregistered(image, node)]
        case wire.CreateTopic():
            return [partitions.topic_created(image, body)]
        case wire.AlterReassignments():
            return [partitions.altered(image, profile, body)]
        case wire.AlterPartition():
            return [partitions.isr_altered(image, body)]
        case wire.ElectLeader():
            return [partitions.elected(image, body)]
        case _:
            return []


def _in_turn(items: Sequence[T], keys: Sequence[int], expected: Callable[[T], ExpectedAnswer]) -> list[ExpectedAnswer]:
    """The answers to items that are executed one after the other. A repeated key makes its second item open."""
    return [
        OPEN if key in keys[:number] else expected(item)
        for number, (key, item) in enumerate(zip(keys, items, strict=True))
    ]
