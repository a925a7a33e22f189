"""The operations on streams and nodes (streams.md 3, 6)."""

from __future__ import annotations

from functools import partial

from impl.controller import nodes, streams
from impl.records import PARTITION_TAG, TOPIC_TAG, Tag
from impl.scenario.session import Arguments, Perform, Result, ScenarioSession


def _openings(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(
        lambda view: streams.get_opening_streams(view, a["node"], a["node_epoch"], a["failover"]), streams=[]
    )


def _create(session: ScenarioSession, a: Arguments) -> Result:
    if a["topic"] is not None:
        session.know_topic(a["topic"])
    tags = _tags(a["topic"], a["partition"])
    return session.run(lambda view: streams.create_stream(view, a["node"], a["node_epoch"], tags))


def _tags(topic: str | None, partition: int | None) -> tuple[Tag, ...]:
    """The tags of a stream of a partition."""
    if topic is None:
        return ()
    return (Tag(TOPIC_TAG, topic), Tag(PARTITION_TAG, str(partition or 0)))


def _open(session: ScenarioSession, a: Arguments) -> Result:
    opening = partial(
        streams.open_stream, node=a["node"], node_epoch=a["node_epoch"], stream=a["stream"], epoch=a["epoch"]
    )
    return session.answer(session.controller.open(opening, a["stream"]))


def _close(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(
        lambda view: streams.close_stream(view, a["node"], a["node_epoch"], a["stream"], a["epoch"], a["end"])
    )


def _trim(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(
        lambda view: streams.trim_stream(view, a["node"], a["node_epoch"], a["stream"], a["epoch"], a["to"])
    )


def _delete(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(lambda view: streams.delete_stream(view, a["stream"]))


def _describe(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(
        lambda view: streams.describe_streams(view, a["stream"], a["node"], a["topic"], a["partition"]), streams=[]
    )


def _register(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(lambda view: nodes.register_node(view, a["node"], a["node_epoch"], a["wal_config"], a["tags"]))


def _lock(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(lambda view: nodes.lock_node(view, a["node"]))


def _unlock(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(lambda view: nodes.unlock_node(view, a["node"]))


def _unregister(session: ScenarioSession, a: Arguments) -> Result:
    return session.run(lambda view: nodes.unregister_node(view, a["node"]))


def _scale_in(session: ScenarioSession, _: Arguments) -> Result:
    return session.run(nodes.scale_in_cleanup)


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
