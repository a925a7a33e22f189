"""The value of one expression in a state: for questions that a user types in, beside the model's properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.ir.errors import UsageError
from holdfast.ir.expr import Expr
from holdfast.ir.types import BoolType, EnumType, OptionalType, SortType
from holdfast.lang import count
from holdfast.lower.layout import Layout, Value
from holdfast.lower.python.expression_text import PythonExpressions

LANGUAGE: Mapping[str, object] = {"count": count}
"""The functions that an expression may call besides Python's own, even if the model's file does not import them."""


def value_function(layout: Layout, what: str, body: Expr) -> Callable[[bytes], Value]:
    """A function from a state to the decoded value of ``body``, which has no free names.

    ``what`` names the expression in messages. Raises UsageError if the expression reads a cell that the scope lacks, or
    if it is too large or nests too deeply.
    """
    text = PythonExpressions(layout, what).expr(body).text
    names: dict[str, Any] = {}
    try:
        exec(compile(f"def value(s):\n    return {text}\n", f"<{what}>", "exec"), names)  # noqa: S102 - see below
    except (SyntaxError, RecursionError, MemoryError) as error:
        # The text is written here, from a checked expression: only Python's own limits on nesting can be passed.
        raise UsageError(
            f"{what} nests too deeply in scope {layout.scope.name}; split it, or use a smaller scope"
        ) from error
    number: Callable[[bytes], int] = names["value"]
    decode = _decoder(layout, body)
    return lambda state: decode(number(state))


def _decoder(layout: Layout, body: Expr) -> Callable[[int], Value]:
    """A function from the number that generated code computes to the value it represents."""
    kind = body.type
    if isinstance(kind, BoolType):
        return bool
    if isinstance(kind, EnumType | SortType | OptionalType):
        return lambda code: layout.decode_value(kind, code)
    # A Nat or an Int is computed as the number itself.
    return int
