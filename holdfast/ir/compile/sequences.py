"""Translates sequences: ``len(self.log[n])``, ``self.log[n].append(x)`` and the like.

A sequence is two variables: its entries, in cells that are None from its length on, and its length. So equal sequences
are equal states, and every operation becomes reads and writes of cells. An entry beyond the length is None, also at a
computed index, so a read cuts nothing. The length of a full sequence is the bound of the index; its last cell is never
used.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal, NoReturn

import attrs

from holdfast.ir.compile.context import Compiler, Env, StateField
from holdfast.ir.compile.conversions import fit, plain_if_known
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
    walk,
)
from holdfast.ir.names import length_name
from holdfast.ir.stmt import Assign, Fill, For, Let, Stmt
from holdfast.ir.types import INT, NatType, NumberType, OptionalType, Plain

ONE = Lit(1, INT)
PROPERTIES = ("first", "last")
READS = ("starts_with",)
WRITES = ("append", "pop_first", "truncate", "clear")
USES = "len, ==, in, an index, first, last or starts_with"


@attrs.frozen
class SequenceCells:
    """One sequence: the variable of its entries, and the keys before the index. ``old``: in the state before a step."""

    var: str
    keys: tuple[Expr, ...]
    entry: OptionalType
    index: NatType
    old: bool

    @property
    def kind(self) -> tuple[Plain, NatType]:
        """The types of an entry and of the index."""
        return self.entry.of, self.index

    @property
    def length(self) -> Read:
        """The number of entries."""
        return Read(length_name(self.var), self.keys, self.index, self.old)

    def cell(self, index: Expr) -> Read:
        """The entry at an index that has a cell, or None."""
        return Read(self.var, (*self.keys, index), self.entry, self.old)

    def at(self, index: Expr) -> Expr:
        """The entry at a computed index, or None where the sequence has none."""
        return guarded(index, self.length, self.cell(index))

    @property
    def last(self) -> Expr:
        """The last entry, or None."""
        return self.at(_one("-", self.length, self.index))


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
    assert field.index is not None
    wanted = field.keys[:-1]
    parts = _keys_of(node) if isinstance(node, ast.Subscript) else []
    if isinstance(node, ast.Subscript) and not wanted:
        return None  # an entry of it
    if len(parts) != len(wanted):
        _refuse_keys(target, wanted, node, env)
    keys = tuple(
        fit(compiler.expression(part, env), kind, part, env, what=f"a key of {target.attr}")
        for part, kind in zip(parts, wanted, strict=True)
    )
    assert isinstance(field.value, OptionalType)
    return SequenceCells(target.attr, keys, field.value, field.index, env.states[target.value.id])


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


def entry(compiler: Compiler, found: SequenceCells, node: ast.Subscript, env: Env) -> Expr:
    """``self.log[n][i]``: an entry, or None where there is none."""
    parts = _keys_of(node)
    if len(parts) != 1 or isinstance(parts[0], ast.Slice):
        env.module.refuse(node, "an entry has one index", f"write {excerpt(node.value)}[i]")
    index = compiler.expression(parts[0], env)
    if isinstance(index, Lit) and isinstance(index.type, NumberType):
        return found.at(index)
    index = fit(index, found.index, parts[0], env, what=f"an index of {found.var}")
    # Each value of the index's own type has a cell, and it is None beyond the length.
    return found.cell(index) if isinstance(index, Name | Read) and index.type == found.index else found.at(index)


def attribute(found: SequenceCells, node: ast.Attribute, env: Env) -> Expr:
    """``self.log[n].first`` or ``self.log[n].last``."""
    if node.attr in PROPERTIES:
        return found.cell(Lit(0, found.index)) if node.attr == "first" else found.last
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
    value = fit(plain_if_known(compiler.expression(node, env), env), found.entry.of, node, env, what="an entry")
    compiler.check_eager(value, node, env)  # it is compared only with entries that exist
    name = compiler.fresh("each")
    held = found.cell(Name(name, found.index))
    same = Compare("==", Unwrap(held, found.entry.of), value)
    return Quantified("any", name, found.index, And((Not(IsNone(held)), same)))


def _other(compiler: Compiler, found: SequenceCells, node: ast.expr, env: Env) -> SequenceCells:
    """A second sequence of the same type."""
    other = sequence(compiler, node, env)
    if other is None:
        env.module.refuse(node, "this is no sequence", f"name a sequence of {found.entry.of}")
    if other.kind != found.kind:
        mine, theirs = (f"Seq[{of}, {index}]" for of, index in (found.kind, other.kind))
        env.module.refuse(node, f"{theirs} meets {mine}", "use sequences of one type")
    return other


def _same(one: SequenceCells, two: SequenceCells, index: Expr) -> Expr:
    return Compare("==", one.cell(index), two.cell(index))


def _all(compiler: Compiler, found: SequenceCells, claim: Callable[[Expr], Expr]) -> Expr:
    name = compiler.fresh("each")
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
            argument = _only(node, name, env)
            value = fit(compiler.expression(argument, env), found.entry.of, argument, env, what="an entry")
            longer = _one("+", length, index)
            return [*made, _put(found, length, Wrap(value, found.entry), at), _resize(found, longer, at)]
        case "pop_first":
            shorter = _one("-", length, index)
            shifted = _each(compiler, found, lambda i: found.at(_one("+", i, index)), at)
            return [*made, shifted, _resize(found, shorter, at)]
        case "truncate":
            argument = _only(node, name, env)
            kept = _number(compiler, found, argument, env)
            if any(isinstance(part, Read) for part in walk(kept)):
                local = compiler.local("kept", kept)
                made.append(Let(local.name, kept, at))
                kept = local
            fewer = Compare("<", kept, length)
            left = _each(compiler, found, lambda i: _before(kept, i, found), at)
            return [*made, left, _resize(found, IfElse(fewer, kept, length, NumberType(index.name)), at)]
    return [*made, _each(compiler, found, lambda i: _none(found), at), _resize(found, Lit(0, index), at)]


def clear_all(name: str, field: StateField, at: Place) -> list[Stmt]:
    """``self.log.clear()``: the sequences of all keys are empty."""
    assert field.index is not None
    return [Fill(name, Lit(None, field.value), at), Fill(length_name(name), Lit(0, field.index), at)]


def copy(compiler: Compiler, found: SequenceCells, node: ast.expr, stmt: ast.stmt, env: Env) -> list[Stmt]:
    """``self.log[n] = self.log[m]``: the sequence gets the entries of another one."""
    at = env.module.place(stmt)
    other = _other(compiler, found, node, env)
    made, found = _settled(compiler, found, at)
    more, other = _settled(compiler, other, at)
    return [*made, *more, _each(compiler, found, other.cell, at), _resize(found, other.length, at)]


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


def _before(length: Expr, index: Expr, found: SequenceCells) -> Expr:
    """The entry at an index below a length, None at other indices."""
    return IfElse(Compare("<", index, length), found.cell(index), _none(found), found.entry)


def _none(found: SequenceCells) -> Lit:
    return Lit(None, found.entry)


def _put(found: SequenceCells, index: Expr, value: Expr, at: Place) -> Assign:
    return Assign(found.var, (*found.keys, index), value, at)


def _each(compiler: Compiler, found: SequenceCells, value: Callable[[Expr], Expr], at: Place) -> For:
    """Every cell of the sequence gets a value, which may read the cells at and after it."""
    name = compiler.fresh("each")
    here = Name(name, found.index)
    return For(name, found.index, (_put(found, here, value(here), at),), at)


def _resize(found: SequenceCells, length: Expr, at: Place) -> Assign:
    return Assign(length_name(found.var), found.keys, length, at)
