"""The operations on objects: prepare, commit, and the clock of their life (streams.md 4, 5)."""

from __future__ import annotations

from impl.controller import objects
from impl.controller.commits import (
    CommittedObject,
    SetCommit,
    StreamCommit,
    commit_stream_object,
    commit_stream_set_object,
)
from impl.controller.continuity import CommittedRange
from impl.scenario.session import Arguments, Perform, Result, ScenarioSession


def _prepare(session: ScenarioSession, a: Arguments) -> Result:
    result = session.run(lambda view: objects.prepare(view, a["count"], a["ttl_ms"]))
    if "first" in result:
        session.prepared(result["first"], a["count"])
    return result


def _commit(session: ScenarioSession, a: Arguments) -> Result:
    committed = [each["object"] for each in a["stream_objects"]]
    if a["compacted"] != [a["object"]]:  # CS-02: a replacement of attributes commits nothing
        committed.append(a["object"])
    session.prepare_silently(committed)
    commit = SetCommit(
        node=a["node"],
        node_epoch=a["node_epoch"],
        object=a["object"],
        order=a["object"] if a["order"] is None else a["order"],
        size=a["size"],
        failover=a["failover"],
        ranges=tuple(CommittedRange(**each) for each in a["ranges"]),
        stream_objects=tuple(CommittedObject(**each) for each in a["stream_objects"]),
        compacted=tuple(a["compacted"]),
    )
    return session.run(lambda view: commit_stream_set_object(view, commit))


def _compact(session: ScenarioSession, a: Arguments) -> Result:
    if a["sources"] != [a["object"]]:  # CO-01: as CS-02
        session.prepare_silently([a["object"]])
    commit = StreamCommit(
        node=a["node"],
        node_epoch=a["node_epoch"],
        object=a["object"],
        size=a["size"],
        stream=a["stream"],
        epoch=a["epoch"],
        start=a["start"],
        end=a["end"],
        sources=tuple(a["sources"]),
    )
    return session.run(lambda view: commit_stream_object(view, commit))


def _clock(session: ScenarioSession, a: Arguments) -> Result:
    session.controller.advance(a["advance_ms"])
    clock = session.controller.object_clock
    return session.run(lambda view: clock.check(view, hold_deletes=a["hold_deletes"]), deletes=[])


PERFORM: dict[str, Perform] = {
    "prepare": _prepare,
    "commit": _commit,
    "compact_stream": _compact,
    "object_clock": _clock,
}
