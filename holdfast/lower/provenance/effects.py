"""What an action reads and writes: one instance of it, with the cells that decided what became of it.

A step is taken because of the cells that its rules read, and each cell of the new state has its value because of some
of the old one. Whoever changes other cells of the old state changes neither (but a bound may then cut the step).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from holdfast.ir.errors import Place
from holdfast.ir.expr import Expr, Lit, Name
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt, statements
from holdfast.ir.system import Action
from holdfast.ir.types import BUDGET, OptionalType
from holdfast.lower.layout import Field, Layout
from holdfast.lower.outcome import Cut, Outcome, Refused, Taken
from holdfast.lower.provenance.reads import NOTHING, Evaluation, Reads, Undefined, ValueReads, coded, whole
from holdfast.lower.python.prune import prune


@attrs.frozen
class Effect:
    """One instance of an action: its outcome, the cells that decided it, and those that decided each new cell.

    ``guards`` say whether the step is taken, or which rule refuses it. ``sources`` has for each cell of the new state
    the cells of the old one that its value comes from: itself alone, for a cell that nothing could have written.
    """

    outcome: Outcome
    guards: Reads
    sources: tuple[Reads, ...]


def effect(layout: Layout, state: bytes, action: Action, args: Sequence[int]) -> Effect:
    """What becomes of an action, as ``Interpreter.step`` says it, and why."""
    instance = _Instance(layout, state)
    for param, code in zip(action.params, args, strict=True):
        instance.argument(param, code)
    stopped = instance.block(prune(action.body, layout.dropped)) or instance.charge(action)
    sources = tuple(seen.reads for seen in instance.cells)
    return Effect(stopped or Taken(instance.state()), instance.guards, sources)


class _Instance(Evaluation):
    """One instance of an action: its body on a copy of the state."""

    def __init__(self, layout: Layout, state: bytes) -> None:
        super().__init__(layout, state)
        self.guards = NOTHING

    def state(self) -> bytes:
        """The cells as they are now."""
        kinds = (cell.field.type for cell in self.layout.cells)
        return bytes(coded(kind, seen.value) for kind, seen in zip(kinds, self.cells, strict=True))

    def charge(self, action: Action) -> Cut | None:
        """The end of a body: use up the budget."""
        cell = self.layout.budget(action.name)
        if cell is None:
            return None
        left = whole(self.cells[cell])
        if left == 0:
            return Cut(BUDGET)
        self.cells[cell] = ValueReads(left - 1, self.cells[cell].reads)
        return None

    def block(self, body: Iterable[Stmt]) -> Refused | Cut | None:
        """Statements in order, up to one that ends the instance."""
        return next((stopped for stmt in body if (stopped := self.statement(stmt)) is not None), None)

    def statement(self, stmt: Stmt) -> Refused | Cut | None:
        """One statement."""
        match stmt:
            case Require(cond, label, error, at):
                seen = self.expr(cond)
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

    def assign(self, var: str, keys: Sequence[Expr], value: ValueReads, at: Place) -> Cut | None:
        """Write one cell. What decides which cell it is decides also that the others are not written."""
        field = self.layout.field(var)
        index, reads = self.index(field.sizes, keys)
        self.depend(range(field.offset, field.offset + field.count), reads)
        return self.store(field, (index,), ValueReads(value.value, value.reads | reads), at)

    def store(self, field: Field, indices: Iterable[int], seen: ValueReads, at: Place) -> Cut | None:
        """Write cells of a variable, unless the value lies beyond a bound."""
        plain = field.type.of if isinstance(field.type, OptionalType) else field.type
        if seen.value is not None and not 0 <= coded(plain, seen.value) < self.layout.codes(plain):
            return Cut(str(plain), at)
        for index in indices:
            self.cells[field.offset + index] = seen
        return None

    def branch(self, stmt: If) -> Refused | Cut | None:
        """Run one of two bodies. The test decides whatever either of them may write, and the rules in them."""
        cells = self.writable((*stmt.then, *stmt.orelse))
        test = self.expr(stmt.test)
        if any(isinstance(part, Require) for part in statements((stmt,))):
            self.guards |= test.reads
        stopped = self.block(stmt.then if test.value else stmt.orelse)
        self.depend(cells, test.reads)
        return stopped

    def depend(self, cells: Iterable[int], reads: Reads) -> None:
        """Let the cells be decided by these reads too."""
        for cell in cells if reads else ():
            self.cells[cell] = ValueReads(self.cells[cell].value, self.cells[cell].reads | reads)

    def writable(self, body: Iterable[Stmt]) -> set[int]:
        """The cells that the body may write; every cell of a variable where the keys cannot be told yet."""
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
                case Require() | Let():
                    pass
        return found

    def indices(self, field: Field, keys: Sequence[Expr]) -> Iterable[int]:
        """The cells of a variable that keys may mean: one, if they are constants, parameters and loop variables."""
        known = all(isinstance(key, Lit) or (isinstance(key, Name) and key.name in self.names) for key in keys)
        try:
            index, reads = self.index(field.sizes, keys) if known else (0, NOTHING)
        except Undefined:
            # A branch that is never taken may name a cell that the scope lacks.
            return ()
        return (index,) if known and not reads else range(field.count)
