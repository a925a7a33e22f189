"""Queues that are called from either end: ``min`` and ``max`` over numbers and nodes, with and without a loop."""

from __future__ import annotations

from typing import Self

from holdfast.lang import Map, Model, Nat, Rel, Scope, Sort, action, init, step


class Queue(Sort):
    """A queue."""


class Ticket(Nat):
    """A place in a queue."""


class Queues(Model):
    """In each queue somebody is called."""

    waits: Rel[Queue, Ticket]
    called: Map[Queue, Ticket]
    latest: Ticket

    tiny = Scope({Queue: 2, Ticket: 2})

    @init
    def empty(self) -> None:
        """Nobody waits."""
        self.waits.fill(False)
        self.called.fill(Ticket(0))
        self.latest = Ticket(0)

    @action
    def come(self, n: Queue, t: Ticket) -> None:
        """Somebody takes a ticket."""
        self.waits[n, t] = True

    @action
    def call_first(self) -> None:
        """The least ticket of each queue is called."""
        for n in Queue:
            self.called[n] = min((t for t in Ticket if self.waits[n, t]), default=self.called[n])

    @action
    def call_last(self, n: Queue) -> None:
        """The greatest ticket of one queue is called."""
        self.called[n] = max((t for t in Ticket if self.waits[n, t]), default=self.called[n])

    @action
    def look(self) -> None:
        """The greatest that was called in a queue where somebody waits first."""
        self.latest = max((self.called[n] for n in Queue if self.waits[n, Ticket(0)]), default=self.latest)

    @step(of="call_first")
    def first_is_called(self, old: Self) -> bool:
        """QU-01. Who is called waits, and nobody before."""
        return all(
            self.waits[n, self.called[n]] and self.called[n] <= t for n in Queue for t in Ticket if old.waits[n, t]
        )

    @step(of="call_last")
    def last_is_called(self, old: Self, n: Queue) -> bool:
        """QU-02. Who is called waits, and nobody after."""
        return all(self.waits[n, self.called[n]] and t <= self.called[n] for t in Ticket if old.waits[n, t])

    @step(of="call_first")
    def nobody_is_called_from_nowhere(self, old: Self) -> bool:
        """QU-03. Where nobody waits nothing changes."""
        return all(self.called[n] == old.called[n] or any(self.waits[n, t] for t in Ticket) for n in Queue)

    @step(of="look")
    def latest_is_called(self, old: Self) -> bool:
        """QU-04. The greatest is that of some queue, or nothing has changed."""
        return self.latest == old.latest or any(self.called[n] == self.latest for n in Queue)

    @step(of="call_last")
    def last_is_first(self, old: Self, n: Queue) -> bool:
        """QU-05. Who is called last is called first: which is wrong."""
        return all(self.called[n] <= t for t in Ticket if old.waits[n, t])
