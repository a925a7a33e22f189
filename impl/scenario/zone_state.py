"""What the operations of the zone layer have set up: maps, stripes, epochs, channels, commit managers."""

from __future__ import annotations

import attrs

from impl.zone.channel import ChannelEpochs
from impl.zone.commit_manager import CommitManager
from impl.zone.encodings import RouteEpochRecord
from impl.zone.order import Stripe
from impl.zone.route_epochs import FIRST, CountedNode
from impl.zone.zone_map import ZoneMap


@attrs.define
class ZoneState:
    """All of it is made when an operation first names it.

    ``computed``: the map of the last ``zone_map``. ``zones``: the latest map, also of ``set_zone_map``.
    ``stripe_of``: by item, its stripe.
    """

    computed: ZoneMap | None = None
    zones: ZoneMap = attrs.field(factory=lambda: ZoneMap({}, {}))
    stripes: dict[int, Stripe] = attrs.field(factory=dict)
    stripe_of: dict[str, int] = attrs.field(factory=dict)
    record: RouteEpochRecord = FIRST
    nodes: dict[int, CountedNode] = attrs.field(factory=dict)
    reports: dict[int, int] = attrs.field(factory=dict)
    channels: dict[int, ChannelEpochs] = attrs.field(factory=dict)
    managers: dict[int, CommitManager] = attrs.field(factory=dict)

    def channel(self, proxy: int) -> ChannelEpochs:
        """The channel of a proxy."""
        return self.channels.setdefault(proxy, ChannelEpochs())

    def manager(self, node: int) -> CommitManager:
        """The commit manager of a node."""
        return self.managers.setdefault(node, CommitManager())

    def report(self, node: int, epoch: int) -> None:
        """A node has reported an epoch."""
        self.reports[node] = epoch
        if node in self.nodes:
            self.nodes[node].report = epoch
