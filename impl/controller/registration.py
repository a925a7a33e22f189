"""The registration of a partition, and the builder of the record that changes it (reassignment.md 1).

Every path builds its record here: starts, cancels, elections, AlterPartition, fencing. An elastic partition belongs to
an elastic topic: its one replica is its whole ISR, and its data is in streams.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import msgspec

from impl.controller.view import Profile, View
from impl.metadata.image import Image
from impl.records import Partition, PartitionChange
from impl.rules import rule

NO_LEADER = -1
RECOVERED, RECOVERING = 0, 1

Acceptable = Callable[[int], bool]
"""Whether a broker may become leader."""


class ElectionKind(Enum):
    """The order in which an election tries brokers, and whether it may leave the ISR."""

    ONLINE = "online"
    PREFERRED = "preferred"
    UNCLEAN = "unclean"


class TargetRegistration(msgspec.Struct, frozen=True):
    """The input of the builder: the registration that a path asks for, before a completion and an election change it.

    ``original``: the replicas before the first start (CA-27). ``marker``: the leader epoch that began with the move of
    an elastic partition (CA-41). None if no reassignment is pending.
    """

    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    recovery: int
    original: tuple[int, ...] | None
    marker: int | None


def target(row: Partition, **changed: Any) -> TargetRegistration:
    """The present registration, with the given fields changed."""
    return TargetRegistration(
        **{
            "isr": row.isr,
            "replicas": row.replicas,
            "adding": row.adding_replicas,
            "removing": row.removing_replicas,
            "recovery": row.leader_recovery_state,
            "original": row.original,
            "marker": row.marker,
            **changed,
        }
    )


# The image of a partition ---------------------------------------------------------------------------------------


def label(topic: str, partition: int) -> str:
    """The name of a partition in answers."""
    return f"{topic}-{partition}"


def is_active(image: Image, broker: int) -> bool:
    """Whether a broker is registered, not fenced, and not in controlled shutdown (reassignment.md 0)."""
    return image.brokers.get(broker) == "active"


def is_registered(image: Image, broker: int) -> bool:
    """Whether a broker is registered, in whatever state."""
    return image.brokers.get(broker, "gone") != "gone"


def is_elastic(image: Image, row: Partition) -> bool:
    """Whether the data of a partition is in streams."""
    return image.topics.get(row.topic, False)


def exists(image: Image, topic: str, partition: int) -> bool:
    """Whether the image has the partition."""
    return (topic, partition) in image.partitions


def find(image: Image, topic: str, partition: int) -> Partition:
    """The registration of a partition. A missing partition has a registration without replicas.

    So an operation goes on where a test has switched off the guard against missing partitions.
    """
    return image.partitions.get((topic, partition)) or Partition(topic, partition, (), (), NO_LEADER)


def in_progress(image: Image, row: Partition) -> bool:
    """Whether a reassignment is running, by the lists (RA-40) or, for an elastic partition, by the marker (CA-41)."""
    if is_elastic(image, row):
        return row.marker is not None
    return bool(row.adding_replicas or row.removing_replicas)


def automatic(profile: Profile) -> ElectionKind:
    """The kind of an election that nobody asked for."""
    return ElectionKind.UNCLEAN if profile.unclean_election else ElectionKind.ONLINE


def acceptable(view: View) -> Acceptable:
    """The usual condition of a leader: its broker is active."""
    return lambda broker: is_active(view.image, broker)


def nobody(broker: int) -> bool:  # noqa: ARG001 - the shape of an Acceptable
    """RA-04. No broker may lead, so the builder sets the leader to none."""
    return False


# The builder ----------------------------------------------------------------------------------------------------


def build(
    row: Partition, wish: TargetRegistration, may_lead: Acceptable, kind: ElectionKind = ElectionKind.ONLINE
) -> PartitionChange | None:
    """The record that changes a registration to the target; None if nothing changes. Steps 1 to 6 of reassignment.md 1.

    ``may_lead``: the brokers that the election may choose. Step 5 concerns metadata levels below 3.6, which AutoMQ's
    generations do not have. ELR is off.
    """
    wish = _finish(wish)
    leader, wish = _elect(row, wish, may_lead, kind)
    fields: dict[str, Any] = {}
    dropped = any(broker not in wish.replicas for broker in row.replicas)
    # Step 3: a new leader epoch tells the dropped brokers, and all that wait under the old epoch, of the change.
    if leader != row.leader or rule("RA-05", dropped):
        fields["leader"] = leader
    if wish.isr and wish.isr != row.isr:
        fields["isr"] = wish.isr
    _write_changed(fields, row, wish)
    # A change of the origin alone writes no record, so the origin comes after this test.
    if not fields:
        return None
    _write_origin(fields, row, wish, leader)
    return PartitionChange(row.topic, row.partition, **fields)


def _finish(wish: TargetRegistration) -> TargetRegistration:
    """Step 1. The reassignment completes if every replica that stays is in sync (RA-44)."""
    if not (wish.adding or wish.removing):
        return wish
    isr = _without(wish.isr, wish.removing)
    replicas = _without(wish.replicas, wish.removing)
    if wish.removing and not (isr and replicas):  # Without the removed replicas, nothing would be left.
        return wish
    if rule("RA-44", not set(replicas) <= set(isr)):
        return wish
    return msgspec.structs.replace(wish, isr=isr, replicas=replicas, adding=(), removing=())


def _elect(
    row: Partition, wish: TargetRegistration, may_lead: Acceptable, kind: ElectionKind
) -> tuple[int, TargetRegistration]:
    """Step 2. The elected leader, and the target, in which an unclean election makes the leader the whole ISR."""
    # A leader that may stay comes first, so that it stays. NO_LEADER is in no ISR.
    candidates = (row.leader, *wish.replicas)
    if kind is ElectionKind.PREFERRED:
        candidates = (*wish.replicas[:1], *candidates)
    for broker in candidates:
        if broker in wish.isr and may_lead(broker):
            return broker, wish
    if kind is ElectionKind.UNCLEAN:
        for broker in wish.replicas:
            if may_lead(broker):
                return broker, msgspec.structs.replace(wish, isr=(broker,), recovery=RECOVERING)
    return NO_LEADER, wish


def _write_changed(fields: dict[str, Any], row: Partition, wish: TargetRegistration) -> None:
    """Step 6. Write the other fields that have changed."""
    if wish.replicas != row.replicas:
        fields["replicas"] = wish.replicas
    if wish.removing != row.removing_replicas:
        fields["removing_replicas"] = wish.removing
    if wish.adding != row.adding_replicas:
        fields["adding_replicas"] = wish.adding
    if wish.recovery != row.leader_recovery_state:
        fields["leader_recovery_state"] = wish.recovery


def _write_origin(fields: dict[str, Any], row: Partition, wish: TargetRegistration, leader: int) -> None:
    """Write the origin. A record that completes a reassignment (CA-27), or sets the leader (CA-41), clears it."""
    original, marker = wish.original, wish.marker
    if marker is not None and rule("CA-41", leader != NO_LEADER):
        original = marker = None
    if marker is None and not (wish.adding or wish.removing):
        original = None
    # In a record None means "not changed", so () and -1 stand for "none".
    if original != row.original:
        fields["original"] = original or ()
    if marker != row.marker:
        fields["marker"] = NO_LEADER if marker is None else marker


def _without(brokers: tuple[int, ...], dropped: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(broker for broker in brokers if broker not in dropped)
