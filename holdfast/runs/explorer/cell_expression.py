"""Expressions over a run without a model: comparisons of its cells, which are called by their shown names.

    epoch[s1] > 1 and not opened[s1]
    owner[s1] == n1

Allowed are ``and``, ``or``, ``not``, comparisons of cells and constants, and ``is None``. A bare name that is no cell
is the value of that name. ``<``, ``<=``, ``>`` and ``>=`` compare whole numbers only; for other values they are false.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from holdfast.ir.errors import UsageError
from holdfast.ir.similar_names import did_you_mean
from holdfast.ir.types import BoolType
from holdfast.lower.layout import Value
from holdfast.runs.explorer.expression import Expression, column, parse_expression
from holdfast.trace.trace import Trace

Values = Sequence[Value]
"""The values of one state, in the order of the trace's cells."""

ORDERS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
EQUALITIES: dict[type[ast.cmpop], bool] = {ast.Eq: True, ast.Is: True, ast.NotEq: False, ast.IsNot: False}

DEEPEST = 100


class CellExpressions:
    """Compiles expressions over the cells of one trace."""

    def __init__(self, trace: Trace) -> None:
        self._cells = {_normal(cell.name): index for index, cell in enumerate(trace.cells)}
        self._truths = {_normal(cell.name) for cell in trace.cells if isinstance(cell.field.type, BoolType)}
        keys = {key for cell in trace.cells for key in cell.keys}
        values = {value for step in trace.steps for value in step.values}
        self._words = {word for word in keys | values if isinstance(word, str)}

    def compile(self, text: str) -> Expression:
        """The expression that the text stands for; raises UsageError with the column of what is wrong."""
        tree = parse_expression(text)
        return Expression(text.strip(), self._is_condition(tree), self._value(tree, 0))

    def _is_condition(self, tree: ast.expr) -> bool:
        match tree:
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool()):
                return True
            case _:
                return ast.unparse(tree) in self._truths

    def _value(self, node: ast.expr, depth: int) -> Callable[[Values], Value]:
        if depth > DEEPEST:
            raise UsageError("the expression is nested too deeply; ask for its parts one by one")
        match node:
            case ast.Constant(value=bool() | int() | str() | None as value):
                return lambda _: value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                return lambda _: -number
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                arg = self._value(operand, depth + 1)
                return lambda values: not arg(values)
            case ast.BoolOp(op=op, values=parts):
                args = [self._value(part, depth + 1) for part in parts]
                joined = all if isinstance(op, ast.And) else any
                return lambda values: joined(arg(values) for arg in args)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._comparison([left, *others], ops, depth)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._cell(node)
        raise UsageError(
            f"{column(node)}: {ast.unparse(node)}: without a model an expression compares cells; use and, or, not, "
            "comparisons, or name the model with --model"
        )

    def _comparison(self, nodes: Sequence[ast.expr], ops: Sequence[ast.cmpop], depth: int) -> Callable[[Values], Value]:
        for op, node in zip(ops, nodes[1:], strict=True):
            if type(op) not in ORDERS and type(op) not in EQUALITIES:
                raise UsageError(f"{column(node)}: `in` needs a model; compare with ==, and join with or")
        args = [self._value(node, depth + 1) for node in nodes]

        def compare(values: Values) -> bool:
            found = [arg(values) for arg in args]
            return all(_compared(op, *pair) for op, pair in zip(ops, pairwise(found), strict=True))

        return compare

    def _cell(self, node: ast.expr) -> Callable[[Values], Value]:
        name = ast.unparse(node)
        index = self._cells.get(name)
        if index is not None:
            # ``index`` is bound as a default: a plain closure would look it up at each call.
            return lambda values, index=index: values[index]  # type: ignore[misc]
        if isinstance(node, ast.Name) and name in self._words:
            return lambda _: name
        hint = did_you_mean(name, self._cells, f"such as {', '.join(list(self._cells)[:5]) or 'none'}", cutoff=0.5)
        raise UsageError(f"{column(node)}: the run has no cell or value {name!r}; {hint}")


def _compared(op: ast.cmpop, left: Value, right: Value) -> bool:
    if type(op) in EQUALITIES:
        return (left == right and isinstance(left, bool) == isinstance(right, bool)) == EQUALITIES[type(op)]
    return type(left) is int and type(right) is int and ORDERS[type(op)](left, right)


def _normal(name: str) -> str:
    """A cell's name in the spelling of ``ast.unparse``; unchanged if it is no Python expression."""
    try:
        return ast.unparse(ast.parse(name, mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return name
