"""Runs of a controller with thousands of objects, which it deletes in rounds of limited size (OB-04, OB-05)."""

from __future__ import annotations

from impl.controller.node import Controller
from impl.controller.view import Profile
from impl.metadata.log import MetadataBatch
from impl.records import MetadataRecord, ObjectState, S3Object
from impl.sim.tape import Draw
from impl.sim.violation import PartViolation
from impl.wire import CommitNotice, DeleteObjects, DeletionNotice, WakeNotice

ROUND, ROUND_MS = 2_000, 1_000
"""The most objects of a round, and the time between two rounds (streams.md 14)."""
GROUPS, LARGEST = 4, 5_000


def judged(draw: Draw) -> PartViolation | None:
    """Mark groups of objects, or let them expire, and tell the first one that is deleted too early or too late."""
    retention = (2 + int(draw() * 6)) * ROUND_MS
    controller = Controller(Profile(object_retention_ms=retention))
    groups = [(int(draw() * 12) * ROUND_MS, draw() < 0.6, 1 + int(draw() ** 2 * LARGEST)) for _ in range(GROUPS)]
    total = sum(size for _, _, size in groups)
    # All groups may wait for their rounds at once, once when they expire, and once when they are deleted.
    rounds_ms = (2 + -(-total // ROUND)) * ROUND_MS
    marked: dict[int, int] = {}
    for now in range(0, 12 * ROUND_MS + 3 * retention + 3 * rounds_ms, ROUND_MS):
        for number, (at, is_marked, size) in enumerate(groups):
            if at == now:
                ids = range(number * LARGEST, number * LARGEST + size)
                _store(controller, ids, now, is_marked=is_marked)
                # A prepared object expires in the first round after its deadline, which is now.
                marked |= dict.fromkeys(ids, now if is_marked else now + ROUND_MS)
        found = _round(controller, marked, now, retention, 2 * retention + 2 * rounds_ms)
        if found is not None:
            return found
    return None


def _store(controller: Controller, ids: range, now: int, *, is_marked: bool) -> None:
    state = ObjectState.MARK_DESTROYED if is_marked else ObjectState.PREPARED
    records: tuple[MetadataRecord, ...] = tuple(S3Object(each, 1, state, now) for each in ids)
    controller.log.commit(controller.log.append(MetadataBatch(records, 0, now)))


def _round(controller: Controller, marked: dict[int, int], now: int, least: int, most: int) -> PartViolation | None:
    """A round of the controller, and what it does wrongly. ``least``, ``most``: how long a marked object may stay."""
    for each in controller.handle(WakeNotice(), now):
        if not isinstance(each, DeleteObjects):
            continue
        if len(each.objects) > ROUND:
            return PartViolation("OB-05", "a round deletes more objects than it may")
        if any(now - marked[number] <= least for number in each.objects):
            return PartViolation("OB-05", "an object is deleted before its retention is over")
        controller.handle(DeletionNotice(each.objects), now)
    controller.handle(CommitNotice(0, controller.log.end), now)
    if any(now - at > most and number in controller.image.objects for number, at in marked.items()):
        return PartViolation("OB-05", "an object is there for longer than twice its retention")
    return None
