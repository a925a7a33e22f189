"""From the body of an action to a guard and the state after it.

A body runs on states of formulas: statement by statement, both branches of an ``if``, and what a loop does to a cell
is what the one iteration does that may touch it.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import z3

from holdfast.ir.expr import Expr, Name, Read
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt, statements
from holdfast.ir.types import IntType, NatType, OptionalType, Scalar
from holdfast.lower.smt.formulas import Bindings, FormulaWriter
from holdfast.lower.smt.guards import PathGuard, all_hold, bound, either, rule
from holdfast.lower.smt.state import State
from holdfast.lower.smt.universe import NotFirstOrder, Universe
from holdfast.lower.smt.values import Maybe, Value, implication, is_false, is_true


@attrs.define
class Execution:
    """How far a body has come: ``guards`` are the conditions under which the step is taken at all."""

    scope: Bindings
    guards: list[PathGuard]

    @property
    def state(self) -> State:
        """The state now."""
        return self.scope.state

    @state.setter
    def state(self, state: State) -> None:
        self.scope.state = state

    def branch(self) -> Execution:
        """A run that goes on from here on its own."""
        return Execution(Bindings(dict(self.scope.names), self.scope.state, self.scope.old), [])


class BodyFormulas:
    """Runs the bodies of actions in one universe. A subclass may replace any method, so that a test plants a fault."""

    def __init__(self, universe: Universe, expressions: FormulaWriter) -> None:
        self.universe = universe
        self.expressions = expressions

    def run(self, body: Sequence[Stmt], run: Execution) -> None:
        """Statements in order."""
        for stmt in body:
            try:
                self.statement(stmt, run)
            except NotFirstOrder as error:
                # The innermost statement says where.
                raise error if error.at is not None else NotFirstOrder(error.problem, stmt.at) from None

    def statement(self, stmt: Stmt, run: Execution) -> None:
        """One statement."""
        match stmt:
            case Require(cond=cond):
                run.guards.append(rule(self.expressions.formula(cond, run.scope)))
            case Let(name=name, value=value):
                run.scope.names[name] = self.expressions.expr(value, run.scope)
            case Assign():
                self.assign(stmt, run)
            case Fill():
                self.fill(stmt, run)
            case If():
                self.branch(stmt, run)
            case For():
                self.loop(stmt, run)

    def assign(self, stmt: Assign, run: Execution) -> None:
        """Write one cell."""
        keys = self.expressions.keys(stmt.var, stmt.keys, run.scope)
        value = self.admitted(stmt.var, stmt.value, run)
        run.state = run.state.written(self.universe, stmt.var, keys, value)

    def fill(self, stmt: Fill, run: Execution) -> None:
        """Write every cell of a variable."""
        value = self.admitted(stmt.var, stmt.value, run)
        run.state = run.state.with_reading(stmt.var, lambda _keys: value)

    def admitted(self, var: str, expr: Expr, run: Execution) -> Value:
        """The value that a cell takes. One beyond the cell's type cuts the step."""
        kind = self.universe.system.var(var).value
        value = self.expressions.expr(expr, run.scope)
        if isinstance(value, Maybe):
            assert isinstance(kind, OptionalType)
            if value.value is None:
                return value
            plain = self.universe.settled(value.value, kind.of)
            run.guards.append(bound(implication(value.some, self.universe.within(plain, kind.of))))
            return Maybe(value.some, plain)
        assert not isinstance(kind, OptionalType)
        plain = self.universe.settled(value, kind)
        if not _fits(expr, kind):
            run.guards.append(bound(self.universe.within(plain, kind)))
        return plain

    def branch(self, stmt: If, run: Execution) -> None:
        """Both branches, joined."""
        test = self.expressions.formula(stmt.test, run.scope)
        if is_true(test) or is_false(test):
            self.run(stmt.then if is_true(test) else stmt.orelse, run)
            return
        then, orelse = run.branch(), run.branch()
        self.run(stmt.then, then)
        self.run(stmt.orelse, orelse)
        run.guards.append(either(test, then.guards, orelse.guards, self.universe.ctx))
        run.state = then.state.merged(self.universe, test, orelse.state)

    def loop(self, stmt: For, run: Execution) -> None:
        """Every iteration at once: a cell is what the iteration makes of it whose element its key contains."""
        before = run.branch()

        def iteration(element: z3.ExprRef) -> Execution:
            one = before.branch()
            one.scope.names[stmt.var] = element
            self.run(stmt.body, one)
            return one

        def guard(element: z3.ExprRef) -> z3.BoolRef:
            return all_hold(iteration(element).guards, self.universe.ctx)

        # The language has no rules within a loop.
        run.guards.append(bound(self.universe.quantified(stmt.domain, stmt.var, guard, every=True)))
        known: dict[int, tuple[z3.ExprRef, State]] = {}

        def after(element: z3.ExprRef) -> State:
            if element.get_id() not in known:
                known[element.get_id()] = (element, iteration(element).state)
            return known[element.get_id()][1]

        for var, place in written_places(stmt).items():
            run.state = run.state.looped(var, place, after)


def _fits(expr: Expr, kind: Scalar) -> bool:
    """Whether an expression has a value of its type for sure: it stands in a cell, or is no number."""
    return not isinstance(kind, NatType | IntType) or isinstance(expr, Read)


def written_places(loop: For) -> dict[str, int]:
    """For each variable that a loop writes, the place of the key at which the loop's element stands in all of them."""
    places: dict[str, set[int]] = {}
    for stmt in statements(loop.body):
        if isinstance(stmt, Assign):
            here = {place for place, key in enumerate(stmt.keys) if isinstance(key, Name) and key.name == loop.var}
            places[stmt.var] = places.get(stmt.var, here) & here
    return {var: min(found) for var, found in places.items()}
