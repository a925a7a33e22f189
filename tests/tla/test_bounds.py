"""Where a bound may cut: the known range of a computed number, and the tests in the generated text."""

from __future__ import annotations

import pytest

from holdfast.ir.expr import TRUE, Arithmetic, Compare, Expr, Fold, IfElse, Implies, Lit, Name, Not, Or
from holdfast.ir.types import BOOL, INT, IntType, SortType
from holdfast.lower.tla.bounds import either, is_loose, least_of, within
from holdfast.lower.tla.conjuncts import Conjuncts
from holdfast.lower.tla.expression_text import Globals, TlaExpressions
from holdfast.lower.tla.names import TlaNames

GAP, NODE = IntType("Gap", -2, 2), SortType("Node")
G, T = Name("g", GAP), Name("t", BOOL)
ONE, FIVE = Lit(1, INT), Lit(5, INT)
MORE, LESS = Arithmetic("+", (G, ONE), INT), Arithmetic("-", (G, ONE), INT)
SUM = Fold("sum", "n", NODE, TRUE, G, Lit(0, INT), INT)


@pytest.mark.parametrize(
    ("expr", "least"),
    [
        (G, -2),
        (MORE, -1),
        (LESS, None),
        (SUM, None),
        (Arithmetic("max", (G, ONE), INT), 1),
        (Arithmetic("max", (LESS, ONE), INT), 1),
        (Arithmetic("min", (G, ONE), INT), -2),
        (Arithmetic("min", (LESS, ONE), INT), None),
        (Arithmetic("+", (LESS, ONE), INT), None),
        (Arithmetic("abs", (LESS,), INT), 0),
        (IfElse(T, LESS, ONE, INT), None),
        (IfElse(T, ONE, LESS, INT), None),
        (IfElse(T, ONE, Lit(-5, INT), INT), -5),
        (Fold("min", "n", NODE, TRUE, ONE, Lit(-5, INT), INT), -5),
        (Fold("count", "n", NODE, TRUE, ONE, ONE, INT), 0),
    ],
)
def test_a_number_is_never_below_its_least(expr: Expr, least: int | None) -> None:
    """The known least value is never too large, or a needed bound would be left out. None if nothing is known."""
    assert least_of(expr, {}) == least


@pytest.mark.parametrize(
    ("expr", "below", "above"),
    [
        (MORE, False, True),
        (LESS, True, True),
        (Arithmetic("max", (G, MORE), INT), False, True),
        (Arithmetic("min", (G, LESS), INT), True, False),
        (Fold("max", "n", NODE, TRUE, G, FIVE, INT), False, True),
        (Fold("max", "n", NODE, TRUE, MORE, ONE, INT), False, True),
        (Fold("max", "n", NODE, TRUE, G, ONE, INT), False, False),
    ],
)
def test_a_bound_is_asked_where_a_number_may_be_beyond_it(expr: Expr, below: bool, above: bool) -> None:
    """For a maximum or minimum all its numbers count, and so does its default."""
    found = within(expr, GAP, {})
    parts = found.args if hasattr(found, "args") else (found,)
    assert {part.op for part in parts if isinstance(part, Compare)} == {
        op for op, asked in ((">=", below), ("<=", above)) if asked
    }


def test_one_side_is_enough_to_be_beyond() -> None:
    """A choice may exceed a bound if either side may, and the bound's condition is that of the taken side."""
    assert is_loose(IfElse(T, G, MORE, INT), {})
    assert is_loose(IfElse(T, MORE, G, INT), {})
    cond = Compare("<=", MORE, Lit(2, INT))
    assert either(T, cond, TRUE) == Implies(T, cond)
    assert either(T, TRUE, cond) == Implies(Not(T), cond)


def test_a_choice_on_either_side_is_held_together() -> None:
    """A choice with a disjunction on either side is held together: TLC would take the disjunction for two steps."""
    conjuncts = Conjuncts(TlaExpressions(Globals(TlaNames())), ())
    assert conjuncts.chooses(IfElse(T, T, Or((T, T)), BOOL))
    assert conjuncts.chooses(IfElse(T, Or((T, T)), T, BOOL))
    assert not conjuncts.chooses(IfElse(Or((T, T)), T, T, BOOL))
