"""What to write instead of a construct, an operator or a function of Python that is outside the language."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from holdfast.ir.compile.context import StateField
from holdfast.ir.types import BOOL, OptionalType

Advice = tuple[str, str]
"""A problem and its remedy."""

OUTSIDE = "this call is outside the language"

FUNCTIONS = "call a helper of the model, all, any, count, sum, min, max, abs, len, or a number type"


def of_operator(op: ast.operator) -> Advice:
    """The advice for an operator."""
    if isinstance(op, ast.FloorDiv | ast.Div):
        return "a division is outside the language", "multiply the other side by a constant: `2 * x <= y`"
    return "this operator is outside the language", "use +, -, or * and % by a constant"


def of_call(node: ast.Call) -> Advice:
    """The advice for a call of a function of Python."""
    match node:
        case ast.Call(func=ast.Name(id="sorted" | "list" | "set" | "dict" | "tuple" as name)):
            return (
                f"{name} is outside the language",
                "ask about all elements: `all(... for x in Sort if ...)`",
            )
    return OUTSIDE, FUNCTIONS


def of_length(arg: ast.expr | None, fields: Mapping[str, StateField]) -> Advice:
    """The advice for a length of something else than a type: a count of cells of a field that are True or not None."""
    return "len takes a type", f"write len(Node), or {_count(arg, fields)}"


def _count(arg: ast.expr | None, fields: Mapping[str, StateField]) -> str:
    match arg:
        case ast.Attribute(value=ast.Name(), attr=name) if name in fields and fields[name].keys:
            field = fields[name]
            names = [f"x{number}" for number in range(1, len(field.keys) + 1)] if len(field.keys) > 1 else ["x"]
            cell = f"{ast.unparse(arg)}[{', '.join(names)}]"
            loops = " ".join(f"for {each} in {key}" for each, key in zip(names, field.keys, strict=True))
            if field.value == BOOL:
                return f"`count({cell} {loops})`"
            if isinstance(field.value, OptionalType):
                return f"`count({cell} is not None {loops})`"
    return "`count(... for x in Sort)`"


def of_construct(node: ast.expr) -> Advice:
    """The advice for a construct that the language lacks."""
    match node:
        case ast.Lambda():
            return "a lambda is outside the language", "write a helper method"
        case ast.List() | ast.Set() | ast.Dict() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return (
                "collections are outside the language",
                "declare a field: a Seq for a list, a Rel for a set, a Map for a dictionary",
            )
        case ast.Tuple():
            return "a tuple is not a value", "use several fields, or a Map with tuple keys"
        case ast.GeneratorExp():
            return "a generator stands alone", "pass it to all, any, count, sum, min or max"
        case ast.JoinedStr() | ast.FormattedValue():
            return "text is outside the language", "use an Enum"
        case ast.NamedExpr():
            return "an assignment inside an expression", "assign a local on a line of its own"
        case ast.Await() | ast.Yield() | ast.YieldFrom():
            return "a model does not wait", "write two actions"
        case ast.Starred():
            return "an unpacking", "name the values"
    return "this construct is outside the language", "use comparisons, and, or, not, if-else, all, any, + and -"
