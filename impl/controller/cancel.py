"""The cancel of a reassignment: a new record under new epochs, not a return to old ones (reassignment.md 6, 7)."""

from __future__ import annotations

from impl.controller.nodes import owner_of
from impl.controller.registration import (
    NO_LEADER,
    RECOVERED,
    RECOVERING,
    acceptable,
    automatic,
    build,
    in_progress,
    is_active,
    is_elastic,
    is_registered,
    nobody,
    target,
)
from impl.controller.replicas import keeps_origin
from impl.controller.view import Profile, View
from impl.errors import E
from impl.metadata.image import Image
from impl.records import PARTITION_TAG, TOPIC_TAG, Partition, PartitionChange, StreamState
from impl.rules import require, rule


def cancel(view: View, row: Partition) -> PartitionChange | None:
    """The record that cancels the running reassignment of a partition (CA-20)."""
    require(in_progress(view.image, row), "CA-20", E.NO_REASSIGNMENT_IN_PROGRESS)
    return cancel_move(view, row) if is_elastic(view.image, row) else cancel_lists(view, row)


# Elastic partitions ---------------------------------------------------------------------------------------------


def cancel_move(view: View, row: Partition) -> PartitionChange | None:
    """CA-40 to CA-44. The record that gives an elastic partition back to its origin.

    The origin leads at once if it is active and no close is half done (``_is_whole``). Otherwise nobody leads at first.
    """
    origin = row.original[0] if row.original else NO_LEADER
    require(origin != NO_LEADER, "CA-04", E.INVALID_REPLICA_ASSIGNMENT)
    require(is_registered(view.image, origin), "RA-02.registered", E.INVALID_REPLICA_ASSIGNMENT)
    up = is_active(view.image, origin)
    # If neither the origin nor the target is active, the origin is as good as the target (CA-05).
    worth = up or not any(is_active(view.image, broker) for broker in row.replicas)
    require(worth, "CA-43", E.INVALID_REPLICA_ASSIGNMENT)
    wish = target(row, isr=(origin,), replicas=(origin,), recovery=RECOVERED, original=None, marker=None)
    direct = rule("CA-44", up and _is_whole(view.image, row, origin))
    return build(row, wish, acceptable(view) if direct else nobody)


def _is_whole(image: Image, row: Partition, origin: int) -> bool:
    """Whether all streams of a partition are OPENED by its origin, or all are CLOSED."""
    owners = {_holder(image, stream) for stream in _streams_of(image, row)}
    return owners in (set(), {origin}, {None})


def _holder(image: Image, stream: int) -> int | None:
    """The node that has a stream OPENED, None if it is CLOSED."""
    return owner_of(image, stream) if image.streams[stream].state is StreamState.OPENED else None


def _streams_of(image: Image, row: Partition) -> list[int]:
    """The streams that are tagged with a partition."""
    wanted = {TOPIC_TAG: row.topic, PARTITION_TAG: str(row.partition)}
    return [
        stream
        for stream, stored in image.streams.items()
        if wanted.items() <= {tag.key: tag.value for tag in stored.tags}.items()
    ]


# Lists of replicas ----------------------------------------------------------------------------------------------


def cancel_lists(view: View, row: Partition) -> PartitionChange | None:
    """CA-21 to CA-27. The record that reverts to the replicas that no start has added, or to the original list."""
    kept = _kept(view.profile, row)
    require(bool(kept), "CA-22.replicas", E.INVALID_REPLICA_ASSIGNMENT)
    isr = tuple(broker for broker in row.isr if broker in kept)
    unclean = not isr
    isr = isr or kept[:1]  # Unclean: no kept replica is in sync. Refused below, unless the profile allows it.
    if view.profile.cancel == "H":
        _check_cost(view, row, kept, isr)
    require(not unclean or view.profile.unclean_election, "CA-22", E.INVALID_REPLICA_ASSIGNMENT)
    recovery = row.leader_recovery_state
    if rule("CA-25", unclean and view.profile.cancel == "H" and "CA-25" not in view.profile.as_built):
        recovery = RECOVERING
    wish = target(row, isr=isr, replicas=kept, adding=(), removing=(), recovery=recovery, original=None)
    return build(row, wish, acceptable(view), automatic(view.profile))


def _kept(profile: Profile, row: Partition) -> tuple[int, ...]:
    """The replicas after a cancel, in their order. Without its original list a reassignment goes on (CA-04)."""
    if keeps_origin(profile):
        require(bool(row.original), "CA-04", E.INVALID_REPLICA_ASSIGNMENT)
        return row.original or ()
    return tuple(broker for broker in row.replicas if broker not in row.adding_replicas)


def _check_cost(view: View, row: Partition, kept: tuple[int, ...], isr: tuple[int, ...]) -> None:
    """CA-26. Refuse a cancel that leaves no active replica to lead (CA-05), or takes the ISR below ``min_insync``.

    A partition that has no active member in its ISR, or too small an ISR, has nothing to lose in that respect.
    """
    alive = any(is_active(view.image, broker) for broker in kept)
    online = any(is_active(view.image, broker) for broker in row.isr)
    require(alive or not online, "CA-26.alive", E.INVALID_REPLICA_ASSIGNMENT)
    enough = len(isr) >= view.profile.min_insync
    require(enough or len(row.isr) < view.profile.min_insync, "CA-26.min_isr", E.INVALID_REPLICA_ASSIGNMENT)
