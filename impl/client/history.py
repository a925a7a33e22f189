"""The history of a run, as its clients saw it: each operation, when it began, and how it ended.

The form is Jepsen's. An operation ends with ``ok``; with ``fail``, if it had no effect; or with ``info``, if its effect
is unknown, and it may take effect at any later time. Servers write nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

F = Literal["send", "poll", "fetch", "move", "cancel", "elect", "create", "trim", "destroy"]
Ending = Literal["ok", "fail", "info"]
FINAL = "final"
"""The phase of the last reads of a run: each of them reads a stream from its start to its end."""


class HistoryError(Exception):
    """A line that is no operation: the message has the place, the value and the remedy."""


class Op(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """The begin or the end of an operation.

    - ``index``: the number of its begin in the history. ``at``: the time, in milliseconds.
    - ``process``: the process that does the operation. ``key``: the stream.
    - ``value``: of a send, the unique value that it writes; of a trim, the new start; of the end of a poll, the batches
      that it read, each as [offset, count, value].
    - ``count``: of a send, the number of its records.
    - ``offset``: of the end of a send, its first offset; of a poll, the offset at which it begins; of the end of a
      poll, the confirm offset.
    - ``broker``: the broker that answered. ``phase``: FINAL, or another part of the run; None for the script.
    """

    index: int
    process: str
    kind: Literal["invoke", "ok", "fail", "info"]
    f: F
    key: int
    at: int
    value: Any = None
    count: int = 0
    offset: int | None = None
    broker: str | None = None
    error: str | None = None
    phase: str | None = None


class History:
    """The operations in the order of time.

    ``missing``: the condition that did not hold when the run was given up; "" if it has healed, None if not checked.
    """

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.missing: str | None = None

    def invoke(
        self,
        process: str,
        f: F,
        key: int,
        value: Any,
        at: int,
        *,
        offset: int | None = None,
        count: int = 0,
        phase: str | None = None,
    ) -> int:
        """Add the begin of an operation. Returns its index."""
        index = len(self.ops)
        self.ops.append(Op(index, process, "invoke", f, key, at, value, count, offset, phase=phase))
        return index

    def complete(
        self,
        index: int,
        kind: Ending,
        at: int,
        *,
        value: Any = None,
        offset: int | None = None,
        broker: str | None = None,
        error: str | None = None,
    ) -> None:
        """Add the end of an operation."""
        begun = self.ops[index]
        self.ops.append(
            Op(
                *(index, begun.process, kind, begun.f, begun.key, at, value),
                offset=offset,
                broker=broker,
                error=error,
                phase=begun.phase,
            )
        )

    def lines(self) -> Iterator[str]:
        """The history as lines of JSON, one for each begin and each end of an operation."""
        for op in self.ops:
            yield msgspec.json.encode(op).decode()


def read(lines: Iterable[str], file: str) -> History:
    """Read a history from the lines of a file. Raises HistoryError at the first line that is no operation."""
    history = History()
    for number, line in enumerate(lines, 1):
        try:
            history.ops.append(msgspec.json.decode(line, type=Op))
        except msgspec.DecodeError as error:
            raise HistoryError(
                f"{file}:{number}: {error}; a line is an operation as `holdfast simulate --history` writes it"
            ) from None
    return history
