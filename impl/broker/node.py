"""The broker: one process of a node, from its start to its end.

It recovers the WAL of the process before it, registers, and serves. Each command is a task of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from impl import wire
from impl.broker import messages as m
from impl.broker.calls import Calls
from impl.broker.compaction import Compactor
from impl.broker.failover_worker import fail_over
from impl.broker.handle import StreamHandle
from impl.broker.log_cache import LogCache
from impl.broker.object_writer import ObjectWriter
from impl.broker.owned_streams import OwnedStreams
from impl.broker.partition.api import Api
from impl.broker.partition.host import Host
from impl.broker.reader import RecordReader
from impl.broker.recovery import REFUSED, Recovery, itself
from impl.broker.settings import HEARTBEAT_MS, Settings
from impl.broker.storage import Storage
from impl.broker.stream_api import StreamApi, read_of
from impl.broker.uploader import Uploader
from impl.broker.wal import Wal
from impl.broker.zones.zones import Zones
from impl.controller.failover import Failover
from impl.controller.nodes import RACK_TAG
from impl.items import OpenItem
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, replay
from impl.rules import rule
from impl.store.bucket import Bucket
from impl.tasks import FailedError, Gate, Place, Tasks

FORCE_WAIT_MS = 10_000
"""How long a process whose storage has failed waits for the closes of its streams, before it halts."""
SHUTDOWN_PERIOD_MS = 1_000
"""The time between two rounds of closing all streams (CL-11)."""


class Broker:
    """A process of a node. ``identity``: its node and its epoch. It starts with its first input.

    ``halted``: the reason why it has ended; None while it runs.
    """

    def __init__(self, identity: m.Identity, settings: Settings = Settings(), now: int = 0) -> None:  # noqa: B008 - frozen
        self.identity, self.settings = identity, settings
        self.halted: str | None = None
        self._tasks = tasks = Tasks(now)
        self._bucket = Bucket(tasks, m.StoreRequest)
        self._calls = Calls(tasks)
        self._image, self._seen = Image(), 0
        self._newer: Gate[None] = Gate(tasks)
        """Opens with the next image."""
        self._ready: Gate[None] = Gate(tasks)
        """Opens when the process serves."""
        self._stopping = self._failed = False
        self._wake = -1
        self._wal = Wal(
            *(tasks, self._bucket, identity.node, identity.epoch), as_built=settings.as_built, limits=settings.wal
        )
        writer = ObjectWriter(tasks, self._bucket, self._calls, identity, settings.split_bytes)
        self._cache = LogCache(settings.cache)
        zoned = settings.zones
        self._uploader = Uploader(
            *(tasks, writer, self._cache, self._wal, self._halt),
            trim_delay_ms=0 if zoned is None else zoned.trim_delay_ms,
            as_built=settings.as_built,
        )
        self._storage = Storage(tasks, self._wal, self._cache, self._uploader, settings.cache, self._storage_failed)
        self._reader = reader = RecordReader(tasks, self._bucket, lambda: self._image, index_bytes=settings.index_bytes)
        self._read = read_of(self._cache, reader)
        self._compactor = Compactor(
            *(tasks, self._bucket, self._calls, identity, lambda: self._image, self._halt), limits=settings.compaction
        )
        self._owned = OwnedStreams(tasks, self._calls, identity, settings, self._uploader, self._make)
        self._host = Host(
            *(tasks, self._calls, self._owned, identity, lambda: self._image, self._wait_newer),
            *(self._ready, self._halt, settings),
        )
        self._zones = None
        if zoned is not None:
            self._zones = Zones(
                *(tasks, self._bucket, self._calls, self._uploader, self._storage, self._cache, reader),
                *(self._host, identity, lambda: self._image, zoned, settings.as_built, self._halt),
            )
        self._stream_api = StreamApi(tasks, self._calls, self._owned, identity, self._ready, self._halt)
        self._api = Api(tasks, self._host, lambda: self._image, self._zones)
        tasks.start(self._main())

    # For drivers ------------------------------------------------------------------------------------------------

    def handle(self, event: m.Input, now: int) -> list[m.Output]:
        """Handle an input at the time ``now``, in milliseconds. Returns the outputs, in order."""
        if self.halted is not None:
            return []
        match event:
            case m.StoreAnswer(number, answer):
                self._tasks.answer(number, answer)
            case wire.Reply():
                self._calls.replied(event)
            case wire.LearnedBatches(begin, batches):
                self._learn(begin, batches)
            case m.Command(_, _, body):
                if isinstance(body, m.OfPartition):
                    self._tasks.start(self._api.run(event, body))
                else:
                    self._tasks.start(self._stream_api.run(event, body))
            case m.PeerCall() | m.PeerResult() | m.PeerLoss():
                assert self._zones is not None, "only a cluster with zones has these"
                self._zones.take(event)
            case m.Stop():
                self._stopping = self._owned.stopping = True
                self._tasks.start(self._host.leave(self._shut_down))
            case wire.WakeNotice():
                pass
        outputs: list[m.Output] = self._tasks.run(now)
        if self.halted is not None:
            self._tasks.crash()
            return [*outputs, m.Halt(self.halted)]
        due = self._tasks.due
        if due is not None and due != self._wake:
            self._wake = due
            outputs.append(wire.Wake(due))
        return outputs

    def places(self) -> list[list[Place]]:
        """The awaits of each task that waits, the innermost await last."""
        return self._tasks.places()

    def crash(self) -> None:
        """End all tasks at their awaits."""
        self._tasks.crash()

    # Start and end ----------------------------------------------------------------------------------------------

    async def _main(self) -> None:
        """Recover the WAL (FO-08), register (WL-10, ND-10), and at last ask to be unfenced."""
        identity = self.identity
        try:
            recovery = self._recovery(identity, self._wal)
            await recovery.run()
            self._owned.bar(recovery.closed)
            if self._zones is not None:
                await self._zones.start()
            tags = {} if self.settings.zones is None else {RACK_TAG: self.settings.zones.rack}
            await self._calls.call(wire.RegisterNode(identity.node, identity.epoch, tags=tags))
            await self._calls.call(wire.SetBroker(identity.node, "active"))
        except FailedError as error:
            self._halt(f"the start failed: {error}")
            return
        self._ready.open(None)
        self._tasks.start(self._heartbeats())
        self._tasks.start(self._uploader.run(self.settings.upload_interval_ms))
        self._tasks.start(self._compactor.run(self._owned.epochs))
        if self._zones is not None:
            self._tasks.start(self._zones.run())
        self._tasks.start(self._owned.run(lambda: self._image, self._halt))
        self._tasks.start(fail_over(self._tasks, identity.node, lambda: self._image, self._wait_newer, self._stand_for))

    def _recovery(self, identity: m.Identity, wal: Wal) -> Recovery:
        writer = ObjectWriter(self._tasks, self._bucket, self._calls, identity, self.settings.split_bytes, REFUSED)
        return Recovery(
            *(self._tasks, self._calls, identity, wal, writer),
            image=lambda: self._image,
            newer=self._wait_newer,
            limits=self.settings.recovery,
            as_built=self.settings.as_built,
            resolve=itself if self._zones is None else self._zones.reader.resolve,
        )

    async def _stand_for(self, context: Failover) -> None:
        """FO-05. Recover the WAL of a failed process, with its identity."""
        identity = m.Identity(context.node, context.epoch, failover=True)
        wal = Wal(
            *(self._tasks, self._bucket, identity.node, identity.epoch),
            failover=True,
            as_built=self.settings.as_built,
            limits=self.settings.wal,
        )
        await self._recovery(identity, wal).run()

    async def _heartbeats(self) -> None:
        while True:
            newest = self._image.nodes.get(self.identity.node)
            # A newer process of the node sends its own heartbeats.
            if newest is None or newest.epoch <= self.identity.epoch:
                answer = await self._calls.call(wire.Heartbeat(self.identity.node), timeout_ms=HEARTBEAT_MS)
                # This process was silent, or a late message says that the process before it shuts down.
                if answer.values["state"] != "active" and not self._stopping:
                    await self._come_back()
            await self._tasks.sleep(HEARTBEAT_MS)

    async def _come_back(self) -> None:
        """Ask to be active. Halt if another process has taken the WAL: then this process can do nothing more."""
        if rule("FO-07.back", not await self._wal.is_own()):
            self._halt("it was fenced, and its WAL is reserved by another process, or cannot be read")
        else:
            await self._calls.call(wire.SetBroker(self.identity.node, "active"))

    def _halt(self, reason: str) -> None:
        self.halted = self.halted or reason

    def _storage_failed(self) -> None:
        """PL-04. Close all streams by force, then halt."""
        if not self._failed:
            for stream, handle in sorted(self._owned.handles.items()):
                self._tasks.outputs.append(m.StepEvent("fail", {"stream": stream, "epoch": handle.epoch}))
        self._failed = True
        if not self._stopping:
            self._stopping = self._owned.stopping = True
            self._tasks.start(self._give_up())

    async def _give_up(self) -> None:
        for close in [handle.force_close() for _, handle in sorted(self._owned.handles.items())]:
            try:
                await close.wait(FORCE_WAIT_MS)
            except FailedError:
                continue
        self._halt("the storage has failed")

    async def _shut_down(self) -> None:
        """CL-11, PL-26. End in order, if nothing fails."""
        try:
            await self._end()
        except FailedError as error:
            self._halt(f"the shutdown failed: {error}")
        else:
            self._halt("shut down")

    async def _end(self) -> None:
        self._tasks.outputs.append(m.StepEvent("shut_down"))
        while self._owned.handles:
            await self._owned.close_all()
            if self._owned.handles:
                await self._tasks.sleep(SHUTDOWN_PERIOD_MS)
        self._storage.stop()
        await self._uploader.flush()
        await self._calls.call(wire.SetBroker(self.identity.node, "shutting_down"))

    # Metadata ---------------------------------------------------------------------------------------------------

    def _learn(self, begin: int, batches: Sequence[MetadataBatch]) -> None:
        """Apply committed batches to the image, except the known ones. Raises ValueError if batches are missing."""
        if begin > self._seen:
            raise ValueError(f"batches from {begin} on are committed, but the image ends at {self._seen}")
        fresh = batches[self._seen - begin :]
        if fresh:
            replay(fresh, self._image)
            self._seen += len(fresh)
            newer, self._newer = self._newer, Gate(self._tasks)
            newer.open(None)
            self._reader.image_changed()
            if self._zones is not None:
                self._zones.learn()
            self._host.learn(fresh)

    async def _wait_newer(self, ms: int | None = None) -> None:
        await self._newer.wait(ms)

    def _make(self, item: OpenItem, opened: wire.ItemAnswer) -> StreamHandle:
        return StreamHandle(
            *(self._tasks, self._calls, self.identity, self.settings, self._storage, self._uploader),
            *(self._read, item, opened),
        )
