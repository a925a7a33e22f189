"""The batches that a proxy has just written for mains of other zones (ZR-18)."""

from __future__ import annotations

from collections import deque

from impl.broker.zones.blocks import ProduceBlock
from impl.tasks import Tasks


class RecentBlocks:
    """Blocks by their channel offset, for the replay of the proxy itself: it then needs no read of its channel.

    Each can be taken once, within ``kept_ms``; with 0 none is kept.
    """

    def __init__(self, tasks: Tasks, kept_ms: int) -> None:
        self._tasks, self._kept_ms = tasks, kept_ms
        self._blocks: dict[bytes, ProduceBlock] = {}
        self._ends: deque[tuple[int, bytes]] = deque()
        """When each block is dropped, the oldest first."""

    def put(self, offset: bytes, block: ProduceBlock) -> None:
        """Keep a block for a while."""
        self._drop()
        if self._kept_ms:
            self._blocks[offset] = block
            self._ends.append((self._tasks.now + self._kept_ms, offset))

    def take(self, offset: bytes) -> ProduceBlock | None:
        """The block at an offset, which is then dropped; None if it is not there."""
        self._drop()
        return self._blocks.pop(offset, None)

    def _drop(self) -> None:
        while self._ends and self._ends[0][0] <= self._tasks.now:
            self._blocks.pop(self._ends.popleft()[1], None)
