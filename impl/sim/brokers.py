"""Runs of the reference broker."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from impl.broker import compaction, log_cache, wal
from impl.broker.messages import Identity
from impl.broker.node import Broker
from impl.broker.object_format import object_key
from impl.broker.settings import Settings, ZoneSettings
from impl.controller.view import Profile
from impl.sim.options import Options
from impl.sim.process import Make
from impl.sim.run import Run, always, simulate
from impl.sim.zones import takes_shortcuts, zone_of

SMALL = Settings(
    wal=wal.WalLimits(bulk=600, linger_ms=20, in_flight=4, unflushed=4_000),
    cache=log_cache.CacheLimits(block=10_000, capacity=25_000),
    recovery=log_cache.CacheLimits(block=1_500, widest=5),
    compaction=compaction.CompactionLimits(split=500, split_age_ms=60_000, interval_ms=15_000),
    split_bytes=400,
    index_bytes=64,
    threads=2,
    upload_interval_ms=10_000,
)
"""Limits that a run of some hundred appends reaches."""
SMALL_ZONES = ZoneSettings(
    rack="",
    channel=wal.WalLimits(bulk=600, linger_ms=20, in_flight=4, unflushed=8_000),
    linger_ms=1_000,
    trim_delay_ms=8_000,
    answer_ms=6_000,
    pause_ms=20,
    poll_ms=400,
    inline_bytes=0,
    recent_ms=0,
    snapshot_bytes=60_000,
)
"""The same for zone routing. Its times are shorter, so that epochs are trimmed within a run. A WAL is kept for longer
than two bumps of the epoch, as with the usual settings.
"""
WITH_SHORTCUTS = msgspec.structs.replace(SMALL_ZONES, inline_bytes=600, recent_ms=10_000)
"""The same for a run with shortcuts. A burst of batches does not fit into one answer."""
BUMP_MS = 3_000
"""The time between two bumps of the route epoch. Within the longest pauses an epoch is fenced, reported and trimmed."""
RETENTION_MS = 16_000
"""How long the controllers keep an object that was replaced (OB-05).

It is longer than the time for which a put may take effect after its sender has tried again. It is short enough that a
broker that lags finds the object gone.
"""


def simulate_brokers(
    seed: int,
    options: Options = Options(),  # noqa: B008 - frozen
    settings: Settings = SMALL,
    *,
    v6: bool = True,
    go_on: Callable[[], bool] = always,
) -> Run:
    """Run a cluster of reference brokers. ``v6``: the version with fast closes; False: the legacy version.

    ``Options.profile`` gives the as-built switches to the controllers, ``Settings.as_built`` to the brokers.
    """
    elects = options.profile.handshake == "G1"
    settings = msgspec.structs.replace(settings, fast_close=v6, elects=elects)
    profile: Profile = msgspec.structs.replace(options.profile, v6=v6, object_retention_ms=RETENTION_MS)
    if options.zones:
        profile = msgspec.structs.replace(profile, routes=True, bump_ms=BUMP_MS)
    options = msgspec.structs.replace(options, profile=profile)
    make = broker_of(settings, options.zones, WITH_SHORTCUTS if takes_shortcuts(seed) else SMALL_ZONES)
    return simulate(seed, make, object_key, options, go_on)


def broker_of(settings: Settings, zones: int = 0, of_zones: ZoneSettings = SMALL_ZONES) -> Make:
    """Makes reference brokers with some settings, in that many zones; with 0 there is no zone routing."""

    def make(identity: Identity, now: int) -> Broker:
        own = settings
        if zones:
            zoned = msgspec.structs.replace(of_zones, rack=zone_of(identity.node, zones))
            own = msgspec.structs.replace(settings, zones=zoned)
        return Broker(identity, own, now)

    return make
