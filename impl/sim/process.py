"""One process of a broker node in the simulator, and the interface of a broker to the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from impl.broker import messages
from impl.tasks import Place


class HostedNode(Protocol):
    """The node that a process runs. ``places``: for each task the awaits at which it waits, the innermost one last."""

    def handle(self, event: messages.Input, now: int, /) -> Sequence[messages.Output]: ...

    def places(self) -> Sequence[Sequence[Place]]: ...

    def crash(self) -> None: ...


Make = Callable[[messages.Identity, int], HostedNode]
"""Makes the broker of a process that starts at a time."""


class Process:
    """A process of a node, with a broker.

    ``home``: the controller that it takes for the leader. ``seen``: the number of batches that were sent to it.
    ``told``: when the last command arrives that follows from the metadata. ``fuse``: the number of inputs until it
    crashes, 0 if it does not. ``kept``: the share of the last input's outputs that leave it.
    """

    __slots__ = (
        *("alive", "broker", "crash_kind", "down_ms", "epoch", "feeding", "fuse", "home", "inbox", "kept", "name"),
        *("node", "paused", "seen", "started", "told", "wake_at"),
    )

    def __init__(self, node: int, epoch: int, name: str, broker: HostedNode, home: int, now: int) -> None:
        self.node, self.epoch, self.name, self.broker, self.home = node, epoch, name, broker, home
        self.started = now
        self.alive = True
        self.paused = False
        self.inbox: list[Any] = []
        """The inputs that have arrived during a pause."""
        self.wake_at = -1
        self.seen = 0
        self.told = now
        self.feeding = False
        """Whether committed batches are on their way."""
        self.fuse = 0
        self.kept = 1.0
        self.crash_kind = ""
        self.down_ms = 0
