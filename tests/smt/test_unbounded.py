"""Formulas for any size: in a structure with N elements they agree with the interpreter."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import z3

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import Param, System
from holdfast.ir.types import BoolType, EnumType, IntType, MapType, NatType, OptionalType, Scalar
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Taken
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.smt.encoding import Encoding, Transition
from holdfast.lower.smt.solve import TACTICS
from holdfast.lower.smt.state import State
from holdfast.lower.smt.unbounded_universe import UnboundedUniverse, computed_nats, largest_literals
from holdfast.lower.smt.values import Maybe
from tests.kernel.writing import written
from tests.smt.comparing import without_budgets

MODELS = Path(__file__).parents[1]

CASES = {
    "streams": ("lower/models/streams.py", 6),
    "table": ("check/models/table.py", 4),
    "ownership": ("ownership", 1),
    "queues": ("smt/models/queues.py", 6),
    "logs": ("lower/models/logs.py", 6),
    "bags": ("lower/models/bags.py", 6),
    "quorums": ("lower/models/quorums.py", 6),
}


class Structure:
    """A finite structure of the unbounded universe: its elements by name, and the values of all cells."""

    def __init__(self, encoding: Encoding, layout: Layout) -> None:
        self.encoding = encoding
        self.layout = layout
        self.universe = encoding.universe
        assert isinstance(self.universe, UnboundedUniverse)

    def element(self, kind: Scalar, code: int) -> z3.ExprRef:
        """The element of a type with this code."""
        assert not isinstance(kind, OptionalType)
        if isinstance(kind, BoolType):
            return z3.BoolVal(bool(code), self.universe.ctx)
        if isinstance(kind, EnumType):
            members = self.universe.elements(kind)
            assert members is not None
            return members[code]
        sort = self.universe.sort(kind)
        if isinstance(kind, IntType) or sort.kind() == z3.Z3_INT_SORT:
            return z3.IntVal(code + (kind.lo if isinstance(kind, IntType) else 0), self.universe.ctx)
        if isinstance(kind, NatType) and code <= max(0, largest_literals(self.encoding.system).get(kind.name, 0)):
            return self.universe.number(code, sort)
        return z3.Const(f"element {code} of {kind}", sort)

    def facts(self) -> Iterator[z3.BoolRef]:
        """The facts that fix the structure's elements and their order."""
        system = self.encoding.system
        kinds = [*system.sorts, *(nat for nat in system.nats if nat.name not in computed_nats(system))]
        for kind in kinds:
            listed = [self.element(kind, code) for code in range(self.layout.codes(kind))]
            x = z3.Const("x", self.universe.sort(kind))
            yield z3.Distinct(*listed) if len(listed) > 1 else self.universe.true
            yield z3.ForAll([x], z3.Or([x == each for each in listed]))
            if isinstance(kind, NatType):
                for one, other in itertools.pairwise(listed):
                    yield self.universe.less(one, other)

    def cells(self, state: State, codes: bytes) -> Iterator[z3.BoolRef]:
        """The equations between a formula's state and these codes. Given constants have the scope's values."""
        for var in self.encoding.variables:
            indices = itertools.product(*(range(self.layout.codes(key)) for key in var.keys))
            given = self.layout.given.get(var.name)
            offset = 0 if given is not None else self.layout.field(var.name).offset
            for place, index in enumerate(indices):
                keys = [self.element(key, code) for key, code in zip(var.keys, index, strict=True)]
                code = (codes if given is None else given)[offset + place]
                yield self.holds_code(var.value, state.read(var.name, keys), code)

    def has_code(self, step: Transition, param: Param, code: int) -> Iterator[z3.BoolRef]:
        """The equations between an argument of a step and its code."""
        if not isinstance(param.type, MapType):
            yield self.holds_code(param.type, step.arguments[param.name], code)
            return
        for index, digit in self.layout.digits(param.type, code).items():
            keys = [self.element(key, each) for key, each in zip(param.type.keys, index, strict=True)]
            yield self.holds_code(param.type.value, step.maps[param.name](keys), digit)

    def holds_code(self, kind: Scalar, value: object, code: int) -> z3.BoolRef:
        """The equation between a value and a code."""
        if isinstance(kind, OptionalType):
            assert isinstance(value, Maybe)
            if code == 0:
                return z3.Not(value.some)
            if value.value is None:
                return self.universe.false
            return z3.And(value.some, self.holds_code(kind.of, value.value, code - 1))
        if isinstance(value, int):
            return self.universe.settled(value, kind) == self.element(kind, code)
        return value == self.element(kind, code)


@pytest.mark.parametrize("case", CASES)
def test_formulas_without_a_size_agree_in_a_structure(case: str) -> None:
    """A step that the interpreter takes is possible and leads to that state alone. Any other step is contradictory."""
    name, states = CASES[case]
    system = compile_model(load_model(name if "/" not in name else str(MODELS / name)))
    machine = Interpreter(system, without_budgets(system.scopes["tiny"]))
    universe, chance = UnboundedUniverse(system), random.Random(2)
    encoding = Encoding(universe, frozenset(var.name for var in system.variables if var.ghost))
    structure, before = Structure(encoding, machine.layout), encoding.free("")
    solver = z3.Solver(ctx=universe.ctx)
    solver.add(*universe.axioms(), *structure.facts())
    # The last value of a Nat that is computed with is a free constant of a proof; here it is that of the scope.
    solver.add(*(universe._top(name) == machine.layout.scope.sizes[name] for name in sorted(universe.computed)))
    assert solver.check() == z3.sat
    for _ in range(states):
        state = bytes(chance.randrange(cell.field.codes) for cell in machine.layout.cells)
        solver.push()
        solver.add(*structure.cells(before, state))
        for action in system.actions:
            step = encoding.step(action, before)
            args = tuple(chance.randrange(machine.layout.codes(param.type)) for param in action.params)
            solver.push()
            for param, code in zip(action.params, args, strict=True):
                solver.add(*structure.has_code(step, param, code))
            outcome = machine.step(state, action.name, args)
            # A proof has no bounds, so a cut step is not compared.
            if isinstance(outcome, Taken):
                there = z3.And(list(structure.cells(step.after, outcome.state)))
                # The state after the step may use symbols whose definitions exist only now.
                solver.add(*universe.definitions.values())
                assert solver.check(step.guard, there) == z3.sat, (action.name, args)
                assert solver.check(z3.Not(there)) == z3.unsat, (action.name, args)
            elif type(outcome).__name__ == "Refused":
                solver.add(*universe.definitions.values())
                assert solver.check(step.guard) == z3.unsat, (action.name, args)
            solver.pop()
        solver.pop()


COUNTS = """
on: Rel[Node]
still: bool
tiny = Scope({Node: 4})
@init
def zero(self) -> None:
    self.on.fill(False)
    self.still = True
"""


@pytest.mark.parametrize("test", [">= 3", "== 3", "< 3", "> 1", "<= 2", "!= 4"])
def test_a_count_counts_elements_that_all_differ(test: str, tmp_path: Path) -> None:
    """Over a type of any size no element is counted twice: formula and interpreter agree."""
    action = f'@action\ndef go(self) -> None:\n    require(count(self.on[n] for n in Node) {test}, "A-1")\n'
    system = written(tmp_path, f"{COUNTS}{action}    self.still = False\n")
    machine = Interpreter(system, system.scopes["tiny"])
    universe = UnboundedUniverse(system)
    encoding = Encoding(universe, frozenset())
    structure, before = Structure(encoding, machine.layout), encoding.free("")
    solver = z3.Solver(ctx=universe.ctx)
    solver.set(**TACTICS)
    solver.add(*universe.axioms(), *structure.facts())
    guard = encoding.step(system.actions[0], before).guard
    for on in itertools.product((0, 1), repeat=4):
        taken = isinstance(machine.step(bytes((*on, 1)), "go", ()), Taken)
        assert solver.check(*structure.cells(before, bytes((*on, 1))), guard) == (z3.sat if taken else z3.unsat), on


def test_which_numbers_are_integers() -> None:
    """A Nat that is computed with is an integer. One that is only compared, or a literal, is an order."""
    ownership = compile_model(load_model("ownership"))
    assert computed_nats(ownership) == {"Offset"}
    assert largest_literals(ownership)["NodeEpoch"] == 1
    gauges = compile_model(load_model(str(MODELS / "lower/models/gauges.py")))
    assert computed_nats(gauges) == {"Tick"}


def test_literals_follow_one_another() -> None:
    """Nothing lies between 0 and 1, and 0 is least. Above the largest literal there may be anything."""
    universe = UnboundedUniverse(_ownership())
    sort = universe.sort(NatType("NodeEpoch"))
    zero, one, x = universe.number(0, sort), universe.number(1, sort), z3.Const("x", sort)
    solver = z3.Solver(ctx=universe.ctx)
    solver.add(*universe.axioms())
    assert solver.check(universe.less(x, zero)) == z3.unsat
    assert solver.check(universe.less(zero, x), universe.less(x, one)) == z3.unsat
    assert solver.check(zero == one) == z3.unsat
    assert solver.check(universe.less(one, x)) != z3.unsat


def _ownership() -> System:
    return compile_model(load_model("ownership"))


def test_the_greatest_number_may_be_the_largest_literal() -> None:
    """A computed Nat reaches up to its largest literal at least, and perhaps no further."""
    universe = UnboundedUniverse(compile_model(load_model(str(MODELS / "lower/models/gauges.py"))))
    top, literal = universe._top("Tick"), universe.literals["Tick"]
    solver = z3.Solver(ctx=universe.ctx)
    solver.add(*universe.axioms())
    assert solver.check(top == literal) == z3.sat
    assert solver.check(top < literal) == z3.unsat
