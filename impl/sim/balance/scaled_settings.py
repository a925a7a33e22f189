"""The settings of brokers and balancers for loads that are a thousandth of what they stand for."""

from __future__ import annotations

from typing import Literal

import msgspec

from impl.balancer.configuration import BANDWIDTH, BalancerConfiguration, configured
from impl.balancer.goals import SPAN, THRESHOLD
from impl.broker import compaction, log_cache, wal
from impl.broker.settings import Settings
from impl.sim.balance.workload import SCALE


def scaled_configuration(balancer: Literal["parity", "safe"]) -> BalancerConfiguration:
    """The default configuration of the balancer, with the two loads scaled that are numbers of bytes."""
    found = {f"network.{way}.usage.distribution.detect.threshold": THRESHOLD / SCALE for way in ("in", "out")}
    return configured({**found, BANDWIDTH: SPAN / SCALE}, safe=balancer == "safe")


def scaled_settings() -> Settings:
    """The default settings of a broker in V6, with the sizes scaled of all that it writes."""
    cache, bulk, compact = log_cache.CacheLimits(), wal.WalLimits(), compaction.CompactionLimits()
    replace = msgspec.structs.replace
    return Settings(
        fast_close=True,
        wal=replace(bulk, bulk=bulk.bulk // SCALE, unflushed=bulk.unflushed // SCALE),
        cache=replace(cache, block=cache.block // SCALE, capacity=cache.capacity // SCALE),
        compaction=replace(compact, split=compact.split // SCALE, merged=compact.merged // SCALE),
        split_bytes=Settings().split_bytes // SCALE,
    )
