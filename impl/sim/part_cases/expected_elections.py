"""Which elections the timers of a controller have to ask for, said a second time (reassignment.md 4).

``RecommendedTimers`` follows EL-12 and EL-13, and ``BuiltTimers`` EL-01 to EL-06. Both look at the registrations of
partitions after each event. Neither arms anything: they derive from the past what is due at a look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

DELAY_MS, WHEEL_MS = 10_000, 1_000
"""A timer runs for 10 s, and then up to the next whole second, at which the controller looks (EL-01, EL-02)."""


class PartitionRow(msgspec.Struct, frozen=True):
    """What the timers depend on: who leads a partition (-1 for nobody), and its leader epoch. ``target``: its replica.

    ``is_elastic``: no other partition has timers.
    """

    leader: int
    leader_epoch: int
    target: int
    is_elastic: bool


Rows = Mapping[str, PartitionRow]
"""By the name of a partition."""


def due_at(begin: int) -> int:
    """When the wait ends that has begun at a time. Both are in milliseconds."""
    rest = (begin + DELAY_MS) % WHEEL_MS
    return begin + DELAY_MS + (WHEEL_MS - rest if rest else 0)


class RecommendedTimers:
    """EL-12, EL-13. A partition that nobody leads under one leader epoch gets an election after each wait.

    The wait begins anew with a new leader epoch, with another controller, and after an election that elects nobody.
    """

    def __init__(self) -> None:
        self._waits: dict[str, tuple[int, int]] = {}
        """By partition without a leader: its leader epoch, and the begin of its wait."""

    replaced: frozenset[str] = frozenset()
    """The partitions of which an older timer goes on beside a newer one: never any."""

    def changed(self, rows: Rows, now: int) -> None:
        """An event has happened, after which the partitions are these."""
        waits = {}
        for name, row in rows.items():
            if row.is_elastic and row.leader == -1:
                epoch, begin = self._waits.get(name, (-1, now))
                waits[name] = (row.leader_epoch, begin if epoch == row.leader_epoch else now)
        self._waits = waits

    started = changed
    """A start changes what any event may change."""

    def asked(self, name: str) -> None:
        """Somebody asks for an election. Only its success ends the wait, and ``changed`` sees that (EL-13)."""

    def waited(self, now: int) -> None:
        """Time has passed, and the controller has not looked."""

    def failed_over(self, now: int) -> None:
        """Another controller leads."""
        self._waits = {name: (epoch, now) for name, (epoch, _) in self._waits.items()}

    def due(self, now: int) -> dict[str, int]:
        """By partition: the number of its elections at this look."""
        return {name: 1 for name, (_, begin) in self._waits.items() if due_at(begin) <= now}

    def fired(self, names: Iterable[str], now: int) -> None:
        """The controller has looked, and the elections of these partitions were asked for."""
        for name in names:
            if name in self._waits:
                self._waits[name] = (self._waits[name][0], now)


class BuiltTimer(msgspec.Struct):
    """A timer of AutoMQ, armed by a move. ``due``: in milliseconds. ``fired``: the wheel has asked for its election.

    ``gone``: it was cancelled before it fired, or the controller has looked at its election. ``is_known``: a request
    finds it, since neither a newer timer nor a firing has taken its entry (EL-03, EL-05).
    """

    due: int
    fired: bool = False
    gone: bool = False
    is_known: bool = True


class BuiltTimers:
    """EL-01 to EL-06. Each start and each eviction arms a timer, which fires once unless a request cancels it.

    A request, or the election of an earlier timer, cancels only the newest timer of its partition, and only as long as
    no timer of it has fired since that one was armed.
    """

    def __init__(self) -> None:
        self._timers: dict[str, list[BuiltTimer]] = {}
        self._epochs: dict[str, int] = {}

    def started(self, rows: Rows, now: int) -> None:
        """A start or an eviction has happened, after which the partitions are these."""
        for name, row in rows.items():
            if row.is_elastic and row.leader_epoch > self._epochs.get(name, 0):
                self._forget_entries(name)
                self._timers.setdefault(name, []).append(BuiltTimer(due_at(now)))
        self.changed(rows, now)

    def changed(self, rows: Rows, _: int) -> None:
        """Another event has happened, after which the partitions are these."""
        self._epochs = {name: row.leader_epoch for name, row in rows.items()}

    def asked(self, name: str) -> None:
        """Somebody asks for an election, whatever the answer will be (EL-04)."""
        for timer in self._timers.get(name, []):
            timer.gone = timer.gone or timer.is_known

    def failed_over(self, _: int) -> None:
        """Another controller leads, which has no timers (EL-06)."""
        self._timers.clear()

    def waited(self, now: int) -> None:
        """Time has passed. A timer that fires takes the entry of its partition (EL-03)."""
        for name, timers in self._timers.items():
            firing = [timer for timer in timers if not timer.gone and not timer.fired and timer.due <= now]
            for timer in firing:
                timer.fired = True
            if firing:
                self._forget_entries(name)

    def due(self, now: int) -> dict[str, int]:
        """By partition: the number of its elections at this look."""
        self.waited(now)
        counts = {name: len(self._ready(name)) for name in self._timers}
        return {name: count for name, count in counts.items() if count}

    def fired(self, names: Iterable[str], _: int) -> None:
        """The controller has looked, and the elections of these partitions were asked for."""
        for name in names:
            for timer in self._ready(name):
                timer.gone = True
            self.asked(name)

    @property
    def replaced(self) -> frozenset[str]:
        """The partitions of which an older timer goes on although a newer one was armed (EL-05)."""
        return frozenset(name for name, each in self._timers.items() if any(not timer.gone for timer in each[:-1]))

    def _ready(self, name: str) -> list[BuiltTimer]:
        return [timer for timer in self._timers.get(name, []) if timer.fired and not timer.gone]

    def _forget_entries(self, name: str) -> None:
        for timer in self._timers.get(name, []):
            timer.is_known = False
