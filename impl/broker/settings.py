"""The settings of a broker, with AutoMQ's defaults (streams.md 14), and the known defects that it is built with."""

from __future__ import annotations

import msgspec

from impl.broker import log_cache, wal

TTL_MS = 3_600_000
"""How long a prepared object of an upload is kept (OB-01)."""
HEARTBEAT_MS = 2_000
"""broker.heartbeat.interval.ms"""


class Settings(msgspec.Struct, frozen=True):
    """``fast_close``: the behaviour of V6. ``as_built``: AM-01, AM-03 and AM-20.

    ``split_bytes``: a stream with so many bytes in a block gets an object of its own (PL-21). ``upload_interval_ms``: a
    block is archived after this time even if it is not full (PL-20). ``compaction_interval_ms``: the
    time between two rounds of compaction (CP-01, CP-02).
    """

    fast_close: bool = False
    as_built: frozenset[str] = frozenset()
    wal: wal.Limits = wal.Limits()
    cache: log_cache.Limits = log_cache.Limits()
    split_bytes: int = 8 << 20
    upload_interval_ms: int = 60_000
    compaction_interval_ms: int = 300_000
