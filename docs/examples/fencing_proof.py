"""The lemmas that prove fencing tokens, for any number of clients and tokens."""

from __future__ import annotations

from fencing import Client, Fencing

from holdfast.lang import lemma


class Lemmas(Fencing):
    """Fencing tokens with their lemmas."""

    @lemma
    def tokens_are_granted(self) -> bool:
        """No client has a token that is newer than the newest."""
        return all(self.token[c] <= self.newest for c in Client)

    @lemma
    def tokens_differ(self) -> bool:
        """No two clients have one token."""
        return all(self.token[c] != self.token[d] for c in Client for d in Client if c != d and self.token[c] > 0)

    @lemma
    def readers_are_seen(self) -> bool:
        """The storage has seen the token of each client that has read."""
        return all(0 < self.token[c] <= self.seen for c in Client if self.has_read[c])

    @lemma
    def newest_reader_is_current(self) -> bool:
        """What the client with the newest token seen has read is what the storage has."""
        return all(self.current[c] for c in Client if self.has_read[c] and self.token[c] == self.seen)
