"""Translates sequences: ``len(self.log[n])``, ``self.log[n].append(x)`` and the like.

A sequence is two variables: its entries, in cells that are None from its length on, and its length. If the entries are
records, each part has a variable. So equal sequences are equal states, and every operation becomes reads and writes of
cells. An entry beyond the length is None, also at a
computed index, so a read cuts nothing. The length of a full sequence is the bound of the index; its last cell is never
used.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Literal, NoReturn

import attrs

from holdfast.ir.compile.context import Compiler, Env, RecordValue, StateField
from holdfast.ir.compile.conversions import fit, plain_if_known
from holdfast.ir.compile.field_types import FieldType
from holdfast.ir.compile.records import of_kind
from holdfast.ir.compile.results import guarded, reads_computed_key
from holdfast.ir.compile.source import excerpt
from holdfast.ir.errors import Place
from holdfast.ir.expr import (
    And,
    Arithmetic,
    Compare,
    Expr,
    IfElse,
    Implies,
    IsNone,
    Lit,
    Name,
    Not,
    Quantified,
    Read,
    Unwrap,
    Wrap,
    conjunction,
    walk,
)
from holdfast.ir.names import length_name
from holdfast.ir.stmt import Assign, Fill, For, Let, Stmt
from holdfast.ir.types import INT, NatType, NumberType, OptionalType

ONE = Lit(1, INT)
PROPERTIES = ("first", "last")
READS = ("starts_with",)
WRITES = ("append", "pop_first", "truncate", "clear")
USES = "len, ==, in, an index, first, last or starts_with"


@attrs.frozen
class SequenceCells:
    """One sequence: the field, the keys before the index, and whether it is read in the state before a step."""

    name: str
    field: FieldType
    keys: tuple[Expr, ...]
    old: bool

    @property
    def index(self) -> NatType:
        """The type of its index."""
        assert self.field.index is not None
        return self.field.index

    @property
    def cells(self) -> dict[str, OptionalType]:
        """The variables of its entries: one, or one for each part of a record."""
        return {var: kind for var, kind in self.field.cells(self.name).items() if isinstance(kind, OptionalType)}

    @property
    def variables(self) -> tuple[str, ...]:
        """All its variables."""
        return (*self.cells, length_name(self.name))

    @property
    def entry(self) -> str:
        """The type of an entry in words."""
        return str(self.field.record or next(iter(self.cells.values())).of)

    @property
    def length(self) -> Read:
        """The number of entries."""
        return Read(length_name(self.name), self.keys, self.index, self.old)

    def stored(self, index: Expr) -> tuple[Read, ...]:
        """The cells at an index that has one."""
        return tuple(Read(var, (*self.keys, index), kind, self.old) for var, kind in self.cells.items())

    def at(self, index: Expr) -> tuple[Expr, ...]:
        """The entry at a computed index, or None where the sequence has none; the parts of a record."""
        return tuple(guarded(index, self.length, cell) for cell in self.stored(index))

    @property
    def last(self) -> tuple[Expr, ...]:
        """The last entry, or None."""
        return self.at(_one("-", self.length, self.index))

    def value(self, parts: tuple[Expr, ...]) -> Expr | RecordValue:
        """An entry as expressions see it."""
        return parts[0] if self.field.record is None else RecordValue(self.field.record, parts, optional=True)


def _one(op: Literal["+", "-"], value: Expr, index: NatType) -> Expr:
    """A value of the index and one more, or one less."""
    return Arithmetic(op, (value, ONE), NumberType(index.name))


# Which sequence -----------------------------------------------------------------------------------------------


def sequence(compiler: Compiler, node: ast.expr, env: Env) -> SequenceCells | None:
    """The sequence that an expression names, or None if it names something else. Refuses missing keys of a map."""
    target = node.value if isinstance(node, ast.Subscript) else node
    field = sequence_field(compiler, target, env)
    if field is None:
        return None
    assert isinstance(target, ast.Attribute)
    assert isinstance(target.value, ast.Name)
    wanted = field.shape[:-1]
    if isinstance(node, ast.Subscript) and not wanted:
        return None  # an entry of it
    if len(_keys_of(node) if isinstance(node, ast.Subscript) else []) != len(wanted):
        _refuse_keys(target, wanted, node, env)
    keys = compiler.keys(node, wanted, target.attr, env) if isinstance(node, ast.Subscript) else ()
    return SequenceCells(target.attr, field.kind, keys, env.states[target.value.id])


def sequence_field(compiler: Compiler, node: ast.expr, env: Env) -> StateField | None:
    """The field that an expression names, if it holds sequences."""
    match node:
        case ast.Attribute(value=ast.Name(id=state), attr=name) if state in env.states:
            field = compiler.context.fields.get(name)
            return field if field is not None and field.index is not None else None
    return None


def _keys_of(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _refuse_keys(target: ast.Attribute, wanted: tuple[object, ...], node: ast.expr, env: Env) -> NoReturn:
    shown = f"{ast.unparse(target)}[{', '.join(f'{str(kind).lower()}' for kind in wanted)}]"
    env.module.refuse(node, f"{target.attr} has a sequence for each key", f"name one: {shown}")


def refuse_whole(node: ast.expr, env: Env) -> NoReturn:
    """Refuse a sequence where a single value is needed."""
    env.module.refuse(node, "a sequence is no single value", f"use {USES}")


# Reading ------------------------------------------------------------------------------------------------------


def entry(compiler: Compiler, node: ast.expr, env: Env) -> Expr | RecordValue | None:
    """``self.log[n][i]``, ``self.log[n].first`` or ``.last``: an entry, or None where there is none.

    The result is None if the expression is nothing of a sequence.
    """
    match node:
        case ast.Subscript(value=ast.Attribute() | ast.Subscript() as of):
            field = sequence_field(compiler, of, env)
            if field is not None and len(field.shape) > 1:
                return None  # one of several sequences
            found = sequence(compiler, of, env)
            return None if found is None else found.value(_at(compiler, found, node, env))
        case ast.Attribute(value=ast.Attribute() | ast.Subscript() as of):
            found = sequence(compiler, of, env)
            return None if found is None else found.value(_end(found, node, env))
    return None


def _at(compiler: Compiler, found: SequenceCells, node: ast.Subscript, env: Env) -> tuple[Expr, ...]:
    parts = _keys_of(node)
    if len(parts) != 1 or isinstance(parts[0], ast.Slice):
        env.module.refuse(node, "an entry has one index", f"write {excerpt(node.value)}[i]")
    index = compiler.expression(parts[0], env)
    if isinstance(index, Lit) and isinstance(index.type, NumberType):
        if isinstance(index.value, int) and index.value < 0:
            env.module.refuse(node, "no entry has an index below 0, so this is always None", "write .last")
        return found.at(index)
    index = fit(index, found.index, parts[0], env, what=f"an index of {found.name}")
    # Each value of the index's own type has a cell, and it is None beyond the length.
    exists = isinstance(index, Name | Read) and index.type == found.index
    return found.stored(index) if exists else found.at(index)


def _end(found: SequenceCells, node: ast.Attribute, env: Env) -> tuple[Expr, ...]:
    if node.attr in PROPERTIES:
        return found.stored(Lit(0, found.index)) if node.attr == "first" else found.last
    if node.attr in (*READS, *WRITES):
        env.module.refuse(node, f"{node.attr} is a method", f"call it: {excerpt(node)}(...)")
    return env.module.refuse(node, f"a sequence has no {node.attr}", f"use {USES}")


def call(compiler: Compiler, found: SequenceCells, name: str, node: ast.Call, env: Env) -> Expr:
    """``self.log[n].starts_with(self.log[m])``."""
    if name in WRITES:
        env.module.refuse(node, f"{name} changes the sequence and has no value", "put it on a line of its own")
    if name not in READS:
        env.module.refuse(node, f"a sequence has no {name}", f"use {USES}")
    other = _other(compiler, found, _only(node, name, env), env)
    prefix = _all(compiler, found, lambda i: Implies(Compare("<", i, other.length), _same(found, other, i)))
    return And((Compare("<=", other.length, found.length), prefix))


def equal(compiler: Compiler, one: SequenceCells, node: ast.expr, env: Env) -> Expr:
    """``self.log[n] == self.log[m]``."""
    two = _other(compiler, one, node, env)
    return And((Compare("==", one.length, two.length), _all(compiler, one, lambda i: _same(one, two, i))))


def contains(compiler: Compiler, found: SequenceCells, node: ast.expr, env: Env) -> Expr:
    """``x in self.log[n]``."""
    values = _new_entry(compiler, found, node, env)
    for value in values:
        compiler.check_eager(value, node, env)  # it is compared only with entries that exist
    name = compiler.fresh(found.index.name.lower())
    parts: list[Expr] = []
    for held, value in zip(found.stored(Name(name, found.index)), values, strict=True):
        assert isinstance(held.type, OptionalType)
        parts += [Not(IsNone(held)), Compare("==", Unwrap(held, held.type.of), value)]
    return Quantified("any", name, found.index, And(tuple(parts)))


def _new_entry(compiler: Compiler, found: SequenceCells, node: ast.expr, env: Env) -> tuple[Expr, ...]:
    """An expression as an entry: one value, or those of the parts of a record."""
    if found.field.record is not None:
        return of_kind(compiler, found.field.record, node, env).parts
    [kind] = found.cells.values()
    return (fit(plain_if_known(compiler.expression(node, env), env), kind.of, node, env, what="an entry"),)


def _other(compiler: Compiler, found: SequenceCells, node: ast.expr, env: Env) -> SequenceCells:
    """A second sequence of the same type."""
    other = sequence(compiler, node, env)
    if other is None:
        env.module.refuse(node, "this is no sequence", f"name a sequence of {found.entry}")
    mine, theirs = (f"Seq[{each.entry}, {each.index}]" for each in (found, other))
    if mine != theirs:
        env.module.refuse(node, f"{theirs} meets {mine}", "use sequences of one type")
    return other


def _same(one: SequenceCells, two: SequenceCells, index: Expr) -> Expr:
    cells = zip(one.stored(index), two.stored(index), strict=True)
    return conjunction([Compare("==", left, right) for left, right in cells])


def _all(compiler: Compiler, found: SequenceCells, claim: Callable[[Expr], Expr]) -> Expr:
    name = compiler.fresh(found.index.name.lower())
    return Quantified("all", name, found.index, claim(Name(name, found.index)))


def _only(node: ast.Call, name: str, env: Env) -> ast.expr:
    """The only argument of a call."""
    if len(node.args) != 1 or node.keywords:
        env.module.refuse(node, f"{name} takes one value", f"write .{name}(x)")
    return node.args[0]


# Writing ------------------------------------------------------------------------------------------------------


def write(compiler: Compiler, found: SequenceCells, name: str, node: ast.Call, env: Env) -> list[Stmt]:
    """``append``, ``pop_first``, ``truncate`` or ``clear`` as statements."""
    at = env.module.place(node)
    if name in (*READS, *PROPERTIES):
        env.module.refuse(node, f"{name} changes nothing", "use its value")
    if name not in WRITES:
        env.module.refuse(node, f"a sequence has no {name}", f"use {', '.join(WRITES)}")
    if name in ("pop_first", "clear") and (node.args or node.keywords):
        env.module.refuse(node, f"{name} takes no value", f"write .{name}()")
    made, found = _settled(compiler, found, at)
    length, index = found.length, found.index
    match name:
        case "append":
            values = _new_entry(compiler, found, _only(node, name, env), env)
            wrapped = [Wrap(value, kind) for value, kind in zip(values, found.cells.values(), strict=True)]
            return [*made, *_put(found, length, wrapped, at), _resize(found, _one("+", length, index), at)]
        case "pop_first":
            shifted = _each(compiler, found, lambda i: found.at(_one("+", i, index)), at)
            return [*made, shifted, _resize(found, _one("-", length, index), at)]
        case "truncate":
            kept = _number(compiler, found, _only(node, name, env), env)
            if any(isinstance(part, Read) for part in walk(kept)):
                local = compiler.local("kept", kept)
                made.append(Let(local.name, kept, at))
                kept = local
            left = _each(compiler, found, lambda i: _before(kept, i, found), at)
            fewer = Compare("<", kept, length)
            return [*made, left, _resize(found, IfElse(fewer, kept, length, NumberType(index.name)), at)]
    return [*made, _each(compiler, found, lambda _: _nothing(found), at), _resize(found, Lit(0, index), at)]


def clear_all(name: str, field: FieldType, at: Place) -> list[Stmt]:
    """``self.log.clear()``: the sequences of all keys are empty."""
    assert field.index is not None
    cells = [Fill(var, Lit(None, kind), at) for var, kind in field.cells(name).items()]
    return [*cells, Fill(length_name(name), Lit(0, field.index), at)]


def copy(compiler: Compiler, found: SequenceCells, node: ast.expr, stmt: ast.stmt, env: Env) -> list[Stmt]:
    """``self.log[n] = self.log[m]``: the sequence gets the entries of another one."""
    at = env.module.place(stmt)
    other = _other(compiler, found, node, env)
    made, found = _settled(compiler, found, at)
    more, other = _settled(compiler, other, at)
    return [*made, *more, _each(compiler, found, other.stored, at), _resize(found, other.length, at)]


def _number(compiler: Compiler, found: SequenceCells, node: ast.expr, env: Env) -> Expr:
    """A length: a value of the index, or a number."""
    value = compiler.expression(node, env)
    if isinstance(value, Lit) and isinstance(value.type, NumberType):
        return value
    return fit(value, found.index, node, env, what="a length")


def _settled(compiler: Compiler, found: SequenceCells, at: Place) -> tuple[list[Stmt], SequenceCells]:
    """The sequence with keys that the operation itself cannot change: a key that reads a cell gets a local."""
    made: list[Stmt] = []
    keys: list[Expr] = []
    if reads_computed_key(found.length, compiler.locals):
        # As in Python, a key beyond its bound cuts the step before anything else is computed.
        made.append(Let(compiler.local("length", found.length).name, found.length, at))
    for key in found.keys:
        if any(isinstance(part, Read) for part in walk(key)):
            local = compiler.local("key", key)
            made.append(Let(local.name, key, at))
            keys.append(local)
        else:
            keys.append(key)
    return made, attrs.evolve(found, keys=tuple(keys))


def _before(length: Expr, index: Expr, found: SequenceCells) -> tuple[Expr, ...]:
    """The entry at an index below a length, None at other indices."""
    below = Compare("<", index, length)
    return tuple(IfElse(below, cell, Lit(None, cell.type), cell.type) for cell in found.stored(index))


def _nothing(found: SequenceCells) -> tuple[Expr, ...]:
    return tuple(Lit(None, kind) for kind in found.cells.values())


def _put(found: SequenceCells, index: Expr, values: Iterable[Expr], at: Place) -> tuple[Stmt, ...]:
    keys = (*found.keys, index)
    return tuple(Assign(var, keys, value, at) for var, value in zip(found.cells, values, strict=True))


def _each(compiler: Compiler, found: SequenceCells, value: Callable[[Expr], Iterable[Expr]], at: Place) -> For:
    """Every cell of the sequence gets a value, which may read the cells at and after it."""
    name = compiler.fresh(found.index.name.lower())
    here = Name(name, found.index)
    return For(name, found.index, _put(found, here, value(here), at), at)


def _resize(found: SequenceCells, length: Expr, at: Place) -> Assign:
    return Assign(length_name(found.name), found.keys, length, at)
