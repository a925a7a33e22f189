"""Interchangeable members in every place that states have for them: keys, pairs, values, a queue, a constant."""

from __future__ import annotations

from enum import Enum

from holdfast.lang import Map, Model, Nat, Rel, Scope, Sort, action, init, require


class Member(Sort):
    """Someone who belongs to a site."""


class Box(Sort):
    """Something that a member holds."""


class Site(Sort):
    """Where members are."""


class Slot(Nat):
    """A place in the queue."""


class Mood(Enum):
    """What tells members apart."""

    CALM = 1
    EAGER = 2


class Pairs(Model):
    """Members who know each other: a graph, as hard as states get."""

    knows: Rel[Member, Member]

    tiny = Scope({Member: 5})

    @init
    def alone(self) -> None:
        """Nobody knows anybody."""
        self.knows.fill(False)

    @action
    def meet(self, m: Member, n: Member) -> None:
        """One gets to know another."""
        require(m != n, "PA-01")
        self.knows[m, n] = True


class Crowd(Model):
    """Members with moods, boxes that they hold, a speaker, and a queue."""

    mood: Map[Member, Mood]
    holder: Map[Box, Member | None]
    sealed: Rel[Box]
    speaker: Member
    queue: Map[Slot, Member | None]

    tiny = Scope({Member: 5, Box: 3, Slot: 1})

    @init
    def calm(self, m: Member) -> None:
        """Somebody speaks, and nobody waits."""
        self.mood.fill(Mood.CALM)
        self.holder.fill(None)
        self.sealed.fill(False)
        self.speaker = m
        self.queue.fill(None)

    @action
    def wait(self, m: Member, s: Slot) -> None:
        """A member takes a free place in the queue."""
        require(self.queue[s] is None, "CR-01")
        self.queue[s] = m

    @action
    def grab(self, m: Member, b: Box) -> None:
        """A member takes a box from whoever holds it."""
        require(not self.sealed[b], "CR-02")
        self.holder[b] = m
        self.mood[m] = Mood.EAGER

    @action
    def seal(self, b: Box) -> None:
        """A box is sealed."""
        self.sealed[b] = True

    @action
    def call(self, s: Slot) -> None:
        """The next speaker comes from the queue."""
        m = self.queue[s]
        require(m is not None, "CR-03")
        if m is not None:
            self.speaker = m
        self.queue[s] = None


class Sites(Model):
    """Members at sites that are given: two members of one site are interchangeable, and so are sites of one size."""

    site_of: Map[Member, Site]
    open: Rel[Site]
    mood: Map[Member, Mood]
    friend: Map[Member, Member | None]

    tiny = Scope({Member: 8, Site: 2}, given={"site_of": (0, 0, 0, 0, 1, 1, 1, 1)})

    @init
    def closed(self) -> None:
        """All sites are closed."""
        self.open.fill(False)
        self.mood.fill(Mood.CALM)
        self.friend.fill(None)

    @action
    def befriend(self, m: Member, n: Member) -> None:
        """A member chooses a friend at an open site."""
        require(self.open[self.site_of[n]], "SI-01")
        self.friend[m] = n
        self.mood[m] = Mood.EAGER

    @action
    def unlock(self, s: Site) -> None:
        """A site opens."""
        self.open[s] = True
