"""The process of a broker: it hands the node its commands, answers and time, and carries what the node emits.

The process keeps one connection to the controller. While there is none, requests wait. If the connection breaks, the
controller may have executed the requests without an answer. The node gets the answer of a controller that leads no
more, NOT_CONTROLLER, which says just that, and repeats them.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from impl.broker.messages import (
    Command,
    CommandAnswer,
    Halt,
    Identity,
    Input,
    Output,
    StepEvent,
    Stop,
    StoreAnswer,
    StoreRequest,
)
from impl.broker.node import Broker
from impl.controller.requests import items_of
from impl.errors import E
from impl.real.alarm import Alarm
from impl.real.clock import Clock
from impl.real.event_file import EventFile, ObjectAnswer
from impl.real.frames import FrameConnection, FrameError, Greeting, Subscription, connect
from impl.real.listening import listen
from impl.real.problems import ClusterError
from impl.real.starts import HALTED, SHUT_DOWN, BrokerStart
from impl.real.store_pool import StorePool
from impl.rules import without
from impl.store.interface import Answer, ObjectData, ObjectStore, PutResult
from impl.store.s3_obstore import ObstoreStore
from impl.wire import ItemAnswer, LearnedBatches, Reply, Request, Wake, WakeNotice

RETRY_S = 0.1
"""The time between two attempts to reach the controller."""


async def run_broker(start: BrokerStart, announce: Callable[[int], None]) -> int:
    """Run a broker until it halts. ``announce`` is called with its port. Returns the exit code."""
    with ExitStack() as rules:
        rules.enter_context(without(*start.rules.without))
        process = BrokerProcess(start, ObstoreStore(start.bucket, start.endpoint))
        return await process.run(announce)


class BrokerProcess:
    """``store``: an adapter that several threads may use."""

    def __init__(self, start: BrokerStart, store: ObjectStore) -> None:
        self._start, self._clock = start, Clock(start.clock)
        self._events = EventFile(Path(start.events), start.name)
        self._store = StorePool(store)
        self._broker = Broker(Identity(start.node, start.epoch), start.rules.settings, self._clock.now())
        self._callers: dict[tuple[int, int], FrameConnection] = {}
        """By client and number of a command without an answer: its connection."""
        self._controller: FrameConnection | None = None
        self._asked: dict[int, Request] = {}
        """By number: the requests to the controller without an answer."""
        self._seen = 0
        """The number of batches of metadata that have arrived."""
        self._alarm = Alarm(self._clock, lambda: self._deliver(WakeNotice()))
        self._halted: asyncio.Future[str]

    async def run(self, announce: Callable[[int], None]) -> int:
        """Serve until the node halts."""
        loop = asyncio.get_running_loop()
        self._halted = loop.create_future()
        loop.add_signal_handler(signal.SIGTERM, self._deliver, Stop())
        listener = await listen(self._serve)
        self._events.note(self._clock.micros(), "start", node=self._start.node, epoch=self._start.epoch)
        announce(listener.port)
        self._deliver(WakeNotice())
        following = loop.create_task(self._follow())
        following.add_done_callback(self._ended)
        try:
            reason = await self._halted
        finally:
            listener.close()
        return SHUT_DOWN if reason == "shut down" else HALTED

    def _fail(self, error: BaseException) -> None:
        """An error that no rule describes, or a full disk, ends the process."""
        if not self._halted.done():
            self._halted.set_exception(error)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    # Inputs -----------------------------------------------------------------------------------------------------

    def _deliver(self, event: Input) -> None:
        """Hand the node an input that has arrived now."""
        self._handle(event, self._clock.micros())

    def _handle(self, event: Input, micros: int) -> None:
        if self._halted.done():
            return  # What it would do now, no log could tell.
        try:
            outputs = self._broker.handle(event, micros // 1_000)
            self._events.note_missed(micros)
            self._route(outputs, micros)
        except Exception as error:  # noqa: BLE001 - the process ends with it
            self._fail(error)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection of a client."""
        connection = FrameConnection(reader, writer)
        connection.send(Greeting(self._start.name))
        try:
            while isinstance(frame := await connection.receive(), Command):
                self._callers[frame.to, frame.id] = connection
                self._deliver(frame)
        except FrameError:
            pass  # The bytes are not those of a client of this cluster.

    async def _follow(self) -> None:
        """Keep a connection to the controller."""
        while True:
            connection = await connect(self._start.controller)
            if connection is not None:
                # Everything that follows belongs to the connection, so it is ordered by it.
                connection.send(Subscription(self._start.name, self._seen), *self._asked.values())
                self._controller = connection
                await self._listen(connection)
                connection.close()
                self._controller = None
                self._lose()
            await asyncio.sleep(RETRY_S)

    async def _listen(self, connection: FrameConnection) -> None:
        while (frame := await connection.receive()) is not None:
            match frame:
                case LearnedBatches(begin, batches):
                    self._seen = max(self._seen, begin + len(batches))
                    self._deliver(frame)
                case Reply():
                    self._asked.pop(frame.id, None)
                    self._deliver(frame)
                case _:
                    return

    def _lose(self) -> None:
        """The connection broke: nobody knows the outcome of the requests that were sent over it."""
        lost, self._asked = self._asked, {}
        for number, request in lost.items():
            answers = (ItemAnswer(E.NOT_CONTROLLER),) * items_of(request.body)
            self._deliver(Reply(request.to, number, answers))

    # Outputs ----------------------------------------------------------------------------------------------------

    def _route(self, outputs: Sequence[Output], micros: int) -> None:
        for output in outputs:
            match output:
                case Request(_, number):
                    self._events.add(micros, "request", output)
                    self._asked[number] = output
                    if self._controller is not None:
                        self._controller.send(output)
                case StoreRequest():
                    self._ask_store(output, micros)
                case CommandAnswer(to, number):
                    caller = self._callers.pop((to, number), None)
                    if caller is not None:
                        caller.send(output)
                case Wake(at):
                    self._alarm.set(at)
                case StepEvent():
                    self._events.add(micros, "step", output)
                case Halt(reason):
                    self._events.note(micros, "halt", reason=reason)
                    if not self._halted.done():
                        self._halted.set_result(reason)

    def _ask_store(self, request: StoreRequest, micros: int) -> None:
        self._events.add(micros, "store", request)

        def answered(answer: Answer) -> None:
            now = self._clock.micros()
            etag = answer.etag if isinstance(answer, PutResult | ObjectData) else ""
            try:
                self._events.add(now, "stored", ObjectAnswer(request.id, type(answer).__name__, etag))
            except ClusterError as error:
                self._fail(error)
            self._handle(StoreAnswer(request.id, answer), now)

        self._store.execute(request.operation, answered)
