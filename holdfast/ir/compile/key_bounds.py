"""Computed keys: a step that touches a cell beyond the bound of its key is cut, as by an assignment beyond a bound.

A key such as ``self.last[n] + 1`` may have no cell. An action gets a ``Within`` before each statement that touches such
a cell, under the conditions under which Python computes the key: the part of an ``and`` after a false one does not.
A quantifier or a fold computes the keys of all elements, also if one of them has decided the result; so the order of
the elements does not matter. A property cannot be cut. It is false where it reads beyond a bound.

A step that ends with more members of a pool than its bound is cut, too. Only the end counts: a loop may add members
before it takes others away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import attrs

from holdfast.ir.compile.results import Locals, is_guarded, is_loose_key, locals_of
from holdfast.ir.errors import Place
from holdfast.ir.expr import (
    FALSE,
    TRUE,
    ZERO,
    And,
    Compare,
    Expr,
    Fold,
    IfElse,
    Implies,
    Lit,
    Name,
    Or,
    Quantified,
    Read,
    children,
    conjunction,
    negate,
    substitute,
    walk,
)
from holdfast.ir.names import UniqueName, source_name
from holdfast.ir.stmt import Assign, Fill, For, If, Stmt, Within, direct_expressions, expressions, is_check, statements
from holdfast.ir.system import Action, Var
from holdfast.ir.types import BOOL, Key, NatType, NumberType

Variables = dict[str, tuple[Key, ...]]
"""The types of the keys of each variable."""

Pools = Mapping[str, NatType]
"""For each pool, the Nat whose bound is the greatest number of its members."""


def keys_of(variables: Iterable[Var]) -> Variables:
    """The types of the keys of variables, by name."""
    return {var.name: var.keys for var in variables}


def pools_of(variables: Iterable[Var]) -> Pools:
    """The pools among variables, by name."""
    return {var.name: var.most for var in variables if var.most is not None}


# Actions ------------------------------------------------------------------------------------------------------


def with_bounds(action: Action, variables: Variables, pools: Pools) -> Action:
    """The action with a ``Within`` before each use of a computed key, and at the end for each pool that it may fill.

    Those that it has are replaced.
    """
    bare = without_bounds(action.body)
    locals_, filled = locals_of(bare), _filled(bare, pools)
    if not filled and not any(_touches_loosely(stmt, locals_) for stmt in statements(bare)):
        return attrs.evolve(action, body=bare)
    taken = {param.name for param in action.params} | set(locals_)
    taken |= {stmt.var for stmt in statements(bare) if isinstance(stmt, For)}
    taken |= {part.var for part in expressions(bare) if isinstance(part, Quantified | Fold)}
    bounds = _Bounds(locals_, variables, taken)
    rest = [Within(bounds.members(pool), pools[pool], at, pool) for pool, at in filled.items()]
    return attrs.evolve(action, body=(*bounds.body(bare), *rest))


def _filled(body: tuple[Stmt, ...], pools: Pools) -> dict[str, Place]:
    """The pools to which a body may add members, each with the place where it does so first."""
    found: dict[str, Place] = {}
    for stmt in statements(body):
        if isinstance(stmt, Assign | Fill) and stmt.var in pools and stmt.value != FALSE:
            found.setdefault(stmt.var, stmt.at)
    return found


def without_bounds(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body as the model has it."""
    kept: list[Stmt] = []
    for stmt in body:
        if is_check(stmt):
            continue
        match stmt:
            case If(then=then, orelse=orelse):
                kept.append(attrs.evolve(stmt, then=without_bounds(then), orelse=without_bounds(orelse)))
            case For(body=inner):
                kept.append(attrs.evolve(stmt, body=without_bounds(inner)))
            case _:
                kept.append(stmt)
    return tuple(kept)


def _touches_loosely(stmt: Stmt, locals_: Locals) -> bool:
    reads = (part.keys for expr in direct_expressions(stmt) for part in walk(expr) if isinstance(part, Read))
    written = [stmt.keys] if isinstance(stmt, Assign) else []
    return any(is_loose_key(key, locals_) for keys in (*reads, *written) for key in keys)


class _Names:
    """Hands out names for bound variables, which are unique in a body."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = set(taken)

    def renamed(self, node: Quantified | Fold) -> tuple[str, dict[str, Expr]]:
        """A new name for a bound variable, and the substitution that replaces the old one."""
        name = self.fresh(node.var)
        return name, {node.var: Name(name, node.domain)}

    def fresh(self, stem: str) -> str:
        candidate, number = stem, 1
        while candidate in self.taken:
            number += 1
            candidate = UniqueName(f"{stem}_{number}", source_name(stem))
        self.taken.add(candidate)
        return candidate


class _Bounds:
    """Writes the bounds of the keys of one body."""

    def __init__(self, locals_: Locals, variables: Variables, taken: set[str]) -> None:
        self.locals = locals_
        self.variables = variables
        self.names = _Names(taken)

    def body(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """The statements, each after the bounds of its keys."""
        made: list[Stmt] = []
        for stmt in body:
            match stmt:
                case Assign(var=var, keys=keys, value=value):
                    # In Python's order: the value is computed before the keys of the cell that gets it.
                    made += self.of(value, stmt.at)
                    made += self.touched(var, keys, stmt.at)
                case _:
                    for expr in direct_expressions(stmt):
                        made += self.of(expr, stmt.at)
            match stmt:
                case If(then=then, orelse=orelse):
                    made.append(attrs.evolve(stmt, then=self.body(then), orelse=self.body(orelse)))
                case For(body=inner):
                    made.append(attrs.evolve(stmt, body=self.body(inner)))
                case _:
                    made.append(stmt)
        return tuple(made)

    def members(self, pool: str) -> Expr:
        """The number of members of a pool."""
        keys = [(self.names.fresh("key"), kind) for kind in self.variables[pool]]
        found: Expr = Read(pool, tuple(Name(name, kind) for name, kind in keys), BOOL)
        kind: Literal["count", "sum"] = "count"
        for name, domain in reversed(keys):
            where, value = (found, Lit(1, NumberType())) if kind == "count" else (TRUE, found)
            found = Fold(kind, name, domain, where, value, ZERO, NumberType())
            kind = "sum"
        return found

    def touched(self, var: str, keys: Sequence[Expr], at: Place) -> list[Stmt]:
        """The bounds of the keys of one cell, and of the keys within them."""
        made = [stmt for key in keys for stmt in self.of(key, at)]
        for key, kind in zip(keys, self.variables[var], strict=True):
            if is_loose_key(key, self.locals):
                assert isinstance(kind, NatType), "only a Nat is computed"
                made.append(Within(key, kind, at))
        return made

    def of(self, expr: Expr, at: Place) -> list[Stmt]:
        """The bounds of the keys that an expression computes."""
        match expr:
            case Read(var=var, keys=keys):
                return self.touched(var, keys, at)
            case And(args) if len(args) > 1:
                return [*self.of(args[0], at), *_if(args[0], self.of(_rest(expr), at), [], at)]
            case Or(args) if len(args) > 1:
                return [*self.of(args[0], at), *_if(args[0], [], self.of(_rest(expr), at), at)]
            case Implies(left, right):
                return [*self.of(left, at), *_if(left, self.of(right, at), [], at)]
            case IfElse(test) if is_guarded(expr):
                return self.of(test, at)
            case IfElse(test, then, orelse):
                return [*self.of(test, at), *_if(test, self.of(then, at), self.of(orelse, at), at)]
            case Quantified(body=body):
                name, names = self.names.renamed(expr)
                return _for(name, expr.domain, self.of(substitute(body, names), at), at)
            case Fold():
                name, names = self.names.renamed(expr)
                where, value = substitute(expr.where, names), substitute(expr.value, names)
                inner = [*self.of(where, at), *_if(where, self.of(value, at), [], at)]
                return [*_for(name, expr.domain, inner, at), *self.of(expr.default, at)]
        return [stmt for part in children(expr) for stmt in self.of(part, at)]


def _rest(expr: And | Or) -> Expr:
    """The connective without its first part."""
    return expr.args[1] if len(expr.args) == 2 else attrs.evolve(expr, args=expr.args[1:])


def _if(test: Expr, then: list[Stmt], orelse: list[Stmt], at: Place) -> list[Stmt]:
    if test == TRUE:
        return then
    return [If(test, tuple(then), tuple(orelse), at)] if then or orelse else []


def _for(name: str, domain: Key, body: list[Stmt], at: Place) -> list[Stmt]:
    return [For(name, domain, tuple(body), at)] if body else []


# Properties ---------------------------------------------------------------------------------------------------


def where_defined(claim: Expr, variables: Variables) -> Expr:
    """The claim, and that no key which it computes lies beyond its bound."""
    return conjunction([defined(claim, variables), claim])


def defined(expr: Expr, variables: Variables) -> Expr:
    """The condition that no key which an expression computes lies beyond its bound; TRUE if it computes none."""
    taken = {part.var for part in walk(expr) if isinstance(part, Quantified | Fold)}
    taken |= {part.name for part in walk(expr) if isinstance(part, Name)}
    return _Defined(variables, _Names(taken)).of(expr)


class _Defined:
    """Writes the condition that all keys are within their bounds which Python computes for an expression."""

    def __init__(self, variables: Variables, names: _Names) -> None:
        self.variables = variables
        self.names = names

    def of(self, expr: Expr) -> Expr:
        match expr:
            case Read(var=var, keys=keys):
                return conjunction(
                    [
                        *map(self.of, keys),
                        *(
                            self.within(key, kind)
                            for key, kind in zip(keys, self.variables[var], strict=True)
                            if is_loose_key(key, {})
                        ),
                    ]
                )
            case And(args) if len(args) > 1:
                return conjunction([self.of(args[0]), _implies(args[0], self.of(_rest(expr)))])
            case Or(args) if len(args) > 1:
                return conjunction([self.of(args[0]), _implies(negate(args[0]), self.of(_rest(expr)))])
            case Implies(left, right):
                return conjunction([self.of(left), _implies(left, self.of(right))])
            case IfElse(test) if is_guarded(expr):
                return self.of(test)
            case IfElse(test, then, orelse):
                both = self.of(then), self.of(orelse)
                chosen = TRUE if both == (TRUE, TRUE) else IfElse(test, *both, BOOL)
                return conjunction([self.of(test), chosen])
            case Quantified(body=body):
                name, names = self.names.renamed(expr)
                return _all(name, expr.domain, self.of(substitute(body, names)))
            case Fold():
                name, names = self.names.renamed(expr)
                where, value = substitute(expr.where, names), substitute(expr.value, names)
                inner = conjunction([self.of(where), _implies(where, self.of(value))])
                return conjunction([_all(name, expr.domain, inner), self.of(expr.default)])
        return conjunction([self.of(part) for part in children(expr)])

    def within(self, key: Expr, kind: Key) -> Expr:
        """The condition that a key has a cell: it is one of the values of its type."""
        name = self.names.fresh("key")
        return Quantified("any", name, kind, Compare("==", Name(name, kind), key))


def _implies(left: Expr, right: Expr) -> Expr:
    return TRUE if right == TRUE else right if left == TRUE else Implies(left, right)


def _all(name: str, domain: Key, body: Expr) -> Expr:
    return TRUE if body == TRUE else Quantified("all", name, domain, body)
