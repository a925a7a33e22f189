"""The operations of a client node on their way into the history.

A process does one operation at a time. An operation of unknown outcome may still take effect, so its process gets a new
name for the next operation.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from impl.client.history import Ending, F, History
from impl.tasks import Tasks


class Recorder:
    """``name``: the name of the client node, the prefix of its processes' names. ``tasks``: tell the time."""

    def __init__(self, name: str, history: History, tasks: Tasks) -> None:
        self._name, self._history, self._tasks = name, history, tasks
        self._lives: Counter[str] = Counter()
        """By process: how many of its operations had an unknown outcome."""
        self._open: dict[int, str] = {}
        """By index of an operation that has not ended: its process."""

    def begin(
        self,
        process: str,
        f: F,
        key: int,
        value: Any = None,
        *,
        offset: int | None = None,
        count: int = 0,
        phase: str | None = None,
    ) -> int:
        """Record the begin of an operation. Returns its index. The arguments are the fields of ``Op``."""
        name = f"{self._name}.{process}.{self._lives[process]}"
        index = self._history.invoke(name, f, key, value, self._tasks.now, offset=offset, count=count, phase=phase)
        self._open[index] = process
        return index

    def end(
        self,
        index: int,
        kind: Ending,
        *,
        value: Any = None,
        offset: int | None = None,
        broker: str | None = None,
        error: str | None = None,
    ) -> None:
        """Record the end of an operation. The arguments are the fields of ``Op``."""
        self._history.complete(index, kind, self._tasks.now, value=value, offset=offset, broker=broker, error=error)
        process = self._open.pop(index)
        if kind == "info":
            self._lives[process] += 1
