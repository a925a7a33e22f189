"""Translates the body of an action into a ``Block``: the body is executed symbolically, one statement after another.

A LET definition names each local, and each value of a variable that is read after it was written. Any other value goes
straight into the new value of its variable. An ``if`` becomes two conjunctions if no later statement touches the
variables that it writes, and a choice between values otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import attrs

from holdfast.ir.expr import (
    TRUE,
    ZERO,
    Arithmetic,
    Compare,
    Expr,
    IfElse,
    IsNone,
    Lit,
    Name,
    Not,
    Read,
    Unwrap,
    Wrap,
    rebuild,
    walk,
)
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt, Within, statements
from holdfast.ir.system import Var
from holdfast.ir.types import INT, OptionalType, Scalar
from holdfast.lower.tla.blocks import (
    Block,
    BoundGuard,
    ChosenFunction,
    Conditional,
    Contents,
    Definition,
    Item,
    MappedFunction,
    NamedFunction,
    NewValue,
    RuleGuard,
    Unchanged,
    UpdatedFunction,
    labelled,
)
from holdfast.lower.tla.bounds import is_loose, least_of, within
from holdfast.lower.tla.expression_text import TlaExpressions
from holdfast.lower.tla.loops import Loop
from holdfast.lower.tla.names_in import bound_names, reads, touched, written

NOTHING: frozenset[str] = frozenset()


class Body:
    """Executes one body symbolically. ``variables``: all variables of the module, in order.

    ``starts``: the body is an initial condition. Then no variable has a value yet, and no bound cuts anything.
    """

    def __init__(self, variables: Sequence[Var], writer: TlaExpressions, *, starts: bool = False) -> None:
        self.variables = {var.name: var for var in variables}
        self.writer = writer
        self.starts = starts
        self.contents: dict[str, Contents] = {} if starts else {var.name: unwritten(var) for var in variables}
        self.loose: dict[str, int | None] = {}
        self.definitions: list[Definition] = []
        """The definitions of the current conjunction."""
        self.visible: tuple[Definition, ...] = ()
        """The definitions of the conjunctions around it."""
        self.notes: dict[str, tuple[str, ...]] = {}
        """For each variable, the labels of the effects that have written it."""
        self.labels: tuple[str, ...] = ()
        """The labels of the effects around the current statement."""

    def follow(self, body: Sequence[Stmt], budget: str | None = None) -> Block:
        """The whole body as a conjunction: guards, new values, and the frame.

        ``budget``: the variable that counts how often the action may still happen; None if the action has no budget.
        """
        for name in bound_names(body):
            # Locals get their names first, so that they keep the names of the model.
            self.writer.declared(name)
        items, done = self.block(body, NOTHING, frozenset(self.variables))
        if budget is not None:
            left = self.contents[budget]
            assert isinstance(left, Read)
            items.append(BoundGuard(Not(Compare("==", left, ZERO)), "cut: budget"))
            spent = Wrap(Arithmetic("-", (left, Lit(1, INT)), INT), self.optional(left))
            self.contents[budget] = IfElse(IsNone(left), Lit(None, left.type), spent, left.type)
        items += self.finish(body, [name for name in self.variables if name not in done])
        return Block(tuple(self.definitions), tuple(items))

    def optional(self, read: Read) -> OptionalType:
        """The type of a budget's counter: a number, or None for no limit."""
        assert isinstance(read.type, OptionalType)
        return read.type

    def finish(self, body: Sequence[Stmt], names: Collection[str]) -> list[Item]:
        """The items for the named variables: new values in the order of the body's writes, then the frame condition."""
        ordered = [*(name for name in written(body) if name in names), *names]
        items: list[Item] = []
        same: list[str] = []
        for name in dict.fromkeys(ordered):
            if not self.starts and self.contents[name] == unwritten(self.variables[name]):
                same.append(name)
            else:
                items.append(self.becomes(name))
        order = list(self.variables)
        return [*items, Unchanged(tuple(sorted(same, key=order.index)))] if same else items

    def becomes(self, name: str) -> NewValue:
        """The item for the value of a variable after the step."""
        return NewValue(name, self.contents[name], ", ".join(self.notes.get(name, ())))

    # Statements -----------------------------------------------------------------------------------------------

    def block(
        self, body: Sequence[Stmt], later: frozenset[str], owned: frozenset[str]
    ) -> tuple[list[Item], frozenset[str]]:
        """The items for statements in order, and the variables whose new values these items already state.

        ``later``: the variables that a statement after the block touches. ``owned``: the variables whose new values the
        block may state; none if the block is one side of a choice between values.
        """
        items: list[Item] = []
        done: set[str] = set()
        for place, stmt in enumerate(body):
            rest = body[place + 1 :]
            if self.starts and owned:
                items += self.settle(stmt, rest, done)
            match stmt:
                case Require(cond, label, error):
                    items.append(RuleGuard(self.resolve(cond), label if error is None else f"{label}, else {error}"))
                case Let(name, value):
                    self.define(name, self.resolve(value))
                case Assign(var, keys, value):
                    items += [item for item in self.assign(var, keys, value) if item not in items]
                case Fill(var, value):
                    items += [item for item in self.fill(var, value) if item not in items]
                case If():
                    more, said = self.branch(stmt, later | touched(rest), owned - done)
                    items += more
                    done |= said
                case For():
                    items += self.loop(stmt)
                case Within(value, kind):
                    items += [item for item in self.cut(kind, self.resolve(value)) if item not in items]
        return items, frozenset(done)

    def settle(self, stmt: Stmt, rest: Sequence[Stmt], done: set[str]) -> list[Item]:
        """In an initial condition, state a variable's value when it is read and no later statement writes it."""
        found: list[Item] = []
        for name in sorted(reads((stmt,)) - done):
            current = self.contents.get(name)
            if current is not None and name not in written((stmt, *rest)) and not self.is_short(current):
                found.append(self.becomes(name))
                done.add(name)
                self.contents[name] = unwritten(self.variables[name])
        return found

    def define(self, name: str, value: Expr) -> None:
        """Give a local its value; if a definition in sight has the same value, the local becomes an alias of it."""
        if is_loose(value, self.loose):
            self.loose[name] = least_of(value, self.loose)
        known = next((each.name for each in (*self.visible, *self.definitions) if each.value == value), None)
        if known is not None:
            self.writer.alias(name, known)
        else:
            self.definitions.append(Definition(self.writer.declared(name), value))

    def assign(self, var: str, keys: Sequence[Expr], value: Expr) -> list[Item]:
        """Write one cell."""
        resolved, at = self.resolve(value), tuple(self.resolve(key) for key in keys)
        items = self.cut(self.variables[var].value, resolved)
        if not keys:
            self.write(var, resolved)
            return items
        current = self.contents[var]
        if isinstance(current, UpdatedFunction):
            # A second write to the same cell replaces the first.
            kept = current.changes[:-1] if current.changes[-1][0] == at else current.changes
            self.write(var, UpdatedFunction(current.of, (*kept, (at, resolved))))
        else:
            self.write(var, UpdatedFunction(self.named(var), ((at, resolved),)))
        return items

    def fill(self, var: str, value: Expr) -> list[Item]:
        """Write every cell."""
        resolved = self.resolve(value)
        items = self.cut(self.variables[var].value, resolved)
        kinds = self.variables[var].keys
        params = tuple(zip(self.writer.fresh(kinds), kinds, strict=True))
        self.write(var, MappedFunction(params, resolved) if params else resolved)
        return items

    def cut(self, kind: Scalar, value: Expr) -> list[Item]:
        """The bound that cuts the step if the value is outside the type; empty if it never is."""
        cond = TRUE if self.starts else within(value, kind, self.loose)
        return [] if cond == TRUE else [BoundGuard(cond, cut_note(kind))]

    def write(self, var: str, value: Contents) -> None:
        """Set the current value of a variable."""
        self.contents[var] = value
        self.notes[var] = tuple(dict.fromkeys((*self.notes.get(var, ()), *self.labels)))

    def loop(self, stmt: For) -> list[Item]:
        """Execute all iterations of a loop at once."""
        loop = Loop(self)
        loop.run((stmt,))
        for var in loop.log:
            self.write(var, loop.function(var))
        return [] if self.starts else [BoundGuard(cond, cut_note(kind)) for kind, cond in loop.cuts]

    # Branches -------------------------------------------------------------------------------------------------

    def branch(self, stmt: If, later: frozenset[str], owned: frozenset[str]) -> tuple[list[Item], frozenset[str]]:
        """Both sides of an ``if``; returns the same as ``block``."""
        label, test = labelled(stmt.test)
        if isinstance(test, Lit):
            return self.chosen_side(stmt, label, bool(test.value), later, owned)
        resolved, names = self.resolve(test), frozenset(written((stmt,)))
        sides = (stmt.then, stmt.orelse)
        rules = any(isinstance(part, Require) for part in statements((stmt,)))
        # With no rule and only one variable, a choice between two values is shorter than two conjunctions.
        if owned and names <= owned and not names & later and (rules or len(names) > 1):
            for name in sorted(names):
                self.shorten(name)
            then, orelse = (self.side(body, names, later) for body in sides)
            return [Conditional(resolved, label, then, orelse)], names
        return self.values(resolved, label, sides, names), NOTHING

    def chosen_side(
        self, stmt: If, label: str, holds: bool, later: frozenset[str], owned: frozenset[str]
    ) -> tuple[list[Item], frozenset[str]]:
        """An ``if`` with a constant test, such as a labelled effect: its side becomes part of the block around it."""
        outer, self.labels = self.labels, (*self.labels, label) if label and holds else self.labels
        found = self.block(stmt.then if holds else stmt.orelse, later, owned)
        self.labels = outer
        return found

    def side(self, body: Sequence[Stmt], names: frozenset[str], later: frozenset[str]) -> Block:
        """One side as a conjunction of its own, which states the new values of the named variables."""
        contents, notes, definitions, visible = dict(self.contents), dict(self.notes), self.definitions, self.visible
        self.definitions, self.visible = [], (*visible, *definitions)
        items, done = self.block(body, later, names)
        items += self.finish(body, [name for name in self.variables if name in names - done])
        found = Block(tuple(self.definitions), tuple(items))
        self.contents, self.notes, self.definitions, self.visible = contents, notes, definitions, visible
        return found

    def values(self, test: Expr, label: str, sides: Sequence[Sequence[Stmt]], names: Collection[str]) -> list[Item]:
        """Choose, for each variable, between the values of the two sides; returns the conditions of the sides."""
        # The values before the ``if`` are named first, so that both sides can use the names.
        for name in sorted(names):
            self.shorten(name)
        outer, self.labels = self.labels, (*self.labels, label) if label else self.labels
        before = dict(self.contents)
        checks: list[tuple[Item, ...]] = []
        after: list[Mapping[str, Contents]] = []
        for body in sides:
            self.contents = dict(before)
            checks.append(tuple(self.block(body, NOTHING, NOTHING)[0]))
            after.append(self.contents)
        self.labels = outer
        then, orelse = after
        self.contents = {
            name: self.either(name, test, then.get(name), orelse.get(name)) for name in dict.fromkeys((*then, *orelse))
        }
        blocks = [Block((), found) for found in checks]
        return [Conditional(test, label, *blocks)] if any(checks) else []

    def either(self, name: str, test: Expr, then: Contents | None, orelse: Contents | None) -> Contents:
        """One of two values. If one side gives a variable no value, no later statement reads it after that side."""
        if then is None or orelse is None or then == orelse:
            found = orelse if then is None else then
            assert found is not None
            return found
        match then, orelse:
            case (
                (NamedFunction() | UpdatedFunction() | MappedFunction() | ChosenFunction()),
                (NamedFunction() | UpdatedFunction() | MappedFunction() | ChosenFunction()),
            ):
                return ChosenFunction(test, then, orelse)
            case ((NamedFunction() | UpdatedFunction() | MappedFunction() | ChosenFunction()), _):
                raise AssertionError(f"{name} is a function on one side only")
            case _, (NamedFunction() | UpdatedFunction() | MappedFunction() | ChosenFunction()):
                raise AssertionError(f"{name} is a function on one side only")
            case _:
                return IfElse(test, then, orelse, self.variables[name].value)

    # Reading --------------------------------------------------------------------------------------------------

    def resolve(self, expr: Expr) -> Expr:
        """The expression with each read replaced by the current value of the variable, or by a name for that value."""
        if isinstance(expr, Read):
            return self.value(attrs.evolve(expr, keys=tuple(self.resolve(key) for key in expr.keys)))
        return rebuild(expr, self.resolve)

    def value(self, read: Read) -> Expr:
        """The current value of a variable at a key."""
        current = self.contents.get(read.var)
        match current:
            case None:
                return read
            case NamedFunction(name):
                return attrs.evolve(read, var=name)
            case UpdatedFunction(changes=changes) if changes[-1][0] == read.keys and is_simple(changes[-1][1]):
                return changes[-1][1]
            case MappedFunction(params, body) if is_simple(body) and not _mentions(body, [name for name, _ in params]):
                return body
            case UpdatedFunction() | MappedFunction() | ChosenFunction():
                return attrs.evolve(read, var=self.named(read.var).name)
            case _ if is_simple(current):
                return current
            case _:
                self.shorten(read.var)
                return self.value(read)

    def named(self, var: str) -> NamedFunction:
        """A name for the current value of a variable with keys."""
        self.shorten(var)
        current = self.contents[var]
        assert isinstance(current, NamedFunction), current
        return current

    def shorten(self, var: str) -> None:
        """Define a name for the current value of a variable, unless the value is short already."""
        current = self.contents.get(var)
        if current is None or self.is_short(current):
            return
        name = self.writer.version(var)
        self.definitions.append(Definition(name, current))
        self.contents[var] = (
            NamedFunction(name) if self.variables[var].keys else Read(name, (), self.variables[var].value)
        )

    def is_short(self, contents: Contents) -> bool:
        """Whether the value is short enough to be written out wherever it is read."""
        match contents:
            case NamedFunction():
                return True
            case UpdatedFunction() | MappedFunction() | ChosenFunction():
                return False
            case _:
                return is_simple(contents)


def unwritten(var: Var) -> Contents:
    """The value of a variable before the first write."""
    return NamedFunction(var.name) if var.keys else Read(var.name, (), var.value)


def is_simple(expr: Expr) -> bool:
    """Whether an expression is as short as its name would be."""
    match expr:
        case Lit() | Name():
            return True
        case Read(keys=keys):
            return all(isinstance(key, Lit | Name) for key in keys)
        case Wrap(arg) | Unwrap(arg):
            return is_simple(arg)
        case _:
            return False


def cut_note(kind: Scalar) -> str:
    """The comment at a bound; it names the same type as the other engines do."""
    return f"cut: {kind.of if isinstance(kind, OptionalType) else kind}"


def _mentions(expr: Expr, names: Collection[str]) -> bool:
    return any(isinstance(part, Name) and part.name in names for part in walk(expr))
