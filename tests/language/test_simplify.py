"""Constant folding: what flags and literals decide is folded, and everything else stays as it is written."""

from __future__ import annotations

import pytest

from holdfast.ir.compile.simplify import simplify
from holdfast.ir.expr import (
    FALSE,
    TRUE,
    And,
    Expr,
    IfElse,
    Implies,
    IsNone,
    Lit,
    Name,
    Not,
    Or,
    Quantified,
    Ruled,
    Unwrap,
    Wrap,
)
from holdfast.ir.types import BOOL, OptionalType, SortType

NODE = SortType("Node")
A, B, C = (Name(name, BOOL) for name in "abc")
N, MAYBE = Name("n", NODE), Name("m", OptionalType(NODE))
NONE = Lit(None, OptionalType(NODE))


@pytest.mark.parametrize(
    ("expr", "folded"),
    [
        (Not(TRUE), FALSE),
        (Not(FALSE), TRUE),
        (And((A, TRUE, B)), And((A, B))),
        (And((TRUE, A)), A),
        (And((A, FALSE, B)), FALSE),
        (And((TRUE, TRUE)), TRUE),
        (And((A, And((B, C)))), And((A, B, C))),
        (And((A, Or((B, C)))), And((A, Or((B, C))))),
        (Or((A, FALSE, B)), Or((A, B))),
        (Or((FALSE, A)), A),
        (Or((A, TRUE, B)), TRUE),
        (Or((FALSE, FALSE)), FALSE),
        (Or((A, Or((B, C)))), Or((A, B, C))),
        (Implies(FALSE, A), TRUE),
        (Implies(A, TRUE), TRUE),
        (Implies(TRUE, A), A),
        (Implies(A, FALSE), Implies(A, FALSE)),
        (IfElse(TRUE, A, B, BOOL), A),
        (IfElse(FALSE, A, B, BOOL), B),
        (IfElse(C, A, B, BOOL), IfElse(C, A, B, BOOL)),
        (IsNone(NONE), TRUE),
        (IsNone(Wrap(N, OptionalType(NODE))), FALSE),
        (IsNone(MAYBE), IsNone(MAYBE)),
        (Unwrap(Wrap(N, OptionalType(NODE)), NODE), N),
        (Unwrap(MAYBE, NODE), Unwrap(MAYBE, NODE)),
        (Not(Not(And((A, FALSE)))), FALSE),
        (Ruled("ST-14", And((TRUE, TRUE))), Ruled("ST-14", TRUE)),
        (Not(Ruled("ST-14", TRUE)), Not(Ruled("ST-14", TRUE))),
    ],
)
def test_what_is_decided_is_folded(expr: Expr, folded: Expr) -> None:
    """A decided part is dropped, and a decided whole is its value. A rule stays: it may be removed later."""
    assert simplify(expr) == folded


@pytest.mark.parametrize("kind", ["all", "any"])
def test_a_constant_body_is_the_value_of_a_quantifier(kind: str) -> None:
    """No domain is empty, so a quantifier over a constant is that constant."""
    for value in (TRUE, FALSE):
        assert simplify(Quantified(kind, "x", NODE, Not(Not(value)))) == value
    kept = Quantified(kind, "x", NODE, And((A, B)))
    assert simplify(kept) == kept
