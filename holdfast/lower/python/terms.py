"""Terms: pieces of generated Python expressions, each with the range of its values.

Every term gives an int (a condition may give a bool, which Python counts as an int). A value is represented by its
code, except that an Int is represented by the number itself. An Optional is represented by its cell's code: 0 for None,
else the code of the value plus 1. A computed number may lie below every code, as in ``self.last[s] = e - 1``. An
Optional of such a negative number is the number itself, not plus 1, so that it differs from None: see ``wrapped``.

Numbers in Python have no limit, numbers in machine code have 64 bits. So a term also has its ``reach``: the greatest
distance from 0 of any number during its computation. The parts of a sum may lie beyond the range of the sum itself.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

import attrs


@attrs.frozen
class Term:
    """Source text of an expression with a value from ``lo`` to ``hi``. It needs no brackets inside another expression.

    ``reach`` is the greatest distance from 0 of a number in the computation: results, partial results and constants.
    """

    text: str
    lo: int
    hi: int
    reach: int = attrs.field(eq=False, default=attrs.Factory(lambda self: max(-self.lo, self.hi), takes_self=True))

    @property
    def constant(self) -> bool:
        """Whether only one value is possible. Use ``lo`` for it: the text may be an expression."""
        return self.lo == self.hi


@lru_cache(1 << 12)
def literal(value: int) -> Term:
    """A number known now."""
    # The same few numbers occur in nearly every expression. True and 1 have one term, in which a bool is an int.
    return Term(str(int(value)) if value >= 0 else f"({value})", int(value), int(value))


def term(text: str, lo: int, hi: int, *parts: Term) -> Term:
    """A term that is computed from ``parts``. It is a literal if only one value is possible."""
    return literal(lo) if lo == hi else Term(text, lo, hi, max(-lo, hi, *(part.reach for part in parts)))


def truth(text: str) -> Term:
    """A condition."""
    return Term(text, 0, 1)


ZERO = FALSE = literal(0)
ONE = TRUE = literal(1)


def add(one: Term, two: Term) -> Term:
    """The sum."""
    if ZERO in (one, two):
        return one if two == ZERO else two
    text = f"{one.text} - {-two.lo}" if two.constant and two.lo < 0 else f"{one.text} + {two.text}"
    return term(f"({text})", one.lo + two.lo, one.hi + two.hi, one, two)


def total(parts: list[Term]) -> Term:
    """The sum of many terms. Its text does not nest brackets: Python's parser has a limit on their depth."""
    parts = [part for part in parts if part != ZERO]
    if len(parts) <= 1:
        return parts[0] if parts else ZERO
    text = f"({' + '.join(part.text for part in parts)})"
    # Each partial sum counts for the reach, in the order in which the text adds.
    lows, highs = (list(accumulate(ends)) for ends in ([part.lo for part in parts], [part.hi for part in parts]))
    sums = [Term("", lo, hi) for lo, hi in zip(lows, highs, strict=True)]
    return term(text, lows[-1], highs[-1], *sums, *parts)


def subtract(one: Term, two: Term) -> Term:
    """The difference."""
    if two.constant:
        return add(one, literal(-two.lo))
    return term(f"({one.text} - {two.text})", one.lo - two.hi, one.hi - two.lo, one, two)


def multiply(one: Term, two: Term) -> Term:
    """The product."""
    if ZERO in (one, two):
        return ZERO
    if ONE in (one, two):
        return one if two == ONE else two
    # A product over two ranges is least and greatest at their ends.
    ends = [a * b for a in (one.lo, one.hi) for b in (two.lo, two.hi)]
    return term(f"({one.text} * {two.text})", min(ends), max(ends), one, two)


def remainder(one: Term, by: Term) -> Term:
    """The rest of a division by a constant above 0. It is not negative."""
    divisor = by.lo
    if 0 <= one.lo <= one.hi < divisor:
        return one
    return term(f"({one.text} % {divisor})", 0, divisor - 1, one, by)


def least(terms: list[Term]) -> Term:
    """The minimum."""
    text = f"min({', '.join(part.text for part in terms)})"
    return terms[0] if len(terms) == 1 else term(text, min(t.lo for t in terms), min(t.hi for t in terms), *terms)


def greatest(terms: list[Term]) -> Term:
    """The maximum."""
    text = f"max({', '.join(part.text for part in terms)})"
    return terms[0] if len(terms) == 1 else term(text, max(t.lo for t in terms), max(t.hi for t in terms), *terms)


def nearest(value: Term, last: int) -> Term:
    """The number from 0 to ``last`` that is nearest to the value."""
    if value.lo < 0:
        value = greatest([value, ZERO])
    return least([value, literal(last)]) if value.hi > last else value


def magnitude(one: Term) -> Term:
    """The absolute value."""
    if one.lo >= 0:
        return one
    return term(f"abs({one.text})", max(0, -one.hi), max(-one.lo, one.hi), one)


def wrapped(value: Term, scratch: str) -> Term:
    """The Optional of a code. If the code may be negative, the text assigns it to the free name ``scratch``."""
    if value.lo >= 0:
        return add(value, ONE)
    # A negative number stays itself; any other is raised by 1.
    lo, hi = (end + (end >= 0) for end in (value.lo, value.hi))
    return term(f"(({scratch} := {value.text}) + ({scratch} >= 0))", lo, hi, value)


def unwrapped(optional: Term, scratch: str) -> Term:
    """The code of an Optional's value, the opposite of ``wrapped``. The result for None has no meaning."""
    if optional.lo >= 0:
        return term(f"({optional.text} - 1)", max(0, optional.lo - 1), max(0, optional.hi - 1), optional)
    lo, hi = (end - (end > 0) for end in (optional.lo, optional.hi))
    return term(f"(({scratch} := {optional.text}) - ({scratch} > 0))", lo, hi, optional)
