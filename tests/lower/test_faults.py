"""Faults planted in the interpreter: the differential tests must notice each of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from holdfast.ir.errors import Place
from holdfast.ir.expr import TRUE, Expr, Fold, MapRead, Quantified, Read
from holdfast.ir.stmt import Fill, For, If, Require, Stmt
from holdfast.ir.system import Action, System
from holdfast.ir.types import Key, OptionalType, Plain, Scalar, SortType
from holdfast.lower.python.cpython import CPython
from holdfast.lower.python.emit import Emitter
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.python.terms import Term, add, literal, term


class NoFault(Emitter):
    """The emitter without a fault."""


class ForgetsTheFrame(Emitter):
    """Cells that are not written lose their values."""

    def copy(self) -> None:
        super().copy()
        self.lines[-1] = self.lines[-1].replace("bytearray(s)", "bytearray(len(s))")


class ReadsBeforeWrites(Emitter):
    """Later statements do not see earlier writes."""

    def read(self, node: Read) -> Term:
        state, self.state = self.state, "s"
        found = super().read(node)
        self.state = state
        return found


class WrapsNothing(Emitter):
    """An Optional of the first element is stored as None."""

    def wrap(self, value: Term, optional: OptionalType) -> Term:
        return add(super().wrap(value, optional), literal(-1))


class UnwrapsTooMuch(Emitter):
    """The code of an Optional number is taken for its value."""

    def unwrap(self, optional: Term, of: Plain) -> Term:
        return add(super().unwrap(optional, of), literal(0 if isinstance(of, SortType) else 1))


class StrictOrder(Emitter):
    """``>`` for ``>=``."""

    def compare(self, op: str, left: Term, right: Term) -> Term:
        return super().compare(">" if op == ">=" else op, left, right)


class LooseOrder(Emitter):
    """``<=`` for ``<``."""

    def compare(self, op: str, left: Term, right: Term) -> Term:
        return super().compare("<=" if op == "<" else op, left, right)


class NoEarlyReturn(Emitter):
    """Statements after a ``return`` run nevertheless."""

    def branch(self, stmt: If) -> bool:
        return super().branch(If(stmt.test, stmt.then, (), stmt.at)) and self.block(stmt.orelse)


class DanglingElse(Emitter):
    """An ``else`` inside a branch is lost."""

    inside = False

    def branch(self, stmt: If) -> bool:
        if self.inside:
            return super().branch(If(stmt.test, stmt.then, (), stmt.at))
        self.inside = True
        goes_on = super().branch(stmt)
        self.inside = False
        return goes_on


class ShortLoop(Emitter):
    """A loop forgets the last element."""

    def loop(self, stmt: For) -> bool:
        for code in range(self.layout.scope.size(stmt.domain) - 1):
            self.names[stmt.var] = literal(code)
            self.block(stmt.body)
        return True


class LocalsAtTheEnd(Emitter):
    """A loop runs statement by statement, not element by element, so each turn sees the last turn's locals."""

    def loop(self, stmt: For) -> bool:
        return all(self.statement(part) for part in stmt.body for _ in self.elements(stmt.var, stmt.domain))


class SwappedRules(Emitter):
    """The last rule that fails is reported instead of the first."""

    def block(self, body: tuple[Stmt, ...]) -> bool:
        rules = [stmt for stmt in body if isinstance(stmt, Require)]
        swapped = iter(reversed(rules))
        return super().block(tuple(next(swapped) if isinstance(stmt, Require) else stmt for stmt in body))


class NoLowerBound(Emitter):
    """A value below its type is stored as the least."""

    def admitted(self, value: Term, kind: Scalar, at: Place) -> Term | None:
        code = super().admitted(value, kind, at)
        self.lines = [line.replace("if not 0 <= ", "if not -9 <= ") for line in self.lines]
        return code and Term(f"max({code.text}, 0)", code.lo, code.hi)


class UnchargedBudget(Emitter):
    """A budget is checked and never charged."""

    def complete(self, action: Action) -> None:
        super().complete(action)
        self.lines = [line for line in self.lines if not line.endswith("-= 1")]


class TransposedKeys(Emitter):
    """A map with two keys is read and written column by column."""

    def index(self, var: str, kinds: tuple[Key, ...], keys: tuple[Expr, ...]) -> Term:
        return super().index(var, kinds[::-1], keys[::-1])


class DroppedFilter(Emitter):
    """A fold runs over all elements."""

    def fold(self, node: Fold) -> Term:
        return super().fold(Fold(node.kind, node.var, node.domain, TRUE, node.value, node.default, node.type))


class SomeForAll(Emitter):
    """``any`` for ``all``."""

    def quantified(self, node: Quantified) -> Term:
        return super().quantified(Quantified("any", node.var, node.domain, node.body))


class HalfFill(Emitter):
    """A fill leaves the last cell."""

    def fill(self, stmt: Fill) -> bool:
        last = self.layout.field(stmt.var).offset + self.layout.field(stmt.var).count - 1
        self.line(f"kept = c[{last}]")
        goes_on = super().fill(stmt)
        self.line(f"c[{last}] = kept")
        return goes_on


class OldIsNew(Emitter):
    """A step property reads the new state as the old one."""

    def read(self, node: Read) -> Term:
        return super().read(Read(node.var, node.keys, node.type))


FAULTS = [fault for fault in Emitter.__subclasses__() if fault.__module__ == __name__ and fault is not NoFault]


class FirstDigit(Emitter):
    """A whole map is read at its first key, whatever the key is."""

    def index(self, var: str, kinds: tuple[Key, ...], keys: tuple[Expr, ...]) -> Term:
        # A parameter is no variable of the state.
        fields = {field.name for field in self.layout.fields}
        return super().index(var, kinds, keys) if var in fields else literal(0)


class LostOptional(Emitter):
    """None in a whole map is the first value."""

    def lookup(self, node: MapRead) -> Term:
        found = super().lookup(node)
        return term(f"max({found.text}, 1)", 0, found.hi) if isinstance(node.type, OptionalType) else found


def differences(system: System, emitter: type[Emitter]) -> Iterator[str]:
    """The differences between the interpreter with that emitter and CPython, on seeded random states."""
    scope = system.scopes["tiny"]
    interpreter, cpython = Interpreter(system, scope, emitter=emitter), CPython(system, scope)
    layout, chance = interpreter.layout, random.Random(7)
    states = [bytes(chance.randrange(cell.field.codes) for cell in layout.cells) for _ in range(60)]
    for old, state in itertools.pairwise(states):
        for action in system.actions:
            for args in itertools.product(*(range(layout.codes(param.type)) for param in action.params)):
                if interpreter.step(state, action.name, args) != cpython.step(state, action.name, args):
                    yield f"{action.name}{args} at {layout.decode(state)}"
        for prop in system.of_kind("invariant", "lemma", "witness"):
            if interpreter.holds(prop, state) != cpython.holds(prop, state):
                yield f"{prop.name} at {layout.decode(state)}"
        for prop in system.of_kind("step"):
            if prop.of is None and interpreter.holds_step(prop, old, state) != cpython.holds_step(prop, old, state):
                yield f"{prop.name} from {layout.decode(old)} to {layout.decode(state)}"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_caught(gauges: System, fault: type[Emitter]) -> None:
    """The comparison with CPython notices the fault."""
    assert next(differences(gauges, fault), None) is not None


@pytest.mark.parametrize("fault", [FirstDigit, LostOptional])
def test_a_planted_fault_in_whole_maps_is_caught(quorums: System, fault: type[Emitter]) -> None:
    """The comparison with CPython notices the fault."""
    assert next(differences(quorums, fault), None) is not None


def test_without_a_fault_nothing_differs(gauges: System, quorums: System) -> None:
    """The comparison finds no difference in the emitter without a fault."""
    assert list(differences(gauges, NoFault)) == []
    assert next(differences(quorums, NoFault), None) is None
