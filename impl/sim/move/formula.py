"""The time of a move by its terms (implementation.md 6), and the time of copying a history.

    move = delta + drain + meta flush + upload(tail) + commit + close + open retry gap + meta replay + open

Each term follows from the conditions, the settings of the broker and the number of segments; none is fitted to a run.
The gap before a retried open is 0: the source awaits all closes before it asks for the election, and the target waits
for the close of the meta stream in both generations (RA-22). The history appears in one place only: LOG has an entry
for each segment, and is written, uploaded and read. The formula holds for a move that ends before the election timer of
G0 fires (EL-01, 10 s).
"""

from __future__ import annotations

import msgspec

from impl.broker.object_format import BLOCK_BYTES
from impl.broker.reader import TAIL_BYTES
from impl.broker.uploader import TICK_MS
from impl.broker.wal import WalLimits
from impl.sim.move.conditions import Conditions
from impl.sim.move.simulation import MoveVariant
from impl.sim.move.steps import StepTimes

LOG_WRITES = 2
"""How often LOG is written: by the close of the log, and by the compaction of the meta stream."""
SECONDS_PER_DAY = 86_400
LOAD, DAY_BYTES = 100 * 10**6, 100 * 10**6 * SECONDS_PER_DAY
"""The case of the seed documents: a partition takes 100 MB/s for a day. In bytes per second, and in bytes."""


class Terms(msgspec.Struct, frozen=True):
    """The terms in milliseconds.

    ``record``: the request and its commit. ``delta``: the metadata reach a broker. ``drain``: appends under way end.
    ``flush``: the meta stream is written. ``trim``: the compaction of the meta stream is confirmed. ``gather``: a
    forced upload waits for others (PL-24). ``prepare``, ``upload``, ``commit``: the upload of the tail. ``close``: the
    streams, side by side. ``elect``: the election is committed. ``open``: a stream is opened. ``replay``: the meta
    stream is read. ``begin``: the target writes its flag and its leader epoch.

    All records that the close writes go into one bulk of the WAL, and so do those that the target writes.
    """

    record: int
    delta: int
    drain: int
    flush: int
    trim: int
    gather: int
    prepare: int
    upload: int
    commit: int
    close: int
    elect: int
    open: int
    replay: int
    begin: int


def terms(conditions: Conditions, tail: int, log_bytes: int) -> Terms:
    """The terms for a tail, and for a value of LOG, both in bytes."""
    store, call, transfer = conditions.store, conditions.call, conditions.transfer
    write = WalLimits().linger_ms + 2 * store
    """A bulk of the WAL: its appends wait for others, the object is put, and the reservation is read (WL-05)."""
    log_read = 2 * log_bytes if 2 * log_bytes < BLOCK_BYTES else log_bytes
    """A block is read whole, and one block may hold both copies of LOG."""
    return Terms(
        record=conditions.message + conditions.commit,
        delta=conditions.metadata,
        drain=0,
        flush=write + transfer(LOG_WRITES * log_bytes),
        trim=call,
        gather=TICK_MS,
        prepare=call,
        upload=store + transfer(tail + LOG_WRITES * log_bytes),
        commit=call,
        close=call,
        elect=conditions.message + conditions.commit,
        open=call,
        replay=2 * store + transfer(min(TAIL_BYTES, 2 * log_bytes)) + transfer(log_read),
        begin=write,
    )


def expected(conditions: Conditions, tail: int, log_bytes: int, variant: MoveVariant) -> StepTimes:
    """The times of the steps by the formula, in milliseconds from the request."""
    t = terms(conditions, tail, log_bytes)
    record = t.record
    seen = record + t.delta
    flushed = seen + t.drain + t.flush
    trimmed = flushed + t.trim
    uploaded = trimmed + t.gather + t.prepare + t.upload + t.commit
    closed = (trimmed if variant.version == "V6" else uploaded) + t.close
    if variant.generation == "G0":
        elected = closed + t.elect
        told = elected + t.delta
    else:
        # The target waits for the commit of the close. The source hears of that commit one message later.
        elected = -1
        told = closed - conditions.message + t.delta
    # After a fast close the metadata name the objects of the meta stream only when the upload is committed (MD-02).
    readable = uploaded - conditions.message + t.delta
    opened = max(told + t.open, readable) + t.replay + t.open + t.begin
    if variant.generation == "G1":
        elected = opened + t.elect
    return StepTimes(record, seen, flushed, closed, elected, opened, max(opened, elected + t.delta))


def list_term(conditions: Conditions, tail: int, log_bytes: int, variant: MoveVariant) -> dict[str, int]:
    """For each step of a move, the milliseconds that the list of segments in LOG adds to it, by the formula."""
    with_list = expected(conditions, tail, log_bytes, variant).durations()
    without = expected(conditions, tail, 0, variant).durations()
    return {name: with_list[name] - without[name] for name in with_list}


def copy_seconds(size: int, bandwidth: int, load: int = 0) -> float | None:
    """How long a copy of ``size`` bytes takes, while producers send ``load`` bytes a second; None: for ever.

    ``bandwidth``: in bits per second. The copy gets the part of it that the producers do not use.
    """
    left = bandwidth / 8 - load
    return size / left if left > 0 else None
