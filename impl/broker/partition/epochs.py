"""The leader epochs of a log: for each epoch, the offset from which on records were written under it.

A client that followed an older leader asks where the log of its epoch ends, to find the records that it has and the
log lacks. The cache is the value of LEADER_EPOCH_CHECKPOINT (reassignment.md 3). Recovery assigns the new epoch at the
log end before the partition serves (step 6, row 7).
"""

from __future__ import annotations

from bisect import bisect_right

from impl.broker.partition.meta_values import EpochEntry, LeaderEpochCheckpoint
from impl.broker.wal_format import DamagedError
from impl.tasks import FailedError


class OldEpochError(FailedError):
    """The log has records of a newer leader epoch: this leader is out of date."""


class Epochs:
    """The leader epochs of a log, each with its first offset.

    ``entries``: sorted. Both the epochs and the offsets strictly ascend.
    """

    def __init__(self) -> None:
        self.entries: list[EpochEntry] = []

    @property
    def latest(self) -> int | None:
        """The newest epoch."""
        return self.entries[-1].epoch if self.entries else None

    def assign(self, epoch: int, start: int) -> bool:
        """Note that records from ``start`` on belong to an epoch. Returns whether an entry is new, and must be stored.

        An epoch without a record is forgotten when the next epoch begins at the same offset. Raises OldEpochError if a
        newer leader has written already, and ValueError if the start goes back: the caller has to truncate first.
        """
        if epoch < 0 or start < 0:
            raise ValueError(f"leader epoch {epoch} from offset {start}: neither may be below 0")
        if self.entries:
            last = self.entries[-1]
            if epoch < last.epoch:
                raise OldEpochError(f"leader epoch {epoch} comes after epoch {last.epoch} (SP-03)")
            if start < last.start:
                raise ValueError(
                    f"leader epoch {epoch} from offset {start} comes after epoch {last.epoch} from {last.start}"
                )
            if epoch == last.epoch:
                return False
            if start == last.start:
                self.entries.pop()
        self.entries.append(EpochEntry(epoch, start))
        return True

    def end_of(self, epoch: int, log_end: int) -> tuple[int, int] | None:
        """The end of an epoch: the largest known epoch up to it, and the offset at which the next larger one begins.

        The end of the newest epoch is ``log_end``. None if the epoch is above all known ones. An epoch below all known
        ones is answered with itself and the first start, as in Kafka: nothing of it is left.
        """
        if not self.entries or epoch > self.entries[-1].epoch:
            return None
        # ``place``: the first entry with a larger epoch.
        place = bisect_right(self.entries, epoch, key=_epoch)
        if place == len(self.entries):
            return epoch, log_end
        return (self.entries[place - 1].epoch if place else epoch), self.entries[place].start

    def truncate_end(self, end: int) -> bool:
        """Forget the epochs that began at ``end``, the new end of the log, or later. Returns whether there were any."""
        count = len(self.entries)
        self.entries = [each for each in self.entries if each.start < end]
        return len(self.entries) < count

    def truncate_start(self, start: int) -> bool:
        """Let the epoch at ``start``, the new start of the log, begin there. Returns whether anything changed."""
        # ``place - 1``: the entry of the epoch that the record at ``start`` has. Older entries are dropped.
        place = bisect_right(self.entries, start, key=_start)
        if not place or self.entries[place - 1].start == start == self.entries[0].start:
            return False
        self.entries[:place] = [EpochEntry(self.entries[place - 1].epoch, start)]
        return True

    def checkpoint(self) -> LeaderEpochCheckpoint:
        """The value of the meta stream."""
        return LeaderEpochCheckpoint(tuple(self.entries))


def from_checkpoint(checkpoint: LeaderEpochCheckpoint) -> Epochs:
    """The epochs of a value of the meta stream. Raises DamagedError unless epochs and starts ascend from 0 on."""
    found = Epochs()
    before = EpochEntry(-1, -1)
    for each in checkpoint.entries:
        if each.epoch <= before.epoch or each.start <= before.start:
            raise DamagedError(
                f"leader epoch {each.epoch} from offset {each.start} follows epoch {before.epoch} from {before.start}"
            )
        found.entries.append(each)
        before = each
    return found


def _epoch(entry: EpochEntry) -> int:
    return entry.epoch


def _start(entry: EpochEntry) -> int:
    return entry.start
