"""The operations of the zone layer on route epochs (zone-routing.md 2.2, 2.4, 4, 5)."""

from __future__ import annotations

import msgspec

from impl.errors import E
from impl.scenario.session import Arguments, Perform, Result, ScenarioSession
from impl.zone import route_epochs
from impl.zone.channel import ChannelRecord
from impl.zone.commit_manager import STAGES
from impl.zone.encodings import RouteEpochRecord
from impl.zone.recovery import UnresolvedError, recovered_records, replayed_objects
from impl.zone.route_epochs import CountedNode

FAILED = E.UNKNOWN_SERVER_ERROR.name
"""The answer of a main to a request that is fenced, or whose records cannot be read."""


def _route_epoch(session: ScenarioSession, a: Arguments) -> Result:
    session.zone.record = RouteEpochRecord(**a)
    return {}


def _route_node(session: ScenarioSession, a: Arguments) -> Result:
    zone = session.zone
    zone.nodes[a["node"]] = CountedNode(a["state"], a["opening"], zone.reports.get(a["node"]))
    if a["route_epoch"] is not None:
        zone.report(a["node"], a["route_epoch"])
    return {}


def _epoch_tick(session: ScenarioSession, a: Arguments) -> Result:
    zone = session.zone
    written = route_epochs.tick(zone.record, zone.nodes.values(), a["now_ms"]) if a["active"] else None
    zone.record = written or zone.record
    return {**msgspec.structs.asdict(zone.record), "records": [] if written is None else ["EPOCHS"]}


def _deliver(session: ScenarioSession, a: Arguments) -> Result:
    zone = session.zone
    # The fence comes first, so that it is never older than what the commit manager reports (M-23).
    zone.manager(a["node"]).learn(zone.record.fenced)
    channel = zone.channel(a["node"])
    channel.switch(zone.record.current)
    return {"trimmed": _name(channel.trim(zone.record.committed))}


def _next_epoch(session: ScenarioSession, a: Arguments) -> Result:
    session.zone.channel(a["proxy"]).switch(a["epoch"])
    return {}


def _channel_append(session: ScenarioSession, a: Arguments) -> Result:
    channel = session.zone.channel(a["proxy"])
    channel.begin(a["record"], a["target"])
    if a["pending"]:
        return {"epoch": None}
    (ended,) = channel.complete([a["record"]])
    return {"epoch": ended.epoch}


def _channel_complete(session: ScenarioSession, a: Arguments) -> Result:
    ended = session.zone.channel(a["proxy"]).complete(a["records"])
    return {"epochs": {record.name: record.epoch for record in ended}}


def _channel_trim(session: ScenarioSession, a: Arguments) -> Result:
    return {"trimmed": _name(session.zone.channel(a["proxy"]).trim(a["epoch"]))}


def _name(record: ChannelRecord | None) -> object:
    return None if record is None else record.name


def _forward(session: ScenarioSession, a: Arguments) -> Result:
    manager = session.zone.manager(a["main"])
    if not manager.admit(a["request"], a["epoch"]):
        return {"error": FAILED, "read": False}
    channels = session.zone.channels.values()
    if not all(any(channel.can_read(record) for channel in channels) for record in a["records"]):
        manager.finish(a["request"])
        return {"error": FAILED, "read": False}
    return {"error": E.NONE.name, "read": True}


def _finish(session: ScenarioSession, a: Arguments) -> Result:
    return {"error": E.NONE.name if session.zone.manager(a["main"]).finish(a["request"]) else FAILED}


def _commit_state(session: ScenarioSession, a: Arguments) -> Result:
    manager = session.zone.manager(a["node"])
    manager.waiting, manager.committed = a["waiting"], a["committed"]
    manager.fence = manager.fenced = a["fenced"]
    manager.inflight, manager.running = dict(a["inflight"]), a["running"]
    if a["committed"] != -1:
        session.zone.report(a["node"], a["committed"])
    return {}


def _commit_tick(session: ScenarioSession, a: Arguments) -> Result:
    manager = session.zone.manager(a["node"])
    before, started = manager.committed, manager.tick()
    if manager.committed != before:
        session.zone.report(a["node"], manager.committed)
    return {"waiting": manager.waiting, "inflight": manager.inflight, "started": started}


def _commit_done(session: ScenarioSession, a: Arguments) -> Result:
    published = session.zone.manager(a["node"]).ended(a["stage"] or STAGES[-1], ok=a["ok"])
    if published is not None:
        session.zone.report(a["node"], published)
    return {"published": published}


def _report(session: ScenarioSession, a: Arguments) -> Result:
    return {"route_epoch": session.zone.reports.get(a["node"])}


def _wal_recover(_: ScenarioSession, a: Arguments) -> Result:
    kept = replayed_objects([(start, end) for start, end in a["objects"]], a["trim"])
    return {"kept": [list(each) for each in kept], "first": max(kept[0][0], a["trim"] + 1) if kept else None}


def _recover_records(_: ScenarioSession, a: Arguments) -> Result:
    records = [(stream, offset) for stream, offset in a["records"]]
    try:
        kept = recovered_records(a["openings"], records, readable=a["readable"])
    except UnresolvedError:
        return {"kept": [], "error": FAILED}
    return {"kept": [list(each) for each in kept], "error": E.NONE.name}


PERFORM: dict[str, Perform] = {
    "route_epoch": _route_epoch,
    "route_node": _route_node,
    "epoch_tick": _epoch_tick,
    "deliver": _deliver,
    "next_epoch": _next_epoch,
    "channel_append": _channel_append,
    "channel_complete": _channel_complete,
    "channel_trim": _channel_trim,
    "forward": _forward,
    "finish": _finish,
    "commit_state": _commit_state,
    "commit_tick": _commit_tick,
    "commit_done": _commit_done,
    "report": _report,
    "wal_recover": _wal_recover,
    "recover_records": _recover_records,
}
