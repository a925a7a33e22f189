"""Check which actions a line with a span may stand for.

A span [base, end) stands for steps that each count one cell on, from base to end. The log tells these two numbers, but
none of the numbers between them. So all steps must do the same apart from the count: the action reads nothing that it
writes, and it reads the counted cell only to count it on.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.check.conform.judge.order import Uses, is_next
from holdfast.ir.errors import Place, UsageError
from holdfast.ir.expr import Expr, Read, children
from holdfast.ir.stmt import Assign, Fill, direct_expressions, statements
from holdfast.ir.system import Action, System
from holdfast.lower.python.prune import prune


def counted_by_spans(system: System, uses: Uses, dropped: frozenset[str], action: Action, at: Place) -> str:
    """The Nat of a span of the action; raises UsageError, at the line of the log, if the action can have no span."""
    counted = uses.counted.get(action.name, ())
    if len(counted) != 1:
        raise UsageError(
            f"{at.file}:{at.line}: a span on {action.name}, which counts on {len(counted)} fields of {system.name}; "
            "log each step in a line of its own, since the steps of a span each count one field on"
        )
    body = prune(action.body, dropped)
    written = {stmt.var for stmt in statements(body) if isinstance(stmt, Assign | Fill)}
    for stmt in statements(body):
        for expr in direct_expressions(stmt):
            for read in _reads(expr, counted[0]):
                if read.var in written:
                    raise UsageError(
                        f"{at.file}:{at.line}: a span on {action.name}, which writes {read.var} and reads it "
                        f"({getattr(stmt, 'at', action.at)}); log each step in a line of its own"
                    )
    return str(system.var(counted[0]).value)


def _reads(expr: Expr, counted: str) -> Iterator[Read]:
    """The cells that an expression reads, except the counted field where it is counted on."""
    parts = children(expr)
    if is_next(expr) and isinstance(parts[0], Read) and parts[0].var == counted:
        parts = parts[0].keys
    elif isinstance(expr, Read):
        yield expr
    for part in parts:
        yield from _reads(part, counted)
