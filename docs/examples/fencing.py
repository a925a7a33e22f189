"""Leases with fencing tokens: a client that has slept through the end of its lease can do no harm.

C. G. Gray and D. R. Cheriton, *Leases* (SOSP 1989), and M. Kleppmann, *How to do distributed locking* (2016). A service
grants a lease for a time, with a token one larger than the last. A client may pause for any time, and not notice that
its lease has ended. So the storage refuses a token older than one that it has seen. Left out: clocks, since nothing
relies on one, and what is written: a client reads what it is going to change, and writes it back later.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Ghost,
    Map,
    Model,
    Nat,
    Rel,
    Scope,
    Sort,
    action,
    always_eventually,
    init,
    missing,
    outcomes,
    require,
    rule,
    step,
    variant,
    witness,
)


class Client(Sort): ...


class Token(Nat): ...


class Fencing(Model):
    """A lease service, its clients, and the storage that the lease protects."""

    holder: Client | None
    """Who has the lease; nobody if it has ended."""
    newest: Token
    """The token of the newest lease."""
    token: Map[Client, Token]
    """The token that a client believes it holds; 0 if none."""
    seen: Token
    """The newest token that the storage has seen."""
    has_read: Rel[Client]
    """The client has read under its lease what it is going to change."""
    current: Ghost[Rel[Client]]
    """What the client has read is what the storage still has."""

    tiny = Scope({Client: 3, Token: 3})
    default = Scope({Client: 4, Token: 6})
    deep = Scope({Client: 6, Token: 40}, depth=200)

    @init
    def start_free(self) -> None:
        """Nobody has a lease."""
        self.holder = None
        self.newest = Token(0)
        self.token.fill(Token(0))
        self.seen = Token(0)
        self.has_read.fill(False)
        self.current.fill(False)

    @action
    def acquire(self, c: Client) -> None:
        """The service grants the lease to a client, with a new token."""
        require(self.holder is None, "one_holder")
        self.holder = c
        if rule("new_token"):
            self.newest += 1
        self.token[c] = self.newest
        if rule("read_again"):
            self.has_read[c] = False

    @action(fair="weak")
    def expire(self) -> None:
        """The lease ends, and its holder may not notice."""
        self.holder = None

    @action
    def read(self, c: Client) -> None:
        """A client that believes in its lease reads; from now on the storage refuses older tokens."""
        require(self.token[c] > 0)
        require(self.token[c] >= self.seen, "fence_reads")
        self.seen = self.token[c]
        self.has_read[c] = True
        self.current[c] = True

    @variant("fence_writes_only", replaces="read")
    def read_freely(self, c: Client) -> None:
        """A read shows no token: it does no harm."""
        require(self.token[c] > 0)
        self.has_read[c] = True
        self.current[c] = True

    @action
    def write(self, c: Client) -> None:
        """A client writes back what it has read and changed."""
        require(self.has_read[c], "read_first")
        require(self.token[c] >= self.seen, "fence_writes")
        self.seen = self.token[c]
        for d in Client:
            self.current[d] = d == c

    @action
    def give_up(self, c: Client) -> None:
        """A client notices that its lease has ended, or needs it no more."""
        if self.holder == c:
            self.holder = None
        self.token[c] = Token(0)
        self.has_read[c] = False

    @step(of="write")
    def nothing_lost(self, old: Self, c: Client) -> bool:
        """FT-01. A write changes what its client has read: no write of another client came between."""
        return old.current[c]

    @always_eventually
    def free_again(self) -> bool:
        """FT-02. The lease is free again and again, whatever becomes of its holder."""
        return self.holder is None

    @witness
    def fenced(self) -> bool:
        """A client that has read believes in a lease which the storage knows to be over."""
        return any(self.has_read[c] and self.token[c] < self.seen for c in Client)

    mutants = outcomes({"one_holder": missing("the work that is done in vain while two holders fence each other off")})
