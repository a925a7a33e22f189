"""A lease to compare with its changed copies, and the two versions of a comparison."""

from __future__ import annotations

from holdfast.check.diff.engine import Version
from holdfast.ir.system import System

LEASE = """
    holder: Map[N, Node | None]
    epoch: N
    late: Ghost[N]
    tiny = Scope({Node: 2, N: 2})
    @init
    def nobody(self) -> None:
        self.holder.fill(None)
        self.epoch = N(0)
        self.late = N(0)
    @action
    def acquire(self, n: Node, e: N) -> None:
        require(e > self.epoch, "LE-01")
        require(self.holder[N(0)] is None, "LE-02")
        self.holder[N(0)] = n
        self.epoch = e
        self.late = e
    @action
    def release(self) -> None:
        self.holder[N(0)] = None
    @invariant
    def epochs_count(self) -> bool:
        return all(self.holder[x] is None for x in N if x > N(0))
    @witness
    def second(self) -> bool:
        return self.epoch == N(2)
"""
"""A lease with epochs."""


def versions(a: System, b: System) -> tuple[Version, Version]:
    """Both systems, with their scopes tiny."""
    return Version(a, a.scopes["tiny"], "old.py"), Version(b, b.scopes["tiny"], "new.py")
