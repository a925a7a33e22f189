"""The lines of the leases of a partition's streams: opens and closes that changed something at the controller.

A broker makes the data streams before the first append, long after the meta stream. A model has all streams from the
start. A stream that is not made yet is empty, so it might as well exist and move with the partition: until its first
open, each line of the meta stream stands for it, too. At its first open, the same node should have the meta stream
OPENED under the same epoch; then the open needs no line. Otherwise the open has a line like any other, which a model
refuses.
"""

from __future__ import annotations

from collections.abc import Mapping

from impl import wire
from impl.errors import E
from impl.metadata.image import Image
from impl.sim.conformance.hosts import Hosts
from impl.sim.conformance.item import Post, stored_stream
from impl.sim.conformance.lines import LineCollector
from impl.sim.conformance.stream_set import StreamSet
from impl.sim.event_log import ExecutedRequest


def was_taken(executed: ExecutedRequest) -> bool:
    """Whether a request of one item was not refused; an answer that was lost counts as taken."""
    assert executed.answers is not None, "open requests are left out"
    return executed.unknown or executed.answers[0].error is E.NONE


Opened = tuple[str, int, int]
"""An open: the process, the stream and the epoch."""


class Leases:
    """Writes the lines about opens, closes and failovers.

    ``heard``: for each open that was taken, the event at which its process heard the answer.
    """

    def __init__(self, lines: LineCollector, streams: StreamSet, hosts: Hosts, heard: Mapping[Opened, int]) -> None:
        self._heard = heard
        self._lines, self._streams, self._hosts = lines, streams, hosts
        self._granted: set[Opened] = set()
        """The opens that were taken: the process, the stream and the epoch."""

    def execute(self, index: int, executed: ExecutedRequest, image: Image) -> None:
        """Add the lines of a request that names streams, or of a registration."""
        match executed.request.body:
            case wire.OpenStreams(node, _, opens):
                for opened, post in zip(opens, executed.post, strict=True):
                    if self._has_changed(post, image):
                        self._open(index, executed.sender, node, opened.epoch, post)
            case wire.CloseStreams(node, _, closes):
                for closed, post in zip(closes, executed.post, strict=True):
                    if self._has_changed(post, image):
                        self._close(index, executed.sender, node, closed.epoch, post)
            case wire.GetOpeningStreams(node, _, failover=True) if was_taken(executed):
                self._hosts.failed_over.add(node)
                if any(self._lists(stream, node, image) for stream in self._streams.all):
                    self._lines.add(index, "FAILOVER", {"node": node})

    def _lists(self, stream: int, node: int, image: Image) -> bool:
        return stream in image.opened_on.get(node, ())

    def _has_changed(self, post: Post, image: Image) -> bool:
        """Whether the request has changed the lease of a stream. ``image``: before the request."""
        stream, after, _, _ = post
        before = image.streams.get(stream)
        if stream not in self._streams.all or before is None:
            return False
        return (before.state, before.epoch) != (after.state, after.epoch)

    def _open(self, index: int, sender: str, node: int, epoch: int, post: Post) -> None:
        stream = post[0]
        opened = sender, stream, epoch
        kind = "OPEN_STREAM:late"
        if self._hosts.waits(sender, epoch) and opened not in self._granted:
            kind = "OPEN_STREAM" if self._heard.get(opened, -1) > index else "OPEN_STREAM:unheard"
        self._granted.add(opened)
        self._hosts.overtake(node, late=kind == "OPEN_STREAM:late")
        if kind == "OPEN_STREAM":
            self._hosts.grant(*opened)
        elif kind == "OPEN_STREAM:late":
            self._hosts.sent.discard(opened)
        if not self._streams.is_made(stream) and opened not in self._heard:
            return  # No process gets a handle by this open, so the stream is not made yet.
        if self._streams.make(stream) and self._streams.meta_lease == (node, epoch):
            if self._hosts.is_newest(sender):
                self._hosts.grant(*opened)
            return  # The first open joins the stream to the meta stream, and needs no line.
        if stream == self._streams.meta:
            self._streams.meta_lease = node, epoch
        self._add(index, kind, node, epoch, post)

    def _close(self, index: int, sender: str, node: int, epoch: int, post: Post) -> None:
        if not self._streams.is_made(post[0]):
            return  # The line of the meta stream stands for this stream.
        if self._hosts.node_of(sender) != node or sender not in self._hosts.recovered:
            kind = "CLOSE_STREAM:recovery"
        elif (sender, post[0], epoch) in self._hosts.sent & self._hosts.held:
            kind = "CLOSE_STREAM" if self._hosts.is_newest(sender) else "CLOSE_STREAM:late"
        else:
            kind = "CLOSE_STREAM:stray"
        self._add(index, kind, node, epoch, post)

    def _add(self, index: int, kind: str, node: int, epoch: int, post: Post) -> None:
        for stream in self._streams.like(post[0]):
            self._lines.add(index, kind, {"node": node}, stream=stream, streamEpoch=epoch, state=stored_stream(post))
