"""The partitions of a process, which it opens and closes as the metadata say. Operations of a partition take turns.

The metadata assign a partition to a broker. The epoch of its streams is the leader epoch at the assignment. A broker
that is elected later leads under a newer leader epoch (RA-24).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from impl import wire
from impl.broker.calls import NODE_ERRORS, Calls, ControllerError
from impl.broker.messages import Identity, StepEvent
from impl.broker.owned_streams import OwnedStreams
from impl.broker.partition.assignments import Key, changes
from impl.broker.partition.executors import Executor
from impl.broker.partition.log import PartitionLog
from impl.broker.partition.opening import open_log
from impl.broker.partition.partition_streams import PartitionStreams, SpentEpochError
from impl.broker.settings import Settings
from impl.errors import E
from impl.metadata import log as metadata_log
from impl.metadata.image import Image
from impl.records import Partition, PartitionChange, StreamState
from impl.rules import RefusedError, require, rule
from impl.tasks import FailedError, Gate, Tasks

RETRY_MS = 1_000
"""The time from a failed open of a partition to the next attempt (RA-23)."""
LEAVE_MS, LEAVE_PERIOD_MS = 30_000, 1_000
"""How long a process that ends waits for the next close of a partition, and how often it looks (PT-06)."""
STAND_MS = 30_000
"""The time from a request to be elected to the check whether the partition has a leader (PT-03)."""
FINAL = frozenset(E) - {E.NOT_CONTROLLER, E.REQUEST_TIMED_OUT}
"""The refusals after which a request for an election is not repeated (step 5)."""


class OutdatedError(FailedError):
    """The partition now belongs to another broker, or was assigned again (RA-22)."""


class HostedPartition:
    """A partition of this process. ``log``: None while it is not open."""

    def __init__(self) -> None:
        self.row: Partition | None = None
        """The newest assignment; None if the partition belongs to another broker."""
        self.log: PartitionLog | None = None
        self.streams: PartitionStreams | None = None
        self.last: Gate[None] | None = None
        """Opens when the last operation that was requested has ended."""


class Host:
    """``image``: the metadata of this process. ``newer``: waits for the next image. ``ready``: opens when the process
    has recovered its WAL. ``halt``: ends the process.

    In G1 a replica opens the partition, and then asks to lead it. In G0 the last leader asks for that after its close.
    """

    def __init__(
        self,
        tasks: Tasks,
        calls: Calls,
        owned: OwnedStreams,
        identity: Identity,
        image: Callable[[], Image],
        newer: Callable[[], Awaitable[None]],
        ready: Gate[None],
        halt: Callable[[str], None],
        settings: Settings,
    ) -> None:
        self.hosted: dict[Key, HostedPartition] = {}
        self._tasks, self._calls, self._owned, self._identity = tasks, calls, owned, identity
        self._image, self._newer, self._ready, self._halt = image, newer, ready, halt
        self._elects, self._as_built = settings.elects, settings.as_built
        self._known: dict[Key, Partition] = {}
        """The partitions as they were when this process looked last."""
        self._opens, self._closes = Executor(tasks, settings.threads), Executor(tasks, settings.threads)
        if not rule("RA-12", "LP-06" not in self._as_built):
            self._closes = self._opens

    def log(self, key: Key) -> PartitionLog:
        """The log of a partition that this process leads. It opens the log before it leads. Raises RefusedError."""
        hosted = self.hosted.get(key)
        found = None if hosted is None or hosted.row is None else hosted.log
        leads = found is not None and self._image().partitions[key].leader == self._identity.node
        require(leads, "RA-16.leads", E.NOT_LEADER_OR_FOLLOWER)
        if found is None:  # The rule is switched off, and there is nothing to answer from.
            raise RefusedError("RA-16.leads", E.NOT_LEADER_OR_FOLLOWER)
        return found

    # Changes of the metadata (step 2) ---------------------------------------------------------------------------

    def learn(self, batches: Sequence[metadata_log.MetadataBatch]) -> None:
        """Start the opens and closes that follow from new batches of metadata, which the image already includes."""
        changed = (each for batch in batches for each in batch.records if isinstance(each, Partition | PartitionChange))
        keys = {(each.topic, each.partition) for each in changed if self._image().topics.get(each.topic)}  # Elastic.
        after = {key: self._image().partitions[key] for key in keys}
        before = {key: self._known[key] for key in keys if key in self._known}
        self._known |= after
        asked = changes(before, after, self._identity.node, follows=self._elects)
        # The order of opens and closes does not matter, because they have separate threads.
        for row in asked.opens:
            hosted = self.hosted.setdefault((row.topic, row.partition), HostedPartition())
            hosted.row = row
            self._enqueue(hosted, self._opens, partial(self._open, row, hosted))
        for key in asked.closes:
            hosted = self.hosted.setdefault(key, HostedPartition())
            hosted.row = None
            self._enqueue(hosted, self._closes, partial(self._close, key, hosted))

    def _enqueue(self, hosted: HostedPartition, executor: Executor, job: Callable[[], Awaitable[None]]) -> None:
        """Start an operation of a partition after those that came before it (RA-11)."""
        before, hosted.last = hosted.last, Gate(self._tasks)
        self._tasks.start(self._in_turn(before, hosted.last, executor, job))

    async def _in_turn(
        self, before: Gate[None] | None, ended: Gate[None], executor: Executor, job: Callable[[], Awaitable[None]]
    ) -> None:
        await self._ready.wait()
        if before is not None and rule("RA-11", not before.happened):
            await before.wait()
        await executor.enter()
        await job()
        executor.leave()
        ended.open(None)

    # Open (step 6) ----------------------------------------------------------------------------------------------

    async def _open(self, row: Partition, hosted: HostedPartition) -> None:
        """Open a partition. After a failure try again, until the partition belongs to another broker (RA-23)."""
        while not self._is_outdated(row):
            try:
                await self._try_open(row, hosted)
            except OutdatedError:
                break
            except SpentEpochError:
                await self._renew(row)
                break
            except (FailedError, RefusedError) as error:
                self._check(error if isinstance(error, FailedError) else None)
                await self._tasks.sleep(RETRY_MS)
            else:
                return
        if hosted.streams is not None and hosted.log is None:
            self._note("freeze", (row.topic, row.partition))
            await self._close_streams((row.topic, row.partition), hosted)

    async def _try_open(self, row: Partition, hosted: HostedPartition) -> None:
        if hosted.log is not None:
            # The partition came back before this process saw it leave, so its streams are open (RA-13, RA-24).
            await hosted.log.lead(row.leader_epoch)
        else:
            if hosted.streams is None:
                self._note("begin_open", (row.topic, row.partition), leader_epoch=row.leader_epoch)
                hosted.streams = PartitionStreams(self._tasks, self._calls, self._owned, self._identity, row)
            number = await self._meta_stream(row, hosted.streams)
            await self._until_closed(row, number)
            meta = await hosted.streams.open(number)
            hosted.log = await open_log(self._tasks, meta, row.leader_epoch, hosted.streams)
            self._note("serve", (row.topic, row.partition), leader_epoch=row.leader_epoch)
        if self._elects and row.leader < 0:
            self._tasks.start(self._stand((row.topic, row.partition)))

    async def _renew(self, row: Partition) -> None:
        """Ask for a new leader epoch, under which the streams can be opened. It comes with the metadata (PT-04)."""
        identity = self._identity
        renewal = wire.RenewEpoch(identity.node, identity.epoch, row.topic, row.partition, row.leader_epoch)
        self._check(await _failure(self._tasks.start(self._calls.call(renewal))))

    async def _meta_stream(self, row: Partition, streams: PartitionStreams) -> int:
        """Row 1. The meta stream of a partition; the first leader makes it."""
        key = meta_key(row.topic, row.partition)
        known = self._image().kv.get(key)
        if known is None:
            made = await streams.create()
            # If another broker has made one at the same time, the answer has that one.
            answer = await self._calls.call(wire.PutIfAbsent(key, made.to_bytes(8)))
            known = answer.values["value"]
        return int.from_bytes(known)

    async def _until_closed(self, row: Partition, stream: int) -> None:
        """RA-22. Wait until the owner before has closed the meta stream. Raises OutdatedError."""
        while True:
            if self._is_outdated(row):
                raise OutdatedError("the partition was assigned anew")
            stored = self._image().streams.get(stream)
            if stored is not None and rule("RA-22.epoch", stored.epoch > row.leader_epoch):
                raise OutdatedError("a newer owner has the meta stream")
            is_open = stored is not None and stored.state is StreamState.OPENED and stored.epoch < row.leader_epoch
            if not rule("RA-22", is_open):
                return
            await self._newer()

    def _is_outdated(self, row: Partition) -> bool:
        """PT-04. Whether the partition was assigned to another broker, or again to this one, since ``row``."""
        now = self._image().partitions.get((row.topic, row.partition))
        if now is None or self._owned.stopping:
            return True
        is_newer = now.leader_epoch > row.leader_epoch and not self._is_elected(row, now)
        return rule("PT-04", is_newer and "LP-05" not in self._as_built)

    def _is_elected(self, row: Partition, now: Partition) -> bool:
        """Whether the only change is that this broker was elected (RA-24)."""
        return now.replicas == row.replicas and now.leader == self._identity.node

    # Close (step 3) ---------------------------------------------------------------------------------------------

    async def _close(self, key: Key, hosted: HostedPartition) -> None:
        """Close a partition, and ask for the election of its next leader in G0."""
        if hosted.streams is not None:
            self._note("freeze", key)
        # If this fails the flag stays false, and the next leader scans the log. The streams are closed anyway.
        if hosted.log is not None and await _failure(self._tasks.start(hosted.log.close())) is None:
            self._note("flag", key)
        if hosted.streams is not None:
            await self._close_streams(key, hosted)
        if not self._elects:
            await self._ask_for_election(key)

    async def _close_streams(self, key: Key, hosted: HostedPartition) -> None:
        assert hosted.streams is not None, "the partition has streams"
        self._check(await _failure(self._tasks.start(hosted.streams.close())))
        hosted.log = hosted.streams = None
        self._note("end_close", key)

    def _note(self, action: str, key: Key, **values: int) -> None:
        """Emit a step of a partition for the event log."""
        self._tasks.outputs.append(StepEvent(action, {"topic": key[0], "partition": key[1], **values}))

    def _check(self, error: FailedError | None) -> None:
        """Halt if the controller accepts only another process of the node, or a failover worker."""
        if isinstance(error, ControllerError) and error.error in NODE_ERRORS:
            self._halt(f"the controller answers {error.error.name}")

    # Election (step 5) ------------------------------------------------------------------------------------------

    async def _stand(self, key: Key) -> None:
        """Ask to lead an open partition, until it has a leader or belongs to another broker (PT-03)."""
        while True:
            await self._ask_for_election(key)
            await self._tasks.sleep(STAND_MS)
            now, hosted = self._image().partitions[key], self.hosted[key]
            if now.leader >= 0 or hosted.log is None or hosted.row is None:
                return

    async def _ask_for_election(self, key: Key) -> None:
        """Ask for an election once. A refusal is ignored: it may not be needed, or no broker may be active."""
        await _failure(self._tasks.start(self._calls.call(wire.ElectLeader(*key), thrown=FINAL)))

    # Shutdown (PT-06) -------------------------------------------------------------------------------------------

    async def leave(self, go_on: Callable[[], Awaitable[None]]) -> None:
        """Close all partitions, then go on with the shutdown, also if no close ends for LEAVE_MS.

        Before the closes, the controller moves the partitions to other brokers, which begin to wait for the closes.
        """
        if any(each.row is not None for each in self.hosted.values()):
            self._check(await _failure(self._tasks.start(self._drain())))
        for key, hosted in sorted(self.hosted.items(), key=lambda pair: pair[0]):
            hosted.row = None
            self._enqueue(hosted, self._closes, partial(self._close, key, hosted))
        left = [hosted.last for _, hosted in sorted(self.hosted.items()) if hosted.last is not None]
        while left and not rule("PT-06", not await self._one_ends(left)):
            left = [each for each in left if not each.happened]
        await go_on()

    async def _drain(self) -> None:
        """Controlled shutdown: the controller moves the partitions away, some in each pass."""
        node = self._identity.node
        await self._calls.call(wire.SetBroker(node, "shutting_down"))
        moved = 1
        while moved:
            answer = await self._calls.call(wire.DrainBroker(node))
            moved = answer.values["moved"]

    async def _one_ends(self, ends: list[Gate[None]]) -> bool:
        """Wait until one of the gates opens; False if none opens in time."""
        for _ in range(LEAVE_MS // LEAVE_PERIOD_MS):
            if any(each.happened for each in ends):
                return True
            await self._tasks.sleep(LEAVE_PERIOD_MS)
        return False


async def _failure(gate: Gate[Any]) -> FailedError | None:
    """Wait for a gate. Returns its error if it fails, else None."""
    try:
        await gate.wait()
    except FailedError as error:
        return error
    return None


def meta_key(topic: str, partition: int) -> str:
    """The key under which the metadata have the meta stream of a partition (reassignment.md 3)."""
    return f"__partition/{topic}/{partition}"
