"""The epochs of the records in the channel of a proxy, and what a trim may take (ZR-16, ZR-20, ZR-21, ZR-64)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence

import attrs

from impl.rules import rule


@attrs.define
class ChannelRecord:
    """A record of a channel. ``target``: the main it is for. ``begun``: the channel's epoch when its append began.

    ``epoch`` and ``offset``: None while the append lasts.
    """

    name: Hashable
    target: int
    begun: int
    epoch: int | None = None
    offset: int | None = None


class ChannelEpochs:
    """The records of a channel, which lie in objects, and the last record of each epoch.

    A trim deletes the objects whose last record it covers. It writes a marker into an object of its own, so all others
    may go.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self._queued: deque[int] = deque()
        self._last: dict[int, ChannelRecord] = {}
        self._pending: list[ChannelRecord] = []
        self._objects: list[list[ChannelRecord]] = []
        self._next = 0

    def switch(self, epoch: int) -> None:
        """Go on to a newer epoch; an older one is ignored (ZR-20)."""
        if rule("ZR-20.newer", epoch <= self.epoch):
            return
        self._queued.append(epoch)
        self.epoch = epoch

    def begin(self, name: Hashable, target: int) -> None:
        """An append begins."""
        self._pending.append(ChannelRecord(name, target, self.epoch))

    def complete(self, names: Sequence[Hashable]) -> list[ChannelRecord]:
        """Appends end, which share an object, in which the records are ordered by their targets (ZR-16).

        Raises LookupError for a record whose append is not under way.
        """
        for name in names:
            if all(each.name != name for each in self._pending):
                raise LookupError(f"no append of {name} is under way")
        ended = [each for each in self._pending if each.name in names]
        self._pending = [each for each in self._pending if each.name not in names]
        ended.sort(key=lambda each: each.target)
        for record in ended:
            record.offset = self._next
            record.epoch = self.epoch if rule("M-13", record.begun != self.epoch) else record.begun
            self._last[record.epoch] = record
            self._next += 1
        if ended:
            self._objects.append(ended)
        return ended

    def trim(self, epoch: int) -> ChannelRecord | None:
        """Trim all epochs up to this one. Returns the record at whose offset the WAL is trimmed; None if at none."""
        upto = None
        while self._queued and self._queued[0] <= epoch:
            upto = self._last.pop(self._queued.popleft(), upto)
        if upto is not None and upto.offset is not None:
            self._objects = [each for each in self._objects if (each[-1].offset or 0) > upto.offset]
        return upto

    def can_read(self, name: Hashable) -> bool:
        """Whether a record is there, so that a main can read it."""
        return any(record.name == name for records in self._objects for record in records)
