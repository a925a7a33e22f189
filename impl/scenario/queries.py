"""The queries about streams, nodes and objects. They read the image of the controller."""

from __future__ import annotations

from impl.controller import nodes
from impl.scenario.session import Arguments, Perform, Result, ScenarioSession


def _state(session: ScenarioSession, a: Arguments) -> Result:
    image = session.controller.image
    row = image.streams.get(a["stream"])
    if row is None:
        return {"missing": True}
    current = image.current_range(a["stream"])
    ranges = sorted(image.ranges.get(a["stream"], {}).items())
    return {
        "missing": False,
        "state": row.state.name,
        "epoch": row.epoch,
        "index": row.range_index,
        "start": row.start,
        "end": row.end,
        "owner": -1 if current is None else current.node,
        "ranges": [
            {"index": index, "node": each.node, "epoch": each.epoch, "start": each.start, "end": each.end}
            for index, each in ranges
        ],
    }


def _entry(session: ScenarioSession, a: Arguments) -> Result:
    entry = session.controller.image.entries.get(a["node"], {}).get(a["stream"])
    return {"none": True} if entry is None else {"none": False, "from": entry.start, "to": entry.to}


def _stream_set_objects(session: ScenarioSession, a: Arguments) -> Result:
    held = session.controller.image.set_objects.get(a["node"], {})
    rows = sorted(held.items(), key=lambda item: (item[1].order, item[0]))
    return {
        "objects": [object_id for object_id, _ in rows],
        "orders": [row.order for _, row in rows],
        "data_times": [row.data_time for _, row in rows],
    }


def _stream_objects(session: ScenarioSession, a: Arguments) -> Result:
    held = session.controller.image.stream_objects.get(a["stream"], {})
    rows = sorted(held.items(), key=lambda item: (item[1].start, item[0]))
    return {"objects": [{"object": each, "start": row.start, "end": row.end} for each, row in rows]}


def _object(session: ScenarioSession, a: Arguments) -> Result:
    row = session.controller.image.objects.get(a["id"])
    return {"missing": True} if row is None else {"missing": False, "state": row.state.name, "size": row.size}


def _has_opening(session: ScenarioSession, a: Arguments) -> Result:
    return {"value": nodes.has_opening(session.controller.image, a["node"])}


def _registration(session: ScenarioSession, a: Arguments) -> Result:
    controller = session.controller
    state = nodes.runtime_state(controller.image, a["node"], now=controller.now, left=controller.heartbeats.left)
    return {"missing": False, "state": state} | nodes.registration(
        controller.view, a["node"], left=controller.heartbeats.left
    )


PERFORM: dict[str, Perform] = {
    "state": _state,
    "entry": _entry,
    "stream_set_objects": _stream_set_objects,
    "stream_objects": _stream_objects,
    "object": _object,
    "has_opening": _has_opening,
    "registration": _registration,
}
