"""Compaction: merges stream set objects, and moves large streams into stream objects (CP-01 to CP-03).

A compaction puts new objects, and one commit replaces the old objects by them. It never deletes an object itself,
because it may never learn whether its commit took effect. The controller destroys the unused objects (OB-04).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from impl import wire
from impl.broker.calls import NODE_ERRORS, ControllerError
from impl.broker.messages import Identity
from impl.broker.object_copy import Caller, Copier, Source, is_covered
from impl.broker.object_index import Index, decode_index, runs_of
from impl.broker.stream_compaction import compact_stream
from impl.controller.commits import CommittedObject, SetCommit
from impl.controller.continuity import CommittedRange
from impl.controller.objects import NOOP
from impl.metadata.image import Image, Stream
from impl.rules import rule
from impl.store.bucket import Bucket
from impl.tasks import FailedError, Tasks

TTL_MS = 86_400_000
"""How long a prepared object of a compaction of stream set objects is kept (OB-01)."""
ORDER_OF_INPUTS = -1
"""With this order in a commit, the controller gives the output the least order of its inputs (CS-04)."""


class CompactionLimits(msgspec.Struct, frozen=True):
    """The limits of compactions.

    - ``split``: a stream with at least this many bytes in the inputs gets stream objects.
    - ``split_age_ms``: an object with data at least this old is split into stream objects.
    - ``inputs``: the maximum number of objects of a round.
    - ``stream_objects``: the maximum number of stream objects of a commit.
    - ``merged``: the maximum number of bytes of a merged stream object.
    - ``interval_ms``: the time between two rounds of compaction.
    """

    split: int = 8 << 20
    split_age_ms: int = 7_200_000
    inputs: int = 500
    stream_objects: int = 10_000
    merged: int = 1 << 30
    interval_ms: int = 300_000


class CompactionPlan(msgspec.Struct, frozen=True):
    """The outputs of a compaction. ``alone``: runs of blocks; each run gets a stream object.

    ``together``: the blocks of one stream set object.
    """

    alone: list[list[Source]]
    together: list[Source]

    @property
    def count(self) -> int:
        """The number of outputs."""
        return len(self.alone) + bool(self.together)


class Compactor:
    """Compacts the objects of a node. ``image``: the newest image of the node.

    ``halt``: called with the reason if the controller accepts only another process of the node.
    """

    def __init__(
        self,
        tasks: Tasks,
        bucket: Bucket,
        calls: Caller,
        identity: Identity,
        image: Callable[[], Image],
        halt: Callable[[str], None],
        *,
        limits: CompactionLimits = CompactionLimits(),  # noqa: B008 - frozen
    ) -> None:
        self._tasks, self._calls, self._identity = tasks, calls, identity
        self._image, self._limits, self._halt = image, limits, halt
        self._copier = Copier(bucket, calls)

    async def run(self, epochs: Callable[[], dict[int, int]]) -> None:
        """Compact for ever. ``epochs``: the streams that the process owns, each with its epoch.

        A round that fails changes nothing, and the next one tries again (CP-03).
        """
        while True:
            await self._tasks.sleep(self._limits.interval_ms)
            await self.compact_sets()
            for stream, epoch in epochs().items():
                await self.compact_stream(stream, epoch)

    async def compact_sets(self) -> bool:
        """Do one round over the stream set objects of the node (CP-01).

        Returns whether the round committed something; False if it failed. A failure does no harm, and the commits
        before it stand (CP-03).
        """
        held = sorted(
            self._image().set_objects.get(self._identity.node, {}).items(), key=lambda pair: (pair[1].order, pair[0])
        )[: self._limits.inputs]
        ages = {each: self._tasks.now - row.data_time for each, row in held}
        old = [each for each, age in ages.items() if age >= self._limits.split_age_ms]
        young = [each for each in ages if each not in old]
        done = False
        try:
            # With a split of 0 bytes, every stream gets stream objects.
            for each in old:
                done = await self._compact([each], 0) or done
            if young:
                done = await self._compact(young, self._limits.split) or done
        except FailedError as error:
            self._check(error)
            return False
        return done

    async def compact_stream(self, stream: int, epoch: int) -> bool:
        """Do one round over the stream objects of a stream that the node owns under an epoch (CP-02).

        Returns whether there was anything to do; False if the round failed. A failure does no harm (CP-03).
        """
        try:
            return await compact_stream(
                self._image(), self._copier, self._calls, self._identity, stream, epoch, self._limits.merged
            )
        except FailedError as error:
            self._check(error)
            return False

    def _check(self, error: FailedError) -> None:
        if isinstance(error, ControllerError) and error.error in NODE_ERRORS:
            self._halt(f"a compaction failed: {error.error.name}")

    async def _compact(self, inputs: list[int], split: int) -> bool:
        """Replace objects by new ones, with the blocks that streams still need. Returns whether that was committed.

        A stream with at least ``split`` bytes gets stream objects.
        """
        found: list[Source] = []
        for each in inputs:
            found += await self._copier.sources(each, self._size(each))
        image = self._image()
        kept = [source for source in found if rule("CP-01.live", _is_live(image, source))]
        plan = make_plan(kept, split, self._limits.stream_objects)
        # The only output would be a copy of the only input.
        if len(inputs) == 1 and len(kept) == len(found) and not plan.alone:
            return False
        commit, outputs = await self._write(plan, inputs)
        if rule("CP-01.sanity", not is_covered(kept, outputs)):
            return False
        await self._calls.call(wire.CommitStreamSetObject(commit))
        return True

    async def _write(self, plan: CompactionPlan, inputs: list[int]) -> tuple[SetCommit, list[Index]]:
        """Put the outputs of a plan. Returns the commit for the caller to send, and the indexes of the outputs."""
        first = await self._copier.prepare(plan.count, TTL_MS)
        outputs: list[Index] = []
        shared, size, ranges = NOOP, 0, list[CommittedRange]()
        if plan.together:
            shared, first = first, first + 1
            data = await self._copier.copy(plan.together, shared)
            size = len(data)
            index = decode_index(data, size)
            outputs.append(index)
            ranges = [CommittedRange(stream, *span) for stream in index.streams for span in index.spans(stream)]
        objects: list[CommittedObject] = []
        for object_id, run in enumerate(plan.alone, first):
            data = await self._copier.copy(run, object_id)
            outputs.append(decode_index(data, len(data)))
            objects.append(CommittedObject(object_id, run[0].block.stream, run[0].start, run[-1].end, len(data)))
        commit = SetCommit(
            self._identity.node,
            self._identity.epoch,
            shared,
            ORDER_OF_INPUTS,
            size,
            failover=self._identity.failover,
            ranges=tuple(ranges),
            stream_objects=tuple(objects),
            compacted=tuple(inputs),
        )
        return commit, outputs

    def _size(self, object_id: int) -> int:
        stored = self._image().objects.get(object_id)
        return 0 if stored is None else stored.size


def make_plan(sources: list[Source], split: int, most: int) -> CompactionPlan:
    """The outputs for blocks: at most ``most`` stream objects, only for streams with at least ``split`` bytes."""
    streams: dict[int, list[Source]] = {}
    for source in sources:
        streams.setdefault(source.block.stream, []).append(source)
    plan = CompactionPlan([], [])
    for stream in sorted(streams):
        held = sorted(streams[stream], key=lambda source: (source.start, source.end))
        runs = runs_of(held)
        if sum(source.block.size for source in held) >= split and len(plan.alone) + len(runs) <= most:
            plan.alone.extend(runs)
        else:
            plan.together.extend(held)
    return plan


def _is_live(image: Image, source: Source) -> bool:
    """Whether a stream still needs a block."""
    block = source.block
    return block.stream in image.streams and block.end > image.streams.get(block.stream, Stream()).start
