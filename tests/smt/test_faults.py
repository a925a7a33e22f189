"""Faults planted in the emitter of formulas: the comparison must notice each of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
import z3

from holdfast.ir.compile import compile_model
from holdfast.ir.expr import TRUE, Compare, Expr, Fold, Lit, MapRead, Quantified, Read, Ruled, Wrap
from holdfast.ir.load import load_model
from holdfast.ir.stmt import Assign, Fill, For, If, Stmt, is_check
from holdfast.ir.system import System
from holdfast.ir.types import BOOL, MapType
from holdfast.lower.smt.bindings import Bindings
from holdfast.lower.smt.bodies import BodyFormulas, Execution, written_places
from holdfast.lower.smt.formulas import FormulaWriter
from holdfast.lower.smt.sized_universe import SizedUniverse
from holdfast.lower.smt.state import State
from holdfast.lower.smt.values import Maybe, Plain, Value, same
from tests.smt.comparing import Comparison

MODELS = Path(__file__).parents[1]


class LostFrame(BodyFormulas):
    """A variable that one branch writes has that branch's value, whichever branch is taken."""

    def branch(self, stmt: If, run: Execution) -> None:
        before = run.state
        super().branch(stmt, run)
        then = Execution(Bindings(dict(run.scope.names), before), [])
        self.run(stmt.then, then)
        for var, reading in then.state.readings.items():
            if reading is not before.readings[var]:
                run.state = run.state.with_reading(var, reading)


class SwappedBranches(BodyFormulas):
    """The two branches of an ``if`` are taken for one another."""

    def branch(self, stmt: If, run: Execution) -> None:
        super().branch(If(stmt.test, stmt.orelse, stmt.then, stmt.at), run)


class LostGuards(BodyFormulas):
    """A rule inside a branch refuses nothing."""

    def branch(self, stmt: If, run: Execution) -> None:
        kept = list(run.guards)
        super().branch(stmt, run)
        run.guards[:] = kept


class NoEarlyReturn(BodyFormulas):
    """Statements after a ``return`` run nevertheless."""

    def branch(self, stmt: If, run: Execution) -> None:
        super().branch(If(stmt.test, stmt.then, (), stmt.at), run)
        self.run(stmt.orelse, run)


class ReadsBefore(BodyFormulas):
    """Right-hand sides are computed from the state before the step."""

    first: State
    depth = 0

    def run(self, body: Sequence[Stmt], run: Execution) -> None:
        self.first = run.state if self.depth == 0 else self.first
        self.depth += 1
        super().run(body, run)
        self.depth -= 1

    def assign(self, stmt: Assign, run: Execution) -> None:
        now, run.state = run.state, self.first
        keys = self.expressions.keys(stmt.var, stmt.keys, run.scope)
        value = self.admitted(stmt.var, stmt.value, run)
        run.state = now.written(self.universe, stmt.var, keys, value)


class NoCut(BodyFormulas):
    """A value beyond its type is stored nevertheless."""

    def admitted(self, var: str, expr: Expr, run: Execution) -> Value:
        kept = list(run.guards)
        found = super().admitted(var, expr, run)
        run.guards[:] = kept
        return found


class HalfFill(BodyFormulas):
    """A fill leaves the cells of the first element."""

    def fill(self, stmt: Fill, run: Execution) -> None:
        before = run.state.readings[stmt.var]
        super().fill(stmt, run)
        filled = run.state.readings[stmt.var]
        if self.universe.system.var(stmt.var).keys:
            first = z3.BitVecVal(0, 32, self.universe.ctx)
            run.state = run.state.with_reading(
                stmt.var, lambda keys: self.universe.chosen(same(keys[0], first), before(keys), filled(keys))
            )


class LastWriteLost(BodyFormulas):
    """The last write of a body is lost."""

    def run(self, body: Sequence[Stmt], run: Execution) -> None:
        super().run(body[:-1] if body and isinstance(body[-1], Assign) else body, run)


class WrongPlace(BodyFormulas):
    """A loop puts its element into the first place of every key."""

    def loop(self, stmt: For, run: Execution) -> None:
        before = run.branch()

        def after(element: z3.ExprRef) -> State:
            one = before.branch()
            one.scope.names[stmt.var] = element
            self.run(stmt.body, one)
            return one.state

        for var in written_places(stmt):
            run.state = run.state.looped(var, 0, after)


class StrictOrder(FormulaWriter):
    """``<`` for ``<=``."""

    def order(self, op: str, left: Plain, right: Plain) -> z3.BoolRef:
        return super().order("<" if op == "<=" else op, left, right)


class TurnedOrder(FormulaWriter):
    """``a < b`` is read as ``b < a``."""

    def order(self, op: str, left: Plain, right: Plain) -> z3.BoolRef:
        return super().order(op, right, left) if op == "<" else super().order(op, left, right)


class WrapsNothing(FormulaWriter):
    """A value that becomes an Optional becomes None."""

    def wrap(self, node: Wrap, at: Bindings) -> Value:
        found = super().wrap(node, at)
        assert isinstance(found, Maybe)
        return Maybe(self.universe.false, found.value)


class NoneIsSomething(FormulaWriter):
    """None is stored as a value."""

    def lit(self, node: Lit) -> Value:
        found = super().lit(node)
        return Maybe(self.universe.true, None) if isinstance(found, Maybe) else found


class SomeForAll(FormulaWriter):
    """``any`` for ``all``."""

    def quantified(self, node: Quantified, at: Bindings) -> z3.BoolRef:
        return super().quantified(Quantified("any", node.var, node.domain, node.body), at)


class OldIsNew(FormulaWriter):
    """A step property reads the new state as the old one."""

    def read(self, node: Read, at: Bindings) -> Value:
        return super().read(Read(node.var, node.keys, node.type), at)


class TransposedKeys(FormulaWriter):
    """In a cell with two keys of one size, the keys are swapped."""

    def keys(self, var: str, keys: Sequence[Expr], at: Bindings) -> list[z3.ExprRef]:
        return super().keys(var, keys, at)[::-1]


class DroppedFilter(FormulaWriter):
    """A fold runs over all elements."""

    def fold(self, node: Fold, at: Bindings) -> Plain:
        return super().fold(Fold(node.kind, node.var, node.domain, TRUE, node.value, node.default, node.type), at)


class RuleAlwaysTrue(FormulaWriter):
    """A labelled condition counts as true."""

    def expr(self, node: Expr, at: Bindings) -> Value:
        return self.universe.true if isinstance(node, Ruled) else super().expr(node, at)


FAULTS = [
    fault
    for base in (BodyFormulas, FormulaWriter)
    for fault in base.__subclasses__()
    if fault.__module__ == __name__
]  # fmt: skip


@pytest.fixture(scope="module")
def gauges() -> System:
    """A model with the full language, with a step property that some steps violate."""
    system = compile_model(load_model(str(MODELS / "lower/models/gauges.py")))
    grows = next(prop for prop in system.properties if prop.name == "time_passes")
    assert isinstance(grows.body, Compare)
    stands = attrs.evolve(grows, name="time_stands", body=attrs.evolve(grows.body, op="=="))
    return attrs.evolve(system, properties=(*system.properties, stands))


def is_noticed(system: System, fault: type) -> bool:
    """Whether the comparison finds a difference, or a formula has no value."""
    kinds = {"bodies": fault} if issubclass(fault, BodyFormulas) else {"expressions": fault}
    comparison = Comparison(system, system.scopes["tiny"], **kinds)
    try:
        return next(comparison.differences(random.Random(5), 5, 8), None) is not None
    except (AssertionError, AttributeError, z3.Z3Exception):
        return True


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_caught(gauges: System, fault: type) -> None:
    """The comparison with the interpreter notices the fault."""
    assert is_noticed(gauges, fault)


def test_without_a_fault_nothing_differs(gauges: System) -> None:
    """The comparison finds no difference in the formulas without a fault."""
    assert not is_noticed(gauges, BodyFormulas)


def test_a_computed_key_without_its_bound_is_caught() -> None:
    """The comparison notices formulas in which a key beyond its bound cuts no step."""
    logs = compile_model(load_model(str(MODELS / "lower/models/logs.py")))

    class Unbounded(BodyFormulas):
        def statement(self, stmt: Stmt, run: Execution) -> None:
            if not is_check(stmt):
                super().statement(stmt, run)

    assert is_noticed(logs, Unbounded)
    assert not is_noticed(logs, BodyFormulas)


def test_a_whole_map_at_another_key_is_caught() -> None:
    """The comparison notices formulas that read a parameter that is a map at its first key."""
    quorums = compile_model(load_model(str(MODELS / "lower/models/quorums.py")))

    class FirstKey(FormulaWriter):
        def lookup(self, node: MapRead, at: Bindings) -> Value:
            assert isinstance(node.arg.type, MapType)
            first = [self.universe.settled(0, key) for key in node.arg.type.keys]
            return at.maps[node.arg.name](first)

    assert is_noticed(quorums, FirstKey)
    assert not is_noticed(quorums, FormulaWriter)


def test_a_cell_of_another_truth_value_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison notices formulas in which a key that is a truth value has the cell of False."""
    answers = compile_model(load_model(str(MODELS / "lower/models/answers.py")))
    real = SizedUniverse.key

    def differs() -> bool:
        compared = Comparison(answers, answers.scopes["tiny"])
        return any(compared.differences(random.Random(5), states=6, arguments=8))

    assert not differs()
    monkeypatch.setattr(SizedUniverse, "key", lambda at, kind, code: real(at, kind, 0 if kind == BOOL else code))
    assert differs()


def test_there_are_faults() -> None:
    """At least ten faults are planted."""
    assert len(FAULTS) >= 10
