"""Which broker of a rack is the proxy of which main: the zone map (ZR-01 to ZR-07).

Every broker computes the map from the brokers in the metadata that are neither fenced nor shutting down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import attrs

from impl.zone.balance import RingMember, balance, spare_controllers
from impl.zone.hash_ring import HashRing

Proxies = dict[str, dict[int, int]]
"""By rack: by main of another rack, its proxy."""


@attrs.frozen
class ZoneMap:
    """The racks of all brokers, the proxies, and in dual mode the brokers of each slot, sorted."""

    racks: Mapping[int, str]
    proxies: Proxies
    slots: Mapping[int, list[int]] = attrs.field(factory=dict)

    def proxy(self, main: int, rack: str) -> int | None:
        """The proxy of a main in another rack; None if there is none."""
        return self.proxies.get(rack, {}).get(main)


def single_map(racks: Mapping[int, str]) -> ZoneMap:
    """Each rack finds the proxies of all other brokers on a ring of its own (ZR-04).

    ``racks``: by broker, its rack; "" for none.
    """
    groups = by_rack(racks)
    return ZoneMap(racks, {rack: _proxies_in(rack, groups) for rack in groups})


def _proxies_in(rack: str, groups: Mapping[str, list[int]]) -> dict[int, int]:
    ring = HashRing(groups[rack])
    members = {broker: RingMember(broker) for broker in groups[rack]}
    mains = [broker for other, brokers in groups.items() if other != rack for broker in brokers]
    for main in mains:
        members[ring.member(main)].mains.append(main)
    balance(list(members.values()), _average(len(mains), len(members)))
    # The source spares controllers here too, but on a copy that nobody reads (ZR-04).
    found = {main: each.id for each in members.values() for main in each.mains}
    return {main: found[main] for main in mains}


def dual_map(racks: Mapping[int, str]) -> ZoneMap:
    """Brokers of different racks that share a slot are the proxies of each other (ZR-05)."""
    groups = by_rack(racks)
    slots = _slots(groups)
    proxies: Proxies = {rack: {} for rack in groups}
    load: Counter[int] = Counter()
    for brokers in slots.values():
        for proxy in brokers:
            proxies[racks[proxy]].update({main: proxy for main in brokers if main != proxy})
            load[proxy] += len(brokers) - 1
    for brokers in slots.values():
        missing = [rack for rack in groups if rack not in {racks[broker] for broker in brokers}]
        for main in brokers:
            for rack in missing:
                # The first of those with the fewest mains: the lists are sorted.
                proxy = min(groups[rack], key=lambda each: load[each])
                proxies[rack][main] = proxy
                load[proxy] += 1
    return ZoneMap(racks, proxies, slots)


def _slots(groups: Mapping[str, list[int]]) -> dict[int, list[int]]:
    """The brokers of each slot: at most one of a rack."""
    numbers = [-1 - place for place in range(max(map(len, groups.values()), default=0))]
    slots: dict[int, list[int]] = {number: [] for number in numbers}
    for brokers in groups.values():
        ring = HashRing(numbers)
        members = {number: RingMember(number) for number in numbers}
        for broker in brokers:
            members[ring.member(broker)].mains.append(broker)
        spare_controllers(balance(list(members.values()), 1), 1)
        for member in members.values():
            slots[member.id] += member.mains
    return {number: sorted(brokers) for number, brokers in slots.items()}


def by_rack(racks: Mapping[int, str]) -> dict[str, list[int]]:
    """The brokers of each rack, sorted, and the racks by name."""
    return {
        rack: sorted(broker for broker, its in racks.items() if its == rack) for rack in sorted(set(racks.values()))
    }


def _average(mains: int, members: int) -> int:
    return -(-mains // members)
