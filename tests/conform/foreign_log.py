"""A log of a system with a format of its own, and the sketch of its mapping."""

from __future__ import annotations

from typing import Any

from holdfast.ir.errors import Place

SKETCH = """\
model: ownership              # optional
variants: [hears_late]
source: {format: ndjson, when: event, time: ts, seq: n, source: broker, cause: after}
literals: {NodeEpoch: {1: 1000}}
tables:
  codes: {0: NONE, 7: REQUEST_TIMED_OUT, 9: FENCED}
events:
  ack: {action: append, p: [node, node_epoch], s: stream, span: [base, end],
        post: {next_offset: {stream: end}}, note: "why the grain differs"}
  fence:
    action: fence_node
    n: data.node
    e: data.ranges.0.end - 1
    heard: true
ignore: [heartbeat]
hidden: [reserve]
outcome: {field: "codes[code]", taken: [NONE], unknown: [REQUEST_TIMED_OUT]}
"""
AT = Place("x.log", 7)


def line(event: str = "ack", ts: Any = 5, n: Any = 1, broker: Any = 4, **more: Any) -> dict[str, Any]:
    """A line of the foreign log."""
    return {"event": event, "ts": ts, "n": n, "broker": broker, **more}
