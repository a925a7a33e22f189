"""One field of every type, and an action that cannot be repeated."""

from __future__ import annotations

from enum import Enum

from holdfast.lang import Int, Map, Model, Nat, Rel, Scope, Sort, action, init, invariant, require


class Phase(Enum):
    """What a part is doing."""

    IDLE = 0
    BUSY = 1


class LogStream(Sort):
    """A log."""


class NodeEpoch(Nat):
    """How often a node started."""


class Gap(Int, lo=-2, hi=2):
    """A small difference."""


class Sampler(Model):
    """Values to be written and shown."""

    first: NodeEpoch
    home: Map[LogStream, NodeEpoch | None]
    busy: bool
    phase: Phase
    gap: Gap
    latest: LogStream | None
    lowest: NodeEpoch | None
    phases: Map[tuple[LogStream, NodeEpoch], Phase | None]
    marked: Rel[LogStream]
    linked: Rel[LogStream, Phase]

    tiny = Scope({LogStream: 2, NodeEpoch: 1}, given={"first": 1, "home": (0, None)}, budgets={"sample": 2})

    @init
    def begin(self) -> None:
        """Nothing is set."""
        self.busy = False
        self.phase = Phase.IDLE
        self.gap = Gap(0)
        self.latest = None
        self.lowest = None
        self.phases.fill(None)
        self.marked.fill(False)
        self.linked.fill(False)

    @action(idempotent="INV-15")
    def sample(self, s: LogStream, e: NodeEpoch, f: Phase) -> None:
        """Set everything."""
        require(self.home[s] is not None and self.first > NodeEpoch(0), "SA-01")
        self.busy = True
        self.phase = f
        self.gap = Gap(-2)
        self.latest = s
        self.lowest = e
        self.phases[s, e] = f
        self.marked[s] = True
        self.linked[s, f] = True

    @action(idempotent="INV-16")
    def press(self, s: Phase) -> None:
        """A parameter that shares its name with another of another type."""
        require(s == Phase.BUSY, "PR-02")
        require(self.phase != s, "PR-03")
        self.phase = s

    @invariant
    def unmarked(self) -> bool:
        """SA-09. Nothing is ever marked."""
        return not any(self.marked[s] and self.linked[s, Phase.IDLE] for s in LogStream)
