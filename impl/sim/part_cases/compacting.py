"""Runs of compactions over random objects, some of which have a defect, with crashes, faults and changes in between.

The judge reads each batch before and after a round: what could be read can be read (CP-01 to CP-03). A node that does
not own a stream changes nothing of it (CP-02).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from impl import wire
from impl.broker.calls import ControllerError
from impl.broker.compaction import CompactionLimits, Compactor
from impl.broker.messages import Identity
from impl.errors import E
from impl.metadata.rows import StreamObject
from impl.sim.part_cases.object_cluster import HOUR_MS, NODES, ObjectCluster
from impl.sim.tape import Draw, one
from impl.sim.violation import PartViolation
from impl.store.bucket import Bucket
from impl.store.interface import Get, Operation, Put, Unsure
from impl.tasks import Job, Tasks

EVENTS, ROUNDS = (2, 6, 14), 3
MERGED = (400, 1 << 30)
"""The most bytes of a merged object."""
RETRY_MS = 2_000
"""More than the time between two attempts of an operation of the store."""


class CompactionProcess:
    """A process of a node that compacts. ``sent``: its requests and operations, without the reads of objects."""

    def __init__(self, draw: Draw, cluster: ObjectCluster, identity: Identity) -> None:
        self.sent: list[object] = []
        self.is_disturbed = False
        """Whether something else happened during a round, or a request failed."""
        self._draw, self._cluster = draw, cluster
        self._tasks = Tasks(cluster.controller.now)
        limits = CompactionLimits(
            split=one(draw, (1, 60, 1 << 20)),
            split_age_ms=2 * HOUR_MS,
            inputs=one(draw, (2, 500)),
            stream_objects=one(draw, (2, 10_000)),
            merged=one(draw, MERGED),
        )
        bucket = Bucket(self._tasks, lambda number, operation: (number, operation))
        self.compactor = Compactor(
            self._tasks, bucket, self, identity, lambda: cluster.image, lambda reason: None, limits=limits
        )

    @property
    def has_done_nothing(self) -> bool:
        """Whether a round asked for no commit, though nothing disturbed it and no object has a defect."""
        asked = any(isinstance(each, wire.CommitStreamSetObject | wire.CommitStreamObject) for each in self.sent)
        return not (asked or self.is_disturbed or self._cluster.has_defects)

    async def call(self, body: wire.Body) -> wire.ItemAnswer:
        """Call the controller, once."""
        answer: wire.ItemAnswer = await self._tasks.ask(lambda number: (number, body))
        if answer.error is not E.NONE:
            raise ControllerError(answer.error)
        return answer

    def run(self, job: Job[bool]) -> None:
        """Run a round to its end, or to a crash. Now and then something else happens in between."""
        draw, cluster = self._draw, self._cluster
        is_calm, dies = draw() < 0.5, draw() < 0.1
        # Against one kind of puts, no attempt has a known outcome.
        lost = not is_calm and draw() < 0.3
        gate = self._tasks.start(job)
        while not gate.happened:
            for number, body in self._tasks.run(cluster.controller.now):
                if not isinstance(body, Get):
                    self.sent.append(body)
                if not is_calm and draw() < 0.1:
                    self.is_disturbed = True
                    cluster.change()
                if dies and draw() < 0.2:
                    self._tasks.crash()
                    self.is_disturbed = True
                    return
                self._tasks.answer(number, self._answer(body, is_lost=lost))
            if self._tasks.due is not None:
                cluster.controller.advance(RETRY_MS)

    def _answer(self, body: Any, *, is_lost: bool) -> object:
        if not isinstance(body, Operation):
            return self._cluster.answer(body)
        if is_lost and isinstance(body, Put):
            self.is_disturbed = True
            if self._draw() < 0.3:
                self._cluster.store.execute(body)
            return Unsure("no answer")
        return self._cluster.store.execute(body)


def judged(draw: Draw) -> PartViolation | None:
    """Make some rounds of compaction, and tell the first violation; None if there is none."""
    cluster = ObjectCluster(draw)
    for _ in range(1 + int(draw() * ROUNDS)):
        for _ in range(one(draw, EVENTS)):
            cluster.change()
        found = _judged_round(draw, cluster)
        if found is not None:
            return found
    return None


def _have_neighbours(cluster: ObjectCluster, held: dict[int, StreamObject]) -> bool:
    """Whether two objects of a stream are next to each other, and small enough to be one."""
    sizes = {each: cluster.image.objects[each].size for each in held}
    there = sorted((row.start, row.end, sizes[each]) for each, row in held.items())
    return any(end == start and one + other <= MERGED[0] for (_, end, one), (start, _, other) in pairwise(there))


def _judged_round(draw: Draw, cluster: ObjectCluster) -> PartViolation | None:
    before = cluster.readable()
    if draw() < 0.5 or not cluster.records:
        node = one(draw, [each for each in NODES if cluster.image.set_objects.get(each)] or NODES)
        process = CompactionProcess(draw, cluster, Identity(node, one(draw, (0, 1, 1, 1))))
        held_sets = len(cluster.image.set_objects.get(node, {}))
        process.run(process.compactor.compact_sets())
        if held_sets > 1 and process.has_done_nothing:
            return PartViolation("CP-01", "a compaction of several objects commits nothing")
        return _judged_loss(draw, cluster, before, "CP-01")
    stream = one(draw, sorted(cluster.records))
    owner = cluster.owner(stream)
    node, epoch = owner
    if draw() < 0.4:
        # No process has an epoch below 0, with which the controller would not look for the owner (CO-03).
        node, epoch = one(draw, ((1 - node, epoch), (node, max(epoch - 1, 0)), (node, epoch + 1)))
    held = dict(cluster.image.stream_objects.get(stream, {}))
    has_neighbours = _have_neighbours(cluster, held)
    process = CompactionProcess(draw, cluster, Identity(node, 1))
    process.run(process.compactor.compact_stream(stream, epoch))
    now = cluster.image.stream_objects.get(stream, {})
    if (node, epoch) != owner:
        if now != held and not process.is_disturbed:
            return PartViolation("CP-02", "a node replaces objects of a stream that it does not own")
        if process.sent:
            return PartViolation(
                "CP-02", "a node puts objects, or asks the controller, for a stream that it does not own"
            )
    elif process.has_done_nothing and has_neighbours:
        return PartViolation("CP-02", "a compaction of objects next to each other commits nothing")
    elif not process.is_disturbed and any(each.end <= cluster.image.streams[stream].start for each in now.values()):
        return PartViolation("CP-02", "the owner of a stream keeps an object that ends below the start")
    return _judged_loss(draw, cluster, before, "CP-02")


def _judged_loss(
    draw: Draw, cluster: ObjectCluster, before: dict[tuple[int, int], int], label: str
) -> PartViolation | None:
    """What could be read before a round can be read, also when the store has lost all objects that are not used."""
    if draw() < 0.5:
        cluster.sweep()
    after = cluster.readable()
    for place, end in before.items():
        stream = place[0]
        if place not in after and stream in cluster.records and end > cluster.image.streams[stream].start:
            return PartViolation(label, "a compaction loses a batch that could be read")
    return None
