"""The metadata log: atomic batches, pending and committed, and what a roll-back leaves (streams.md 2)."""

from __future__ import annotations

import random

import pytest

from impl import records as r
from impl.metadata import snapshot
from impl.metadata.log import MetadataBatch, MetadataLog, replay
from tests.impl.random_records import random_batches

STREAM = MetadataBatch((r.AssignedStreamId(0), r.S3Stream(0, -1, -1, 0, r.StreamState.CLOSED)))
OPEN = MetadataBatch((r.S3Stream(0, 3, 0, 0, r.StreamState.OPENED), r.Range(0, 3, 0, 0, 0, 7)))


def test_a_pending_batch_changes_the_image_at_once() -> None:
    """EX-01: records are applied before the quorum has committed them."""
    log = MetadataLog()
    end = log.append(STREAM)
    assert (end, log.end, log.committed) == (1, 1, 0)
    assert log.image.streams[0].epoch == -1


def test_a_roll_back_takes_pending_batches_and_no_others() -> None:
    """EX-03: a roll-back keeps the committed open, and removes the pending close."""
    log = MetadataLog()
    log.append(STREAM)
    log.append(OPEN)
    log.commit(2)
    log.append(MetadataBatch((r.S3Stream(0, 3, 0, 0, r.StreamState.CLOSED),)))
    log.roll_back()
    assert (log.end, log.committed) == (2, 2)
    assert log.image.streams[0].state is r.StreamState.OPENED
    assert list(log.image.opened_on[7]) == [0]


def test_a_commit_beyond_the_log_is_an_error() -> None:
    """A commit of batches that the leader has not appended is an error."""
    log = MetadataLog()
    log.append(STREAM)
    with pytest.raises(ValueError, match="below 2 are committed, but the log ends at 1"):
        log.commit(2)


def test_an_old_commit_changes_nothing() -> None:
    """A late message of the quorum with a lower commit changes nothing."""
    log = MetadataLog()
    log.append(STREAM)
    log.append(OPEN)
    log.commit(2)
    log.commit(1)
    assert log.committed == 2


def test_a_log_begins_after_its_snapshot() -> None:
    """Indexes continue after the snapshot's."""
    image = replay([STREAM])
    log = MetadataLog(image, begin=1)
    assert log.append(OPEN) == 2
    log.roll_back()
    assert (log.end, log.image.streams[0].state) == (1, r.StreamState.CLOSED)


def test_ranges_that_come_back_are_in_ascending_order() -> None:
    """A roll-back restores removed ranges in order of their index, on which readers rely."""
    log = MetadataLog()
    ranges = tuple(r.Range(0, index, index, 10 * index, 10 * index + 10, 7) for index in range(4))
    log.append(MetadataBatch((r.S3Stream(0, 3, 3, 0, r.StreamState.OPENED), *ranges)))
    log.commit(1)
    log.append(MetadataBatch((r.RemoveRange(0, 0), r.RemoveRange(0, 2))))
    log.roll_back()
    assert list(log.image.ranges[0]) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(20))
def test_any_log_is_the_replay_of_its_committed_batches(seed: int) -> None:
    """After any appends, commits and roll-backs the image is that of the batches left in the log."""
    draw = random.Random(seed)
    log = MetadataLog()
    first, *others = random_batches(draw, 120)
    log.commit(log.append(first))
    for batch in others:
        log.append(batch)
        kind = draw.random()
        if kind < 0.4:
            log.commit(draw.randint(log.committed, log.end))
        elif kind < 0.5:
            log.roll_back()
    assert snapshot.snapshot(log.image) == snapshot.snapshot(replay(log.batches))
    log.roll_back()
    assert log.end == log.committed
    expected = replay(log.batches)
    assert snapshot.snapshot(log.image) == snapshot.snapshot(expected)
    assert {n: sorted(s) for n, s in log.image.opened_on.items() if s} == {
        n: sorted(s) for n, s in expected.opened_on.items() if s
    }
