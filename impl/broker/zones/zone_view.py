"""The zone map of a process, which follows from its metadata (ZR-01)."""

from __future__ import annotations

from impl.controller.nodes import RACK_TAG, stored_registration
from impl.metadata.image import Image
from impl.zone.zone_map import ZoneMap, dual_map, single_map


class ZoneView:
    """``zones``: the newest map. ``is_dual``: as in ``ZoneSettings``."""

    def __init__(self, *, is_dual: bool) -> None:
        self.zones = ZoneMap({}, {})
        self._make = dual_map if is_dual else single_map

    def mains(self, node: int) -> list[int]:
        """The mains of other racks whose proxy a node is."""
        rack = self.zones.racks.get(node)
        return sorted(main for main, proxy in self.zones.proxies.get(rack or "", {}).items() if proxy == node)

    def learn(self, image: Image) -> None:
        """The metadata have changed: make the map anew if a broker has come, gone, or changed its rack."""
        found = racks(image)
        if found != self.zones.racks:
            self.zones = self._make(found)


def racks(image: Image) -> dict[int, str]:
    """The racks of the brokers that are neither fenced nor shutting down, "" for none."""
    found = {}
    for node, state in sorted(image.brokers.items()):
        if state == "active":
            stored = stored_registration(image, node)
            found[node] = "" if stored is None else stored.tags.get(RACK_TAG, "")
    return found
