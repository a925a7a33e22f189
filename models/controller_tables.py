"""The controller's tables alone: streams, ranges, entries and node registrations, under requests from anybody.

A metadata log shows what the controller accepted, and nothing of brokers, processes or WALs. This model has the same
view. Each action is a request that reaches the controller (streams.md 2.1, 3, 5, 6; rules of V6), or what a commit does
to one stream. Anybody may send any request at any time, with any arguments and any number of times; every argument is
explicit. The rows of the tables stand in `parts/`.

- CK-01 compares the node epoch of a request with the stored one. A metadata log does not show the former, so the model
  leaves this comparison out. The stored epoch and flag are in the log, and so the model keeps the other two parts of
  CK-01: the node must be registered, and its failover flag bars an open and a trim.
- A commit is one action for each of its streams: no rule of a commit looks at two streams at once. Its log records do
  not show where the committed range begins, so the model takes the offset that the tables ask for: the end of the
  stream, or the start of the entry. CS-24, CS-25 and CS-29 are left out. The records do not show either whether a
  failover worker sent the commit, so the flag does not bar it (CS-01).
- Of the ranges the model keeps the current one, and the end of the one before it.

Left out: objects (CS-03, CS-07, and so the repetition of a commit), compaction, node locks (ST-16), the removal of old
ranges (ST-18), the answer of getOpeningStreams (ND-02, ND-03), the order in which ids are given out, and that a commit
removes the inactive entries of all streams (CS-30): each of them may go at any time.

Where this differs from streams.md:

- AM-06: the controller accepts a range that ends at or below its beginning. Such a commit moves the start of an entry
  back (CS-33), against INV-08. Brokers send none, and here it is refused.
- AM-07: the controller accepts a stream object that ends above the stream, and its record lifts the end (CO-06).
  Brokers send none, and here it is refused.
"""

from __future__ import annotations

from typing import Self

from holdfast.lang import (
    Map,
    Rel,
    Scope,
    action,
    equivalent,
    init,
    missing,
    outcomes,
    redundant,
    require,
    rule,
    step,
    witness,
)
from models.parts.commits import CommitTable
from models.parts.errors import E
from models.parts.nodes import Node, NodeEpoch
from models.parts.streams import Epoch, Offset, Stream


class ControllerTables(CommitTable):
    """The records of the controller, under requests from anybody."""

    created: Rel[Stream]
    """The id of the stream has been given out; a deleted stream keeps it."""
    node_epoch: Map[Node, NodeEpoch]
    """The newest registered process of the node; 0 if the node has never registered."""
    failover_mode: Rel[Node]
    """A failover worker of the node registered last."""

    tiny = Scope({Node: 2, Stream: 1, NodeEpoch: 1, Epoch: 2, Offset: 2})
    default = Scope({Node: 2, Stream: 1, NodeEpoch: 2, Epoch: 3, Offset: 3})
    deep = Scope({Node: 3, Stream: 3, NodeEpoch: 12, Epoch: 24, Offset: 12}, depth=200)

    @init
    def start_streams(self) -> None:
        """No stream has been created."""
        self.exists.fill(False)
        self.created.fill(False)
        self.opened.fill(False)
        self.epoch.fill(Epoch(0))
        self.owner.fill(None)
        self.start_offset.fill(Offset(0))
        self.end_offset.fill(Offset(0))
        self.range_start.fill(Offset(0))
        self.sealed_end.fill(None)
        self.covered.fill(False)

    @init
    def start_nodes(self) -> None:
        """No node has registered."""
        self.node_epoch.fill(NodeEpoch(0))
        self.failover_mode.fill(False)

    # Checks ---------------------------------------------------------------------------------------------------

    def check_registered(self, n: Node) -> None:
        """A node that has never registered is refused (CK-01 without the flag, as far as a metadata log shows it)."""
        require(self.node_epoch[n] > NodeEpoch(0), "CK-01.unknown", error=E.NODE_EPOCH_NOT_EXIST)

    def check_unbarred(self, n: Node) -> None:
        """A node that a failover worker has taken over is refused (CK-01 with checkFailover, as a log shows it)."""
        self.check_registered(n)
        require(not self.failover_mode[n], "CK-01.flag", error=E.NODE_FENCED)  # G-09

    def owned_under(self, s: Stream, e: Epoch, n: Node) -> bool:
        """Whether the current range of s is on n and has epoch e."""
        return self.owned_by(s, n) and self.epoch[s] == e

    # Nodes ----------------------------------------------------------------------------------------------------

    @action(idempotent="INV-15")
    def register(self, n: Node, e: NodeEpoch, flag: bool) -> None:
        """A process of n with node epoch e registers (getOpeningStreams), or a failover worker if `flag` is set."""
        require(e > NodeEpoch(0), "ID-03")
        require(self.node_epoch[n] <= e, "ND-01", error=E.NODE_EPOCH_EXPIRED)  # G-32
        self.node_epoch[n] = e
        self.failover_mode[n] = flag

    # Streams --------------------------------------------------------------------------------------------------

    @action
    def create(self, s: Stream) -> None:
        """A createStream: the new stream is CLOSED and empty, and has no range (ST-02)."""
        require(not self.created[s], "ID-01")
        self.created[s] = True
        self.exists[s] = True

    @action(idempotent="INV-15")
    def open(self, s: Stream, e: Epoch, n: Node) -> None:
        """An openStream of n with epoch e (ST-10 to ST-24)."""
        self.check_unbarred(n)
        self.check_exists(s)
        require(self.epoch[s] <= e, "ST-12", error=E.STREAM_FENCED)  # G-01
        if rule("ST-13", self.epoch[s] == e):
            require(self.owner[s] is not None, "ST-20", error=E.STREAM_INNER_ERROR)
            require(self.owned_by(s, n), "ST-21", error=E.STREAM_FENCED)  # G-03
            require(not self.has_entry(n, s), "ST-22", error=E.STREAM_NOT_CLOSED)
            self.opened[s] = True  # ST-24; an OPENED stream stays as it is, ST-23.
        else:
            require(not self.opened[s], "ST-14", error=E.STREAM_NOT_CLOSED)  # G-02
            require(not self.has_entry(n, s), "ST-15", error=E.STREAM_NOT_CLOSED)  # G-04
            self.open_range(s, e, n)

    @action(idempotent="INV-15")
    def close(self, s: Stream, e: Epoch, n: Node) -> None:
        """A closeStream without an end offset: the legacy close (ST-31 to ST-33, ST-36). The flag does not bar it."""
        self.check_registered(n)
        self.check_ownership(s, e, n)
        self.close_stream(s)

    @action(idempotent="INV-15")
    def fast_close(self, s: Stream, e: Epoch, n: Node, end: Offset) -> None:
        """A closeStream with an end offset: the fast close (ST-31 to ST-37). The flag does not bar it."""
        self.check_registered(n)
        self.check_ownership(s, e, n)
        self.seal(s, end, n)

    @action(idempotent="INV-15")
    def trim(self, s: Stream, e: Epoch, n: Node, q: Offset, cut: bool) -> None:
        """A trimStream to q (ST-40 to ST-45). `cut`: the controller records a new start of the current range."""
        self.check_unbarred(n)
        self.check_ownership(s, e, n)
        # An equal start writes no record at all (ST-43), so that `cut` does not matter then.
        require(q == self.start_offset[s] or cut == (self.range_start[s] < q), "ST-44.current")
        self.trim_range(s, q)

    @action(idempotent="INV-15")
    def delete(self, s: Stream) -> None:
        """A deleteStream (ST-50 to ST-52). Entries stay until their node commits again (CS-30)."""
        self.delete_stream(s)
        self.range_end[s] = Offset(0)  # `delete_stream` does not know this field of the entry table.

    @action
    def commit(self, s: Stream, b: Offset, n: Node) -> None:
        """A WAL upload of n (commitStreamSetObject) commits the data of s up to b (CS-20 to CS-35).

        With b at or below the start of s, or for a deleted stream, it removes an inactive entry and does nothing else.
        """
        self.check_registered(n)
        self.commit_up_to(s, b, n)

    @action
    def add_object(self, s: Stream, b: Offset) -> None:
        """A stream object that ends at b is added, by a commit or by a compaction (CS-07, CO-06)."""
        self.add_stream_object(s, b)

    # Properties (INV-03, 05 and 07 to 09 are the tables' own and stand in the parts) ------------------------------

    @step
    def node_epochs_grow(self, old: Self) -> bool:
        """INV-04. A node epoch never decreases."""
        return all(self.node_epoch[n] >= old.node_epoch[n] for n in Node)

    @step(of="create")
    def ids_are_new(self, old: Self, s: Stream) -> bool:
        """INV-17. No two creates return one id."""
        return not old.created[s]

    @step(of="open")
    def opened_by_its_owner(self, old: Self, s: Stream, e: Epoch, n: Node) -> bool:
        """INV-01. An open finds the stream CLOSED, or OPENED by the same node and epoch; then it is theirs."""
        return (not old.opened[s] or old.owned_under(s, e, n)) and self.owned_under(s, e, n)

    @step(of="close")
    def closed_by_its_owner(self, old: Self, s: Stream, e: Epoch, n: Node) -> bool:
        """INV-01. Only the owner closes, with its epoch."""
        return old.owned_under(s, e, n)

    @step(of="fast_close")
    def sealed_by_its_owner(self, old: Self, s: Stream, e: Epoch, n: Node, end: Offset) -> bool:
        """INV-01, INV-03. Only the owner seals its range, with its epoch. Then the stream is CLOSED and ends there."""
        return old.owned_under(s, e, n) and not self.opened[s] and self.range_end[s] == end

    @step(of="trim")
    def trimmed_by_its_owner(self, old: Self, s: Stream, e: Epoch, n: Node) -> bool:
        """INV-01. Only the owner trims, with its epoch."""
        return old.owned_under(s, e, n)

    @step(of="trim")
    def cut_is_recorded(self, old: Self, s: Stream, cut: bool) -> bool:
        """ST-44. A trim records the current range anew if, and only if, it moves the start of that range."""
        moved = self.range_start[s] != old.range_start[s]
        return cut == moved or (not moved and self.start_offset[s] == old.start_offset[s])

    @step(of="commit")
    def covered_once(self, old: Self, s: Stream, b: Offset, n: Node) -> bool:
        """INV-06. No offset is committed twice, and each by the node that has to commit it."""
        return all(
            self.covered[s, o] and not old.covered[s, o] and old.owes(n, s, o)
            for o in Offset
            if old.exists[s] and old.begins(n, s) <= o and o < b
        )

    @step(of="commit")
    def stale_entry_goes(self, old: Self, s: Stream, n: Node) -> bool:
        """LV-04. After a node has committed to a stream, it has no inactive entry there."""
        return self.entry_to[n, s] == Offset(0) or self.has_entry(n, s)

    @step(of="delete")
    def deleted_when_closed(self, old: Self, s: Stream) -> bool:
        """ST-51. No delete removes an OPENED stream; streams.md 20 has no invariant for it."""
        return not old.opened[s]

    @step(of="open")
    def open_respects_barrier(self, old: Self, n: Node) -> bool:
        """INV-10. Only a registered node opens a stream, and only while no failover worker of it is registered."""
        return old.node_epoch[n] > NodeEpoch(0) and not old.failover_mode[n]

    @step(of="trim")
    def trim_respects_barrier(self, old: Self, n: Node) -> bool:
        """INV-10. Only a registered node trims a stream, and only while no failover worker of it is registered."""
        return old.node_epoch[n] > NodeEpoch(0) and not old.failover_mode[n]

    @step(of="commit")
    def commit_respects_barrier(self, old: Self, n: Node) -> bool:
        """INV-10. Only a registered node commits."""
        return old.node_epoch[n] > NodeEpoch(0)

    # Witnesses ------------------------------------------------------------------------------------------------

    @witness
    def handed_over(self) -> bool:
        """A new owner has committed above what the one before it still has to commit."""
        return any(
            any(self.has_entry(n, s) for n in Node)
            and any(self.covered[s, o] and self.range_start[s] <= o for o in Offset)
            for s in Stream
            if self.opened[s]
        )

    @witness
    def two_entries(self) -> bool:
        """Two nodes have active entries on one stream."""
        return any(
            any(m != n and self.has_entry(m, s) for m in Node) for n in Node for s in Stream if self.has_entry(n, s)
        )

    @witness
    def trimmed_entry(self) -> bool:
        """A trim has made an entry inactive, and it is still there."""
        return any(
            self.entry_to[n, s] > Offset(0) and not self.has_entry(n, s) for n in Node for s in Stream if self.opened[s]
        )

    @witness
    def orphaned_entry(self) -> bool:
        """A stream is deleted, and a node still has an entry on it."""
        return any(
            self.created[s] and not self.exists[s] and self.entry_to[n, s] > Offset(0) for n in Node for s in Stream
        )

    @witness
    def taken_over(self) -> bool:
        """A failover worker has registered for a node that has a stream OPENED."""
        return any(self.lists(n, s) for n in Node for s in Stream if self.failover_mode[n])

    # Mutants that no safety property kills, and why -----------------------------------------------------------

    mutants = outcomes({
        "ID-03": redundant(with_="ND-01"),
        "CK-01.unknown@close": equivalent("who owns a stream has opened it, and so is registered"),
        "CK-01.unknown@fast_close": equivalent("who owns a stream has opened it, and so is registered"),
        "CK-01.unknown@trim": equivalent("who owns a stream has opened it, and so is registered"),
        "ST-20": equivalent("a stream without a range is not on the sender's node, so ST-21 refuses too"),
        "CK-02.missing": equivalent("a missing stream has no range, so CK-02.node refuses too"),
        "CK-02.no_range": equivalent("a stream without a range is not on the sender's node, so CK-02.node refuses too"),
        "CS-20": missing("progress: what holds data of a deleted stream is never committed (stream_log: G-29)"),
        "CS-21": missing("progress: what holds trimmed data is never committed (stream_log: G-28)"),
        "CS-27": equivalent("a stream without a range is CLOSED, so CS-26 refuses already"),
    })  # fmt: skip
