"""What a main shows of its partitions to proxies of other zones: sessions and snapshots (ZR-36 to ZR-42)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from impl.broker.messages import GetPartitionSnapshot, Identity, PartitionSnapshot, PeerAnswer, PeerCall
from impl.broker.partition.host import Host
from impl.broker.partition.log import PartitionLog
from impl.broker.partition.segments import LOG
from impl.broker.settings import ZoneSettings
from impl.broker.storage import Storage
from impl.broker.uploader import Uploader
from impl.broker.wal_format import WalRecord
from impl.broker.zones.inline_records import InlineRecords
from impl.metadata.image import Image
from impl.rules import rule
from impl.tasks import FailedError, Tasks, TimedOutError

IDLE_MS = 60_000
"""After this time without a request a session is dropped (ZR-37)."""
COMMIT_LINGER_MS = 1_000
"""How long the upload that a reader asks for waits for another one. That of a new session does not wait (ZR-40)."""

Key = tuple[str, int]


class SentPartition(msgspec.Struct):
    """What a session has sent of a partition: the log, which is another one after each open, and its last snapshot."""

    log: PartitionLog
    snapshot: PartitionSnapshot


class SnapshotSession(msgspec.Struct):
    """``epoch``: the number of answers. ``uploads``: how many uploads for this session have not ended (ZR-40)."""

    number: int
    used: int
    inline: InlineRecords
    epoch: int = 0
    uploads: int = 0
    sent: dict[Key, SentPartition] = {}


class SnapshotServer:
    """The sessions of a process. ``wal_end``: the end of what is in its WAL and in its log cache."""

    def __init__(
        self,
        tasks: Tasks,
        host: Host,
        storage: Storage,
        uploader: Uploader,
        identity: Identity,
        image: Callable[[], Image],
        wal_end: Callable[[], int],
        settings: ZoneSettings,
    ) -> None:
        self._tasks, self._host, self._storage, self._uploader = tasks, host, storage, uploader
        self._identity, self._image, self._wal_end, self._settings = identity, image, wal_end, settings
        storage.listeners.append(self._add)
        self._sessions: dict[int, SnapshotSession] = {}
        self._number = 0

    async def take(self, call: PeerCall, body: GetPartitionSnapshot) -> None:
        """Answer a reader."""
        session = self._sessions.get(body.session)
        is_new = session is None or session.epoch != body.session_epoch
        if session is None or is_new:
            session = self._begin(body.session)
        session.used = self._tasks.now
        if is_new or body.commit:
            session.uploads += 1
            self._tasks.start(self._upload(session, 0 if is_new else COMMIT_LINGER_MS))
            self._answer(call, session, [])
            return
        # Until the upload has ended, the reader could find neither in its cache nor in objects what is shown (M-17).
        if rule("M-17", session.uploads > 0):
            self._answer(call, session, [])
            return
        found = self._collect(session)
        if not found:
            await self._news()
            found = self._collect(session)
        for each in found:
            sent = session.sent.get((each.topic, each.partition))
            # Only then the end of the WAL is read, so that it covers all that is shown (ZR-39).
            if sent is not None and rule("M-16", sent.log.confirmed < each.end):
                try:
                    await sent.log.settled(each.end)
                except FailedError:
                    # AutoMQ answers nevertheless (ZR-39). The reader would show what nobody has confirmed (I-10).
                    return
        self._answer(call, session, found)

    async def _news(self) -> None:
        """Wait until something is appended, or for ``poll_ms`` of the settings (ZR-41)."""
        try:
            await self._storage.appended.wait(self._settings.poll_ms)
        except TimedOutError:
            return

    def _begin(self, before: int) -> SnapshotSession:
        self._sessions.pop(before, None)
        for number in [each.number for each in self._sessions.values() if self._tasks.now - each.used > IDLE_MS]:
            del self._sessions[number]
        self._number += 1
        session = self._sessions[self._number] = SnapshotSession(
            self._number, self._tasks.now, InlineRecords(self._settings.inline_bytes)
        )
        return session

    def _add(self, record: WalRecord) -> None:
        """A record is in the cache, from which ``wal_end`` is taken."""
        for session in self._sessions.values():
            session.inline.add(record)

    async def _upload(self, session: SnapshotSession, linger_ms: int) -> None:
        try:
            await self._uploader.commit_lazily(linger_ms)
        except FailedError:
            return  # The process halts.
        session.uploads -= 1

    def _answer(self, call: PeerCall, session: SnapshotSession, found: list[PartitionSnapshot]) -> None:
        session.epoch += 1
        wal_end = self._wal_end()
        # A session may have been dropped while this request waited. From then on it was not told of new records.
        is_told = self._sessions.get(session.number) is session
        values = {
            "session": session.number,
            "session_epoch": session.epoch,
            "partitions": tuple(found),
            "wal_epoch": self._identity.epoch,
            "wal_end": wal_end,
            "records": session.inline.take(wal_end) if is_told else None,
        }
        self._tasks.outputs.append(PeerAnswer(call.sender, call.id, values=values))

    # Snapshots --------------------------------------------------------------------------------------------------

    def _collect(self, session: SnapshotSession) -> list[PartitionSnapshot]:
        """What has changed since the last answer (ZR-38), and is from now on taken as sent."""
        current = self._open()
        found: list[PartitionSnapshot] = []
        for key, sent in list(session.sent.items()):
            if current.get(key) is not sent.log:
                del session.sent[key]
                found.append(PartitionSnapshot("REMOVE", *key, sent.snapshot.leader_epoch))
        for key, log in sorted(current.items(), key=lambda pair: pair[0]):
            before = session.sent.get(key)
            snapshot = _snapshot("ADD" if before is None else "PATCH", key, log)
            same = before is not None and msgspec.structs.replace(snapshot, operation="") == before.snapshot
            if not same:
                session.sent[key] = SentPartition(log, msgspec.structs.replace(snapshot, operation=""))
                found.append(snapshot)
        return found

    def _open(self) -> dict[Key, PartitionLog]:
        """The partitions that this process has open and leads."""
        node, rows = self._identity.node, self._image().partitions
        return {
            key: hosted.log
            for key, hosted in self._host.hosted.items()
            if hosted.log is not None and not hosted.log.is_frozen and key in rows and rows[key].leader == node
        }


def _snapshot(operation: str, key: Key, log: PartitionLog) -> PartitionSnapshot:
    """A partition up to the end of its newest append, which may not be durable yet."""
    segments = tuple((each.base, each.log.start, each.log.end) for each in log.segments.segments)
    stream = log.ids.get(LOG, -1)
    return PartitionSnapshot(operation, *key, log.leader_epoch, stream, log.segments.start, log.segments.end, segments)
