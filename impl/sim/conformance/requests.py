"""The lines of the controller: the effects of each request, at the event at which the leader executed it.

A line has the name of its request. A suffix behind a colon tells why a model may read it in another way, or not at all:

    :refused      it was answered with an error
    :repeated     it was taken, and changed nothing
    :unused       nobody appends under this lease: a late repetition renewed one that was closed (ST-24), or the storage
                  of the process has failed (PL-04); or the line ends such a lease
    :recovery     a recovery closes a stream, for the first time
    :superseded   as :recovery, but a newer owner has the stream (RC-06)
    :missing      the range of a commit belongs to a stream that is deleted (CS-20)
    :part         a recovery commits the rest of the same batches later, and the line of that commit has both
    :trimmed      a recovery commits a range that trims have removed whole (AM-08, CS-21)

Requests without an effect on the cluster are left out: a failover has lost them, or their controller led no more.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from impl import wire
from impl.controller.commits import SetCommit
from impl.errors import E
from impl.items import CloseItem, OpenItem, TrimItem
from impl.sim.conformance.item import Item, Post, stored_node, stored_stream
from impl.sim.conformance.lines import BEFORE, LineCollector, Processes, Who, identity
from impl.sim.conformance.takeovers import NEVER, Takeovers
from impl.sim.event_log import AppendedBatch, Event, ExecutedRequest

NODE_ERRORS = (E.NODE_EPOCH_EXPIRED, E.NODE_FENCED, E.NODE_EPOCH_NOT_EXIST)
"""The refusals of CK-01, which do not depend on the stream."""
RANGE_ERRORS = (E.STREAM_NOT_OPENED, E.STREAM_INNER_ERROR, E.STREAM_FENCED, E.OFFSET_NOT_MATCHED)
"""The refusals of CS-22 to CS-29b, which are about one range of a commit."""

Closing = tuple[tuple[int, int, bool], int, int]
"""A close: the process, the stream and the epoch."""
Streams = wire.OpenStreams | wire.CloseStreams | wire.TrimStreams | wire.DeleteStreams


class Requests:
    """Goes through the requests in their order.

    ``leases``: by name and stream, the events of the opens and closes that changed something. ``commits``: by stream,
    the events and ends of its commits. ``trims``: by stream, the starts that trims have given it. ``opened``: the opens
    that were taken, by name, stream and epoch, each with the end of the stream.

    ``Closes`` and ``Appends`` fill in three fields. ``closing``: the closes of handles. ``recoveries``: the closes of
    recoveries. ``failed``: by name, the event at which the storage of a process has failed.

    ``effective``: the processes of which a commit or a close was taken. ``recovered``: the closes that ended a
    recovery. ``unused``: the opens, by name, stream and epoch, that were taken when the storage of the process had
    failed. ``unused_ends``: the closes that ended a lease which nobody used.
    """

    def __init__(self, lines: LineCollector, processes: Processes, takeovers: Takeovers, events: list[Event]) -> None:
        self.leases: dict[tuple[str, int], list[list[int]]] = {}
        self.commits: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.trims: dict[int, set[int]] = defaultdict(set)
        self.deleted: set[int] = set()
        self.opened: dict[tuple[str, int, int], int] = {}
        self.closing: set[Closing] = set()
        self.recoveries: set[Closing] = set()
        self.recovered: set[Closing] = set()
        self.failed: dict[str, int] = {}
        self.effective: set[tuple[int, int, bool]] = set()
        self._committed: dict[int, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
        """By stream: the events and lines of its commits."""
        self.unused: set[tuple[str, int, int]] = set()
        self.unused_ends: set[Closing] = set()
        self._lines, self._processes, self._takeovers, self._events = lines, processes, takeovers, events
        self._newest: dict[int, Who] = {}
        """By node: the process that has registered last."""
        self._epochs: dict[int, int] = {}
        self._starts: dict[int, int] = {}
        self._unused: set[int] = set()
        """The streams that are open under a lease that nobody uses."""
        self._entries: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
        """By stream and node: the entries that are not drained."""

    def execute(self, index: int, executed: ExecutedRequest) -> None:
        """Add the lines of a request."""
        if executed.lost or executed.stale or executed.answers is None:
            return
        changed = self._has_changed(index)
        if executed.unknown and not changed:
            return
        errors = [E.NONE if executed.unknown else each.error for each in executed.answers]

        def items(node: int, epoch: int, failover: bool | None = None) -> list[Item]:
            who = self._processes.sender(executed.sender, node, epoch, failover=failover)
            refused = self._processes.refused(who, epoch)
            return [Item(index, executed.sender, who if each is E.NONE else refused, each, changed) for each in errors]

        match executed.request.body:
            case wire.GetOpeningStreams(node, epoch, failover):
                item = items(node, epoch, failover)[0]
                self._register(item, stored_node(executed, item.who, epoch))
            case wire.CommitStreamSetObject(commit) if not commit.compacted:
                item = items(commit.node, commit.node_epoch, commit.failover)[0]
                self._commit(item, commit, {post[0]: post for post in executed.post})
            case wire.OpenStreams() | wire.CloseStreams() | wire.TrimStreams() | wire.DeleteStreams() as body:
                self._streams(items(body.node, body.node_epoch), body, executed.post)

    def _streams(self, items: list[Item], body: Streams, posts: tuple[Post, ...]) -> None:
        """Add a line for each item of a request that names streams."""
        match body:
            case wire.OpenStreams(_, _, opens):
                for item, opened, post in zip(items, opens, posts, strict=True):
                    self._open(item, opened, post)
            case wire.CloseStreams(_, _, closes):
                for item, closed, post in zip(items, closes, posts, strict=True):
                    self._close(item, closed, post)
            case wire.TrimStreams(_, _, trims):
                for item, trimmed, post in zip(items, trims, posts, strict=True):
                    self._trim(item, trimmed, post)
            case wire.DeleteStreams(_, _, streams):
                for item, stream in zip(items, streams, strict=True):
                    self._delete(item, stream)

    def _has_changed(self, index: int) -> bool:
        """Whether the request of an event has led to a batch: the leader writes it in the same step."""
        now, source, *_ = self._events[index]
        for time, name, kind, subject in self._events[index + 1 :]:
            if time != now or name != source or kind not in ("batch", "missing"):
                return False
            if isinstance(subject, AppendedBatch):
                return not subject.lost
        return False

    def _register(self, item: Item, stored: dict[str, Any]) -> None:
        if not item.taken:
            self._lines.add(item.index, "GET_OPENING_STREAMS:refused", item.who, error=item.error.name)
            return
        self._newest[item.who["node"]] = item.who
        if not item.who["failover"]:
            self._processes.register(item.name)
        self._takeovers.register(item.index, item.name, item.who, stored)

    def _open(self, item: Item, opened: OpenItem, post: Post) -> None:
        stream, epoch = opened.stream, opened.epoch
        kind = f"OPEN_STREAM{item.suffix}"
        if item.taken and post[1] is not None:
            self.opened[item.name, stream, epoch] = post[1].end
        if item.effective:
            if item.name in self.failed:
                self.unused.add((item.name, stream, epoch))
            # An epoch that was used before: a late repetition has renewed a lease that was closed.
            if self._epochs.get(stream) == epoch or item.name in self.failed:
                self._unused.add(stream)
                kind = "OPEN_STREAM:unused"
            self._epochs[stream] = epoch
            self.leases.setdefault((item.name, stream), []).append([item.index, NEVER])
        self._add(item, kind, post, stream=stream, streamEpoch=epoch)

    def _close(self, item: Item, closed: CloseItem, post: Post) -> None:
        stream, epoch = closed.stream, closed.epoch
        kind = f"CLOSE_STREAM{item.suffix}"
        closing = identity(item.who), stream, epoch
        if closing in self.recoveries and item.error in (E.NONE, E.STREAM_FENCED):
            if closing not in self.recovered:
                kind = f"CLOSE_STREAM:{'recovery' if item.taken else 'superseded'}"
            elif item.taken:
                kind = "CLOSE_STREAM:repeated"
            self.recovered.add(closing)
        elif closing not in self.closing and item.error in NODE_ERRORS:
            kind = "CLOSE_STREAM.barred"
        if item.effective:
            self.effective.add(identity(item.who))
            if stream in self._unused:
                self._unused.discard(stream)
                kind = "CLOSE_STREAM:unused"
                self.unused_ends.add(closing)
            # End the lease of the stream, whichever process has it.
            for (_, leased), leases in self.leases.items():
                if leased == stream and leases[-1][1] == NEVER:
                    leases[-1][1] = item.index
            self._see_entry(item.who["node"], post)
        self._add(item, kind, post, stream=stream, streamEpoch=epoch, end=closed.end)

    def _trim(self, item: Item, trimmed: TrimItem, post: Post) -> None:
        stream, to = trimmed.stream, trimmed.to
        if item.effective:
            self.trims[stream].add(to)
            self._starts[stream] = to
        self._add(item, f"TRIM_STREAM{item.suffix}", post, stream=stream, streamEpoch=trimmed.epoch, newStart=to)

    def _delete(self, item: Item, stream: int) -> None:
        if item.effective:
            self.deleted.add(stream)
            for node, (start, end) in sorted(self._entries.pop(stream, {}).items()):
                # Nobody has to commit the rest of the entry now (CS-20, RC-02). A model without deletion drains it.
                first = max(start, self._starts.get(stream, 0))
                if first < end and node in self._newest:
                    who = self._newest[node]
                    self._lines.add(item.index, "entry.dropped", who, place=BEFORE, stream=stream, base=first, end=end)
        self._lines.add(item.index, f"DELETE_STREAM{item.suffix}", item.who, stream=stream, error=item.error.name)

    def _commit(self, item: Item, commit: SetCommit, posts: dict[int, Post]) -> None:
        if item.taken and not item.changed:
            self._lines.add(item.index, "REPEATED_COMMIT", item.who, object=commit.object)
            return
        ranges = [(each.stream, each.start, each.end) for each in commit.ranges]
        ranges += [(each.stream, each.start, each.end) for each in commit.stream_objects]
        if not item.taken and item.error not in NODE_ERRORS and (len(ranges) > 1 or item.error not in RANGE_ERRORS):
            # The answer does not tell which range was refused, or whether the object was.
            return
        for stream, start, end in sorted(ranges):
            suffix = ":refused" if not item.taken else ":missing" if posts[stream][1] is None else ""
            first = start
            if item.who["failover"] or (item.name, stream) not in self.leases:
                # A recovery replays a batch that a trim has cut (AM-08). The models do not have the trimmed offsets.
                first = max(first, min(self._starts.get(stream, 0), end))
                if first == end:
                    suffix = suffix or ":trimmed"
            if item.taken:
                self.effective.add(identity(item.who))
                self.commits[stream].append((item.index, end))
                self._see_entry(item.who["node"], posts[stream])
            kind = f"COMMIT_STREAM_SET_OBJECT{suffix}"
            line = self._add(item, kind, posts[stream], stream=stream, base=start, first=first, end=end)
            if item.taken:
                self._committed[stream].append((item.index, line))

    def join_commits(self, stream: int, after: int, base: int, end: int) -> None:
        """Join the commits of the batches [base, end) of a stream, which are one batch for the models.

        A process has left these batches at the event ``after``. Commits that end inside them are parts of the last
        commit. All of them come before the next open of the stream.
        """
        opens = (begin for (_, each), leases in self.leases.items() if each == stream for begin, _ in leases)
        until = min((begin for begin in opens if begin > after), default=NEVER)
        first: int | None = None
        for index, line in self._committed[stream]:
            if not after < index < until:
                continue
            if base < line["end"] < end:
                first = line["first"] if first is None else first
                line["kind"] = f"{line['event']}:part"
            elif first is not None:
                line["first"], first = first, None

    def _see_entry(self, node: int, post: Post) -> None:
        stream, _, _, entry = post
        if entry is None:
            self._entries[stream].pop(node, None)
        else:
            self._entries[stream][node] = entry.start, entry.to

    def _add(self, item: Item, kind: str, post: Post, **fields: int) -> dict[str, Any]:
        more: dict[str, Any] = {**fields, "error": item.error.name}
        if post[1] is not None:
            more["state"] = stored_stream(post)
            if kind == "CLOSE_STREAM:superseded" and fields["stream"] in self._unused:
                # The models do not have the lease by which the stream is open.
                del more["state"]["opened"], more["state"]["epoch"]
        return self._lines.add(item.index, kind, item.who, **more)
