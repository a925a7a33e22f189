"""The part of a process in zone routing: proxy of some mains, main of its partitions, keeper of route epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.broker.calls import Calls
from impl.broker.log_cache import LogCache
from impl.broker.messages import (
    Command,
    GetPartitionSnapshot,
    Identity,
    PeerCall,
    PeerLoss,
    PeerResult,
    RouteBatches,
)
from impl.broker.partition.batches import Batch
from impl.broker.partition.host import Host
from impl.broker.peers import Peers
from impl.broker.reader import RecordReader
from impl.broker.settings import ZoneSettings
from impl.broker.storage import Storage
from impl.broker.stream_api import read_of
from impl.broker.uploader import Uploader
from impl.broker.zones.blocks import ProduceBlock
from impl.broker.zones.channel import NotStartedError, RouterChannel, StoredBlock
from impl.broker.zones.forwarder import Forwarder
from impl.broker.zones.links import ChannelReader
from impl.broker.zones.main import Main
from impl.broker.zones.node_epochs import NodeEpochs
from impl.broker.zones.recent_blocks import RecentBlocks
from impl.broker.zones.snapshot_cache import SnapshotCache
from impl.broker.zones.snapshot_reader import SnapshotReader
from impl.broker.zones.snapshot_server import SnapshotServer
from impl.broker.zones.wal_replay import WalReplay
from impl.broker.zones.zone_view import ZoneView
from impl.controller.routes import route_epochs
from impl.errors import E
from impl.metadata.image import Image
from impl.records import Partition
from impl.rules import RefusedError
from impl.store.bucket import Bucket
from impl.tasks import FailedError, Tasks
from impl.zone.client_zone import said_zone
from impl.zone.order import order_hint
from impl.zone.routing import leader_hint, route


class Zones:
    """``reader``: reads channels. ``records``: reads objects. ``halt``: ends the process."""

    def __init__(
        self,
        tasks: Tasks,
        bucket: Bucket,
        calls: Calls,
        uploader: Uploader,
        storage: Storage,
        cache: LogCache,
        records: RecordReader,
        host: Host,
        identity: Identity,
        image: Callable[[], Image],
        settings: ZoneSettings,
        as_built: frozenset[str],
        halt: Callable[[str], None],
    ) -> None:
        self._peers = Peers(tasks)
        self.reader = ChannelReader(bucket)
        self._tasks, self._host, self._image, self._node, self._halt = tasks, host, image, identity.node, halt
        self._settings, self._as_built = settings, as_built
        self._view = ZoneView(is_dual=settings.is_dual)
        self._channel = RouterChannel(tasks, bucket, identity, settings.channel)
        self._epochs = NodeEpochs(tasks, calls, uploader, identity, settings.linger_ms, halt)
        self._forwarder = Forwarder(tasks, self._peers, identity.node)
        # The end of the log cache: the WAL may be ahead of it, and an upload takes only what the cache has (ZG-7).
        self._server = SnapshotServer(
            *(tasks, host, storage, uploader, identity, image, lambda: cache.position + 1, settings)
        )
        held = SnapshotCache(settings.snapshot_bytes)
        self._recent = RecentBlocks(tasks, settings.recent_ms)
        read, replay = read_of(held, records), WalReplay(bucket, ChannelReader(bucket, self._recent))
        self._snapshots = SnapshotReader(tasks, self._peers, replay, held, read, image, settings.pause_ms)
        self._main = Main(tasks, host, self.reader, self._epochs, settings.answer_ms, as_built)

    async def start(self) -> None:
        """Take the channel over. Raises FencedError and StoreError."""
        await self._channel.start()

    async def run(self) -> None:
        """Report the route epochs that are committed."""
        await self._epochs.run()

    def learn(self) -> None:
        """The metadata have changed (ZR-01, ZR-58)."""
        self._view.learn(self._image())
        self._snapshots.follow(self._view.mains(self._node))
        found = route_epochs(self._image())
        if found == self._epochs.known:
            return
        # The fence is raised first, so that no request passes whose epoch is trimmed below (M-23).
        self._epochs.learn(found)
        self._channel.switch(found.current)
        try:
            self._channel.trim(found.committed)
        except FailedError as error:
            self._halt(f"the channel has failed: {error}")

    def take(self, event: PeerCall | PeerResult | PeerLoss) -> None:
        """Another broker asks for something, or answers."""
        match event:
            case PeerCall(_, _, RouteBatches() as body):
                self._tasks.start(self._main.take(event, body))
            case PeerCall(_, _, GetPartitionSnapshot() as body):
                self._tasks.start(self._server.take(event, body))
            case PeerResult() | PeerLoss():
                self._peers.take(event)

    # For clients ------------------------------------------------------------------------------------------------

    def shown_leader(self, command: Command, row: Partition) -> int:
        """The leader that a client is told: for one of another zone, the proxy of the leader in its zone (ZR-10)."""
        zone = said_zone(command.client_id)
        found = leader_hint(self._view.zones, row.leader, zone)
        return row.leader if found is None else found

    async def produce(self, command: Command, topic: str, partition: int, batch: Batch) -> dict[str, Any]:
        """Append a client's batch, here or at its main (ZR-11). Returns the values of the answer.

        Raises RefusedError, and a FailedError after which the outcome is unknown.
        """
        row = self._image().partitions.get((topic, partition))
        leader = None if row is None or row.leader < 0 else row.leader
        to = route(self._view.zones, self._node, leader, said_zone(command.client_id))
        if to.to is None:
            raise RefusedError("ZR-11", to.error)
        block = ProduceBlock(topic, partition, batch)
        if to.to == self._node and (leader is None or self._settings.direct):
            return {"offset": await self._host.log((topic, partition)).append(batch)}
        stored = await self._store(to.to, order_hint(topic, partition, f"{command.to}"), block)
        if to.to == self._node:
            return await self._append(block, stored)
        self._recent.put(stored.offset, block)
        result = await self._forwarder.forward(to.to, stored)
        if result.error is not E.NONE:
            raise RefusedError("ZR-27", result.error)
        return result.values

    def follows(self, command: Command, topic: str, partition: int) -> bool:
        """Whether this process serves reads of the partition for its main, in the zone of the client."""
        row = self._image().partitions.get((topic, partition))
        zone = said_zone(command.client_id)
        if row is None or zone is None or zone != self._settings.rack:
            return False
        return self._view.zones.proxy(row.leader, zone) == self._node

    async def consume(self, topic: str, partition: int, begin: int, most: int) -> dict[str, Any]:
        """Read a partition of another zone. Returns the values of the answer."""
        return await self._snapshots.consume((topic, partition), begin, most)

    async def _store(self, main: int, hint: int, block: ProduceBlock) -> StoredBlock:
        try:
            return await self._channel.append(main, hint, block).wait()
        except NotStartedError:
            raise RefusedError("ZR-27", E.LEADER_NOT_AVAILABLE) from None
        except FailedError as error:
            self._halt(f"the channel has failed: {error}")
            raise

    async def _append(self, block: ProduceBlock, stored: StoredBlock) -> dict[str, Any]:
        """Append a batch that this broker leads itself. It counts as a forwarded one does; as built it does not."""
        number = None if "ZG-1" in self._as_built else self._epochs.admit(stored.epoch, (stored.offset,))
        if number is None and "ZG-1" not in self._as_built:
            raise RefusedError("ZG-1", E.LEADER_NOT_AVAILABLE)
        name, values = await self._main.append(block, stored.offset)
        if number is not None:
            self._epochs.finish(number)
        if name != E.NONE.name:
            raise RefusedError("ZR-26", E[name])
        return values
