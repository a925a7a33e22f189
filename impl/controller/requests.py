"""Requests as events: which operations a request runs, and which of them share an event (EX-05, EX-06)."""

from __future__ import annotations

from collections.abc import Callable

from impl import wire
from impl.controller.commits import commit_stream_object, commit_stream_set_object
from impl.controller.keys import put_if_absent
from impl.controller.nodes import heartbeat, register_node, unregister_node
from impl.controller.objects import prepare
from impl.controller.partitions import (
    alter,
    alter_partition,
    create_topic,
    drain,
    elect,
    list_reassignments,
    set_broker,
)
from impl.controller.renewals import renew
from impl.controller.routes import report
from impl.controller.streams import (
    close_stream,
    create_stream,
    delete_stream,
    describe_streams,
    get_opening_streams,
    open_stream,
    trim_stream,
)
from impl.controller.view import OperationResult, View
from impl.items import CloseItem, CreateItem, OpenItem, TrimItem

Operation = Callable[[View], OperationResult]
Event = tuple[Operation, ...]
"""The operations of an event. Each of them reads the state before the event. Their records form one batch."""


def events_of(body: wire.Body) -> tuple[Event, ...]:
    """The events of a request, in order. The request has one answer for each operation, in the same order."""
    match body:
        # Opens and closes: one event for the whole request.
        case wire.OpenStreams(node, node_epoch, items):
            return (tuple(_open(node, node_epoch, item) for item in items),)
        case wire.CloseStreams(node, node_epoch, items):
            return (tuple(_close(node, node_epoch, item) for item in items),)
        # Creates, trims and deletes: one event for each item, which reads the effects of the items before it.
        case wire.CreateStreams(node, node_epoch, items):
            return tuple((_create(node, node_epoch, item),) for item in items)
        case wire.TrimStreams(node, node_epoch, items):
            return tuple((_trim(node, node_epoch, item),) for item in items)
        case wire.DeleteStreams(_, _, streams):
            return tuple((_delete(stream),) for stream in streams)
        case _:
            return ((_single(body),),)


def items_of(body: wire.Body) -> int:
    """The number of answers to a request."""
    match body:
        case wire.OpenStreams() | wire.CloseStreams() | wire.CreateStreams() | wire.TrimStreams():
            return len(body.items)
        case wire.DeleteStreams():
            return len(body.streams)
        case _:
            return 1


def _single(body: wire.Body) -> Operation:
    """The operation of a request that has no items."""
    match body:
        case wire.GetOpeningStreams(node, node_epoch, failover):
            return lambda view: get_opening_streams(view, node, node_epoch, failover)
        case wire.PrepareObjects(count, ttl_ms):
            return lambda view: prepare(view, count, ttl_ms)
        case wire.CommitStreamSetObject(set_commit):
            return lambda view: commit_stream_set_object(view, set_commit)
        case wire.CommitStreamObject(stream_commit):
            return lambda view: commit_stream_object(view, stream_commit)
        case wire.RegisterNode(node, node_epoch, wal_config, tags):
            return lambda view: register_node(view, node, node_epoch, wal_config, tags)
        case wire.Heartbeat(node):
            return lambda view: heartbeat(view, node)
        case wire.UnregisterNode(node):
            return lambda view: unregister_node(view, node)
        case wire.PutIfAbsent(key, value):
            return lambda view: put_if_absent(view, key, value)
        case wire.ReportRouteEpoch(node, node_epoch, epoch):
            return lambda view: report(view, node, node_epoch, epoch)
        case wire.DescribeStreams(stream, owner, topic, partition):
            return lambda view: describe_streams(view, stream, owner, topic, partition)
        case _:
            return _of_partitions(body)


def _of_partitions(body: wire.Body) -> Operation:
    match body:
        case wire.SetBroker(node, state):
            return lambda view: set_broker(view, node, state)
        case wire.DrainBroker(node):
            return lambda view: drain(view, node)
        case wire.CreateTopic(topic, partitions, elastic):
            return lambda view: create_topic(view, topic, partitions, elastic)
        case wire.AlterReassignments(topics):
            plan = {name: {p: _list(replicas) for p, replicas in rows.items()} for name, rows in topics.items()}
            return lambda view: alter(view, plan)
        case wire.ListReassignments(wanted):
            return lambda view: list_reassignments(view, wanted)
        case wire.AlterPartition(topic, partition, broker, isr, leader_epoch, partition_epoch, version, recovery):
            return lambda view: alter_partition(
                view, topic, partition, broker, isr, leader_epoch, partition_epoch, version, recovery
            )
        case wire.ElectLeader(topic, partition, kind):
            return lambda view: elect(view, topic, partition, kind)
        case wire.RenewEpoch(node, node_epoch, topic, partition, leader_epoch):
            return lambda view: renew(view, node, node_epoch, topic, partition, leader_epoch)
        case _:
            raise TypeError(f"no operation answers {type(body).__name__}")


def _list(replicas: tuple[int, ...] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)


def _open(node: int, node_epoch: int, item: OpenItem) -> Operation:
    return lambda view: open_stream(view, node, node_epoch, item.stream, item.epoch, item.tags)


def _close(node: int, node_epoch: int, item: CloseItem) -> Operation:
    return lambda view: close_stream(view, node, node_epoch, item.stream, item.epoch, item.end)


def _create(node: int, node_epoch: int, item: CreateItem) -> Operation:
    return lambda view: create_stream(view, node, node_epoch, item.tags)


def _trim(node: int, node_epoch: int, item: TrimItem) -> Operation:
    return lambda view: trim_stream(view, node, node_epoch, item.stream, item.epoch, item.to)


def _delete(stream: int) -> Operation:
    return lambda view: delete_stream(view, stream)
