"""A signpost: nothing about it changes, and a constant of the scope says all there is to say."""

from __future__ import annotations

from holdfast.lang import Map, Model, Scope, Sort, action, init, invariant, leads_to, require, witness


class Place(Sort):
    """Where somebody may be sent."""


class Signpost(Model):
    """Whoever asks is told the way, and the signpost is as before."""

    way: Map[Place, Place]
    """Where it points to."""

    tiny = Scope({Place: 2}, given={"way": (0, 0)})

    @init
    def start_nothing(self) -> None:
        """There is nothing to set."""

    @action(fair="weak")
    def ask(self, p: Place) -> None:
        """Somebody who stands where the way leads to is told so."""
        require(self.way[p] == p, "SG-01")

    @invariant
    def points(self) -> bool:
        """SG-10. Some way ends."""
        return any(self.way[p] == p for p in Place)

    @witness
    def sends_on(self) -> bool:
        """Some way leads elsewhere."""
        return any(self.way[p] != p for p in Place)

    @leads_to
    def moves(self, p: Place) -> tuple[bool, bool]:
        """LV-01. Who stands where the way ends goes on some time."""
        return self.way[p] == p, self.way[p] != p
