"""The kinds of faults: replacements for the nodes of a syntax tree.

Each function takes a node, and yields the name of a fault and the node that replaces it. The changes are small mistakes
that a person could make, and that a type checker would mostly accept.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import copy

Replacement = tuple[str, ast.AST]
"""The name of a fault, and the node that replaces the original one."""

NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SHIFTED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
"""Pairs of comparisons that differ only if both sides are equal."""
OPPOSITE: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
LARGE = 100
"""Larger numbers are limits of effort, sizes of buffers and codes; nobody writes 19,999 for 20,000 by mistake."""
FUNCTIONS = {"any": "all", "all": "any", "min": "max", "max": "min"}
WORDS = {"and": "or", "or": "and", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-"}
WORDS |= {"-": "+", "min": "max", "max": "min", "/\\": "\\/", "\\/": "/\\", r"\A": r"\E", r"\E": r"\A", "&": "|"}
"""Operators as text: the engine generates programs and formulas."""


def compare(node: ast.Compare) -> Iterator[Replacement]:
    """Replace a comparison by its negation, or by one that differs if both sides are equal."""
    for index, operator in enumerate(node.ops):
        for name, table in (("comparison negated", NEGATED), ("comparison off by one", SHIFTED)):
            if (other := table.get(type(operator))) is not None:
                changed = copy(node)
                changed.ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
                yield name, changed


def boolean(node: ast.BoolOp) -> Iterator[Replacement]:
    """Swap ``and`` and ``or``, and leave out each operand."""
    swapped = copy(node)
    swapped.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "and/or swapped", swapped
    for index in range(len(node.values)):
        rest = [*node.values[:index], *node.values[index + 1 :]]
        changed = copy(node)
        changed.values = rest
        yield "operand dropped", changed if len(rest) > 1 else rest[0]


def unary(node: ast.UnaryOp) -> Iterator[Replacement]:
    """Leave out ``not`` or a sign."""
    if isinstance(node.op, ast.Not | ast.USub):
        yield ("not dropped" if isinstance(node.op, ast.Not) else "sign dropped"), node.operand


def binary(node: ast.BinOp) -> Iterator[Replacement]:
    """Replace the operator, or leave out the right operand. Operations on texts are not changed."""
    if any(isinstance(side, ast.JoinedStr) or _is_text(side) for side in (node.left, node.right)):
        return
    if (other := OPPOSITE.get(type(node.op))) is not None:
        changed = copy(node)
        changed.op = other()
        yield "operator swapped", changed
        yield "operand dropped", node.left


def constant(node: ast.Constant) -> Iterator[Replacement]:
    """Change a number by one, a truth value to the other, or an operator in generated text to another."""
    value = node.value
    if isinstance(value, bool):
        yield "True/False swapped", ast.Constant(not value)
    elif isinstance(value, int) and value <= LARGE:
        yield "constant off by one", ast.Constant(value + 1)
        if value > 0:
            yield "constant off by one", ast.Constant(value - 1)
    elif isinstance(value, str) and (other := WORDS.get(value.strip())) is not None:
        yield "written operator swapped", ast.Constant(value.replace(value.strip(), other))


def name(node: ast.Name) -> Iterator[Replacement]:
    """Swap ``any`` and ``all``, ``min`` and ``max``."""
    if isinstance(node.ctx, ast.Load) and node.id in FUNCTIONS:
        yield "function swapped", ast.Name(FUNCTIONS[node.id], ast.Load())


def elements(node: ast.List | ast.Set | ast.Tuple) -> Iterator[Replacement]:
    """Leave out each element, if there are several."""
    if len(node.elts) > 1 and not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        for index in range(len(node.elts)):
            changed = copy(node)
            changed.elts = [*node.elts[:index], *node.elts[index + 1 :]]
            yield "element dropped", changed


def dictionary(node: ast.Dict) -> Iterator[Replacement]:
    """Leave out each entry, if there are several."""
    if len(node.keys) > 1:
        for index in range(len(node.keys)):
            changed = copy(node)
            changed.keys = [*node.keys[:index], *node.keys[index + 1 :]]
            changed.values = [*node.values[:index], *node.values[index + 1 :]]
            yield "entry dropped", changed


def comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Iterator[Replacement]:
    """Leave out each condition of the comprehension."""
    for index, generator in enumerate(node.generators):
        for place in range(len(generator.ifs)):
            fewer, changed = copy(generator), copy(node)
            fewer.ifs = [*generator.ifs[:place], *generator.ifs[place + 1 :]]
            changed.generators = [*node.generators[:index], fewer, *node.generators[index + 1 :]]
            yield "condition dropped", changed


def condition(node: ast.expr) -> Iterator[Replacement]:
    """Negate the condition of an ``if``, or make it false. A comparison and a ``not`` have the negation already."""
    if not isinstance(node, ast.Compare | ast.UnaryOp):
        yield "condition negated", ast.UnaryOp(ast.Not(), node)
    yield "condition never true", ast.Constant(False)


def statement(node: ast.stmt) -> Iterator[Replacement]:
    """Leave out a statement, return None instead of a result, or let an update forget the former value."""
    if isinstance(node, ast.Return) and node.value is not None and not _is(node.value, None):
        yield "result dropped", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Continue):
        yield "continue becomes break", ast.Break()
        yield "statement dropped", ast.Pass()
    elif _is_effect(node):
        yield "statement dropped", ast.Pass()
    elif isinstance(node, ast.AugAssign):
        yield "statement dropped", ast.Pass()
        yield "update becomes assignment", ast.Assign([node.target], node.value)
        if (other := OPPOSITE.get(type(node.op))) is not None:
            changed = copy(node)
            changed.op = other()
            yield "operator swapped", changed


def case(node: ast.match_case) -> Iterator[Replacement]:
    """Let a case never match."""
    changed = copy(node)
    changed.guard = ast.Constant(False)
    yield "case never matches", changed


def _is_effect(node: ast.stmt) -> bool:
    """Whether a statement has an effect besides giving a name to a value."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Yield | ast.YieldFrom)
    return isinstance(node, ast.Assign) and not any(isinstance(target, ast.Name | ast.Tuple) for target in node.targets)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


OPERATORS: list[tuple[type[ast.AST] | tuple[type[ast.AST], ...], Callable[..., Iterator[Replacement]]]] = [
    (ast.Compare, compare),
    (ast.BoolOp, boolean),
    (ast.UnaryOp, unary),
    (ast.BinOp, binary),
    (ast.Constant, constant),
    (ast.Name, name),
    ((ast.List, ast.Set, ast.Tuple), elements),
    (ast.Dict, dictionary),
    ((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp), comprehension),
    (ast.stmt, statement),
    (ast.match_case, case),
]


def replacements(node: ast.AST, *, is_condition: bool) -> Iterator[Replacement]:
    """All faults of one node. ``is_condition``: the node is the condition of an ``if``."""
    for types, operator in OPERATORS:
        if isinstance(node, types):
            yield from operator(node)
    if is_condition and isinstance(node, ast.expr):
        yield from condition(node)
