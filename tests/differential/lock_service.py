"""A lock service: clients ask for locks, one server grants them, and messages cross a network that may lose them."""

from __future__ import annotations

from holdfast.lang import Map, Model, Rel, Scope, Sort, action, final, init, invariant, require, witness


class Client(Sort):
    """Who asks."""


class Lock(Sort):
    """What is asked for."""


class LockService(Model):
    """The server's table, the clients' beliefs, and the messages between them."""

    holder: Map[Lock, Client | None]
    believes: Rel[Client, Lock]
    asked: Rel[Client, Lock]
    granted: Rel[Client, Lock]
    released: Rel[Client, Lock]

    tiny = Scope({Client: 2, Lock: 2})
    default = Scope({Client: 3, Lock: 1})

    @init
    def start_free(self) -> None:
        """Every lock is free, and nothing is under way."""
        self.holder.fill(None)
        self.believes.fill(False)
        self.asked.fill(False)
        self.granted.fill(False)
        self.released.fill(False)

    @action
    def ask(self, c: Client, k: Lock) -> None:
        """A client asks for a lock that it does not hold."""
        require(not self.believes[c, k], "LS-01")
        self.asked[c, k] = True

    @action
    def grant(self, c: Client, k: Lock) -> None:
        """The server gives a free lock to one who asked."""
        require(self.asked[c, k], "LS-02")
        require(self.holder[k] is None, "LS-03")
        self.asked[c, k] = False
        self.holder[k] = c
        self.granted[c, k] = True

    @action
    def hear(self, c: Client, k: Lock) -> None:
        """The grant arrives."""
        require(self.granted[c, k], "LS-04")
        self.granted[c, k] = False
        self.believes[c, k] = True

    @action
    def release(self, c: Client, k: Lock) -> None:
        """A client gives a lock back."""
        require(self.believes[c, k], "LS-05")
        self.believes[c, k] = False
        self.released[c, k] = True

    @action
    def free(self, c: Client, k: Lock) -> None:
        """The release arrives."""
        require(self.released[c, k], "LS-06")
        self.released[c, k] = False
        self.holder[k] = None

    @invariant
    def one_holder(self) -> bool:
        """LS-10. No two clients believe that they hold one lock."""
        return all(
            not (self.believes[c, k] and self.believes[d, k]) for k in Lock for c in Client for d in Client if c != d
        )

    @invariant
    def table_is_right(self) -> bool:
        """LS-11. The server knows who believes."""
        return all(self.names(c, k) for c in Client for k in Lock if self.believes[c, k])

    def names(self, c: Client, k: Lock) -> bool:
        """Whether the table names c."""
        h = self.holder[k]
        return h is not None and h == c

    @witness
    def held(self) -> bool:
        """Somebody believes."""
        return any(self.believes[c, k] for c in Client for k in Lock)

    @final
    def idle(self) -> bool:
        """Every lock is free."""
        return all(self.holder[k] is None for k in Lock)
