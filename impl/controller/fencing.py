"""Changes of the states of brokers, and the moves of partitions that follow (reassignment.md 3.3, streams.md FO-10)."""

from __future__ import annotations

from collections import Counter

from impl.controller.registration import (
    NO_LEADER,
    RECOVERED,
    acceptable,
    automatic,
    build,
    is_active,
    is_elastic,
    is_registered,
    nobody,
    target,
)
from impl.controller.view import OperationResult, View
from impl.metadata.image import Image
from impl.records import BrokerRegistration, MetadataRecord, Partition, PartitionChange
from impl.rules import rule

EVICTED_AT_ONCE = 100
"""The most partitions that one pass of an eviction moves."""


def set_broker(view: View, node: int, state: str) -> OperationResult:
    """Change the state of a broker to active, fenced, shutting_down, or gone (unregistered).

    A broker that begins its shutdown keeps its partitions until ``drain`` moves them.
    """
    before = view.image.brokers.get(node, "gone")
    if state == before:
        return OperationResult()
    records: list[MetadataRecord] = [BrokerRegistration(node, state)]
    if state == "active":
        records += _unfence(view, node)
    elif state in ("fenced", "gone") and is_registered(view.image, node):
        records += _fence(view, node)
    return OperationResult(tuple(records))


def drain(view: View, node: int) -> OperationResult:
    """Run one pass of eviction over a broker in controlled shutdown. The answer holds ``moved``, the number of moves.

    Without another active broker the partitions stay where they are, and lose their leader.
    """
    if view.image.brokers.get(node) != "shutting_down":
        return OperationResult(values={"moved": 0})
    homes = _Homes(view.image, node)
    mine = [row for row in _elastic(view.image) if row.replicas == (node,)]
    changes: list[PartitionChange] = []
    moved = 0
    for row in mine:
        if len(changes) == EVICTED_AT_ONCE:
            break
        home = homes.choose()
        change = _rehome(row, node if home is None else home)
        if change is not None:
            changes.append(change)
            moved += home is not None
    return OperationResult(tuple(changes), values={"moved": moved})


# Fencing --------------------------------------------------------------------------------------------------------


def _fence(view: View, node: int) -> list[PartitionChange]:
    """FO-10. An elastic partition goes to another active broker. Other partitions lose the broker from their ISR."""
    homes = _Homes(view.image, node)
    changes: list[PartitionChange | None] = []
    for _, row in sorted(view.image.partitions.items()):
        if is_elastic(view.image, row):
            if rule("FO-10.fence", row.replicas == (node,)):
                home = homes.choose()
                changes.append(_rehome(row, node if home is None else home))
        elif node in row.isr or row.leader == node:
            changes.append(_leave_isr(view, row, node))
    return [change for change in changes if change is not None]


def _leave_isr(view: View, row: Partition, node: int) -> PartitionChange | None:
    """The record that takes a broker out of the ISR. The last member stays in the ISR, and the leader becomes none."""
    # If this ISR is empty, the builder does not write it.
    isr = tuple(broker for broker in row.isr if broker != node)
    # ``view`` is the state before the fencing, in which the broker may be active: exclude it by name.
    alive = acceptable(view)
    return build(row, target(row, isr=isr), lambda broker: broker != node and alive(broker), automatic(view.profile))


def _unfence(view: View, node: int) -> list[PartitionChange]:
    """The records for partitions without a leader when a broker becomes active again.

    A partition gets a leader if this broker may lead it. An elastic partition moves to this broker if its own one is
    not active: a broker that comes back takes no partition from an active one.
    """
    # ``view`` is the state before, in which the broker is not active yet: include it by name.
    alive = acceptable(view)
    changes: list[PartitionChange | None] = []
    for _, row in sorted(view.image.partitions.items()):
        if row.leader != NO_LEADER:
            continue
        if not is_elastic(view.image, row):
            changes.append(
                build(row, target(row), lambda broker: broker == node or alive(broker), automatic(view.profile))
            )
        elif row.replicas != (node,):
            held = any(is_active(view.image, broker) for broker in row.replicas)
            if not rule("FO-10.unfence", held):
                changes.append(_rehome(row, node))
    return [change for change in changes if change is not None]


# Elastic partitions ---------------------------------------------------------------------------------------------


def _rehome(row: Partition, home: int) -> PartitionChange | None:
    """The record that assigns an elastic partition to a broker, perhaps its own, and leaves it without a leader."""
    origin = {} if row.replicas == (home,) else {"original": None, "marker": None}  # CA-54: failed over, not moved
    return build(row, target(row, isr=(home,), replicas=(home,), recovery=RECOVERED, **origin), nobody)


def _elastic(image: Image) -> list[Partition]:
    return [row for _, row in sorted(image.partitions.items()) if is_elastic(image, row)]


class _Homes:
    """The active brokers other than ``node``, with their numbers of elastic partitions. A choice counts at once."""

    def __init__(self, image: Image, node: int) -> None:
        self._loads = Counter(row.replicas[0] for row in _elastic(image) if row.replicas)
        self._brokers = [broker for broker in sorted(image.brokers) if is_active(image, broker)]
        self._brokers = [broker for broker in self._brokers if broker != node]

    def choose(self) -> int | None:
        """The broker with the fewest partitions, None if no broker is active."""
        if not self._brokers:
            return None
        home = min(self._brokers, key=lambda broker: (self._loads[broker], broker))
        self._loads[home] += 1
        return home
