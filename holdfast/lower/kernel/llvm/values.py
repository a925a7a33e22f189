"""Values while a function is translated: registers or literals of LLVM, with the range of a number if it is known.

Ranges serve two ends: literals are computed here and not by LLVM, and a shift whose distance is known to be less than
64 needs no test.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from holdfast.lower.kernel.llvm.kinds import NUMBER, TRUTH, UNSIGNED, KernelTextError, Kind, Scalar

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


@attrs.frozen
class TypedValue:
    """A value: its kind, and the operands of LLVM that hold it.

    ``lo`` and ``hi`` are the ends of the range of a number or a truth, None if they are not known.
    """

    kind: Kind
    operands: tuple[str, ...]
    lo: int | None = None
    hi: int | None = None

    @property
    def operand(self) -> str:
        """The one operand of a scalar."""
        [found] = self.operands
        return found

    @property
    def known(self) -> int | None:
        """The value, if only one is possible."""
        return self.lo if self.lo == self.hi else None


def literal(value: int, kind: Scalar = NUMBER) -> TypedValue:
    """A number that the text states. Raises KernelTextError if a register has no room for it."""
    if kind == TRUTH:
        return TypedValue(kind, ("true" if value else "false",), int(bool(value)), int(bool(value)))
    low, high = (0, (1 << 64) - 1) if kind == UNSIGNED else (LEAST, GREATEST)
    if not low <= value <= high:
        raise KernelTextError(f"{value} does not fit 64 bits")
    # LLVM reads a literal of 64 bits with or without a sign.
    return TypedValue(kind, (str(value),), value, value)


TRUE, FALSE = literal(1, TRUTH), literal(0, TRUTH)


def number(operand: str, lo: int | None = None, hi: int | None = None) -> TypedValue:
    """A number in a register. A range that 64 bits cannot hold is no range: the computation may have wrapped."""
    if lo is None or hi is None or lo < LEAST or hi > GREATEST:
        return TypedValue(NUMBER, (operand,))
    return TypedValue(NUMBER, (operand,), lo, hi)


def spanned(values: Sequence[TypedValue]) -> tuple[int | None, int | None]:
    """The least range that has the ranges of all values, if they are known."""
    lows, highs = [value.lo for value in values], [value.hi for value in values]
    if None in lows or None in highs:
        return None, None
    return min(lo for lo in lows if lo is not None), max(hi for hi in highs if hi is not None)


def truth(operand: str) -> TypedValue:
    """A truth in a register."""
    return TypedValue(TRUTH, (operand,), 0, 1)
