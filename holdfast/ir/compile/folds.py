"""Translates arithmetic, quantifiers and folds."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal

from holdfast.ir.compile.annotations import resolve
from holdfast.ir.compile.builtin_remedies import of_operator
from holdfast.ir.compile.constants import typed_literal
from holdfast.ir.compile.context import Compiler, Env
from holdfast.ir.compile.conversions import comparable, plain_if_known, unit
from holdfast.ir.compile.known_optionals import when_true
from holdfast.ir.compile.memberships import members
from holdfast.ir.compile.orders import remainder
from holdfast.ir.compile.records import value_of, variables
from holdfast.ir.expr import (
    TRUE,
    ZERO,
    And,
    Arithmetic,
    ArithmeticOp,
    Expr,
    Fold,
    Implies,
    Lit,
    Quantified,
)
from holdfast.ir.types import IntType, Key, NatType, NumberType, OptionalType


def _number(compiler: Compiler, node: ast.expr, env: Env) -> Expr:
    """An expression as a number. Raises ModelError if it is none, or may be None."""
    found = plain_if_known(compiler.expression(node, env), env)
    if isinstance(found.type, NatType | IntType | NumberType):
        return found
    if isinstance(found.type, OptionalType):
        env.module.refuse(node, "this may be None here", "test it first: `is not None`")
    return env.module.refuse(node, f"a number is needed, and this is {found.type}", "use a Nat or an Int")


def arithmetic(compiler: Compiler, node: ast.BinOp, env: Env) -> Expr:
    """A sum or a difference, or a product with a constant or the rest of a division by one. Refuses other operators."""
    match node.op:
        case ast.Add():
            return _combine(compiler, "+", [node.left, node.right], node, env)
        case ast.Sub():
            return _combine(compiler, "-", [node.left, node.right], node, env)
        case ast.Mult():
            found = _combine(compiler, "*", [node.left, node.right], node, env)
            assert isinstance(found, Arithmetic)
            if not any(isinstance(arg, Lit) for arg in found.args):
                env.module.refuse(node, "a product of two variables", "multiply by a constant only")
            return found
        case ast.Mod():
            found = _combine(compiler, "+", [node.left, node.right], node, env)
            assert isinstance(found, Arithmetic)
            return remainder(found.args, found.type, node, env)
    return env.module.refuse(node, *of_operator(node.op))


def _combine(compiler: Compiler, op: ArithmeticOp, nodes: Sequence[ast.expr], node: ast.AST, env: Env) -> Expr:
    """An operation on numbers of one unit. Bare numbers go with any unit."""
    args = tuple(_number(compiler, part, env) for part in nodes)
    measure: str | None = None
    for arg in args:
        if not comparable(NumberType(measure), arg.type):
            env.module.refuse(node, f"{measure} is combined with {arg.type}", "combine numbers of one type")
        measure = measure or unit(arg.type)
    return Arithmetic(op, args, NumberType(measure))


def literal(compiler: Compiler, node: ast.Call, env: Env) -> Expr:
    """``Epoch(0)``: a literal of that type, a value of it, or a computed number with that unit."""
    kind = compiler.context.types.of_class(resolve(node.func, env.module), env.module, node.func)
    assert isinstance(kind, NatType | IntType)
    if len(node.args) != 1:
        env.module.refuse(node, f"{kind} takes one number", f"write {kind}(0)")
    arg = _number(compiler, node.args[0], env)
    if isinstance(arg, Lit) and isinstance(arg.value, int):
        return typed_literal(arg.value, kind, node, env)
    if arg.type == kind:
        return arg
    if unit(arg.type) not in (None, kind.name):
        env.module.refuse(node, f"{arg.type} is taken as {kind}", "combine numbers of one type")
    return Arithmetic("+", (arg, ZERO), NumberType(kind.name))  # adding 0 changes only the unit


def absolute(compiler: Compiler, node: ast.Call, env: Env) -> Expr:
    """``abs(number)``."""
    if len(node.args) != 1:
        env.module.refuse(node, "abs takes one number", "write abs(x)")
    arg = _number(compiler, node.args[0], env)
    return Arithmetic("abs", (arg,), NumberType(unit(arg.type)))


def _generator(node: ast.Call, env: Env) -> ast.GeneratorExp:
    """The generator that is the only argument of a call."""
    if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
        return node.args[0]
    if len(node.args) == 1 and isinstance(node.args[0], ast.ListComp | ast.SetComp):
        env.module.refuse(node.args[0], "a list or set is built", "drop the brackets: all(... for x in Sort)")
    name = ast.unparse(node.func)
    return env.module.refuse(node, f"{name} needs a generator", f"write {name}(... for x in Sort)")


def _bindings(compiler: Compiler, node: ast.GeneratorExp, env: Env) -> tuple[list[tuple[str, Key, Expr]], Env]:
    """The variables of a comprehension with their domains and filters, and the environment inside."""
    found: list[tuple[str, Key, Expr]] = []
    targets = [part.target.id for part in node.generators if isinstance(part.target, ast.Name)]
    for position, part in enumerate(node.generators):
        if not isinstance(part.target, ast.Name) or part.is_async:
            env.module.refuse(part.target, "one variable is bound at a time", "write `for x in A for y in B`")
        env.check_free(part.target, part.target.id)
        visited = members(compiler, part.iter, env)
        kind = compiler.domain_or_record(part.iter, env) if visited is None else visited.kind
        names = variables(compiler, kind, part.target.id)
        env = env.bind(part.target.id, value_of(kind, names))
        filters: list[Expr] = [] if visited is None else [visited.test(names)]
        # In Python the names that a comprehension binds are local to it. So a name that a later `for` binds has no
        # value in this filter, even if it has one outside.
        unbound = set(targets[position + 1 :]) - set(targets[: position + 1])
        for cond in part.ifs:
            filters.append(compiler.condition(cond, env.without(unbound)))
            env = env.knowing(when_true(filters[-1]))
        where = TRUE if not filters else filters[0] if len(filters) == 1 else And(tuple(filters))
        *outer, (name, domain) = names  # several for a record: all parts are bound before the filter
        found += [(each, key, TRUE) for each, key in outer]
        found.append((name, domain, where))
    return found, env


def quantified(compiler: Compiler, node: ast.Call, env: Env) -> Expr:
    """``all`` or ``any`` over a comprehension. Several variables become nested quantifiers."""
    generator = _generator(node, env)
    bindings, inner = _bindings(compiler, generator, env)
    body = compiler.condition(generator.elt, inner)
    universal = compiler.role(node.func, env) == "all"
    for name, domain, where in reversed(bindings):  # the innermost quantifier is made first
        if where != TRUE:
            body = Implies(where, body) if universal else And((where, body))
        body = Quantified("all" if universal else "any", name, domain, body)
    return body


def count(compiler: Compiler, node: ast.Call, env: Env) -> Expr:
    """``count(cond for x in A for y in B)``: the sum over x of the counts over y."""
    generator = _generator(node, env)
    bindings, inner = _bindings(compiler, generator, env)
    cond = compiler.condition(generator.elt, inner)
    value: Expr = Lit(1, NumberType())
    for position, (name, domain, where) in enumerate(reversed(bindings)):
        both = cond if where == TRUE else And((where, cond))
        if position == 0:
            value = Fold("count", name, domain, both, value, ZERO, NumberType())
        else:
            value = Fold("sum", name, domain, where, value, ZERO, NumberType())
    return value


def total(compiler: Compiler, node: ast.Call, env: Env) -> Expr:
    """``sum(number for x in A if cond)``."""
    generator = _generator(node, env)
    bindings, inner = _bindings(compiler, generator, env)
    value = _number(compiler, generator.elt, inner)
    kind = NumberType(unit(value.type))
    for name, domain, where in reversed(bindings):
        value = Fold("sum", name, domain, where, value, ZERO, kind)
    return value


def extremum(compiler: Compiler, node: ast.Call, env: Env) -> Expr:
    """``min`` or ``max`` of several arguments, or of a comprehension with a default."""
    kind: Literal["min", "max"] = "min" if compiler.role(node.func, env) == "min" else "max"
    if len(node.args) > 1:
        if node.keywords:
            env.module.refuse(node, "a keyword is given", f"write {kind}(a, b)")
        return _combine(compiler, kind, node.args, node, env)
    generator = _generator(node, env)
    if [word.arg for word in node.keywords] != ["default"]:
        env.module.refuse(node, "it has no value when nothing is chosen", f"give one: {kind}(..., default=Epoch(0))")
    if len(generator.generators) > 1:
        env.module.refuse(node, "it runs over two variables", f"nest them: {kind}({kind}(... for y in B) for x in A)")
    bindings, inner = _bindings(compiler, generator, env)
    if len(bindings) > 1:
        env.module.refuse(
            node, "it runs over a record", f"nest one {kind} for each part: {kind}({kind}(...) for x in A)"
        )
    [(name, domain, where)] = bindings
    value, default = _number(compiler, generator.elt, inner), _number(compiler, node.keywords[0].value, env)
    if not comparable(value.type, default.type):
        env.module.refuse(node, f"the default is {default.type}, the values {value.type}", "make both the same type")
    return Fold(kind, name, domain, where, value, default, NumberType(unit(value.type) or unit(default.type)))
