"""Where a broker sends what it gets, and which leaders it tells its clients (ZR-10, ZR-11)."""

from __future__ import annotations

import attrs

from impl.errors import E
from impl.zone.zone_map import ZoneMap


@attrs.frozen
class Route:
    """Where a broker takes a batch: ``to`` is the broker itself or another one, or None where ``error`` says why."""

    to: int | None
    error: E = E.NONE


NO_ROUTE = Route(None, E.NOT_LEADER_OR_FOLLOWER)
"""The client asks for the metadata again, and sends to another broker."""


@attrs.frozen
class PartitionView:
    """What the metadata tells a client of a partition."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_epoch: int


def route(zones: ZoneMap, broker: int, leader: int | None, client_zone: str | None) -> Route:
    """Where a broker takes a client's batch for a partition (ZR-11).

    ``leader``: None if the metadata has none. ``client_zone``: None if it is unknown.
    """
    if leader is None:
        return Route(broker)
    if client_zone is None or (client_zone != zones.racks.get(broker) and client_zone not in zones.proxies):
        # Nobody routes for this client, so it has to send to the leader itself.
        return Route(broker) if leader == broker else NO_ROUTE
    if client_zone != zones.racks.get(broker):
        return NO_ROUTE
    if leader == broker:
        return Route(broker)
    return Route(leader) if zones.proxy(leader, client_zone) == broker else NO_ROUTE


def leader_hint(zones: ZoneMap, leader: int, client_zone: str | None) -> int | None:
    """The leader that NOT_LEADER_OR_FOLLOWER names to a client (ZR-10); None for one that the metadata lacks."""
    if leader not in zones.racks:
        return None
    proxy = None if client_zone is None else zones.proxy(leader, client_zone)
    return leader if proxy is None else proxy


def client_view(zones: ZoneMap, found: PartitionView, client_zone: str | None) -> PartitionView:
    """A partition as the metadata shows it to a client (ZR-10). The leader epoch never changes."""
    if found.leader == -1:
        return found
    if client_zone is None or client_zone not in zones.proxies:
        proxies = [zones.proxy(found.leader, rack) for rack in sorted(zones.proxies)]
        replicas = (found.leader, *(each for each in proxies if each not in (None, found.leader)))
        return attrs.evolve(found, replicas=replicas, isr=replicas)
    proxy = zones.proxy(found.leader, client_zone)
    if proxy is None or proxy == found.leader:
        return found
    return PartitionView(proxy, (proxy,), (proxy,), found.leader_epoch)
