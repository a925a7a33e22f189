"""A WAL upload at the controller, one stream at a time, as its metadata records show it (streams.md 5).

No rule of a commit looks at two of its streams at once, so a commit is as good as one for each stream. The records show
up to where data was committed, and not from where: it is from where the tables ask.
"""

from __future__ import annotations

from holdfast.lang import require, rule
from models.parts.entries import EntryTable
from models.parts.errors import E
from models.parts.nodes import Node
from models.parts.streams import Epoch, Offset, Stream


class CommitTable(EntryTable):
    """The stream table with entries, and commits to one stream."""

    def has_entry(self, n: Node, s: Stream) -> bool:
        """CK-03. Whether n has an active entry on s. An entry of a deleted stream waits only to be removed."""
        return self.exists[s] and self.effective_from(n, s) < self.entry_to[n, s]

    def begins(self, n: Node, s: Stream) -> Offset:
        """Where the tables ask that a commit of n to s begins."""
        if self.has_entry(n, s):
            return self.effective_from(n, s)
        return self.end_offset[s]

    def commit_up_to(self, s: Stream, b: Offset, n: Node) -> None:
        """CS-20 to CS-35 for the data of s up to b in a WAL upload of n; of the entries, for that of n on s."""
        first = self.begins(n, s)
        drains = self.has_entry(n, s)
        if rule("CS-20", not self.exists[s]):  # G-29
            self.drop_entry(n, s)
        elif rule("CS-21", b <= self.start_offset[s]):  # G-28
            if not drains:
                self.drop_entry(n, s)
        else:
            if drains:
                require(b <= self.entry_to[n, s], "CS-22", error=E.OFFSET_NOT_MATCHED)  # G-23
            else:
                require(self.opened[s], "CS-26", error=E.STREAM_NOT_OPENED)  # G-25
                require(self.owner[s] is not None, "CS-27", error=E.STREAM_INNER_ERROR)
                require(self.owned_by(s, n), "CS-28", error=E.STREAM_FENCED)  # G-26
            require(first < b, "AM-06")
            for o in Offset:
                if first <= o and o < b:
                    self.covered[s, o] = True
            if not drains:
                self.end_offset[s] = b  # CS-06, CS-35
            elif b < self.entry_to[n, s]:
                self.entry_from[n, s] = b  # CS-33
            if rule("CS-32", not drains or b == self.entry_to[n, s]):
                self.drop_entry(n, s)

    def drop_entry(self, n: Node, s: Stream) -> None:
        """CS-30, CS-32. The entry of n on s goes, if there is one."""
        if rule("CS-30", self.entry_to[n, s] > Offset(0)):  # G-31
            self.entry_from[n, s] = Offset(0)
            self.entry_to[n, s] = Offset(0)
            self.entry_epoch[n, s] = Epoch(0)

    def add_stream_object(self, s: Stream, b: Offset) -> None:
        """CS-07, CO-06. An object of s that ends at b. The controller takes any; brokers send none above the end."""
        if self.exists[s]:
            require(b <= self.end_offset[s], "AM-07")
            if b > self.end_offset[s]:  # ID-05
                self.end_offset[s] = b
