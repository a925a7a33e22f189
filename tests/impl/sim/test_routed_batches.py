"""The oracles of routed batches, with events that they have to notice."""

from __future__ import annotations

import pytest

from impl.client.history import History
from impl.controller.routes import REPORT_KEY
from impl.metadata.log import MetadataBatch
from impl.records import KV, KeyValue, PartitionChange
from impl.sim.event_log import AppendedBatch, Event
from impl.sim.routed_batches import late, reordered
from impl.zone.encodings import NodeEpochRecord


def appended(record: KV | PartitionChange, time: int = 0, *, lost: bool = False) -> Event:
    """A controller writes a record."""
    batch = AppendedBatch(0, MetadataBatch((record,)))
    batch.lost = lost
    return time, "c0", "batch", batch


def report(node: int, epoch: int, *, lost: bool = False) -> Event:
    """A node reports a route epoch."""
    return appended(KV((KeyValue(f"{REPORT_KEY}{node}", NodeEpochRecord(epoch).encode()),)), lost=lost)


def routed(epoch: int, *errors: str, name: str = "b2.0") -> Event:
    """A main of node 2 answers a request."""
    return 0, name, "routed", {"node": 2, "epoch": epoch, "errors": list(errors)}


def started(name: str) -> Event:
    """A process of node 2 starts."""
    return 0, name, "start", {"node": 2, "epoch": 9}


@pytest.mark.parametrize(
    ("events", "is_late"),
    [
        ([report(2, 4), routed(5, "NONE")], False),
        ([report(2, 4), routed(4, "NONE")], True),
        ([report(2, 4), routed(3, "NOT_LEADER_OR_FOLLOWER", "NONE")], True),
        ([routed(4, "NONE"), report(2, 4)], False),
        ([report(2, 4), routed(4)], False),  # It was fenced.
        ([report(2, 4), routed(4, "NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT")], False),
        ([report(3, 4), routed(4, "NONE")], False),
        ([report(2, 4, lost=True), routed(4, "NONE")], False),
        ([report(2, 4), started("b2.1"), routed(4, "NONE")], False),  # The successor has recovered it.
        ([report(2, 4), started("b2.1"), routed(4, "NONE", name="b2.1")], True),
    ],
)
def test_nothing_is_appended_below_a_report(events: list[Event], is_late: bool) -> None:
    """I-5. What a node has reported has ended there, and is refused from then on."""
    assert bool(list(late([started("b2.0"), *events]))) == is_late


def received(value: int, *, time: int = 10, name: str = "b1.0", client: int = 3, partition: int = 0) -> Event:
    """A proxy gets a batch."""
    return time, name, "received", {"client": client, "partition": partition, "value": value}


def acked(*sends: tuple[int, int | None]) -> History:
    """A history: the values that were sent at once, and their offsets; None if the outcome is unknown."""
    history = History()
    for value, offset in sends:
        index = history.invoke(f"c.{value}", "send", 0, value, 5, count=1)
        history.complete(index, "info" if offset is None else "ok", 90, offset=offset)
    return history


CHANGE = PartitionChange("t", 0, leader=2)


@pytest.mark.parametrize(
    ("events", "sends", "is_reordered"),
    [
        ([received(1), received(2)], ((1, 0), (2, 1)), False),
        ([received(2), received(1)], ((1, 0), (2, 1)), True),
        ([received(2), received(9), received(1)], ((1, 0), (2, 1), (9, None)), True),
        ([received(2), received(1)], ((1, 0), (2, None)), False),
        ([received(2), received(1, client=4)], ((1, 0), (2, 1)), False),
        ([received(2), received(1, name="b3.0")], ((1, 0), (2, 1)), False),
        ([received(2), received(1), received(2)], ((1, 0), (2, 1)), False),  # One of both copies was appended.
        ([received(2), appended(CHANGE, 50), received(1)], ((1, 0), (2, 1)), False),  # They had two mains, perhaps.
        ([received(2), appended(CHANGE, 50, lost=True), received(1)], ((1, 0), (2, 1)), True),
        ([appended(CHANGE, 9), received(2), received(1)], ((1, 0), (2, 1)), True),
        ([received(2), received(1), appended(CHANGE, 91)], ((1, 0), (2, 1)), True),
    ],
)
def test_a_main_keeps_the_order(
    events: list[Event], sends: tuple[tuple[int, int | None], ...], is_reordered: bool
) -> None:
    """I-9. The batches of one connection are appended as the proxy has received them."""
    assert bool(list(reordered(events, acked(*sends)))) == is_reordered
