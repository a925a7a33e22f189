"""The operations of a history, each with its begin and its end, in the form that oracles read.

The assumptions of the oracles are checked here first. A history that breaks an assumption was recorded wrongly and says
nothing about the cluster, so it is an error and never a violation.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from impl.client.history import FINAL, History, Op


class AssumptionError(Exception):
    """The oracles cannot judge the history; the message says why."""


class ValueBatch(msgspec.Struct, frozen=True, order=True, gc=False):
    """Records of a stream with the offsets [base, end), and the value that was sent."""

    base: int
    end: int
    value: int


class Send(msgspec.Struct, frozen=True, gc=False):
    """A send. ``begun``, ``ended``: in milliseconds; ``ended`` is None if the outcome is unknown.

    ``batch``: None unless the send was acknowledged. ``broker``: the broker that answered; None without an answer.
    """

    process: str
    value: int
    count: int
    begun: int
    ended: int | None
    failed: bool
    batch: ValueBatch | None
    broker: str | None


class Poll(msgspec.Struct, frozen=True, gc=False):
    """A poll that succeeded. ``read``: the batches that it read of [``begin``, ``end``).

    ``end``: the confirm offset at that time. ``ended``: in milliseconds. ``is_final``: whether its phase is FINAL.
    """

    process: str
    begin: int
    end: int
    read: tuple[ValueBatch, ...]
    ended: int
    is_final: bool


class StreamCalls:
    """All operations on one stream. Offsets below ``trimmed`` may be missing; all offsets may be, if it is ``gone``."""

    def __init__(self, key: int) -> None:
        self.key = key
        self.sends: list[Send] = []
        self.polls: list[Poll] = []
        self.trimmed = 0
        self.gone = False
        self.open_moves = 0
        """The number of moves without an end."""

    @property
    def final_ends(self) -> dict[str, int]:
        """By reader: up to where its final polls, one after the other, read the stream from its start on."""
        ends: dict[str, int] = {}
        for poll in self.polls:
            if poll.is_final and poll.begin <= ends.get(poll.process, self.trimmed):
                ends[poll.process] = max(poll.end, ends.get(poll.process, 0))
        return ends

    @property
    def acked(self) -> list[ValueBatch]:
        """The batches of acknowledged sends."""
        return [send.batch for send in self.sends if send.batch is not None]


class CallsByStream:
    """The streams of a history by key. ``missing``: copied from the history. Raises AssumptionError."""

    def __init__(self, history: History) -> None:
        self.missing = history.missing
        self.streams: dict[int, StreamCalls] = {}
        ends = _ends(history.ops)
        values: set[tuple[int, int]] = set()
        for op in history.ops:
            if op.kind == "invoke":
                stream = self.streams.setdefault(op.key, StreamCalls(op.key))
                if op.f == "send":
                    if (op.key, op.value) in values:
                        raise AssumptionError(f"the value {op.value} is sent twice to stream {op.key}")
                    values.add((op.key, op.value))
                _add(stream, op, ends.get(op.index))
        if self.missing == "":
            self._check_final()

    def _check_final(self) -> None:
        for stream in self.streams.values():
            if stream.gone:
                continue
            ends = stream.final_ends
            for poll in stream.polls:
                if poll.is_final and poll.begin > ends.get(poll.process, stream.trimmed):
                    left = f"offsets below {poll.begin} of stream {stream.key}"
                    raise AssumptionError(f"{poll.process} leaves out {left} in its final read")
            if stream.acked and not ends:
                raise AssumptionError(f"the run has ended without a final read of stream {stream.key}")


def _ends(ops: Iterable[Op]) -> dict[int, Op]:
    """The end of each operation by its index. Raises AssumptionError unless a process does one operation at a time."""
    ends: dict[int, Op] = {}
    begun: dict[int, Op] = {}
    busy: dict[str, int] = {}
    for op in ops:
        if op.kind == "invoke":
            if op.process in busy:
                raise AssumptionError(f"{op.process} begins operation {op.index} before {busy[op.process]} has ended")
            if op.index in begun:
                raise AssumptionError(f"operation {op.index} begins twice")
            busy[op.process] = op.index
            begun[op.index] = op
            continue
        first = begun.get(op.index)
        if first is None:
            raise AssumptionError(f"operation {op.index} ends without a begin")
        if op.index in ends:
            raise AssumptionError(f"operation {op.index} ends twice")
        if (first.process, first.f, first.key) != (op.process, op.f, op.key):
            raise AssumptionError(f"operation {op.index} ends with another process, function or key than it began with")
        if op.at < first.at:
            raise AssumptionError(f"operation {op.index} ends at {op.at} ms, before it begins at {first.at} ms")
        ends[op.index] = op
        if op.kind == "info":
            # The operation may still take effect, so its process may begin no other one.
            busy[op.process] = op.index
        else:
            del busy[op.process]
    return ends


def _add(stream: StreamCalls, op: Op, end: Op | None) -> None:
    succeeded, failed = end is not None and end.kind == "ok", end is not None and end.kind == "fail"
    match op.f:
        case "send":
            batch = None
            if end is not None and succeeded:
                if end.offset is None or end.offset < 0 or op.count < 1:
                    raise AssumptionError(f"send {op.index} succeeds without an offset, or has no records")
                batch = ValueBatch(end.offset, end.offset + op.count, op.value)
            ended = end.at if end is not None and end.kind != "info" else None
            broker = None if end is None else end.broker
            stream.sends.append(Send(op.process, op.value, op.count, op.at, ended, failed, batch, broker))
        case "poll" | "fetch":
            if end is not None and succeeded:
                stream.polls.append(_poll(op, end))
        case "trim":
            # A trim of unknown outcome may have taken effect, so the offsets below it need not be there.
            if not isinstance(op.value, int):
                raise AssumptionError(f"trim {op.index} has no new start")
            if not failed:
                stream.trimmed = max(stream.trimmed, op.value)
        case "destroy":
            # No client opens the stream again, even if this attempt has failed.
            stream.gone = True
        case "move":
            stream.open_moves += end is None
        case "cancel" | "create" | "elect":
            pass


def _poll(op: Op, end: Op) -> Poll:
    if op.offset is None or end.offset is None or end.value is None:
        raise AssumptionError(f"poll {op.index} has no first offset, no confirm offset, or no batches")
    read = tuple(ValueBatch(base, base + count, value) for base, count, value in end.value)
    return Poll(op.process, op.offset, end.offset, read, end.at, is_final=op.phase == FINAL)
