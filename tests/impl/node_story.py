"""A controller that leads, requests to it, and what they are answered."""

from __future__ import annotations

from collections.abc import Sequence

from impl import wire
from impl.controller import partitions, streams
from impl.controller.node import Controller
from impl.controller.view import Profile
from impl.errors import E
from impl.items import OpenItem
from impl.metadata.log import MetadataBatch

NODE, EPOCH = 1, 5


def leader(profile: Profile = Profile(), batches: Sequence[MetadataBatch] = ()) -> Controller:  # noqa: B008 - frozen
    """A controller that has learned batches, and leads in term 1."""
    controller = Controller(profile, leads=False)
    if batches:
        controller.handle(wire.LearnedBatches(0, tuple(batches)), 0)
    controller.handle(wire.ElectionNotice(1), 0)
    return controller


def ask(controller: Controller, body: wire.Body, number: int = 1) -> list[wire.Output]:
    """What a controller does upon a request."""
    return controller.handle(wire.Request(9, number, body), controller.now)


def replies_of(outputs: Sequence[wire.Output]) -> list[wire.Reply]:
    """The replies among outputs."""
    return [output for output in outputs if isinstance(output, wire.Reply)]


def answers_of(outputs: Sequence[wire.Output]) -> list[E]:
    """The errors in the one reply among outputs, one for each item."""
    (reply,) = replies_of(outputs)
    return [answer.error for answer in reply.answers]


def with_streams(count: int) -> list[MetadataBatch]:
    """The log of a controller that has registered NODE and created streams."""
    controller = Controller()
    controller.execute(lambda view: streams.get_opening_streams(view, NODE, EPOCH))
    for _ in range(count):
        controller.execute(lambda view: streams.create_stream(view, NODE, EPOCH))
    return controller.log.batches


def opening(*items: tuple[int, int]) -> wire.OpenStreams:
    """The request of NODE to open streams, each under an epoch."""
    return wire.OpenStreams(NODE, EPOCH, tuple(OpenItem(stream, epoch) for stream, epoch in items))


def moving(profile: Profile) -> Controller:
    """A controller with an elastic partition that moves from broker 1 to broker 2."""
    controller = Controller(profile)
    for broker in (1, 2):
        controller.execute(lambda view, broker=broker: partitions.set_broker(view, broker, "active"))
    controller.execute(lambda view: partitions.create_topic(view, "t", [[1]], True))
    controller.execute(lambda view: partitions.alter(view, {"t": {0: [2]}}))
    return controller
