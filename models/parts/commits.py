"""The commit of a WAL upload at the controller, one stream at a time, as metadata records show it (streams.md 5).

- No rule of a commit looks at two of its streams at once. So a commit of several streams is modelled as one commit for
  each stream.
- The records show the end of the committed offsets, and not their start. The model takes the start that the tables
  require.
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
        """CK-03. Whether n has an active entry on s. An entry on a deleted stream is inactive."""
        return self.exists[s] and self.effective_from(n, s) < self.entry_to[n, s]

    def begins(self, n: Node, s: Stream) -> Offset:
        """The offset at which a commit of n to s must start: that of its active entry, or else the stream's end."""
        if self.has_entry(n, s):
            return self.effective_from(n, s)
        return self.end_offset[s]

    def commit_up_to(self, s: Stream, b: Offset, n: Node) -> None:
        """A WAL upload of n commits the data of s up to b (CS-20 to CS-35), and updates the entry of n on s."""
        # Both are judged on the state before the request, as streams.md 5 says.
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
            # The controller does not check this (AM-06). Brokers send no empty range.
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
        """The entry of n on s is removed, if there is one (CS-30, CS-32)."""
        if rule("CS-30", self.entry_to[n, s] > Offset(0)):  # G-31
            self.entry_from[n, s] = Offset(0)
            self.entry_to[n, s] = Offset(0)
            self.entry_epoch[n, s] = Epoch(0)

    def add_stream_object(self, s: Stream, b: Offset) -> None:
        """A stream object of s that ends at b is added (CS-07, CO-06).

        The controller accepts any end (AM-07). Brokers send no object that ends above the stream, so this model refuses
        it.
        """
        if self.exists[s]:
            require(b <= self.end_offset[s], "AM-07")
            if b > self.end_offset[s]:  # ID-05
                self.end_offset[s] = b
