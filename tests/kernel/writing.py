"""Small models that the kernel tests write: each has one feature that a search must handle correctly."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System

HEADER = """\
from __future__ import annotations
from enum import Enum
from typing import Self
from holdfast.lang import *
class Node(Sort): ...
class N(Nat): ...
class Gap(Int, lo=-2, hi=2): ...
class Only(Enum):
    ONE = 1
class Part(Enum):
    A = 1
    B = 2
    C = 3
    D = 4
"""


def written(folder: Path, body: str) -> System:
    """The model with this body, which may use Node (a Sort), N (a Nat), Gap (an Int), Only and Part (Enums)."""
    path = folder / f"written{len(list(folder.iterdir()))}.py"
    path.write_text(f"{HEADER}class Written(Model):\n{indent(dedent(body), '    ')}", encoding="utf-8")
    return compile_model(load_model(str(path)))


COUNTER = """
n: N
here: Node
tiny = Scope({N: 5, Node: 3}, budgets={"back": 2})
@init
def zero(self, n: Node) -> None:
    self.n = N(0)
    self.here = n
@action
def up(self) -> None:
    self.n = self.n + 1
@action
def back(self, n: Node) -> None:
    require(self.n > N(1), "A-1")
    require(n != self.here, "A-2")
    self.n = N(0)
    self.here = n
@witness
def far(self) -> bool:
    return self.n == N(5)
@witness
def nowhere(self) -> bool:
    return self.n > N(4) and self.n < N(5)
"""

WIDE = """
pad: Map[tuple[Part, Part], N]
gap: Map[Part, Gap | None]
on: bool
tiny = Scope({N: 14})
@init
def zero(self) -> None:
    self.pad.fill(N(0))
    self.gap.fill(None)
    self.on = False
@action
def pad_out(self, p: Part, q: Part, k: N) -> None:
    require(self.pad[p, q] > k, "A-1")
    self.pad[p, q] = k
    self.pad[q, p] = self.pad[q, p] + 1
@action
def move(self, p: Part) -> None:
    g = self.gap[p]
    if g is None:
        self.gap[p] = Gap(-2)
    else:
        self.gap[p] = g + 1
    self.on = not self.on
@invariant
def padded(self) -> bool:
    return all(self.pad[p, q] == N(0) for p in Part for q in Part)
@step
def grows(self, old: Self) -> bool:
    return all(self.pad[p, q] >= old.pad[p, q] for p in Part for q in Part)
"""
"""Some thirteen hundred states of two words: the first field straddles both and never changes."""

SEARCHED = {
    "states of two words": WIDE,
    "bounds and budgets cut": COUNTER,
    "a bound cuts the only step": COUNTER.replace("@witness\ndef far", "@final\ndef far").replace("N(5)", "N(1)"),
    "a list of the members of a pool": """
    sent: Pool[tuple[Part, Part, Part, Node], N]
    last: Part | None
    tiny = Scope({N: 2, Node: 2})
    @init
    def zero(self) -> None:
        self.sent.fill(False)
        self.last = None
    @action
    def send(self, p: Part, n: Node) -> None:
        require(p != self.last, "A-1")
        self.sent[p, p, p, n] = True
        self.last = p
    @action
    def turn(self, p: Part, n: Node) -> None:
        require(self.sent[p, p, p, n] and p != Part.A, "A-2")
        self.sent[p, p, p, n] = False
        self.sent[p, Part.A, p, n] = True
    @invariant
    def few(self) -> bool:
        return not any(self.sent[Part.D, Part.A, Part.D, n] and self.sent[Part.D, Part.D, Part.D, n] for n in Node)
    @witness
    def two(self) -> bool:
        return count(self.sent[p, Part.A, p, n] for p in Part for n in Node) == 2
    """,
    "no state at all": """
    seen: Ghost[Rel[Node]]
    tiny = Scope({Node: 3})
    @init
    def begin(self) -> None:
        self.seen.fill(False)
    @action
    def see(self, n: Node) -> None:
        self.seen[n] = True
    @step
    def some(self, old: Self) -> bool:
        return any(n == n for n in Node)
    """,
    "a deadlock": """
    n: N
    on: Rel[Node]
    tiny = Scope({N: 3, Node: 3})
    @init
    def zero(self) -> None:
        self.n = N(0)
        self.on.fill(False)
    @action
    def switch(self, n: Node) -> None:
        require(not self.on[n], "A-1")
        require(self.n < N(2), "A-2")
        self.on[n] = True
        self.n = self.n + 1
    @final
    def done(self) -> bool:
        return all(self.on[n] for n in Node)
    """,
    "a final state": """
    n: N
    tiny = Scope({N: 3})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        require(self.n < N(3), "A-1")
        self.n = self.n + 1
    @final
    def done(self) -> bool:
        return self.n == N(3)
    """,
    "repetitions that are refused, that change something, and that a bound cuts": """
    n: N
    m: N
    gap: Gap
    on: Rel[Node]
    seen: Ghost[bool]
    tiny = Scope({N: 2, Node: 2})
    @init
    def zero(self) -> None:
        self.n = N(0)
        self.m = N(0)
        self.gap = Gap(0)
        self.on.fill(False)
        self.seen = False
    @action(idempotent="R-1")
    def refused(self, n: Node) -> None:
        require(not self.on[n], "A-1")
        self.on[n] = True
    @action(idempotent="R-2")
    def changes(self) -> None:
        self.gap = self.gap + 1
    @action(idempotent="R-3")
    def repeats(self, n: N) -> None:
        self.m = n
        self.seen = not self.seen
    @action(idempotent="R-4")
    def cut(self) -> None:
        self.n = self.n + 2
    @invariant
    def seen_late(self) -> bool:
        return self.seen or self.m >= N(0)
    """,
    "several violations of equal length": """
    here: Map[Node, N]
    last: Node | None
    tiny = Scope({N: 2, Node: 3})
    @init
    def zero(self) -> None:
        self.here.fill(N(0))
        self.last = None
    @action
    def put(self, n: Node, k: N) -> None:
        require(k != self.here[n], "A-1")
        self.here[n] = k
        self.last = n
    @invariant
    def never_two(self) -> bool:
        return all(self.here[n] < N(2) for n in Node)
    @invariant
    def never_two_of_one(self) -> bool:
        return count(self.here[n] == N(1) for n in Node) < 2
    @step
    def grows(self, old: Self) -> bool:
        return all(self.here[n] >= old.here[n] for n in Node)
    @step(of="put")
    def not_twice(self, old: Self, n: Node) -> bool:
        last = old.last
        return last is None or last != n
    @invariant
    def says_nothing(self) -> bool:
        return all(self.here[n] == N(0) for n in Node if self.here[n] > N(2))
    """,
    "the least predecessor is not that of the least orbit": """
    here: Map[Node, N]
    other: Rel[Node]
    tiny = Scope({N: 2, Node: 2})
    @init
    def zero(self) -> None:
        self.here.fill(N(0))
        self.other.fill(False)
    @action
    def spread(self, m: Node, n: Node) -> None:
        require(m != n and all(self.here[k] == N(0) and not self.other[k] for k in Node), "A-1")
        self.here[m] = N(1)
        self.here[n] = N(2)
    @action
    def single(self, n: Node) -> None:
        require(all(self.here[k] == N(0) and not self.other[k] for k in Node), "A-2")
        self.here[n] = N(2)
    @action
    def merge(self, n: Node) -> None:
        require(self.here[n] > N(0), "A-3")
        self.here.fill(N(0))
        for k in Node:
            self.other[k] = k != n
    @witness
    def merged(self) -> bool:
        return any(self.other[n] for n in Node)
    """,
}
"""Models for a search, by the feature that each one shows."""
