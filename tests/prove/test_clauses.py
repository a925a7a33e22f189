"""Clauses over a model's own terms: their variables and their literals."""

from __future__ import annotations

from holdfast.check.prove.clauses import literals, pool
from holdfast.check.prove.expression_text import written
from holdfast.ir.expr import Compare, walk
from holdfast.ir.types import OptionalType
from tests.prove.conftest import Compiled

PLAIN = """
inside: Rel[Node]
turn: Map[Node, N]
owner: Node | None
mode: Mode
seen: Ghost[bool]
@init
def begin(self) -> None:
    self.inside.fill(False)
    self.turn.fill(N(0))
    self.owner = None
    self.mode = Mode.OK
    self.seen = False
@action
def enter(self, n: Node) -> None:
    self.inside[n] = True
@action
def look(self, m: N) -> None:
    self.seen = True
"""
PAIR = """
@invariant
def alone(self) -> bool:
    return all(n == m for n in Node for m in Node if self.inside[n] and self.inside[m])
"""
GIVEN = """
home: Map[N, Node]
up: Rel[Node]
tiny = Scope({Node: 1, N: 0}, given={"home": (0,)})
@init
def begin(self) -> None:
    self.up.fill(True)
@action
def fall(self, n: Node) -> None:
    self.up[n] = False
"""


def names(body: str, compiled: Compiled) -> list[str]:
    """The variables of a model's clauses, each with its type."""
    return [f"{param.name}: {param.type}" for param in pool(compiled(body))]


def texts(body: str, compiled: Compiled, *ghosts: str) -> list[str]:
    """The literals of a model's clauses, as text."""
    system = compiled(body)
    return [written(literal.expr) for literal in literals(system, pool(system), frozenset(ghosts))]


def test_as_many_names_as_a_property_or_an_action_has(compiled: Compiled) -> None:
    """There is one variable of each key type, two if a property or an action has two. A Nat has only one."""
    # No map has N as key, so no clause has a variable of type N.
    assert names(PLAIN, compiled) == ["n: Node"]
    assert names(PLAIN + PAIR, compiled) == ["n1: Node", "n2: Node"]
    two_params = PLAIN.replace("def enter(self, n: Node)", "def enter(self, n: Node, o: Node)")
    assert names(two_params, compiled) == ["n1: Node", "n2: Node"]
    held = PLAIN.replace("inside: Rel[Node]", "inside: Rel[Node]\nheld: Rel[N]")
    numbered = held.replace("    self.owner = None\n", "    self.owner = None\n    self.held.fill(False)\n")
    two_numbers = numbered.replace("def look(self, m: N)", "def look(self, m: N, o: N)")
    # Both type names begin with an N, and one of them is a single letter.
    assert names(two_numbers, compiled) == ["n: Node", "n_: N"]


def test_each_atom_comes_with_its_opposite(compiled: Compiled) -> None:
    """Literals are relations, Optionals and comparisons within one type; numbers and kept ghosts are ordered."""
    plain = [
        "self.owner is None",
        "self.inside[n]",
        "self.owner is not None and n == self.owner",
        "self.turn[n] == N(0)",
    ]
    assert texts(PLAIN, compiled)[::2] == plain
    assert texts(PLAIN, compiled)[1::2] == [
        "self.owner is not None",
        "not self.inside[n]",
        "not (self.owner is not None and n == self.owner)",
        "self.turn[n] != N(0)",
    ]
    assert texts(PLAIN, compiled, "seen")[::2] == [*plain[:2], "self.seen", *plain[2:]]
    assert texts(PLAIN + PAIR, compiled)[::2] == [
        "self.owner is None",
        "self.inside[n1]",
        "self.inside[n2]",
        "n1 == n2",
        "self.owner is not None and n1 == self.owner",
        "self.owner is not None and n2 == self.owner",
        "self.turn[n1] == self.turn[n2]",
        "self.turn[n1] < self.turn[n2]",
        "self.turn[n2] < self.turn[n1]",
        "self.turn[n1] == N(0)",
        "self.turn[n2] == N(0)",
    ]


def test_what_is_compared_is_there(compiled: Compiled) -> None:
    """Both sides of a comparison have one type and are not None, which an earlier literal states."""
    system = compiled(PLAIN + PAIR)
    compared = [
        (part.left.type, part.right.type)
        for literal in literals(system, pool(system), frozenset())
        for part in walk(literal.expr)
        if isinstance(part, Compare)
    ]
    assert len(compared) == 2 * 8
    assert all(one == other and not isinstance(one, OptionalType) for one, other in compared)


def test_a_constant_leads_to_elements(compiled: Compiled) -> None:
    """An element that a constant names needs no variable."""
    assert names(GIVEN, compiled) == ["n: N"]
    assert texts(GIVEN, compiled)[::2] == ["self.up[self.home[n]]", "n == N(0)"]
