"""Writes the log of route epochs of a run, in the form that ``holdfast conform route_epoch`` reads as it is.

The lines are steps of the variant ``log_grain`` of the model. A main is a node, and a proxy is a process. Some lines do
not stand at the point of their own effect:

- A main ends where a recovery of its WAL closes its streams, or where its next process begins to serve, or where the
  controller commits an epoch without waiting for it. Until then it is like a slow main. What its old process does after
  that has no lines, unless a link of it counts.
- A process that puts no record into its channel is no proxy.
- An append begins where its link becomes durable. A link that is neither acknowledged nor ever uploaded has no line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from impl.sim.conformance.mains import Mains
from impl.sim.conformance.route_events import RouteEvent, route_events
from impl.sim.event_log import EventLog

HEADER = {
    "holdfast": "log",
    "version": 1,
    "model": "RouteEpoch",
    "variants": ["log_grain"],
    # The epochs of the log are one more than those of the system, as the model's are.
    "literals": {"Epoch": {"1": 1, "2": 2}},
}


def route_log(log: EventLog) -> bytes:
    """The log of a run with zones, one JSON object a line."""
    found = route_events(log.events)
    encode = msgspec.json.Encoder().encode
    lines = [encode(HEADER)]
    for number, (index, line) in enumerate(_lines(found), start=1):
        time = log.events[index][0] * 1_000
        lines.append(encode({"source": "cluster", "seq": number, "t": [time, time], **line}))
    return b"\n".join([*lines, b""])


def _lines(events: Sequence[RouteEvent]) -> list[tuple[int, dict[str, Any]]]:
    mains, lines = Mains({event.source for event in events if event.kind == "send_batch"}), []
    for event in events:
        mains.take(event)
        lines += [(event.index, line) for line in mains.lines]
        mains.lines.clear()
    return lines
