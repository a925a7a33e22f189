"""The sizes in which Z3 looks for an instance, and the sizes that a model's scope must have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import z3

from holdfast.check.prove.engine import prove
from holdfast.check.prove.trial import trial
from holdfast.check.result import Result
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import HoldfastError, ModelError, Place, UsageError
from holdfast.ir.load import load_model
from holdfast.ir.system import Scope, System
from holdfast.lower.layout import MOST_CODES
from holdfast.lower.smt import instance
from holdfast.lower.smt.encoding import Encoding
from holdfast.lower.smt.extent import too_large, width
from holdfast.lower.smt.formulas import _computed
from holdfast.lower.smt.fragment import fragment
from holdfast.lower.smt.instance import NotFound, Smallest
from holdfast.lower.smt.logic import Logic, Sorts, sorts_of
from holdfast.lower.smt.sized_universe import SizedUniverse
from holdfast.lower.smt.theory import Formulas, Theory
from holdfast.lower.smt.unbounded_universe import computed_nats, largest_key, largest_literals

HEADER = """\
from enum import Enum
from holdfast.lang import *
class Node(Sort): ...
class Turn(Nat): ...
class Step(Nat): ...
class Gap(Int, lo=-1, hi=1): ...
class Mode(Enum):
    OFF = 1
    ON = 2
class Written(Model):
"""
BODY = """
held: Rel[Turn]
step: Step
gap: Gap
found: Node
mode: Map[Node, Mode]
tiny = Scope({Node: 1, Turn: 4, Step: 2}, given={"mode": ("ON",)})
@init
def begin(self, n: Node) -> None:
    self.held.fill(False)
    self.step = Step(0)
    self.gap = Gap(0)
    self.found = n
@action
def go(self, n: Node, t: Turn) -> None:
    require(t < Turn(4) and self.mode[n] == Mode.ON, "SZ-01")
    self.held[Turn(1)] = self.held[Turn(3)]
    self.step += 1
    self.found = n
@invariant
def never_on(self) -> bool:
    return self.mode[self.found] == Mode.OFF
"""

Build = Callable[[str], System]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Compile a model from the body of its class."""

    def compile_body(body: str) -> System:
        path = tmp_path / f"written{len(list(tmp_path.iterdir()))}.py"
        path.write_text(HEADER + "".join(f"    {line}" for line in body.splitlines(keepends=True)), encoding="utf-8")
        return compile_model(load_model(str(path)))

    return compile_body


def test_a_scope_has_the_cells_that_are_named(build: Build) -> None:
    """A Nat's greatest value is at least its largest literal that is a key, read or written."""
    system = build(BODY)
    turn, step = system.nats
    assert (largest_key(system, turn), largest_key(system, step)) == (3, 0)
    assert largest_key(build(BODY.replace("held[Turn(1)]", "held[Turn(4)]")), turn) == 4


@pytest.mark.parametrize("text", ["t < 9", "9 > t", "t < Turn(9)", "Turn(9) > t"])
def test_a_number_counts_on_either_side(text: str, build: Build) -> None:
    """The largest number that a Nat is compared with counts, on either side and in any notation."""
    assert largest_literals(build(BODY.replace("t < Turn(4)", text)))["Turn"] == 9


def test_what_is_counted_with_is_arithmetic(build: Build) -> None:
    """A Nat that is computed with, and an Int, are integers. A Nat that is only compared is an order."""
    system = build(BODY)
    assumed = tuple(system.of_kind("invariant"))
    logic = Logic(system, frozenset(), assumed)
    assert fragment(logic).arithmetic == ("Step", "Gap")
    assert sorts_of(logic) == Sorts(("Node",), ("Turn",), ("Step",))


def test_whoever_stands_beside_arithmetic_is_computed_with(build: Build) -> None:
    """A sum makes integers of its numbers and of the cell that stores it. Other Nats are only ordered."""
    body = BODY.replace("require(t < Turn(4)", "require(t < Turn(4) and t + 1 > 2")
    assert computed_nats(build(BODY)) == {"Step"}
    assert computed_nats(build(body)) == {"Turn", "Step"}


def test_a_constant_of_an_enum_is_given_by_its_name(build: Build) -> None:
    """The scope of a counterexample gives each constant a value of the model language."""
    result = prove(build(BODY), cores=0, suggest=False, searched=False)
    (proof,) = result.properties
    assert result.verdict == "not_inductive"
    assert proof.counterexample is not None
    assert proof.counterexample.scope.given["mode"] == ("ON",)


def test_a_size_that_is_too_large_is_not_written_out(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a size is too large to write out, that is reported, and no formula is built."""
    system = build(BODY)
    made: list[int] = []

    def make(universe: SizedUniverse) -> Theory:
        made.append(universe.sizes["Node"])
        return Theory(Encoding(universe, frozenset()), ())

    monkeypatch.setattr(instance, "too_large", lambda _, sizes: "it is too large" if sizes["Node"] > 2 else None)
    found = Smallest(system, make, lambda: 10.0).find(lambda theory: Formulas((false(theory),), {}))
    assert found == NotFound(instance.LARGEST, ("3 and more: it is too large",))
    assert made == [1, 2]


def false(theory: Theory) -> z3.BoolRef:
    """A formula that is never true."""
    return z3.BoolVal(False, theory.encoding.universe.ctx)


@pytest.mark.parametrize("op", ["+", "-"])
def test_a_word_has_room_for_sums(op: str, build: Build) -> None:
    """A word has room for the sum of the largest absolute values, a sign bit and one bit more."""
    body = BODY.replace("return self.mode", f"return self.step {op} {1 << 40} {op} {1 << 40} != 1 and self.mode")
    assert width(build(body), {"Node": 1, "Turn": 1, "Step": 1}) == ((1 << 41) + 1).bit_length() + 2


@pytest.mark.parametrize(("fold", "times"), [("min", 1), ("max", 1), ("sum", 8)])
def test_a_word_has_room_for_what_is_folded(fold: str, times: int, build: Build) -> None:
    """The least or greatest of several numbers is one of them. A sum may be as large as all of them together."""
    many = f"{fold}(self.step + {1 << 40} for n in Node)"
    if fold != "sum":
        many = f"{fold}((self.step + {1 << 40} for n in Node), default=0)"
    body = BODY.replace("return self.mode", f"return {many} != 1 and self.mode")
    assert width(build(body), {"Node": 8, "Turn": 1, "Step": 1}) == (times << 40).bit_length() + 2


def test_a_cell_has_room_for_so_many_values(build: Build) -> None:
    """A cell holds up to ``MOST_CODES`` values. A Nat has one value more than its greatest number."""
    plain = build(BODY)
    room = {"Node": 1, "Turn": 1, "Step": MOST_CODES - 1}
    assert too_large(plain, room) is None
    assert too_large(plain, room | {"Step": MOST_CODES}) == (
        f"step would have {MOST_CODES + 1:,} values, and a cell has room for {MOST_CODES}"
    )
    assert too_large(plain, room | {"Node": MOST_CODES}) is None
    assert too_large(plain, room | {"Node": MOST_CODES + 1}) is not None


@pytest.mark.parametrize(
    ("kind", "start", "sizes", "most"),
    [
        ("Step", "Step(0)", "Step", MOST_CODES - 1),
        ("Step | None", "None", "Step", MOST_CODES - 2),
        ("Node", "n", "Node", MOST_CODES),
        ("Node | None", "None", "Node", MOST_CODES - 1),
    ],
)
def test_each_value_of_a_variable_has_a_code(kind: str, start: str, sizes: str, most: int, build: Build) -> None:
    """A Sort has as many values as elements, a Nat has one more than its greatest number, and None is one more."""
    system = build(f"last: {kind}\n@init\ndef begin(self, n: Node) -> None:\n    self.last = {start}\n")
    room = {"Node": 1, "Turn": 1, "Step": 1}
    assert too_large(system, room | {sizes: most}) is None
    assert f"last would have {MOST_CODES + 1:,} values" in str(too_large(system, room | {sizes: most + 1}))


def test_an_alternative_leads_no_further_than_its_parts(build: Build) -> None:
    """Beside an `or`, "for all y" leads from no sort to another, as elsewhere, and "there is a y" does."""
    body = """
quiet: bool
likes: Rel[Node, Turn]
tiny = Scope({Node: 1, Turn: 1})
@init
def begin(self) -> None:
    self.quiet = True
    self.likes.fill(False)
@action
def wake(self) -> None:
    self.quiet = False
@invariant
def alike(self) -> bool:
    return all(self.quiet or all(self.likes[n, t] for t in Turn) for n in Node)
"""
    assert ways_of(build(body)) == set()
    assert ways_of(build(body.replace("or all", "or any"))) == {("Node", "Turn")}


def ways_of(system: System) -> set[tuple[str, str]]:
    """The pairs of sorts between which the invariants' quantifiers lead."""
    found = fragment(Logic(system, frozenset(), tuple(system.of_kind("invariant"))))
    return {(edge.source, edge.target) for edge in found.edges}


@pytest.mark.parametrize(
    ("op", "args", "number"),
    [("min", (3, 1, 2), 1), ("max", (1, 3, 2), 3), ("abs", (-2,), 2), ("+", (1, 2, 3), 6), ("-", (5, 2, 1), 2)],
)
def test_numbers_are_computed_at_once(op: str, args: tuple[int, ...], number: int) -> None:
    """A term of known parts is one number for Z3."""
    assert _computed(op, args) == number


@pytest.mark.parametrize("problem", [UsageError("too many values"), ModelError(Place("x.py", 1), "init", "none", "no")])
def test_scopes_that_were_not_searched_are_counted(problem: HoldfastError, build: Build) -> None:
    """A scope without an initial state, or without room, counts as not tried."""
    asked: list[str] = []

    def look(scope: Scope, states: int) -> Result:
        asked.append(f"{scope.sizes}, {states} states")
        raise problem

    system = build(BODY)
    found = trial(Logic(system, frozenset(), tuple(system.of_kind("invariant"))), look, lambda _: None)
    assert found.attempts == ()
    assert found.skipped >= len(asked) > 1
