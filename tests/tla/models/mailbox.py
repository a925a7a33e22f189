"""Letters that arrive, if whoever carries them is fair to each of them."""

from __future__ import annotations

from typing import Self

from holdfast.lang import Flag, Model, Rel, Scope, Sort, action, init, leads_to, require, step


class Letter(Sort):
    """Something to be delivered."""


class Mailbox(Model):
    """Letters are posted, carried, and may be posted again."""

    lossy: Flag
    """Letters get lost."""
    posted: Rel[Letter]
    arrived: Rel[Letter]

    tiny = Scope({Letter: 2})

    @init
    def start_empty(self) -> None:
        """Nothing has been posted."""
        self.posted.fill(False)
        self.arrived.fill(False)

    @action
    def post(self, m: Letter) -> None:
        """A letter is posted, perhaps once more."""
        self.posted[m] = True
        self.arrived[m] = False

    @action(fair="strong", per=("m",))
    def carry(self, m: Letter) -> None:
        """A posted letter arrives."""
        require(self.posted[m], "MB-01")
        self.posted[m] = False
        self.arrived[m] = True

    @action
    def lose(self, m: Letter) -> None:
        """A letter is lost on its way."""
        require(self.lossy and self.posted[m], "MB-02")
        self.posted[m] = False

    @step(of="carry")
    def carried_once(self, old: Self, m: Letter) -> bool:
        """MB-10. What is carried has been posted."""
        return old.posted[m]

    @leads_to
    def arrives(self, m: Letter) -> tuple[bool, bool]:
        """MB-11. A posted letter arrives."""
        return self.posted[m], self.arrived[m]
