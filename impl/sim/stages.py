"""The common parts of all heal phases: conditions that hold one after the other, and clients that probe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from impl.metadata.image import Image
from impl.sim.queue import Queue
from impl.sim.script import ScriptOperation

POLL_MS = 100
HANDOVERS = 3
"""The least number of hand-overs of a run. The heal phase adds those that the script has not led to."""


def missing_of(
    stages: Sequence[tuple[str, Callable[[], bool]]], queue: Queue, advance: Callable[[int], None], bound_ms: int
) -> str:
    """Run events until all conditions hold, one after the other. Returns the first that does not hold in time.

    The result is "" if all hold. ``stages``: pairs of a text, which tells what is missing, and the condition. The first
    is that the clients have ended, and the last that everything can be read. ``advance`` runs events up to a time.
    ``bound_ms``: the virtual time for all conditions together. If the clients have not ended by then, the others get
    this time once more, and one of them that does not hold is the result.
    """
    clients, *_ = stages[0]
    missing = _first_missing(stages, queue, advance, bound_ms)
    if missing != clients:
        return missing
    # Clients that have many operations left do not end while some partition waits. The other conditions tell for what.
    # Nothing is read: what clients append meanwhile is behind the end of such a read, and would count as lost.
    return _first_missing(stages[1:-1], queue, advance, bound_ms) or clients


def _first_missing(
    stages: Sequence[tuple[str, Callable[[], bool]]], queue: Queue, advance: Callable[[int], None], bound_ms: int
) -> str:
    bound = queue.now + bound_ms
    for name, holds in stages:
        while not holds():
            if queue.now >= bound:
                return name
            advance(queue.now + POLL_MS)
    return ""


def is_drained(image: Image) -> bool:
    """Whether no node has a sealed entry that it still has to commit (CK-03)."""
    entries = ((node, stream) for node, streams in image.entries.items() for stream in streams)
    return all(image.active_entry(node, stream) is None for node, stream in entries)


class ProbingClient(Protocol):
    """A client that does some operations. ``failed``: how many have not succeeded."""

    ended: bool
    failed: int


class Probe:
    """Tries again and again whether clients can do some operations. ``spawn`` starts one with them in a phase."""

    def __init__(self, spawn: Callable[[list[ScriptOperation], str], ProbingClient]) -> None:
        self._spawn = spawn
        self._clients: list[ProbingClient] = []

    def succeeds(self, make: Callable[[], list[ScriptOperation]], phase: str, clients: int = 1) -> bool:
        """Whether each of some new clients has done all operations; others try after a failure."""
        if not self._clients:
            self._clients = [self._spawn(make(), phase) for _ in range(clients)]
        if not all(each.ended for each in self._clients):
            return False
        failed, self._clients = sum(each.failed for each in self._clients), []
        return not failed
