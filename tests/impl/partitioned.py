"""A controller of partitions, small enough for tests: an image, timers and a clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from impl.controller import partitions
from impl.controller.timers import Timers
from impl.controller.view import OperationResult, Profile, View
from impl.errors import E
from impl.metadata.image import Image
from impl.records import (
    PARTITION_TAG,
    TOPIC_TAG,
    MetadataRecord,
    Partition,
    PartitionChange,
    Range,
    S3Stream,
    StreamState,
    Tag,
)
from impl.rules import RefusedError


class Cluster:
    """Brokers 0 to 7, all active, and topics: ``e`` is elastic, ``k`` has lists of replicas."""

    def __init__(self, elastic: tuple[int, ...] = (), lists: tuple[list[int], ...] = (), **profile: Any) -> None:
        self.profile = Profile(**profile)
        self.image = Image()
        self.now = 0
        self.timers = Timers(self.profile)
        for broker in range(8):
            self.broker(broker, "active")
        if elastic:
            self.run(lambda view: partitions.create_topic(view, "e", [[broker] for broker in elastic], elastic=True))
        if lists:
            self.run(lambda view: partitions.create_topic(view, "k", lists))

    @property
    def view(self) -> View:
        """The view of an operation at this time."""
        return View(self.image, self.profile, self.now)

    def run(self, operation: Callable[[View], OperationResult]) -> OperationResult:
        """Run an operation, apply its records, and let the timers see them."""
        try:
            outcome = operation(self.view)
        except RefusedError as refused:
            outcome = OperationResult(error=refused.error)
        self.apply(*outcome.records)
        return outcome

    def apply(self, *records: MetadataRecord) -> None:
        """Apply records as one batch."""
        for record in records:
            self.image.apply(record)
        self.timers.observe(records, self.image, self.now)

    def configure(self, **profile: Any) -> None:
        """Change profile settings."""
        self.profile = msgspec.structs.replace(self.profile, **profile)

    # Operations -----------------------------------------------------------------------------------------------

    def broker(self, node: int, state: str) -> OperationResult:
        """Change the state of a broker."""
        return self.run(lambda view: partitions.set_broker(view, node, state))

    def alter(self, name: str, replicas: list[int] | None) -> tuple[str, PartitionChange | None]:
        """Start a reassignment, or cancel one (None). Returns the error of its row, and its record."""
        topic, number = name.split("-")
        outcome = self.run(lambda view: partitions.alter(view, {topic: {int(number): replicas}}))
        assert outcome.error is E.NONE
        assert outcome.values["topics"] == {topic}
        return outcome.values["rows"][name], _change(outcome)

    def isr(self, name: str, isr: list[int], broker: int | None = None, **more: Any) -> OperationResult:
        """Change the ISR as a leader; the present leader if no broker is given."""
        topic, number = name.split("-")
        sender = self.row(name).leader if broker is None else broker
        return self.run(lambda view: partitions.alter_partition(view, topic, int(number), sender, isr, **more))

    def elect(self, name: str, kind: str = "preferred") -> OperationResult:
        """Request an election."""
        topic, number = name.split("-")
        self.timers.requested(topic, int(number))
        return self.run(lambda view: partitions.elect(view, topic, int(number), kind))

    def tick(self, ms: int) -> list[str]:
        """Move the clock and run the timers that are due."""
        self.now += ms
        return [name for name, _ in self.timers.run(self.run, lambda: self.view)]

    def fail_over(self) -> None:
        """Start another controller from the log."""
        self.timers.forget()
        self.timers.restore(self.image, self.now)

    def stream(self, stream: int, name: str, node: int, state: StreamState) -> None:
        """Add a stream of a partition, with a range of a node."""
        topic, number = name.split("-")
        tags = (Tag(TOPIC_TAG, topic), Tag(PARTITION_TAG, number))
        self.apply(S3Stream(stream, 0, 0, 0, state, tags), Range(stream, 0, 0, 0, 0, node))

    # Queries --------------------------------------------------------------------------------------------------

    def row(self, name: str) -> Partition:
        """The registration of a partition."""
        topic, number = name.split("-")
        return self.image.partitions[topic, int(number)]

    def epochs(self, name: str) -> tuple[int, int]:
        """The leader epoch and the partition epoch."""
        return self.row(name).leader_epoch, self.row(name).partition_epoch

    def listed(self) -> dict[str, Any]:
        """The reassignments that are running."""
        listed: dict[str, Any] = partitions.list_reassignments(self.view).values["reassignments"]
        return listed


def _change(outcome: OperationResult) -> PartitionChange | None:
    assert len(outcome.records) <= 1
    record = outcome.records[0] if outcome.records else None
    assert record is None or isinstance(record, PartitionChange)
    return record


def written(record: PartitionChange | None) -> set[str]:
    """The fields that a record writes, without the origin's bookkeeping."""
    assert record is not None
    fields = ("isr", "leader", "replicas", "adding_replicas", "removing_replicas", "leader_recovery_state")
    return {field for field in fields if getattr(record, field) is not None}
