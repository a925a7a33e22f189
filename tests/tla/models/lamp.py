"""A lamp that somebody keeps trying to light: with a ghost, a budget, and a count that a bound cuts."""

from __future__ import annotations

from holdfast.lang import Ghost, Model, Nat, Scope, action, init, leads_to, require, witness


class Hour(Nat):
    """How long the lamp has been there."""


class Lamp(Model):
    """Lit some time, switched off once at most, and older from hour to hour."""

    lit: bool
    age: Hour
    tried: Ghost[bool]
    """Whether the number of attempts is odd."""

    tiny = Scope({Hour: 2}, budgets={"switch_off": 1})

    @init
    def start_dark(self) -> None:
        """It is new, and dark."""
        self.lit = False
        self.age = Hour(0)
        self.tried = False

    @action(fair="weak")
    def attempt(self, works: bool) -> None:
        """An attempt to light it, which counts as a step only if it works: else it leaves a ghost behind."""
        self.tried = not self.tried
        if works:
            self.lit = True

    @action
    def switch_off(self) -> None:
        """It is dark again."""
        require(self.lit, "LA-01")
        self.lit = False

    @action(fair="weak")
    def grow_old(self) -> None:
        """An hour passes."""
        self.age = self.age + 1

    @leads_to
    def shines(self) -> tuple[bool, bool]:
        """LA-02. A dark lamp is lit some time."""
        return not self.lit, self.lit

    @leads_to
    def ages(self, h: Hour) -> tuple[bool, bool]:
        """LA-03. It grows older than any hour; in a scope only up to the last."""
        return self.age == h, self.age > h

    @witness
    def attempted(self) -> bool:
        """Somebody has tried."""
        return self.tried
