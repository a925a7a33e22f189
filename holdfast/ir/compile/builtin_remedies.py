"""What to write instead of an operator or a function of Python that is outside the language."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from holdfast.ir.compile.context import StateField
from holdfast.ir.types import BOOL, OptionalType

Advice = tuple[str, str]
"""A problem and its remedy."""

OUTSIDE = "this call is outside the language"

FUNCTIONS = "call a helper of the model, all, any, count, sum, min, max, abs, or a number type"


def of_operator(op: ast.operator, unit: str | None) -> Advice:
    """The advice for an operator. ``unit``: the number type of the left side, or None for a bare number."""
    kind = unit or "Index"
    match op:
        case ast.Mod():
            turn = f"`{kind}(0) if x == {kind}(2) else x + 1` counts x round from 0 to 2"
            return "a remainder is outside the language", f"{turn}; `any(x == 2 * k for k in {kind})` asks if x is even"
        case ast.FloorDiv() | ast.Div():
            return "a division is outside the language", "multiply the other side by a constant: `2 * x <= y`"
    return "this operator is outside the language", "use +, -, or * by a constant"


def of_call(node: ast.Call, fields: Mapping[str, StateField]) -> Advice:
    """The advice for a call of a function of Python."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[arg]):
            return "len is outside the language", f"write {_count(arg, fields)}"
        case ast.Call(func=ast.Name(id="sorted" | "list" | "set" | "dict" | "tuple" as name)):
            return (
                f"{name} is outside the language",
                "ask about all elements: `all(... for x in Sort if ...)`",
            )
    return OUTSIDE, FUNCTIONS


def _count(arg: ast.expr, fields: Mapping[str, StateField]) -> str:
    """The number of elements of a type, or of cells of a field that are True or not None."""
    match arg:
        case ast.Name(id=name):
            return f"`count(True for x in {name})`"
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
