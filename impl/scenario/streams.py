"""The operations on streams and nodes (streams.md 3, 6)."""

from __future__ import annotations

from functools import partial

from impl.controller import nodes, streams
from impl.records import PARTITION_TAG, TOPIC_TAG, Tag
from impl.scenario.world import Arguments, Perform, Result, World


def _openings(world: World, a: Arguments) -> Result:
    return world.run(
        lambda view: streams.get_opening_streams(view, a["node"], a["node_epoch"], a["failover"]), streams=[]
    )


def _create(world: World, a: Arguments) -> Result:
    if a["topic"] is not None:
        world.know_topic(a["topic"])
    tags = _tags(a["topic"], a["partition"])
    return world.run(lambda view: streams.create_stream(view, a["node"], a["node_epoch"], tags))


def _tags(topic: str | None, partition: int | None) -> tuple[Tag, ...]:
    """The tags of a stream of a partition."""
    if topic is None:
        return ()
    return (Tag(TOPIC_TAG, topic), Tag(PARTITION_TAG, str(partition or 0)))


def _open(world: World, a: Arguments) -> Result:
    opening = partial(
        streams.open_stream, node=a["node"], node_epoch=a["node_epoch"], stream=a["stream"], epoch=a["epoch"]
    )
    return world.answer(world.controller.open(opening, a["stream"]))


def _close(world: World, a: Arguments) -> Result:
    return world.run(
        lambda view: streams.close_stream(view, a["node"], a["node_epoch"], a["stream"], a["epoch"], a["end"])
    )


def _trim(world: World, a: Arguments) -> Result:
    return world.run(
        lambda view: streams.trim_stream(view, a["node"], a["node_epoch"], a["stream"], a["epoch"], a["to"])
    )


def _delete(world: World, a: Arguments) -> Result:
    return world.run(lambda view: streams.delete_stream(view, a["stream"]))


def _describe(world: World, a: Arguments) -> Result:
    return world.run(
        lambda view: streams.describe_streams(view, a["stream"], a["node"], a["topic"], a["partition"]), streams=[]
    )


def _register(world: World, a: Arguments) -> Result:
    return world.run(lambda view: nodes.register_node(view, a["node"], a["node_epoch"], a["wal_config"], a["tags"]))


def _lock(world: World, a: Arguments) -> Result:
    return world.run(lambda view: nodes.lock_node(view, a["node"]))


def _unlock(world: World, a: Arguments) -> Result:
    return world.run(lambda view: nodes.unlock_node(view, a["node"]))


def _unregister(world: World, a: Arguments) -> Result:
    return world.run(lambda view: nodes.unregister_node(view, a["node"]))


def _scale_in(world: World, _: Arguments) -> Result:
    return world.run(nodes.scale_in_cleanup)


PERFORM: dict[str, Perform] = {
    "openings": _openings,
    "create": _create,
    "open": _open,
    "close": _close,
    "trim": _trim,
    "delete": _delete,
    "describe": _describe,
    "register_node": _register,
    "lock_node": _lock,
    "unlock_node": _unlock,
    "unregister_node": _unregister,
    "scale_in_cleanup": _scale_in,
}
