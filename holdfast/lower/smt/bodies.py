"""Translates the body of an action into a guard and the state after the action.

A body is executed symbolically, one statement after another. Both branches of an ``if`` are executed and joined. All
iterations of a loop are executed at once: only one iteration may write a given cell.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import z3

from holdfast.ir.expr import Expr, Name, Read
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt, Within, statements
from holdfast.ir.types import IntType, NatType, OptionalType, Scalar
from holdfast.lower.smt.bindings import Bindings
from holdfast.lower.smt.formulas import FormulaWriter
from holdfast.lower.smt.guards import PathGuard, all_hold, bound, either, rule
from holdfast.lower.smt.state import State
from holdfast.lower.smt.universe import NotFirstOrder, Universe
from holdfast.lower.smt.values import Maybe, Value, implication, is_false, is_true


@attrs.define
class Execution:
    """The execution of a body so far: the local names, the current state and the guards of the step.

    The step is taken if all ``guards`` hold. They are in the order of the statements.
    """

    scope: Bindings
    guards: list[PathGuard]

    @property
    def state(self) -> State:
        """The current state."""
        return self.scope.state

    @state.setter
    def state(self, state: State) -> None:
        self.scope.state = state

    def branch(self) -> Execution:
        """A copy that continues from the current state; it starts without guards."""
        return Execution(Bindings(dict(self.scope.names), self.scope.state, self.scope.old, self.scope.maps), [])


class BodyFormulas:
    """Runs the bodies of actions in one universe. A subclass may replace any method, so that a test plants a fault."""

    def __init__(self, universe: Universe, expressions: FormulaWriter) -> None:
        self.universe = universe
        self.expressions = expressions

    def run(self, body: Sequence[Stmt], run: Execution) -> None:
        """Execute statements in order. Raises NotFirstOrder, with the place of the innermost statement."""
        for stmt in body:
            try:
                self.statement(stmt, run)
            except NotFirstOrder as error:
                # An error that has a place comes from a statement within this one, and that place is more exact.
                raise error if error.at is not None else NotFirstOrder(error.problem, stmt.at) from None

    def statement(self, stmt: Stmt, run: Execution) -> None:
        """Execute one statement."""
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
            case Within(_, kind, pool=str()) if self.universe.elements(kind) is None:
                # Without sizes a pool may have any number of members: each scope's steps are among these.
                pass
            case Within(value, kind):
                plain = self.universe.settled(self.expressions.plain(value, run.scope), kind)
                run.guards.append(bound(self.universe.within(plain, kind)))

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
        """The value of an expression as the type of a variable's cells; adds the guard that it is within that type.

        A value outside the type cuts the step.
        """
        kind = self.universe.system.var(var).value
        value = self.expressions.expr(expr, run.scope)
        if isinstance(value, Maybe):
            assert isinstance(kind, OptionalType)
            if value.value is None:
                return value
            # The bound concerns only a value that is not None.
            plain = self.universe.settled(value.value, kind.of)
            run.guards.append(bound(implication(value.some, self.universe.within(plain, kind.of))))
            return Maybe(value.some, plain)
        assert not isinstance(kind, OptionalType)
        plain = self.universe.settled(value, kind)
        if not _fits(expr, kind):
            run.guards.append(bound(self.universe.within(plain, kind)))
        return plain

    def branch(self, stmt: If, run: Execution) -> None:
        """Execute both branches and join their states and guards."""
        test = self.expressions.formula(stmt.test, run.scope)
        # The test is a constant: the other branch is not translated, because its expressions may make no sense.
        if is_true(test) or is_false(test):
            self.run(stmt.then if is_true(test) else stmt.orelse, run)
            return
        then, orelse = run.branch(), run.branch()
        self.run(stmt.then, then)
        self.run(stmt.orelse, orelse)
        run.guards.append(either(test, then.guards, orelse.guards, self.universe.ctx))
        run.state = then.state.merged(self.universe, test, orelse.state)

    def loop(self, stmt: For, run: Execution) -> None:
        """Execute all iterations at once.

        The key of each cell that the loop writes contains the loop's element. So a cell has, after the loop, the value
        that the iteration for that element gives it.
        """
        before = run.branch()

        def iteration(element: z3.ExprRef) -> Execution:
            one = before.branch()
            one.scope.names[stmt.var] = element
            self.run(stmt.body, one)
            return one

        def guard(element: z3.ExprRef) -> z3.BoolRef:
            return all_hold(iteration(element).guards, self.universe.ctx)

        # The language allows no ``require`` in a loop, so all guards of an iteration are bounds.
        run.guards.append(bound(self.universe.quantified(stmt.domain, stmt.var, guard, every=True)))
        # One execution for each element. The element is stored too: Z3 reuses the id of a term that is freed.
        known: dict[int, tuple[z3.ExprRef, State]] = {}

        def after(element: z3.ExprRef) -> State:
            if element.get_id() not in known:
                known[element.get_id()] = (element, iteration(element).state)
            return known[element.get_id()][1]

        for var, place in written_places(stmt).items():
            run.state = run.state.looped(var, place, after)


def _fits(expr: Expr, kind: Scalar) -> bool:
    """Whether the value is certain to be within the type: the expression reads a cell, or the type is no number."""
    return not isinstance(kind, NatType | IntType) or isinstance(expr, Read)


def written_places(loop: For) -> dict[str, int]:
    """For each variable that a loop writes, a place in its keys that holds the loop's element in every assignment.

    The compiler refuses a loop without such a place (``holdfast.ir.compile.checks``), so each set below has a member.
    """
    places: dict[str, set[int]] = {}
    for stmt in statements(loop.body):
        if isinstance(stmt, Assign):
            here = {place for place, key in enumerate(stmt.keys) if isinstance(key, Name) and key.name == loop.var}
            places[stmt.var] = places.get(stmt.var, here) & here
    return {var: min(found) for var, found in places.items()}
