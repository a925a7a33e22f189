"""Step 2 of a move: the opens and closes of a broker that follow from a change of the metadata.

The broker compares two images, however many records lie between them. If a partition went away and came back between
the two images, the broker does not close it (RA-13).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from impl.records import Partition
from impl.rules import rule

Key = tuple[str, int]
"""A topic, and the number of a partition in it."""


class AssignmentChanges(msgspec.Struct, frozen=True):
    """``closes``: the partitions that the broker loses. ``opens``: the new rows of partitions that it has to open."""

    closes: tuple[Key, ...] = ()
    opens: tuple[Partition, ...] = ()


def changes(
    before: Mapping[Key, Partition], after: Mapping[Key, Partition], node: int, *, follows: bool
) -> AssignmentChanges:
    """The opens and closes of a broker between two states of the partitions, in the order of their keys.

    ``follows``: whether a replica opens the partition while it has no leader. In G1 it does, and asks to be elected
    when it can serve. In G0 it waits until it is elected (RA-14). A partition with an unchanged leader epoch is left
    out: the broker has it open under that epoch, or is about to open it.
    """
    closes: list[Key] = []
    opens: list[Partition] = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if new is None or node not in new.replicas:
            if old is not None and node in old.replicas:
                closes.append(key)
        elif (new.leader == node or rule("RA-14", follows)) and (old is None or _is_news(old, new, node)):
            opens.append(new)
    return AssignmentChanges(tuple(closes), tuple(opens))


def _is_news(old: Partition, new: Partition, node: int) -> bool:
    """Whether the broker has not been asked before to open the partition under this leader epoch."""
    return node not in old.replicas or old.leader_epoch != new.leader_epoch
