"""A search keeps exactly the ghosts on which properties depend, directly or through other ghosts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.system import System

BODY = """
    n: N
    read: Ghost[Rel[N]]
    source: Ghost[Rel[N]]
    guard: Ghost[bool]
    through: Ghost[bool]
    apart: Ghost[bool]
    filled: Ghost[Rel[N]]
    filler: Ghost[bool]
    decider: Ghost[bool]
    first: Ghost[bool]
    place: Ghost[N]
    where: Ghost[N]
    chosen: Ghost[bool]
    tiny = Scope({N: 2})
    @init
    def begin(self) -> None:
        self.n = N(0)
        self.read.fill(False)
        self.source.fill(False)
        self.guard = False
        self.through = False
        self.apart = False
        self.filled.fill(False)
        self.filler = False
        self.decider = False
        self.first = True
        self.place = N(0)
        self.where = N(0)
        self.chosen = self.first
    @action
    def record(self, n: N) -> None:
        seen = self.through
        known = not seen
        if self.guard:
            for m in N:
                self.read[m] = self.source[m] and known
        self.apart = self.read[n]
    @action
    def fill(self) -> None:
        if self.decider:
            self.filled.fill(self.filler)
        if self.n == N(0):
            self.n = N(1)
            self.filled[self.where] = True
        elif self.filled[self.place]:
            self.filler = True
        else:
            self.chosen = False
    @action
    def learn(self, n: N) -> None:
        self.n = n
        self.source[n] = True
        self.guard = True
        self.through = True
    @invariant
    def reads(self) -> bool:
        return all(not self.read[n] or n <= self.n for n in N)
    @invariant
    def reads_source(self) -> bool:
        return not any(self.source[n] and n > N(2) for n in N)
    @invariant
    def reads_filled(self) -> bool:
        return not any(self.filled[n] and n > self.n for n in N)
    @invariant
    def reads_chosen(self) -> bool:
        return self.chosen or self.n != N(0)
    @leads_to
    def goal_reads(self) -> tuple[bool, bool]:
        return self.n == N(0), self.decider
    @step
    def reads_nothing(self, old: Self) -> bool:
        return old.n <= N(2)
"""


@pytest.mark.parametrize(
    ("names", "needed"),
    [
        (["reads"], {"read", "source", "guard", "through"}),
        (["reads_source"], {"source"}),
        (["reads_nothing"], set()),
        (["reads_filled"], {"filled", "filler", "decider", "place", "where"}),
        (["reads_chosen"], {"chosen", "first", "filled", "filler", "decider", "place", "where"}),
        (["goal_reads"], {"decider"}),
        ([], set()),
        (["reads_source", "reads_nothing", "reads"], {"read", "source", "guard", "through"}),
    ],
)
def test_ghosts_behind_properties(compiled: Callable[[str], System], names: list[str], needed: set[str]) -> None:
    """A ghost is needed if a property reads it, or if it decides whether or which value a needed ghost is given."""
    system = compiled(BODY)

    found = ghosts_read(system, [prop for prop in system.properties if prop.name in names])

    assert needed == found
