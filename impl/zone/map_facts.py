"""What a zone map promises: every main has proxies, evenly spread and mutual; and what changed between two maps."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

from impl.zone.zone_map import ZoneMap, by_rack

Changes = dict[str, dict[int, list[int]]]
"""By rack, by main: the old and the new proxy."""


def is_covered(zones: ZoneMap) -> bool:
    """Whether each broker has a proxy in each other rack."""
    racks = set(zones.racks.values())
    return all(zones.proxy(main, rack) is not None for main, own in zones.racks.items() for rack in racks - {own})


def spread(zones: ZoneMap) -> int:
    """The largest difference, inside a rack, between the numbers of mains of two brokers that have any."""
    loads = [Counter(proxies.values()).values() for proxies in zones.proxies.values() if proxies]
    return max((max(each) - min(each) for each in loads), default=0)


def is_mutual(zones: ZoneMap) -> bool:
    """Whether each main of a rack is the proxy of its own proxy in each rack that is as large or larger (ZR-07)."""
    groups = by_rack(zones.racks)
    return all(
        zones.proxy(proxy, one) == main if (proxy := zones.proxy(main, other)) is not None else False
        for one, other in permutations(groups, 2)
        if len(groups[one]) <= len(groups[other])
        for main in groups[one]
    )


def changes(before: ZoneMap, after: ZoneMap) -> tuple[Changes, Changes]:
    """The changed proxies: those whose old proxy has left, and those whose old proxy is still there (ZR-08).

    Mains and racks that are not in both maps do not count.
    """
    forced: Changes = {}
    collateral: Changes = {}
    for rack, proxies in before.proxies.items():
        for main, old in proxies.items():
            new = after.proxy(main, rack)
            if new is not None and new != old:
                kind = collateral if old in after.racks else forced
                kind.setdefault(rack, {})[main] = [old, new]
    return forced, collateral
