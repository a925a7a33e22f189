"""The lines of a log for ``holdfast conform``, and the names of the processes in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from impl.sim.event_log import Event

Who = dict[str, Any]
"""The fields of a line that name a process: ``node``, ``nodeEpoch`` and ``failover``."""

SOURCE = "cluster"
"""A simulated run has one order of effects, so all lines are of one source."""

BEFORE, AT = 0, 1
"""The place of a line: right before an event of the run, or at that event."""


class LineCollector:
    """Collects lines by the event of the run at which each takes effect."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self._found: list[tuple[tuple[int, int], int, dict[str, Any]]] = []

    def add(self, index: int, kind: str, who: Who, *, place: int = AT, **fields: Any) -> dict[str, Any]:
        """Add a line, and return it. Lines of one place keep the order in which they were added.

        ``index``: the event of the run. ``kind``: the name of the event, and behind a colon why a model may read it in
        another way.
        """
        event, _, _ = kind.partition(":")
        line = {"event": event, "kind": kind, **who, **fields}
        self._found.append(((index, place), len(self._found), line))
        return line

    def render(self) -> bytes:
        """The lines as text, in the order of their effects and numbered from 1."""
        encode = msgspec.json.Encoder(enc_hook=repr).encode
        self._found.sort(key=lambda each: each[:2])
        lines = [
            encode({"source": SOURCE, "n": number, "t": self._events[index][0] * 1_000, **line})
            for number, ((index, _), _, line) in enumerate(self._found, start=1)
        ]
        return b"\n".join([*lines, b""])


class Processes:
    """The processes of a run by their names in the event log.

    The models tell the processes of a node apart by their node epochs. A fault of the simulator may start a process
    with the epoch of the one before it. Then the log has the next number for the later process.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.of: dict[str, tuple[int, int]] = {}
        """By name: the node and the node epoch that the process sends."""
        self._lives: dict[tuple[int, int], list[tuple[int, str]]] = {}
        for index, (_, name, kind, subject) in enumerate(events):
            if kind == "start":
                node, epoch = self.of[name] = subject["node"], subject["epoch"]
                self._lives.setdefault((node, epoch), []).append((index, name))
        self._registered: set[str] = set()
        self._stands_for: dict[tuple[str, int, int], int] = {}
        """By the name of a process, and the node and epoch for which it stands: the number of that epoch in the log."""
        self._epochs: dict[str, int] = {}
        highest: dict[int, int] = {}
        # The numbers of a node ascend strictly, by epoch and then by start.
        for node, epoch in sorted(self._lives):
            for _, name in self._lives[node, epoch]:
                highest[node] = self._epochs[name] = max(epoch, highest.get(node, 0) + 1)

    def own(self, name: str) -> Who:
        """The fields of a line that name a process."""
        return {"node": self.of[name][0], "nodeEpoch": self._epochs[name], "failover": False}

    def sender(self, name: str, node: int, epoch: int, *, failover: bool | None = None) -> Who:
        """The fields that name the sender of a request: the process, or the worker that it runs for a failed one.

        ``failover`` is None if the request does not say which of the two sends it.
        """
        if self.of[name] == (node, epoch) and not failover:
            return self.own(name)
        if (name, node, epoch) not in self._stands_for:
            self.begin(name, node, epoch)
        return {"node": node, "nodeEpoch": self._stands_for[name, node, epoch], "failover": True}

    def refused(self, who: Who, epoch: int) -> Who:
        """The sender of a refused request in the view of the controller: the newest of the processes with its epoch."""
        registered = [each for _, each in self._lives.get((who["node"], epoch), ()) if each in self._registered]
        return {**who, "nodeEpoch": self._epochs[registered[-1]]} if registered else who

    def begin(self, name: str, node: int, epoch: int) -> None:
        """Note that a process stands for the newest one of that node and epoch that the controller knows (FO-01)."""
        lives = self._lives.get((node, epoch), [])
        known = [each for _, each in lives if each in self._registered]
        self._stands_for[name, node, epoch] = self._epochs[known[-1]] if known else epoch

    def register(self, name: str) -> None:
        """The controller has taken the registration of a process for its own node."""
        self._registered.add(name)


def identity(who: Who) -> tuple[int, int, bool]:
    """The process that the fields of a line name, as a key."""
    return who["node"], who["nodeEpoch"], who["failover"]
