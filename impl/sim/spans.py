"""Spans of time in a run: who led a partition, and which processes lived and were stopped.

All times are in milliseconds of the cluster's clock.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from impl.metadata.image import Image
from impl.metadata.log import replay
from impl.sim.event_log import AppendedBatch, Event
from impl.sim.partitions.metadata import TOPIC

_ENDS = ("crash", "halt")


class LeaderSpan(msgspec.Struct, frozen=True):
    """From ``begin`` to ``end``, a partition was led by ``node``; -1 for nobody."""

    begin: int
    end: int
    node: int


class ProcessLife(msgspec.Struct):
    """A process from its first event to its end. ``stopped``: the times between SIGSTOP and SIGCONT."""

    name: str
    begin: int
    end: int
    stopped: list[tuple[int, int]]

    @property
    def node(self) -> str:
        """The name of its node: b1 of the process b1.0; a controller, such as c0, has its own name."""
        return self.name.rpartition(".")[0] or self.name


def leaders(events: Iterable[Event], end: int) -> dict[int, tuple[LeaderSpan, ...]]:
    """By partition: who led it when, as the committed metadata have it."""
    image = Image()
    since: dict[int, tuple[int, int]] = {}
    """By partition: its leader, and since when it leads."""
    spans: dict[int, list[LeaderSpan]] = {}
    for at, _, _, subject in events:
        if not isinstance(subject, AppendedBatch) or subject.lost:
            continue
        replay((subject.batch,), image)
        for (topic, number), row in image.partitions.items():
            if topic == TOPIC and (number not in since or since[number][0] != row.leader):
                if number in since:
                    spans.setdefault(number, []).append(LeaderSpan(since[number][1], at, since[number][0]))
                since[number] = row.leader, at
    for number, (leader, begin) in since.items():
        spans.setdefault(number, []).append(LeaderSpan(begin, max(begin, end), leader))
    return {number: tuple(each) for number, each in sorted(spans.items())}


def lives(events: Iterable[Event], end: int) -> tuple[ProcessLife, ...]:
    """The processes in the order of their starts. One whose end no event tells lives to the end."""
    found: dict[str, ProcessLife] = {}
    stopped: dict[str, int] = {}
    for at, name, kind, _ in events:
        # A controller has no event of its start, and may be elected again.
        if kind == "start" or (kind == "elected" and name not in found):
            found[name] = ProcessLife(name, at, max(at, end), [])
        elif name in found and kind in _ENDS:
            found[name].end = at
            if name in stopped:
                found[name].stopped.append((stopped.pop(name), at))
        elif name in found and kind == "pause":
            stopped[name] = at
        elif name in found and kind == "resume" and name in stopped:
            found[name].stopped.append((stopped.pop(name), at))
    for name, at in stopped.items():
        found[name].stopped.append((at, found[name].end))
    return tuple(found.values())


def by_node(found: Iterable[ProcessLife]) -> dict[str, list[ProcessLife]]:
    """The processes of each node, in the order of the names of nodes."""
    nodes: dict[str, list[ProcessLife]] = {}
    for life in found:
        nodes.setdefault(life.node, []).append(life)
    return dict(sorted(nodes.items()))
