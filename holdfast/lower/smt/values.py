"""Symbolic values: Z3 terms, Python integers, and Optionals as pairs; with functions that join and compare them.

The functions decide at once whatever constants decide, so formulas contain no branch that a constant excludes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs
import z3


@attrs.frozen(eq=False)
class Maybe:
    """An Optional: ``some`` is the formula that there is a value, and ``value`` is the value.

    ``value`` is None if the Optional is None in any case.
    """

    some: z3.BoolRef
    value: Plain | None


Plain: TypeAlias = z3.ExprRef | int
"""A term, or a Python integer: the other side of its comparison or assignment decides about its sort."""

Value: TypeAlias = Plain | Maybe


def truth(value: bool, ctx: z3.Context) -> z3.BoolRef:
    """A truth value as a formula."""
    return z3.BoolVal(value, ctx)


def is_true(formula: z3.ExprRef) -> bool:
    """Whether the formula is the constant True."""
    return bool(z3.Z3_get_bool_value(formula.ctx_ref(), formula.as_ast()) == z3.Z3_L_TRUE)


def is_false(formula: z3.ExprRef) -> bool:
    """Whether the formula is the constant False."""
    return bool(z3.Z3_get_bool_value(formula.ctx_ref(), formula.as_ast()) == z3.Z3_L_FALSE)


def conjunction(parts: Sequence[z3.BoolRef], ctx: z3.Context) -> z3.BoolRef:
    """The conjunction of the parts; True for no parts."""
    kept: list[z3.BoolRef] = []
    for part in parts:
        if is_false(part):
            return part
        if not is_true(part):
            kept.append(part)
    return truth(True, ctx) if not kept else kept[0] if len(kept) == 1 else _joined(z3.Z3_mk_and, kept)


def disjunction(parts: Sequence[z3.BoolRef], ctx: z3.Context) -> z3.BoolRef:
    """The disjunction of the parts; False for no parts."""
    kept: list[z3.BoolRef] = []
    for part in parts:
        if is_true(part):
            return part
        if not is_false(part):
            kept.append(part)
    return truth(False, ctx) if not kept else kept[0] if len(kept) == 1 else _joined(z3.Z3_mk_or, kept)


def _joined(make: Callable[..., Any], parts: Sequence[z3.BoolRef]) -> z3.BoolRef:
    """The formula of a connective. ``z3.And`` looks at all parts four times, for callers with other kinds of parts."""
    terms = (z3.Ast * len(parts))(*(part.as_ast() for part in parts))
    return z3.BoolRef(make(parts[0].ctx_ref(), len(parts), terms), parts[0].ctx)


def negation(formula: z3.BoolRef) -> z3.BoolRef:
    """The negation; the negation of a negation is the formula itself."""
    known = z3.Z3_get_bool_value(formula.ctx_ref(), formula.as_ast())
    if known != z3.Z3_L_UNDEF:
        return truth(known == z3.Z3_L_FALSE, formula.ctx)
    if z3.is_not(formula):
        return formula.arg(0)
    return z3.BoolRef(z3.Z3_mk_not(formula.ctx_ref(), formula.as_ast()), formula.ctx)


def implication(left: z3.BoolRef, right: z3.BoolRef) -> z3.BoolRef:
    """``left`` implies ``right``."""
    if is_false(left) or is_true(right):
        return truth(True, left.ctx)
    if is_true(left):
        return right
    return negation(left) if is_false(right) else z3.Implies(left, right)


def same(left: z3.ExprRef, right: z3.ExprRef) -> z3.BoolRef:
    """Equality of two terms of one sort."""
    if left.eq(right):
        return truth(True, left.ctx)
    if is_value(left) and is_value(right):
        return truth(False, left.ctx)
    # As ``left == right``, which first makes both sides of one sort.
    return z3.BoolRef(z3.Z3_mk_eq(left.ctx_ref(), left.as_ast(), right.as_ast()), left.ctx)


def of_sort(term: z3.ExprRef, sort: z3.SortRef) -> bool:
    """Whether the term has the sort."""
    # As ``term.sort() == sort``, but it makes no object for the sort.
    here = term.ctx_ref()
    return bool(z3.Z3_is_eq_sort(here, z3.Z3_get_sort(here, term.as_ast()), sort.ast))


def is_value(term: z3.ExprRef) -> bool:
    """Whether the term is a literal value of its sort: two different such terms are never equal."""
    if z3.is_bv_value(term) or z3.is_int_value(term) or is_true(term) or is_false(term):
        return True
    return bool(z3.is_app(term) and term.num_args() == 0 and term.decl().kind() == z3.Z3_OP_DT_CONSTRUCTOR)


def choice(test: z3.BoolRef, then: z3.ExprRef, orelse: z3.ExprRef) -> z3.ExprRef:
    """One of two terms of one sort."""
    if is_true(test) or then.eq(orelse):
        return then
    if is_false(test):
        return orelse
    if z3.is_bool(then):
        # With a constant branch, a connective is simpler than an if-then-else.
        if is_true(then):
            return disjunction([test, orelse], test.ctx)
        if is_false(then):
            return conjunction([negation(test), orelse], test.ctx)
        if is_true(orelse):
            return implication(test, then)
        if is_false(orelse):
            return conjunction([test, then], test.ctx)
    if not isinstance(then, z3.BitVecRef):
        return z3.If(test, then, orelse)
    # As ``z3.If``, which first looks for the context and the sorts of all three.
    return z3.BitVecRef(z3.Z3_mk_ite(test.ctx_ref(), test.as_ast(), then.as_ast(), orelse.as_ast()), test.ctx)
