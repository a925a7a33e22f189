"""How a proxy follows the partitions of its mains, and serves reads of them in its own zone (ZR-43 to ZR-52)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from impl.broker.handle import Read
from impl.broker.messages import GetPartitionSnapshot, PartitionSnapshot, PeerResult, StepEvent
from impl.broker.partition.batches import Batch, decode
from impl.broker.partition.meta_values import SegmentSlice
from impl.broker.partition.segments import Segment, Segments
from impl.broker.peers import Peers, SilentPeerError
from impl.broker.wal_format import WalRecord
from impl.broker.zones.snapshot_cache import SnapshotCache
from impl.broker.zones.wal_replay import WalReplay
from impl.errors import E
from impl.metadata.image import Image
from impl.rules import RefusedError, require, rule
from impl.tasks import Gate, Tasks, TimedOutError

TIMEOUT_MS = 10_000
RETRY_MS = 1_000
FETCH_WAIT_MS = 5_000
"""How long a read waits for an offset that is not shown yet (V-3)."""

Key = tuple[str, int]


class ShownPartition(msgspec.Struct):
    """A partition of another zone, as far as its main has shown it. The log ends at ``end``."""

    main: int
    snapshot: PartitionSnapshot
    segments: Segments

    @property
    def end(self) -> int:
        """The offset up to which it can be read."""
        return self.snapshot.end


class MainSubscription(msgspec.Struct):
    """What a proxy knows of a main: the session, and the end of the WAL up to which it has replayed; None before.

    ``commit``: whether the main is to upload, since the cache has lost records that are not uploaded.
    """

    main: int
    session: int = 0
    epoch: int = 0
    wal_epoch: int = 0
    replayed: int | None = None
    commit: bool = False
    ended: bool = False


class SnapshotReader:
    """``read``: reads records from the cache and from objects. ``pause_ms``: as in ``ZoneSettings``."""

    def __init__(
        self,
        tasks: Tasks,
        peers: Peers,
        replay: WalReplay,
        cache: SnapshotCache,
        read: Read,
        image: Callable[[], Image],
        pause_ms: int,
    ) -> None:
        self._tasks, self._peers, self._replay, self._cache = tasks, peers, replay, cache
        self._read, self._image, self._pause_ms = read, image, pause_ms
        self._mains: dict[int, MainSubscription] = {}
        self._shown: dict[Key, ShownPartition] = {}
        self._origins: dict[int, int] = {}
        """By stream: the main from whose WAL the newest record in the cache comes."""
        self._applied: Gate[None] = Gate(tasks)
        """Opens when the next snapshot is applied."""

    def follow(self, mains: Collection[int]) -> None:
        """Follow these mains, and no others (ZR-43)."""
        for main in [each for each in self._mains if each not in mains]:
            subscription = self._mains.pop(main)
            subscription.ended = True
            self._reset(subscription)
        for main in sorted(set(mains) - set(self._mains)):
            subscription = self._mains[main] = MainSubscription(main)
            self._tasks.start(self._poll(subscription))

    # Reads ------------------------------------------------------------------------------------------------------

    async def consume(self, key: Key, begin: int, most: int) -> dict[str, Any]:
        """The values of the answer to ``Consume``. Raises RefusedError, and the errors of a read."""
        if begin > self._end(key):
            await self._reached(key, begin)
        shown = self._shown.get(key)
        if shown is None:
            raise RefusedError("ZR-48", E.NOT_LEADER_OR_FOLLOWER)
        require(shown.snapshot.start <= begin <= shown.end, "CL-05.start", E.OFFSET_OUT_OF_RANGE_BOUNDS)
        end, found = shown.end, list[Batch]()
        for span in shown.segments.spans(begin, min(begin + most, end)):
            records = await self._read(shown.snapshot.stream, span.start, span.end)
            found += [decode(each.payload) for each in records]
        return {"batches": [(each.base, each.values) for each in found], "confirmed": end}

    def _end(self, key: Key) -> int:
        shown = self._shown.get(key)
        return -1 if shown is None else shown.end

    async def _reached(self, key: Key, offset: int) -> None:
        """Wait until an offset is shown, or for FETCH_WAIT_MS."""
        deadline = self._tasks.now + FETCH_WAIT_MS
        while self._end(key) < offset and self._tasks.now < deadline:
            try:
                await self._applied.wait(deadline - self._tasks.now)
            except TimedOutError:
                return

    # Sessions ---------------------------------------------------------------------------------------------------

    async def _poll(self, subscription: MainSubscription) -> None:
        while not subscription.ended:
            asked = GetPartitionSnapshot(subscription.session, subscription.epoch, subscription.commit)
            # While it waits, the cache may lose more.
            subscription.commit = False
            try:
                result = await self._peers.ask(subscription.main, asked, TIMEOUT_MS)
            except SilentPeerError:
                if not subscription.ended:
                    self._reset(subscription)
                await self._tasks.sleep(RETRY_MS)
                continue
            if not subscription.ended:
                await self._take(subscription, result)
                await self._tasks.sleep(self._pause_ms)

    async def _take(self, subscription: MainSubscription, result: PeerResult) -> None:
        """Take an answer: replay what it has, or the WAL, up to its end; then apply its snapshots (ZR-45, ZR-47)."""
        values = result.values
        given = values["session"], values["session_epoch"], values["wal_epoch"]
        if given != (subscription.session, subscription.epoch + 1, subscription.wal_epoch):
            # A process numbers its sessions anew, so the number alone does not tell a new one from the old one.
            self._reset(subscription)
            if values["session_epoch"] > 1:
                return
        self._step("take_answer", main=subscription.main, id=result.id)
        subscription.session, subscription.epoch, subscription.wal_epoch = given
        if subscription.replayed is not None:
            begin, end, inline = subscription.replayed, values["wal_end"], values["records"]
            of_wal = self._replay.records(subscription.main, values["wal_epoch"], begin, end)
            async for record in of_wal if inline is None else self._replay.inline(inline):
                if subscription.ended:
                    return
                self._keep(subscription.main, record)
        if subscription.ended:
            return
        subscription.replayed = values["wal_end"]
        self._apply(subscription, values["partitions"])

    def _keep(self, main: int, record: WalRecord) -> None:
        dropped = self._cache.put(record)
        self._origins[record.stream] = main
        # Where the stream begins in the cache, before records are evicted for the new one.
        bases = [each.base for each in dropped if each.stream == record.stream]
        first = bases[0] if bases else self._cache.first(record.stream)
        self._step("keep", main=main, stream=record.stream, base=record.base, end=record.end, first=first)
        for evicted in dropped:
            self._step("evict", main=self._origins[evicted.stream], stream=evicted.stream, end=evicted.end)
            stored = self._image().streams.get(evicted.stream)
            if stored is not None and rule("ZR-51", stored.end < evicted.end):
                # Its main is to upload it, which may be another one than the main of the new record.
                origin = self._mains.get(self._origins[evicted.stream])
                if origin is not None:
                    origin.commit = True

    def _reset(self, subscription: MainSubscription) -> None:
        """ZR-52. Begin anew with a main: nothing of it is shown until it has sent it again."""
        self._step("end_session", main=subscription.main)
        subscription.session = subscription.epoch = 0
        subscription.replayed = None
        for key in [key for key, each in self._shown.items() if each.main == subscription.main]:
            self._hide(key)

    def _hide(self, key: Key) -> None:
        self._step("hide", stream=self._shown.pop(key).snapshot.stream)

    def _step(self, action: str, **values: Any) -> None:
        self._tasks.outputs.append(StepEvent(action, values))

    # Snapshots --------------------------------------------------------------------------------------------------

    def _apply(self, subscription: MainSubscription, found: Iterable[PartitionSnapshot]) -> None:
        given = list(found)
        added = {(each.topic, each.partition) for each in given if each.operation == "ADD"}
        again = any(each.operation == "REMOVE" and (each.topic, each.partition) in added for each in given)
        # A partition that its main has closed and opened again is removed first, then added (M-19).
        first = "ADD" if again and not rule("M-19") else "REMOVE"
        for each in sorted(given, key=lambda each: each.operation != first):
            key = each.topic, each.partition
            shown = self._shown.get(key)
            is_own = shown is not None and shown.main == subscription.main
            if each.operation == "REMOVE" and is_own:
                self._hide(key)
            if each.operation == "REMOVE" or (each.operation == "PATCH" and not is_own):
                self._note(subscription.main, key)
                continue
            if each.operation == "ADD" and shown is not None:
                newer = each.leader_epoch > shown.snapshot.leader_epoch
                if rule("M-19.epoch", not newer):
                    # The main believes that it leads, and another one leads since.
                    self._note(subscription.main, key, refused=True)
                    self._reset(subscription)
                    return
            self._shown[key] = ShownPartition(subscription.main, each, _segments(each))
            # A partition that has no record yet has no stream, either.
            if each.segments and each.stream >= 0:
                spans = [(start, end) for _, start, end in each.segments]
                self._step("show", stream=each.stream, epoch=each.leader_epoch, end=spans[-1][1], spans=spans)
            self._note(subscription.main, key)
        applied, self._applied = self._applied, Gate(self._tasks)
        applied.open(None)

    def _note(self, main: int, key: Key, *, refused: bool = False) -> None:
        """Log that a snapshot is dealt with, and who shows the partition then."""
        shown = self._shown.get(key)
        shown_by = None if shown is None else shown.main
        self._step("apply", main=main, of=key, shown_by=shown_by, refused=refused)


def _segments(snapshot: PartitionSnapshot) -> Segments:
    segments = [Segment(base, SegmentSlice(start, end)) for base, start, end in snapshot.segments]
    return Segments(segments, snapshot.start, snapshot.start)
