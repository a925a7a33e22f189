"""Step 6: a new leader makes the log of a partition from the contents of its streams.

If the last leader closed the log, the flag in PARTITION is true, and only the meta stream is read. After a crash the
log is scanned from the recovery point on: the scanned batches bring the producers up to date, and the first corrupt
batch is the end of the log.
"""

from __future__ import annotations

from impl.broker.partition.batches import scan
from impl.broker.partition.epochs import from_checkpoint
from impl.broker.partition.log import PartitionLog
from impl.broker.partition.meta import MetaStream, OpenStream, Streams
from impl.broker.partition.meta_values import (
    ABSENT,
    NEW_PARTITION,
    LeaderEpochCheckpoint,
    LogMeta,
    PartitionMeta,
    ProducerSnapshots,
)
from impl.broker.partition.producers import Producers, reload
from impl.broker.partition.segment_metas import StreamEnds, load
from impl.broker.partition.segments import LOG, ROLL_BYTES, TIME, TXN, Segments
from impl.rules import rule
from impl.tasks import Gate, Tasks

NAMES = (LOG, TIME, TXN)


async def open_log(
    tasks: Tasks, meta: OpenStream, leader_epoch: int, streams: Streams, roll_bytes: int = ROLL_BYTES
) -> PartitionLog:
    """Open the log of a partition (rows 2 to 7 of step 6); it serves when this returns. ``meta``: the open meta stream.

    Raises DamagedError, and the errors of the streams. After an error the opened streams stay open, because a retry
    under the same epoch is allowed only if they were not closed (PT-04.fresh_epoch).
    """
    values = MetaStream(meta)
    await values.load()
    if values.get(PartitionMeta) is None:
        await values.put(NEW_PARTITION).wait()
    if values.get(LeaderEpochCheckpoint) is None:
        await values.put(LeaderEpochCheckpoint()).wait()
    stored = values.get(LogMeta) or LogMeta(dict.fromkeys(NAMES, ABSENT), ())
    opened = await _open_all(tasks, stored.streams, streams)
    segments = _segments(values, stored, opened, roll_bytes)
    return await _recover(tasks, values, stored, segments, opened, leader_epoch, streams)


async def _open_all(tasks: Tasks, ids: dict[str, int], streams: Streams) -> dict[str, OpenStream]:
    """Row 3. All data streams, opened side by side."""
    gates = {name: tasks.start(streams.open(ids[name])) for name in sorted(ids) if ids[name] != ABSENT}
    return {name: await gate.wait() for name, gate in gates.items()}


def _segments(values: MetaStream, stored: LogMeta, opened: dict[str, OpenStream], roll_bytes: int) -> Segments:
    """Row 4, and the recovery point of row 5."""
    partition = values.get(PartitionMeta) or NEW_PARTITION
    ends = StreamEnds(*(opened[name].next if name in opened else 0 for name in NAMES))
    segments = load(stored.segments, partition.start, partition.recover, ends, roll_bytes)
    # After a clean close the recovery point is the end of the log, so nothing is scanned.
    if rule("SP-09.scan", partition.clean):
        segments.flush(segments.end)
    return segments


async def _recover(
    tasks: Tasks,
    values: MetaStream,
    stored: LogMeta,
    segments: Segments,
    opened: dict[str, OpenStream],
    leader_epoch: int,
    streams: Streams,
) -> PartitionLog:
    """Make the log from its segments (rows 5 to 7), and store what the recovery has changed."""
    snapshots = values.get(ProducerSnapshots) or ProducerSnapshots({})
    producers = reload(snapshots.snapshots, segments.start, segments.recovery)
    is_cut = await _scan(tasks, segments, producers, opened.get(LOG))
    epochs = from_checkpoint(values.get(LeaderEpochCheckpoint) or LeaderEpochCheckpoint())
    log = PartitionLog(
        *(tasks, values, segments, producers, epochs, leader_epoch), dict(stored.streams), opened, streams
    )
    writes: list[Gate[int]] = []
    if is_cut:
        # Without this, the records that were cut off come back after a crash, and new batches lose their offsets.
        writes.append(log.put_segments())
    # Durable before the log serves: a crash after the first append must not find the flag true.
    if log.is_clean:
        writes.append(log.put_partition(clean=False))
    # An epoch of this leader, or of an earlier one, may begin in the part that was cut off.
    is_gone = epochs.truncate_end(segments.end)
    if epochs.assign(leader_epoch, segments.end) or is_gone:
        writes.append(values.put(epochs.checkpoint()))
    for gate in writes:
        await gate.wait()
    return log


async def _scan(tasks: Tasks, segments: Segments, producers: Producers, stream: OpenStream | None) -> bool:
    """Row 5. Count the batches from ``producers.end`` on, which the producers lack. After a clean close there are none.

    The log ends at the first corrupt batch. Returns whether the log was cut there.
    """
    begin = producers.end
    payloads: list[bytes] = []
    for span in segments.spans(begin, segments.end):
        assert stream is not None, "a log with records has a data stream"
        records = await stream.fetch(span.start, span.end).wait()
        payloads += (each.payload for each in records)
    found = scan(begin, payloads)
    for batch in found.batches:
        producers.append(batch)
    return stream is not None and segments.truncate(found.end, stream.next, tasks.now)
