"""Carries the requests of a client node to the processes of a cluster, and tells it how connections end.

A client keeps its connection to a process until the process ends, refuses it, or leaves a command unanswered. So it may
go on with a process that was stopped and has a successor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from impl.broker.messages import CommandAnswer
from impl.client.messages import ConnectionLoss, Input, Output, ToBroker, Unreachable
from impl.client.node import ClientNode
from impl.real.alarm import Alarm
from impl.real.clock import Clock
from impl.real.frames import Frame, FrameConnection, Subscription, connect
from impl.wire import Reply, Request, Wake, WakeNotice


class Places(Protocol):
    """Where the processes of a cluster listen."""

    def controller_port(self) -> int | None:
        """The port of the controller; None if nobody knows it."""

    def broker_place(self, node: int) -> tuple[str, int] | None:
        """The name of the newest process of a node, and its port; None if there is none."""


class RequestChannel:
    """One connection of a client. It takes requests before it is open.

    ``first``: what it sends first. ``deliver``: takes the results. ``closed`` is called when it has ended.
    """

    def __init__(
        self, port: int | None, first: Frame | None, deliver: Callable[[Input], None], closed: Callable[[], None]
    ) -> None:
        self.unanswered: dict[int, Frame] = {}
        """By number: the requests without a result."""
        self._port, self._first, self._deliver, self._closed = port, first, deliver, closed
        self._connection: FrameConnection | None = None
        self._task = asyncio.get_running_loop().create_task(self._run())

    def send(self, number: int, frame: Frame) -> None:
        """Send a request, now or when the connection is open."""
        self.unanswered[number] = frame
        if self._connection is not None:
            self._connection.send(frame)

    def close(self) -> None:
        """End the connection."""
        self._task.cancel()

    async def _run(self) -> None:
        connection = None if self._port is None else await connect(self._port)
        if connection is None:
            self._end(Unreachable)
            return
        try:
            first = () if self._first is None else (self._first,)
            connection.send(*first, *self.unanswered.values())
            self._connection = connection
            while isinstance(frame := await connection.receive(), CommandAnswer | Reply):
                if self.unanswered.pop(frame.id, None) is not None:
                    self._deliver(frame)
        finally:
            self._connection = None
            connection.close()
        self._end(ConnectionLoss)

    def _end(self, result: type[Unreachable] | type[ConnectionLoss]) -> None:
        self._closed()
        for number in tuple(self.unanswered):
            del self.unanswered[number]
            self._deliver(result(number))


class ClientDriver:
    """Drives one client node. ``places``: where it finds the processes.

    ``error``: the first error of a task of the node that is no outcome; None for none.
    """

    def __init__(self, node: ClientNode, clock: Clock, places: Places) -> None:
        self.node = node
        self.error: Exception | None = None
        self._clock, self._places = clock, places
        self._controller: RequestChannel | None = None
        self._brokers: dict[int, tuple[str, RequestChannel]] = {}
        """By node: the process that the client is connected with."""
        self._older: set[RequestChannel] = set()
        """Connections to processes that have a successor, with commands that wait for an answer."""
        self._alarm = Alarm(clock, self.begin)

    def deliver(self, event: Input) -> None:
        """Hand the node an input, and carry its outputs."""
        try:
            outputs = self.node.handle(event, self._clock.now())
        except Exception as error:  # noqa: BLE001 - whoever waits for the client raises it
            self.error = self.error or error
            return
        self._route(outputs)

    def begin(self) -> None:
        """Let the node begin with tasks that were started."""
        self.deliver(WakeNotice())

    def close(self) -> None:
        """End all connections."""
        self._alarm.cancel()
        channels = [channel for _, channel in self._brokers.values()]
        for channel in (*channels, *self._older, *filter(None, [self._controller])):
            channel.close()

    def _route(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            match output:
                case ToBroker(node, command):
                    self._broker(node).send(command.id, command)
                case Request(_, number):
                    self._to_controller().send(number, output)
                case Wake(at):
                    self._alarm.set(at)

    def _broker(self, node: int) -> RequestChannel:
        known, place = self._brokers.get(node), self._places.broker_place(node)
        if known is not None:
            name, channel = known
            # A process that leaves a command unanswered may be stopped: take the newest one of the node.
            if not channel.unanswered or place is None or place[0] == name:
                return channel
            self._older.add(channel)
        name, port = ("", None) if place is None else place
        channel = RequestChannel(port, None, self.deliver, lambda: self._forget(node, channel))
        self._brokers[node] = name, channel
        return channel

    def _forget(self, node: int, channel: RequestChannel) -> None:
        self._older.discard(channel)
        known = self._brokers.get(node)
        if known is not None and known[1] is channel:
            del self._brokers[node]

    def _to_controller(self) -> RequestChannel:
        if self._controller is None:
            first = Subscription(self.node.name)
            self._controller = RequestChannel(
                self._places.controller_port(), first, self.deliver, self._forget_controller
            )
        return self._controller

    def _forget_controller(self) -> None:
        self._controller = None
