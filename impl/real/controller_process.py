"""The process of the controller: the only one of its cluster, with its metadata log on disk.

Everything that an input makes the controller write is on the disk before any answer to it leaves. After a kill, the
next process reads the log, and leads in the next term with the memory of a new controller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from impl.broker.object_format import object_key
from impl.controller.node import Controller
from impl.metadata.log import MetadataBatch
from impl.real.alarm import Alarm
from impl.real.clock import Clock
from impl.real.event_file import BatchAppend, EventFile, RequestAnswer, RequestExecution
from impl.real.frames import FrameConnection, FrameError, Greeting, Subscription, pack
from impl.real.listening import listen
from impl.real.metadata_file import MetadataFile
from impl.real.starts import ControllerStart
from impl.real.store_pool import StorePool
from impl.rules import without
from impl.sim.cluster import streams_after
from impl.store.interface import Answer, Delete, DeleteResult, ObjectStore
from impl.store.s3_obstore import ObstoreStore
from impl.wire import (
    CommitNotice,
    DeleteObjects,
    DeletionNotice,
    ElectionNotice,
    GetOpeningStreams,
    Input,
    LearnedBatches,
    Output,
    QuorumAppend,
    Reply,
    Request,
    Wake,
    WakeNotice,
)

DELETE_AGAIN_S = 1.0
"""The time after which a deletion of unknown outcome is repeated."""


async def run_controller(start: ControllerStart, announce: Callable[[int], None]) -> int:
    """Run the controller until it is killed. ``announce`` is called with its port."""
    with ExitStack() as rules:
        rules.enter_context(without(*start.rules.without))
        process = ControllerProcess(start, ObstoreStore(start.bucket, start.endpoint))
        return await process.run(announce)


class ControllerProcess:
    """``store``: an adapter that several threads may use."""

    def __init__(self, start: ControllerStart, store: ObjectStore) -> None:
        self._start, self._clock = start, Clock(start.clock)
        self._file = MetadataFile(Path(start.metadata))
        self._events = EventFile(Path(start.events), start.name)
        self._store = StorePool(store)
        self._controller = Controller(start.rules.profile, self._clock.now(), leads=False)
        self._term = 0
        self._deliveries = 0
        self._waiting: dict[int, tuple[FrameConnection, Request]] = {}
        """By number of the delivery: the requests without an answer."""
        self._subscribers: dict[FrameConnection, int] = {}
        """The connections that get all committed batches, each with the number of batches that it was sent."""
        self._alarm = Alarm(self._clock, lambda: self._handle(WakeNotice(), self._clock.micros()))
        self._failed: asyncio.Future[int]

    async def run(self, announce: Callable[[int], None]) -> int:
        """Lead and serve, for ever. Raises the error that ends the process."""
        self._failed = asyncio.get_running_loop().create_future()
        listener = await listen(self._serve, self._start.port)
        self._lead()
        announce(listener.port)
        return await self._failed

    def _lead(self) -> None:
        """Take over what the processes before have written, and lead in the next term."""
        found = tuple(self._file.batches)
        self._term = self._file.begin_term()
        micros = self._clock.micros()
        self._events.note(micros, "elected", term=self._term, batches=len(found))
        self._handle(LearnedBatches(0, found), micros)
        self._handle(ElectionNotice(self._term), micros)

    # Inputs -----------------------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection of a broker or of a client."""
        connection = FrameConnection(reader, writer)
        connection.send(Greeting(self._start.name))
        try:
            first = await connection.receive()
            if isinstance(first, Subscription):
                if first.begin >= 0:
                    self._subscribers[connection] = first.begin
                    self._publish()
                while isinstance(frame := await connection.receive(), Request):
                    self._arrive(connection, first.name, frame)
        except FrameError:
            pass  # The bytes are not those of a node of this cluster.
        self._subscribers.pop(connection, None)

    def _arrive(self, connection: FrameConnection, sender: str, request: Request) -> None:
        self._deliveries += 1
        number, micros = self._deliveries, self._clock.micros()
        self._waiting[number] = connection, request

        def executed() -> None:
            image = self._controller.image
            stored = None
            if isinstance(request.body, GetOpeningStreams) and (row := image.nodes.get(request.body.node)):
                stored = row.epoch, row.failover
            post = streams_after(image, request.body)
            self._events.add(micros, "execute", RequestExecution(sender, number, request, post, stored))

        # The number of the delivery tells two requests apart that have equal ids.
        self._handle(Request(number, request.id, request.body), micros, executed)

    def _handle(self, event: Input, micros: int, executed: Callable[[], None] | None = None) -> None:
        """Hand the controller an input. ``executed`` writes the event of a request, before those of its batches.

        After an error nothing is handed to it any more: its image may have batches that are not on the disk.
        """
        if self._failed.done():
            return
        try:
            outputs = self._controller.handle(event, micros // 1_000)
            if executed is not None:
                executed()
            self._events.note_missed(micros)
            self._commit([each for each in outputs if isinstance(each, QuorumAppend)], micros)
            for output in outputs:
                self._route(output, micros)
        except Exception as error:  # noqa: BLE001 - the process ends with it
            if not self._failed.done():
                self._failed.set_exception(error)

    def _commit(self, appends: list[QuorumAppend], micros: int) -> None:
        """Write batches to the disk, and tell the controller and all subscribers."""
        if not appends:
            return
        # The events come first. So a batch in the log always has its event, and an event without a batch is one of a
        # batch that was lost.
        for each in appends:
            self._events.add(micros, "batch", BatchAppend(each.index, each.batch))
        for each in appends:
            self._file.append(each.index, each.batch)
        self._file.sync()
        for output in self._controller.handle(CommitNotice(self._term, len(self._file.batches)), micros // 1_000):
            self._route(output, micros)
        self._publish()

    def _publish(self) -> None:
        """Send each subscriber the committed batches that it lacks; none after an error, as in ``_handle``."""
        if self._failed.done():
            return
        end = len(self._file.batches)
        packed: dict[int, bytes] = {}
        for connection, begin in self._subscribers.items():
            if begin < end:
                if begin not in packed:
                    batches: tuple[MetadataBatch, ...] = tuple(self._file.batches[begin:])
                    packed[begin] = pack(LearnedBatches(begin, batches))
                connection.send_bytes(packed[begin])
                self._subscribers[connection] = end

    # Outputs ----------------------------------------------------------------------------------------------------

    def _route(self, output: Output, micros: int) -> None:
        match output:
            case Reply(delivery, number, answers):
                connection, request = self._waiting.pop(delivery)
                self._events.add(micros, "answer", RequestAnswer(delivery, tuple(each.error for each in answers)))
                connection.send(Reply(request.to, number, answers))
            case Wake(at):
                self._alarm.set(at)
            case DeleteObjects(objects):
                self._delete(objects)
            case QuorumAppend():
                pass  # It is committed by now.

    def _delete(self, objects: tuple[int, ...]) -> None:
        """OB-05. Delete objects from the store, as often as it takes."""

        def answered(answer: Answer) -> None:
            if isinstance(answer, DeleteResult):
                self._handle(DeletionNotice(objects), self._clock.micros())
            else:
                asyncio.get_running_loop().call_later(DELETE_AGAIN_S, self._delete, objects)

        self._store.execute(Delete(tuple(object_key(each) for each in objects)), answered)
