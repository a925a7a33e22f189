"""Files that clients lease: a request is granted some time, and a lease expires."""

from __future__ import annotations

from holdfast.lang import Flag, Map, Model, Rel, Scope, Sort, action, init, leads_to, require, rule


class Client(Sort):
    """Who asks."""


class File(Sort):
    """What is asked for."""


class Lease(Model):
    """The server's table, the requests, and who is alive."""

    patient: Flag
    """Leases do not expire while their holder is alive."""
    holder: Map[File, Client | None]
    asked: Rel[Client, File]
    up: Rel[Client]

    tiny = Scope({Client: 2, File: 1})
    default = Scope({Client: 2, File: 2})

    @init
    def all_free(self) -> None:
        """Everybody is alive, and nobody holds anything."""
        self.holder.fill(None)
        self.asked.fill(False)
        self.up.fill(True)

    def holds_lease(self, c: Client, f: File) -> bool:
        """Whether c is in the table."""
        h = self.holder[f]
        return h is not None and h == c

    @action
    def ask(self, c: Client, f: File) -> None:
        """A client asks."""
        require(self.up[c], "LS-01")
        self.asked[c, f] = True

    @action(fair="strong", per=("c", "f"))
    def grant(self, c: Client, f: File) -> None:
        """The server grants a free file."""
        require(self.asked[c, f], "LS-02")
        require(self.holder[f] is None, "LS-03")
        self.holder[f] = c
        self.asked[c, f] = False

    @action
    def release(self, c: Client, f: File) -> None:
        """The holder is done."""
        require(self.holds_lease(c, f), "LS-04")
        require(self.up[c], "LS-05")
        self.holder[f] = None

    @action
    def crash(self, c: Client) -> None:
        """A client dies."""
        self.up[c] = False

    @action(fair="weak", per=("f",))
    def expire(self, c: Client, f: File) -> None:
        """Time runs out."""
        require(self.holds_lease(c, f), "LS-06")
        require(not self.up[c] or not self.patient, "LS-07")
        if rule("LS-08"):
            self.holder[f] = None

    @leads_to
    def served(self, c: Client, f: File) -> tuple[bool, bool]:
        """LV-01. A client that asks is granted the file."""
        return self.asked[c, f], self.holds_lease(c, f)

    @leads_to
    def freed(self, f: File) -> tuple[bool, bool]:
        """LV-02. A lease ends."""
        return self.holder[f] is not None, self.holder[f] is None
