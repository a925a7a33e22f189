"""What happened in a run of a real cluster, and what the oracles say about it."""

from __future__ import annotations

import msgspec

from impl.client.history import History
from impl.oracles.judge import Verdict
from impl.real.children import SentSignal
from impl.real.fault_driver import FaultEvent
from impl.real.merge import MergedLog


class RecordCounts(msgspec.Struct, frozen=True):
    """Numbers of records. ``acked``: acknowledged. ``read``: read back by new processes.

    ``lost``: acknowledged and not read back. ``twice``: read back a second time. Both are None unless new processes
    have read all partitions to their ends.
    """

    acked: int
    read: int
    lost: int | None
    twice: int | None


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, and what the oracles say. ``phases``: how long each phase took, in seconds.

    ``interrupted``: the phase in which the run was interrupted, "" if it came to its end. ``begin``, ``end``: when
    faults began and ended, in milliseconds. ``told``: each fault. ``happened``: the number of faults of each kind.
    ``moves``: the number of moves that the controller accepted. ``handovers``: how often a partition got another
    leader. ``calls``: the number of calls to the object store that took effect. ``objects``: the number of objects in
    the bucket at the end, None if nobody has looked. ``shortfalls``: a line for each thing of which too little happened
    in a whole run.
    """

    interrupted: str
    signals: tuple[SentSignal, ...]
    told: tuple[FaultEvent, ...]
    happened: dict[str, int]
    begin: int
    end: int
    records: RecordCounts
    moves: int
    handovers: int
    objects: int | None
    calls: int
    phases: dict[str, float]
    verdict: Verdict
    history: History
    merged: MergedLog
    shortfalls: tuple[str, ...] = ()

    @property
    def kills(self) -> list[SentSignal]:
        """The kills under faults. Those that end a run come later."""
        killed = [each for each in self.signals if each.signal == "SIGKILL"]
        return [each for each in killed if self.begin <= each.at // 1_000 < self.end]


def record_counts(history: History) -> RecordCounts:
    """The records of a history. Its last reads count as complete if the run has healed, and nothing is missing."""
    acked, found = acked_sends(history), _final_reads(history)
    read = sum(count for counts in found.values() for count in counts)
    if history.missing != "":
        return RecordCounts(sum(acked.values()), read, None, None)
    lost = sum(count for send, count in acked.items() if send not in found)
    return RecordCounts(
        sum(acked.values()), read, lost, sum(count for counts in found.values() for count in counts[1:])
    )


def acked_sends(history: History) -> dict[tuple[int, int], int]:
    """By partition and value: the number of records of each send that was acknowledged."""
    begun = {op.index: op for op in history.ops if op.kind == "invoke" and op.f == "send"}
    ends = [op for op in history.ops if op.kind == "ok" and op.f == "send"]
    return {(op.key, begun[op.index].value): begun[op.index].count for op in ends}


def _final_reads(history: History) -> dict[tuple[int, int], list[int]]:
    """By partition and value: the numbers of records of each time that the last reads found it."""
    found: dict[tuple[int, int], list[int]] = {}
    for op in history.ops:
        if op.kind == "ok" and op.f == "poll" and op.phase == "final":
            for _, count, value in op.value:
                found.setdefault((op.key, value), []).append(count)
    return found
