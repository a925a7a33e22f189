"""The streams of one partition in a log, and which of them have been opened."""

from __future__ import annotations

from collections.abc import Iterable


class StreamSet:
    """The streams of one partition. ``all``: those of which some process has had a handle.

    ``meta_lease``: the node and the epoch under which the meta stream was opened last.
    """

    def __init__(self, meta: int, opened: Iterable[int]) -> None:
        self.meta = meta
        self.all = frozenset({meta, *opened})
        self.meta_lease: tuple[int, int] | None = None
        self._made = {meta}

    def is_made(self, stream: int) -> bool:
        """Whether a process has, or had, a handle of a stream; the meta stream counts from the start."""
        return stream in self._made

    def make(self, stream: int) -> bool:
        """Note that a process has a handle of a stream. Returns whether it is the first of a data stream."""
        is_first = stream not in self._made
        self._made.add(stream)
        return is_first

    def like(self, stream: int) -> list[int]:
        """The streams for which a line of ``stream`` stands. The meta stream also stands for streams not opened yet."""
        return sorted({stream, *(self.all - self._made if stream == self.meta else ())})
