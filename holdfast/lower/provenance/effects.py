"""The reads and writes of one instance of an action: the cells that decided its outcome, and each cell's new value.

The cells that the rules read decide whether a step is taken. Each cell of the new state has its value because of some
cells of the old one. Changing other cells of the old state changes neither (but a bound may then cut the step).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from holdfast.ir.errors import Place
from holdfast.ir.expr import Expr, Lit, Name
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt, Within, statements
from holdfast.ir.system import Action
from holdfast.ir.types import BUDGET, OptionalType, Plain
from holdfast.lower.layout import Field, Layout
from holdfast.lower.outcome import Cut, Outcome, Refused, Taken
from holdfast.lower.provenance.reads import NOTHING, Evaluation, Reads, UndefinedValueError, ValueReads, coded, whole
from holdfast.lower.python.prune import prune


@attrs.frozen
class Effect:
    """One instance of an action: its outcome, the cells that decided it, and those that decided each new cell.

    ``guards`` are the cells that decided whether the step is taken, or which rule refuses it. ``sources`` has for each
    cell of the new state the cells of the old state that decided its value: only the cell itself, if the action could
    not have written it.
    """

    outcome: Outcome
    guards: Reads
    sources: tuple[Reads, ...]


def effect(layout: Layout, state: bytes, action: Action, args: Sequence[int]) -> Effect:
    """The outcome of one instance, the same as ``Interpreter.step`` gives, and the cells that decided it.

    ``args`` are the codes of the action's arguments.
    """
    instance = _Instance(layout, state)
    for param, code in zip(action.params, args, strict=True):
        instance.argument(param, code)
    stopped = instance.block(prune(action.body, layout.dropped)) or instance.charge(action)
    sources = tuple(seen.reads for seen in instance.cells)
    return Effect(stopped or Taken(instance.state()), instance.guards, sources)


class _Instance(Evaluation):
    """Runs the body of one instance on a copy of the state: the cells, each a value and its reads."""

    def __init__(self, layout: Layout, state: bytes) -> None:
        super().__init__(layout, state)
        self.guards = NOTHING

    def state(self) -> bytes:
        """The present cells as a state."""
        kinds = (cell.field.type for cell in self.layout.cells)
        return bytes(coded(kind, seen.value) for kind, seen in zip(kinds, self.cells, strict=True))

    def charge(self, action: Action) -> Cut | None:
        """Take 1 off the action's budget after its body; a Cut if the budget is used up."""
        cell = self.layout.budget(action.name)
        if cell is None:
            return None
        # No guard: a budget belongs to the scope, not to the protocol.
        left = whole(self.cells[cell])
        if left == 0:
            return Cut(BUDGET)
        self.cells[cell] = ValueReads(left - 1, self.cells[cell].reads)
        return None

    def block(self, body: Iterable[Stmt]) -> Refused | Cut | None:
        """Run statements in order, up to one that ends the instance; returns how it ended, or None."""
        return next((stopped for stmt in body if (stopped := self.statement(stmt)) is not None), None)

    def statement(self, stmt: Stmt) -> Refused | Cut | None:
        """Run one statement; returns how it ended the instance, or None."""
        match stmt:
            case Require(cond, label, error, at):
                seen = self.expr(cond)
                # A rule that holds is a reason too: if it failed, the step would not be taken.
                self.guards |= seen.reads
                return None if seen.value else Refused(label, error, at)
            case Assign(var, keys, value, at):
                return self.assign(var, keys, self.expr(value), at)
            case Fill(var, value, at):
                field, seen = self.layout.field(var), self.expr(value)
                return self.store(field, range(field.count), seen, at)
            case Let(name, value):
                self.bind(name, self.expr(value))
                return None
            case If():
                return self.branch(stmt)
            case For(var, domain, inner):
                outer = self.names
                for code in range(self.layout.scope.size(domain)):
                    self.names = {**outer, var: ValueReads(code)}
                    stopped = self.block(inner)
                    if stopped is not None:
                        return stopped
                self.names = outer
                return None
            case Within(value, kind, at):
                # Like any bound it decides nothing about the protocol, so it is no guard.
                return None if self.inside(kind, self.expr(value)) else Cut(str(kind), at)

    def inside(self, kind: Plain, seen: ValueReads) -> bool:
        """Whether a value lies within the bounds of its type."""
        return 0 <= coded(kind, seen.value) < self.layout.codes(kind)

    def assign(self, var: str, keys: Sequence[Expr], value: ValueReads, at: Place) -> Cut | None:
        """Write one cell.

        The reads of the keys decide which cell is written. So they also decide that the variable's other cells are not.
        """
        field = self.layout.field(var)
        index, reads = self.index(field.sizes, keys)
        self.depend(range(field.offset, field.offset + field.count), reads)
        return self.store(field, (index,), ValueReads(value.value, value.reads | reads), at)

    def store(self, field: Field, indices: Iterable[int], seen: ValueReads, at: Place) -> Cut | None:
        """Write a value into cells of a variable; a Cut if the value lies beyond a bound."""
        plain = field.type.of if isinstance(field.type, OptionalType) else field.type
        if seen.value is not None and not self.inside(plain, seen):
            return Cut(str(plain), at)
        for index in indices:
            self.cells[field.offset + index] = seen
        return None

    def branch(self, stmt: If) -> Refused | Cut | None:
        """Run one of two bodies.

        The test decides every cell that either body may write. If a rule stands in one of them, it also decides whether
        the step is taken.
        """
        cells = self.writable((*stmt.then, *stmt.orelse))
        test = self.expr(stmt.test)
        if any(isinstance(part, Require) for part in statements((stmt,))):
            self.guards |= test.reads
        stopped = self.block(stmt.then if test.value else stmt.orelse)
        # After the body, because an assignment replaces the reads of its cell.
        self.depend(cells, test.reads)
        return stopped

    def depend(self, cells: Iterable[int], reads: Reads) -> None:
        """Add these reads to those of the cells."""
        for cell in cells if reads else ():
            self.cells[cell] = ValueReads(self.cells[cell].value, self.cells[cell].reads | reads)

    def writable(self, body: Iterable[Stmt]) -> set[int]:
        """The cells that the body may write; every cell of a variable if the keys are not known before it runs."""
        found: set[int] = set()
        for stmt in body:
            match stmt:
                case Assign(var, keys):
                    field = self.layout.field(var)
                    found |= {field.offset + index for index in self.indices(field, keys)}
                case Fill(var):
                    field = self.layout.field(var)
                    found |= set(range(field.offset, field.offset + field.count))
                case If(then=then, orelse=orelse):
                    found |= self.writable((*then, *orelse))
                case For(var, domain, inner):
                    outer = self.names
                    for code in range(self.layout.scope.size(domain)):
                        self.names = {**outer, var: ValueReads(code)}
                        found |= self.writable(inner)
                    self.names = outer
                case Require() | Let() | Within():
                    pass
        return found

    def indices(self, field: Field, keys: Sequence[Expr]) -> Iterable[int]:
        """The indices of the cells that keys may mean: one, if they are constants, parameters and loop variables."""
        known = all(isinstance(key, Lit) or (isinstance(key, Name) and key.name in self.names) for key in keys)
        try:
            index, reads = self.index(field.sizes, keys) if known else (0, NOTHING)
        except UndefinedValueError:
            # A branch that is never taken may name a cell that the scope lacks.
            return ()
        return (index,) if known and not reads else range(field.count)
