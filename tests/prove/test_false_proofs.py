"""Models whose property a larger scope violates. A proof must not claim that it holds for any sizes."""

from __future__ import annotations

import pytest

from holdfast.check.prove.engine import prove
from holdfast.check.search.engine import search
from tests.prove.conftest import Compiled

NEGATIVE_LITERAL = """
clock: N
bad: Rel[Node]
tiny = Scope({N: 2, Node: 1})
big = Scope({N: 2, Node: 2})
@init
def begin(self) -> None:
    self.bad.fill(False)
    self.clock = N(0)
@action
def tick(self, e: N) -> None:
    require(e > self.clock, "FP-01")
    require(not any(self.bad[n] for n in Node), "FP-02")
    self.clock = e
@action
def go(self, n: Node, m: Node) -> None:
    require(self.clock > -1, "FP-03")
    require(n != m, "FP-04")
    if self.clock == N(0):
        self.bad[n] = True
    self.clock = N(1)
@invariant
def quiet(self) -> bool:
    return not any(self.bad[n] for n in Node)
"""

NEGATIVE_DEFAULT = """
clock: N
on: Rel[Node]
bad: Rel[Node]
value: Map[Node, N]
tiny = Scope({N: 1, Node: 1})
big = Scope({N: 1, Node: 2})
@init
def begin(self) -> None:
    self.bad.fill(False)
    self.on.fill(False)
    self.value.fill(N(0))
    self.clock = N(0)
@action
def go(self, n: Node, m: Node) -> None:
    require(n != m, "FP-01")
    if self.clock > max((self.value[k] for k in Node if self.on[k]), default=-1):
        self.bad[n] = True
@invariant
def quiet(self) -> bool:
    return not any(self.bad[n] for n in Node)
"""

MAX_OF_ALL = """
rel: Rel[N]
clock: N
tiny = Scope({N: 2})
big = Scope({N: 4})
@init
def begin(self) -> None:
    self.rel.fill(True)
    self.clock = N(0)
@action
def tick(self) -> None:
    self.clock = self.clock + 1
@invariant
def small(self) -> bool:
    return max((e for e in N if self.rel[e]), default=N(0)) <= N(2)
"""

SOME_GREATER = """
clock: N
tiny = Scope({N: 2})
big = Scope({N: 3})
@init
def begin(self) -> None:
    self.clock = N(0)
@action
def tick(self) -> None:
    require(self.clock < N(3), "FP-01")
    self.clock = self.clock + 1
@invariant
def room(self) -> bool:
    return self.clock < N(3) or any(e > self.clock for e in N)
"""
"""Every integer has a greater one; the greatest value of a scope does not."""

NESTED_MAX = """
value: Map[tuple[Node, Node], N]
done: bool
tiny = Scope({N: 1, Node: 1})
big = Scope({N: 1, Node: 2})
@init
def begin(self) -> None:
    self.value.fill(N(0))
    self.done = False
@action
def go(self, n: Node, m: Node) -> None:
    require(n != m, "FP-01")
    require(not self.done, "FP-02")
    self.value[n, m] = N(1)
@action
def finish(self) -> None:
    require(all(any(self.value[n, m] == N(1) for m in Node) for n in Node), "FP-03")
    require(all(self.value[n, n] == N(0) for n in Node), "FP-04")
    self.done = True
@invariant
def small(self) -> bool:
    greatest = max((max((self.value[n, m] for m in Node), default=N(0)) for n in Node), default=N(0))
    return not self.done or greatest == N(0)
"""

ACTION_SELF = """
clock: N
bad: Rel[Node]
tiny = Scope({N: 2, Node: 1})
big = Scope({N: 2, Node: 2})
@init
def begin(self) -> None:
    self.clock = N(0)
    self.bad.fill(False)
@action
def self(self, clock: N, n: Node, m: Node) -> None:
    require(n != m, "FP-01")
    if clock != self.clock:
        self.bad[n] = True
@invariant
def quiet(self) -> bool:
    return not any(self.bad[n] for n in Node)
"""

ACTION_MAX = """
value: Map[Node, N]
bad: Rel[Node]
tiny = Scope({N: 1, Node: 1})
big = Scope({N: 1, Node: 2})
@init
def begin(self) -> None:
    self.value.fill(N(0))
    self.bad.fill(False)
@action
def max(self, one: Node, other: Node) -> None:
    require(self.value[one] != max((self.value[n] for n in Node), default=N(0)), "FP-01")
    self.bad[one] = True
@action
def grow(self, n: Node, m: Node) -> None:
    require(n != m, "FP-02")
    self.value[n] = N(1)
@invariant
def quiet(self) -> bool:
    return not any(self.bad[n] for n in Node)
"""

# Both types are integers in a proof, so the greatest values of both have the same definition but for their bounds.
TWO_GREATEST = """
clock: N
other: T
bad: bool
tiny = Scope({N: 1, T: 1})
big = Scope({N: 1, T: 9})
@init
def begin(self) -> None:
    self.clock = N(0)
    self.other = T(0)
    self.bad = False
@action
def tick(self) -> None:
    self.clock = self.clock + 1
    self.other = self.other + 1
@action
def go(self) -> None:
    few, many = max((n for n in N), default=N(0)) <= 2, max((t for t in T), default=T(0)) > 2
    require(self.clock == N(1) or (few and many), "FP-01")
    self.bad = self.clock != N(1)
@invariant
def quiet(self) -> bool:
    return not self.bad
"""

MODELS = {
    "a negative literal": NEGATIVE_LITERAL,
    "a negative default": NEGATIVE_DEFAULT,
    "max of all numbers": MAX_OF_ALL,
    "a greater number": SOME_GREATER,
    "max within max": NESTED_MAX,
    "an action self": ACTION_SELF,
    "an action max": ACTION_MAX,
}


@pytest.mark.parametrize("body", MODELS.values(), ids=MODELS)
def test_what_a_larger_scope_violates_is_not_proved(compiled: Compiled, body: str) -> None:
    """The search violates the property in scope big, so it must not be proved."""
    system = compiled(body)
    assert search(system, system.scopes["tiny"], engine="interpreter").verdict == "exhausted"
    assert search(system, system.scopes["big"], engine="interpreter").verdict == "violated"
    assert prove(system, cores=0, searched=False, suggest=False).verdict not in ("proved", "unknown")


def test_the_greatest_values_of_two_types_differ(compiled: Compiled) -> None:
    """The search violates the property in scope big, so it must not be proved."""
    system = compiled(TWO_GREATEST)
    assert search(system, system.scopes["tiny"], engine="interpreter").verdict == "exhausted"
    assert search(system, system.scopes["big"], engine="interpreter").verdict == "violated"
    assert prove(system, cores=0, searched=False, suggest=False).verdict != "proved"


@pytest.mark.parametrize("literal", ["N(300)", "300", "N(4294967296)"])
def test_a_number_that_no_cell_holds_is_no_traceback(compiled: Compiled, literal: str) -> None:
    """A number that needs more than a byte is compared correctly, in proofs and small sizes, or not answered."""
    result = prove(
        compiled(f"""
        on: bool
        tiny = Scope({{N: 3}})
        @init
        def begin(self) -> None:
            self.on = False
        @action
        def go(self, e: N) -> None:
            require(e > {literal}, "FP-01")
            self.on = True
        @invariant
        def still(self) -> bool:
            return not self.on
        """),
        cores=0,
        suggest=False,
    )
    assert result.verdict == "unknown"


def test_a_product_beyond_a_word_does_not_wrap_around(compiled: Compiled) -> None:
    """A product of 2**32 and more does not wrap around in small sizes: the interpreter replays the counterexample."""
    result = prove(
        compiled("""
        on: bool
        tiny = Scope({N: 3}, budgets={"go": 0})
        @init
        def begin(self) -> None:
            self.on = False
        @action
        def go(self, e: N) -> None:
            require(e * 18446744073709551616 > 0, "FP-01")
            self.on = True
        @invariant
        def still(self) -> bool:
            return not self.on
        """),
        cores=0,
        suggest=False,
    )
    found = result.properties[0].counterexample
    assert found is not None
    assert found.trace.steps[1].args == (("e", 1),)


def test_a_maximum_of_literals_is_of_its_own_type(compiled: Compiled) -> None:
    """``max`` of literals over an Enum may be compared with a Nat that is only ordered."""
    result = prove(
        compiled("""
        on: Rel[Mode]
        clock: N
        @init
        def begin(self) -> None:
            self.on.fill(False)
            self.clock = N(0)
        @action
        def go(self, m: Mode) -> None:
            self.on[m] = True
        @invariant
        def quiet(self) -> bool:
            return max((N(1) for m in Mode if self.on[m]), default=N(0)) >= self.clock
        """),
        cores=0,
        searched=False,
    )
    assert result.verdict == "proved"
