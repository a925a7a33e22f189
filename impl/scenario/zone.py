"""The operations of the zone layer on routing (zone-routing.md 1, 2)."""

from __future__ import annotations

from typing import Any

from impl.errors import E
from impl.scenario.session import Arguments, Perform, Result, ScenarioSession
from impl.zone import forwarding, routing
from impl.zone.balance import RingMember, spare_controllers
from impl.zone.client_zone import CidrBlocks, said_zone
from impl.zone.hash_ring import ring_hash
from impl.zone.map_facts import changes, is_covered, is_mutual, spread
from impl.zone.order import Stripe, order_hint, stripe
from impl.zone.produce import decide, write_mode
from impl.zone.zone_map import ZoneMap, dual_map, single_map


def _zone_map(session: ScenarioSession, a: Arguments) -> Result:
    make = single_map if a["mode"] == "single" else dual_map
    found, before = make(_racks(a)), session.zone.computed
    session.zone.computed = session.zone.zones = found
    forced, collateral = ({}, {}) if before is None else changes(before, found)
    return {
        "mains": found.proxies,
        "slots": found.slots,
        "covered": is_covered(found),
        "spread": spread(found),
        "mutual": is_mutual(found),
        "forced": forced,
        "collateral": collateral,
    }


def _set_zone_map(session: ScenarioSession, a: Arguments) -> Result:
    session.zone.zones = ZoneMap(_racks(a), a["mains"])
    return {}


def _racks(a: Arguments) -> dict[int, str]:
    # A broker without a rack is in the group "" (ZR-01).
    return {broker: rack or "" for broker, rack in a["brokers"].items()}


def _ring_hash(_: ScenarioSession, a: Arguments) -> Result:
    return {"hash": ring_hash(a["key"])}


def _spare_controllers(_: ScenarioSession, a: Arguments) -> Result:
    members = [RingMember(number, list(mains)) for number, mains in a["members"].items()]
    spare_controllers(members, a["average"])
    return {"members": {each.id: each.mains for each in members}}


def _client_zone(_: ScenarioSession, a: Arguments) -> Result:
    said = said_zone(a["client_id"] or "")
    if said is None:
        said = a["consumer_rack"] or None
    block = CidrBlocks(a["blocks"]).of(a["address"]) if said is None and a["address"] else None
    return {"zone": said if block is None else block.zone, "block": None if block is None else block.text}


def _route(session: ScenarioSession, a: Arguments) -> Result:
    found = routing.route(session.zone.zones, a["broker"], a["leader"], a["client_zone"])
    return {"to": found.to, "error": found.error.name}


def _leader_hint(session: ScenarioSession, a: Arguments) -> Result:
    return {"leader": routing.leader_hint(session.zone.zones, a["leader"], a["client_zone"])}


def _metadata(session: ScenarioSession, a: Arguments) -> Result:
    view = routing.PartitionView(a["leader"], tuple(a["replicas"]), tuple(a["isr"]), a["leader_epoch"])
    found = routing.client_view(session.zone.zones, view, a["client_zone"])
    return {
        "leader": found.leader,
        "replicas": found.replicas,
        "isr": found.isr,
        "leader_epoch": found.leader_epoch,
    }


def _write_mode(_: ScenarioSession, a: Arguments) -> Result:
    return {"mode": write_mode(a["value"])}


def _produce(session: ScenarioSession, a: Arguments) -> Result:
    found = decide(
        session.zone.zones,
        a["broker"],
        a["client_zone"],
        a["leaders"],
        mode=a["mode"],
        acks=a["acks"],
        append_error=a["append_error"],
    )
    answers: dict[str, Any] = {
        partition: error.name if isinstance(error, E) else error for partition, error in found.answers.items()
    }
    return {"channel": found.channel, "linked": found.linked, "waits": found.waits, "answers": answers}


def _order_hint(_: ScenarioSession, a: Arguments) -> Result:
    return {"hint": order_hint(a["topic"], a["partition"], a["connection"], direct=a["direct"])}


def _stripe(_: ScenarioSession, a: Arguments) -> Result:
    return {"index": stripe(a["hint"], a["stripes"])}


def _stripe_read(session: ScenarioSession, a: Arguments) -> Result:
    session.zone.stripe_of[a["item"]] = a["stripe"]
    session.zone.stripes.setdefault(a["stripe"], Stripe()).read(a["item"])
    return {}


def _stripe_done(session: ScenarioSession, a: Arguments) -> Result:
    number = session.zone.stripe_of.get(a["item"])
    stripe_of_item = Stripe() if number is None else session.zone.stripes[number]
    released = stripe_of_item.done(a["item"], failed=a["failed"])
    return {"released": [{"item": each.name, "failed": each.failed or a["handover_fails"]} for each in released]}


def _forward_requests(_: ScenarioSession, a: Arguments) -> Result:
    return {"requests": [{"epoch": epoch, "items": items} for epoch, items in forwarding.requests(a["epochs"])]}


def _forward_answers(_: ScenarioSession, a: Arguments) -> Result:
    return {"answers": forwarding.producer_errors(a["items"], a["error"], a["answers"], lost=a["lost"])}


PERFORM: dict[str, Perform] = {
    "zone_map": _zone_map,
    "set_zone_map": _set_zone_map,
    "ring_hash": _ring_hash,
    "spare_controllers": _spare_controllers,
    "client_zone": _client_zone,
    "route": _route,
    "leader_hint": _leader_hint,
    "metadata": _metadata,
    "write_mode": _write_mode,
    "produce": _produce,
    "order_hint": _order_hint,
    "stripe": _stripe,
    "stripe_read": _stripe_read,
    "stripe_done": _stripe_done,
    "forward_requests": _forward_requests,
    "forward_answers": _forward_answers,
}
