"""A lock service with leases: a lease runs out, and its token fences off whoever has not noticed.

The service hands out a lease with a larger token than any before. The holder writes to a store with its token, and
the store refuses a token smaller than the largest it has seen. Time is nothing but that a lease may run out.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import Ghost, Map, Model, Nat, Scope, Sort, action, init, invariant, lemma, require, step, witness


class Client(Sort): ...


class Token(Nat): ...


class LockWithLeases(Model):
    """One lock, any number of clients and tokens."""

    holder: Client | None
    """Who has the lease, as the service knows."""
    newest: Token
    """The token of the newest lease; 0 before the first."""
    held: Map[Client, Token]
    """The token that a client believes it holds; 0 if none."""
    seen: Token
    """The largest token that the store has seen."""
    wrote: Ghost[Map[Token, Client | None]]
    """Who has written with a token."""

    tiny = Scope({Client: 2, Token: 3})

    @init
    def nothing_yet(self) -> None:
        """Nobody holds the lock."""
        self.holder = None
        self.newest = Token(0)
        self.held.fill(Token(0))
        self.seen = Token(0)
        self.wrote.fill(None)

    @action
    def acquire(self, c: Client, t: Token) -> None:
        """The service gives a free lock to a client, with a token above all others."""
        require(self.holder is None, "LL-01")
        require(t > self.newest, "LL-02")
        self.holder = c
        self.newest = t
        self.held[c] = t

    @action
    def expire(self) -> None:
        """The lease runs out; the client does not know."""
        self.holder = None

    @action
    def give_back(self, c: Client) -> None:
        """A client has noticed, or needs the lock no more."""
        if self.holder is not None and self.holder == c:
            self.holder = None
        self.held[c] = Token(0)

    @action
    def write(self, c: Client) -> None:
        """A client writes what the lock protects."""
        require(self.held[c] > Token(0), "LL-03")
        require(self.held[c] >= self.seen, "LL-04")
        self.seen = self.held[c]
        self.wrote[self.held[c]] = c

    @invariant
    def one_writer(self) -> bool:
        """LL-10. No two clients hold one token."""
        return all(self.held[c] != self.held[d] for c in Client for d in Client if c != d and self.held[c] > Token(0))

    @step
    def writes_in_order(self, old: Self) -> bool:
        """LL-11. Once a newer holder has written, no older one does."""
        return self.seen >= old.seen

    @step(of="write")
    def own_token(self, old: Self, c: Client) -> bool:
        """LL-12. Nobody else has written with the writer's token."""
        before = old.wrote[old.held[c]]
        return before is None or before == c

    @lemma
    def tokens_come_from_the_service(self) -> bool:
        """No client holds a token that the service has not given, nor has the store seen one."""
        return all(self.held[c] <= self.newest for c in Client) and self.seen <= self.newest

    @lemma
    def writers_held_their_token(self) -> bool:
        """No token was written with before it was given, nor by another client than the one that holds it."""
        return all(self.wrote[t] is None or t <= self.newest for t in Token) and all(
            self.is_own(c) for c in Client if self.held[c] > Token(0)
        )

    def is_own(self, c: Client) -> bool:
        """Whether nobody else has written with the token that c holds."""
        by = self.wrote[self.held[c]]
        return by is None or by == c

    @witness
    def fenced(self) -> bool:
        """A client holds a token that is too old for the store."""
        return any(self.held[c] > Token(0) and self.held[c] < self.seen for c in Client)
