"""A broker's tasks from the difference of two images of the metadata."""

from __future__ import annotations

import random

import pytest

from impl.broker.partition.assignments import AssignmentChanges, Key, changes
from impl.records import Partition

KEY: Key = ("t", 0)


def row(node: int, leader: int, epoch: int) -> Partition:
    """A partition with one replica."""
    return Partition("t", 0, (node,), (node,), leader, epoch, epoch)


def asked(before: Partition | None, after: Partition | None, node: int, *, follows: bool) -> str:
    """The task of a node: to close, to open, or none."""
    old, new = ({} if each is None else {KEY: each} for each in (before, after))
    found = changes(old, new, node, follows=follows)
    assert (len(found.closes), len(found.opens)) in ((0, 0), (1, 0), (0, 1))
    return "close" if found.closes else "open" if found.opens else ""


@pytest.mark.parametrize(
    ("before", "after", "node", "in_g0", "in_g1"),
    [
        (None, row(1, 1, 0), 1, "open", "open"),
        (row(1, 1, 0), row(2, -1, 1), 1, "close", "close"),
        # In G0 the target waits for its election, in G1 for its streams (RA-14).
        (row(1, 1, 0), row(2, -1, 1), 2, "", "open"),
        (row(2, -1, 1), row(2, 2, 2), 2, "open", "open"),
        # Away and back within one change: no close (RA-13), and a new leader epoch.
        (row(1, 1, 0), row(1, -1, 2), 1, "", "open"),
        (row(1, 1, 0), row(1, 1, 3), 1, "open", "open"),
        (row(1, 1, 0), row(1, 1, 0), 1, "", ""),
        (row(1, 1, 0), None, 1, "close", "close"),
        (row(1, 1, 0), row(2, -1, 1), 3, "", ""),
        (None, None, 1, "", ""),
    ],
)
def test_one_change(before: Partition | None, after: Partition | None, node: int, in_g0: str, in_g1: str) -> None:
    """Each row of step 2."""
    assert asked(before, after, node, follows=False) == in_g0
    assert asked(before, after, node, follows=True) == in_g1


@pytest.mark.parametrize("seed", range(20))
def test_many_partitions(seed: int) -> None:
    """Each partition is decided independently, in the order of the keys."""
    draw = random.Random(seed)
    keys = [(topic, number) for topic in "ab" for number in range(4)]

    def image() -> dict[Key, Partition]:
        found = {}
        for topic, number in keys:
            node = draw.randrange(3)
            if draw.random() < 0.8:
                replicas, epoch = (node,), draw.randrange(3)
                found[topic, number] = Partition(topic, number, replicas, replicas, draw.choice((-1, node)), epoch)
        return found

    before, after = image(), image()
    whole = changes(before, after, 1, follows=True)
    alone = [
        changes({key: before[key]} if key in before else {}, {key: after[key]} if key in after else {}, 1, follows=True)
        for key in keys
    ]
    assert whole == AssignmentChanges(
        tuple(key for each in alone for key in each.closes), tuple(row for each in alone for row in each.opens)
    )
