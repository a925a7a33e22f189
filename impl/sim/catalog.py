"""The clients' knowledge of the streams: their ids, their owners, and acknowledged offsets."""

from __future__ import annotations

from impl.sim.process import Process


class KnownStream:
    """A stream as clients know it.

    ``stream``: its id, -1 until it is created. ``owner``: the process that has opened it last, as far as the director
    has heard. ``end``: the highest acknowledged offset. ``start``: the highest offset that a client has trimmed to, or
    has tried to. ``doomed``: a client has begun to destroy it. ``acks``: the number of acknowledged appends.
    """

    __slots__ = ("acks", "doomed", "end", "owner", "start", "stream")

    def __init__(self) -> None:
        self.stream = -1
        self.owner: Process | None = None
        self.end = 0
        self.start = 0
        self.doomed = False
        self.acks = 0


class Catalog:
    """The streams of a run, by key."""

    def __init__(self) -> None:
        self.entries: dict[int, KnownStream] = {}

    def entry(self, key: int) -> KnownStream:
        """The stream with a key; a new one if there is none."""
        found = self.entries.get(key)
        if found is None:
            found = self.entries[key] = KnownStream()
        return found

    def living(self) -> list[int]:
        """The keys of the streams that exist and that no client has begun to destroy, ascending."""
        return sorted(key for key, each in self.entries.items() if each.stream >= 0 and not each.doomed)
