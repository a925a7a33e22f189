"""The settings of a broker, with AutoMQ's defaults (streams.md 14), and the known defects that it is built with."""

from __future__ import annotations

import msgspec

from impl.broker import compaction, log_cache, wal
from impl.broker.reader import TAIL_BYTES

TTL_MS = 3_600_000
"""How long a prepared object of an upload is kept (OB-01)."""
HEARTBEAT_MS = 2_000
"""The time between two heartbeats: broker.heartbeat.interval.ms."""


class Settings(msgspec.Struct, frozen=True):
    """The settings of a broker.

    - ``fast_close``: whether streams are closed as in V6, else as in legacy.
    - ``elects``: whether moves go as in G1, else as in G0.
    - ``threads``: the number of partitions that are opened at once, and of those that are closed at once.
    - ``as_built``: known defects that are built in: AM-01, AM-03, AM-20, LP-05 (newer metadata does not end an open of
      a partition that waits, CA-49), and LP-06 (opens and closes of partitions share their threads, RA-12).
    - ``recovery``: the limits of the blocks of a recovery (RC-04).
    - ``split_bytes``: a stream with at least this many bytes in a block gets an object of its own (PL-21).
    - ``index_bytes``: the number of bytes at the end of an object that a read fetches first.
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
