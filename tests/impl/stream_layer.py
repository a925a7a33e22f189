"""A controller's tables for tests of single operations: run one, apply its records, look at the image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.controller.commits import CommittedObject, SetCommit, StreamCommit, commit_stream_object
from impl.controller.commits import commit_stream_set_object as commit_set
from impl.controller.continuity import CommittedRange
from impl.controller.objects import prepare
from impl.controller.streams import close_stream, create_stream, get_opening_streams, open_stream
from impl.controller.view import OperationResult, Profile, View
from impl.errors import E
from impl.metadata.image import Image
from impl.records import MetadataRecord
from impl.rules import RefusedError


class Tables:
    """An image, a profile and a clock."""

    def __init__(self, profile: Profile | None = None, now: int = 0) -> None:
        self.image = Image()
        self.profile = profile or Profile()
        self.now = now

    @property
    def view(self) -> View:
        """The view of an operation at this time."""
        return View(self.image, self.profile, self.now)

    def inject(self, *records: MetadataRecord) -> None:
        """Apply records that no operation made."""
        for record in records:
            self.image.apply(record)

    def run(self, operation: Callable[..., OperationResult], *arguments: Any, **named: Any) -> OperationResult:
        """The outcome of an operation, whose records are applied; it may be a refusal."""
        try:
            outcome = operation(self.view, *arguments, **named)
        except RefusedError as refused:
            return OperationResult(error=refused.error)
        assert outcome.error is E.NONE or not outcome.records
        self.inject(*outcome.records)
        return outcome

    def commit(
        self,
        object_id: int,
        *ranges: tuple[int, int, int],
        node: int = 0,
        epoch: int = 1,
        objects: tuple[CommittedObject, ...] = (),
        **named: Any,
    ) -> OperationResult:
        """Commit a stream set object with ranges (stream, start, end) for a node."""
        held = tuple(CommittedRange(*each) for each in ranges)
        named.setdefault("order", object_id)
        return self.run(commit_set, SetCommit(node, epoch, object_id, ranges=held, stream_objects=objects, **named))

    def compact(
        self, object_id: int, stream: int, start: int, end: int, *sources: int, **named: Any
    ) -> OperationResult:
        """Commit an object of one stream for node 0, by default without a stream epoch."""
        named = {"node": 0, "node_epoch": 1, "size": 0, "epoch": -1} | named
        commit = StreamCommit(object=object_id, stream=stream, start=start, end=end, sources=sources, **named)
        return self.run(commit_stream_object, commit)


def kinds(outcome: OperationResult) -> list[str]:
    """The kinds of an outcome's records."""
    return [str(record.KIND) for record in outcome.records]


def opened(*nodes: int, objects: int = 10, **profile: Any) -> Tables:
    """Nodes that registered with epoch 1 (default: 0 and 1), stream 0 opened by the first under epoch 1, and objects.

    The objects are prepared for an hour.
    """
    tables = Tables(Profile(**profile))
    nodes = nodes or (0, 1)
    for node in nodes:
        tables.run(get_opening_streams, node, 1)
    tables.run(create_stream, nodes[0], 1)
    tables.run(open_stream, nodes[0], 1, 0, 1)
    tables.run(prepare, objects, 3_600_000)
    return tables


def sealed(end: int = 10, committed: int = 4) -> Tables:
    """As ``opened``; node 0 committed stream 0 up to ``committed`` as object 0, and closed it fast at ``end``."""
    tables = opened()
    if committed:
        tables.commit(0, (0, 0, committed))
    tables.run(close_stream, 0, 1, 0, 1, end)
    return tables
