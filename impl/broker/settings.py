"""The settings of a broker, with AutoMQ's defaults (streams.md 14), and the known defects that it is built with."""

from __future__ import annotations

import msgspec

from impl.broker import compaction, log_cache, wal
from impl.broker.reader import TAIL_BYTES

TTL_MS = 3_600_000
"""How long a prepared object of an upload is kept (OB-01)."""
HEARTBEAT_MS = 2_000
"""The time between two heartbeats: broker.heartbeat.interval.ms."""


class ZoneSettings(msgspec.Struct, frozen=True):
    """Zone routing (zone-routing.md 0).

    - ``rack``: the zone of the broker.
    - ``channel``: the limits of its channel.
    - ``linger_ms``: how long the commit of a route epoch waits for an upload that begins by itself (ZR-61).
    - ``trim_delay_ms``: how long the WAL is kept after an upload, for readers of other zones (M-07).
    - ``answer_ms``: how long a main waits for an append before it answers, while the append goes on (ZR-31).
    - ``is_dual``: whether proxies are mapped in pairs (ZR-05), else each rack for itself (ZR-04).
    - ``pause_ms``: the least time between two requests of a reader to a main (ZR-44).
    - ``poll_ms``: how long a main waits for news before it answers a reader (ZR-41).
    - ``inline_bytes``: the most bytes of records in an answer to a reader (ZR-42); 0 for none.
    - ``recent_ms``: how long a proxy keeps batches that it has written for other zones (ZR-18); 0 keeps none.
    - ``snapshot_bytes``: the size of the cache for partitions of other zones (ZR-53).
    - ``direct``: whether a batch whose leader is the broker itself bypasses its channel (ZR-25).
    """

    rack: str
    channel: wal.WalLimits = wal.WalLimits()
    linger_ms: int = 10_000
    trim_delay_ms: int = 30_000
    answer_ms: int = 30_000
    pause_ms: int = 1
    poll_ms: int = 100
    inline_bytes: int = 32 << 10
    recent_ms: int = 10_000
    snapshot_bytes: int = 1 << 30
    is_dual: bool = True
    direct: bool = False


class Settings(msgspec.Struct, frozen=True):
    """The settings of a broker.

    - ``fast_close``: whether streams are closed as in V6, else as in legacy.
    - ``elects``: whether moves go as in G1, else as in G0.
    - ``threads``: the number of partitions that are opened at once, and of those that are closed at once.
    - ``as_built``: known defects that are built in: AM-01, AM-03, AM-15, AM-20, LP-05 (newer metadata does not end an
      open of a partition that waits, CA-49), and LP-06 (opens and closes of partitions share their threads, RA-12).
    - ``recovery``: the limits of the blocks of a recovery (RC-04).
    - ``split_bytes``: a stream with at least this many bytes in a block gets an object of its own (PL-21).
    - ``index_bytes``: the number of bytes at the end of an object that a read fetches first.
    - ``zones``: zone routing, if the cluster has it.
    - ``upload_interval_ms``: a block is archived after this time even if it is not full (PL-20).
    """

    fast_close: bool = False
    elects: bool = True
    threads: int = 512
    as_built: frozenset[str] = frozenset()
    wal: wal.WalLimits = wal.WalLimits()
    cache: log_cache.CacheLimits = log_cache.CacheLimits()
    recovery: log_cache.CacheLimits = log_cache.CacheLimits(block=512 << 20)
    compaction: compaction.CompactionLimits = compaction.CompactionLimits()
    split_bytes: int = 8 << 20
    index_bytes: int = TAIL_BYTES
    upload_interval_ms: int = 60_000
    zones: ZoneSettings | None = None
