"""Step 2 of a move: what a change of the metadata asks of a broker.

The broker compares two images, however many records lie between them. A partition that went away and came back in
between has no close in the answer (RA-13).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from impl.records import Partition
from impl.rules import rule

Key = tuple[str, int]
"""A topic, and the number of a partition in it."""


class Changes(msgspec.Struct, frozen=True):
    """``closes``: the partitions that the broker loses. ``opens``: those that it is to open, as they are now."""

    closes: tuple[Key, ...] = ()
    opens: tuple[Partition, ...] = ()


def changes(before: Mapping[Key, Partition], after: Mapping[Key, Partition], node: int, *, follows: bool) -> Changes:
    """What a broker has to do between two states of the partitions, in the order of their keys.

    ``follows``: whether a replica opens the partition while nobody leads it. It does in G1, where it asks to be elected
    when it can serve; in G0 it waits until it is elected (RA-14). A partition whose leader epoch is as before is left
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
    return Changes(tuple(closes), tuple(opens))


def _is_news(old: Partition, new: Partition, node: int) -> bool:
    """Whether a broker did not have to open the partition under this leader epoch before."""
    return node not in old.replicas or old.leader_epoch != new.leader_epoch
