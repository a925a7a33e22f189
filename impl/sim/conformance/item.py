"""One item of a request that was executed, and the state of the controller after it."""

from __future__ import annotations

from typing import Any

import msgspec

from impl.errors import E
from impl.records import StreamState
from impl.sim.conformance.lines import Who
from impl.sim.event_log import ExecutedRequest

Post = tuple[int, Any, Any, Any]
"""A stream after a request, as in ``ExecutedRequest.post``."""


class Item(msgspec.Struct, frozen=True):
    """One item of a request that was executed at the event ``index``.

    ``name``: the process that has sent it. ``who``: that process, as the line names it. ``changed``: whether the
    request has written a batch.
    """

    index: int
    name: str
    who: Who
    error: E
    changed: bool

    @property
    def taken(self) -> bool:
        """Whether it was not refused."""
        return self.error is E.NONE

    @property
    def effective(self) -> bool:
        """Whether it was taken, and has changed something."""
        return self.taken and self.changed

    @property
    def suffix(self) -> str:
        """The suffix of its kind, which tells why a model may not read its line; "" if it may."""
        return ":refused" if not self.taken else "" if self.changed else ":repeated"


def stored_node(executed: ExecutedRequest, who: Who, epoch: int) -> dict[str, Any]:
    """The state of a node at the controller after a registration. The log may have another number for ``epoch``."""
    assert executed.stored is not None, "the node has registered"
    found, failover = executed.stored
    return {"nodeEpoch": who["nodeEpoch"] if found == epoch else found, "failover": failover}


def stored_stream(post: Post) -> dict[str, Any]:
    """The state of an existing stream at the controller."""
    _, row, newest, entry = post
    state = {
        "opened": row.state is StreamState.OPENED,
        "epoch": row.epoch,
        "start": row.start,
        "end": row.end,
        "entryFrom": 0 if entry is None else entry.start,
        "entryTo": 0 if entry is None else entry.to,
    }
    if newest is not None:
        state |= {"node": newest.node, "rangeStart": newest.start, "rangeEnd": newest.end}
    return state
