"""Arithmetic and comparisons in instructions of LLVM, with Python's meaning for numbers and NumPy's for unsigned words.

LLVM leaves some results undefined: shifts by 64 or more, divisions by 0. Here all of them are defined, as in Python or
NumPy: a shift by 64 or more gives 0 (-1 for a negative number to the right), a division by 0 gives 0. A number that
does not fit 64 bits wraps; the writers of texts exclude that by the ranges of all numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce

from holdfast.lower.kernel.llvm.blocks import Blocks
from holdfast.lower.kernel.llvm.kinds import (
    NUMBER,
    TRUTH,
    UNSIGNED,
    KernelTextError,
    Kind,
    Scalar,
    Tuple,
    registers,
    said,
)
from holdfast.lower.kernel.llvm.values import FALSE, TRUE, TypedValue, literal, number, truth

MODULUS = 1 << 64

SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
"""LLVM's word for a comparison, without ``s`` or ``u`` for signed and unsigned."""

EXACT: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda one, two: one + two,
    ast.Sub: lambda one, two: one - two,
    ast.Mult: lambda one, two: one * two,
    ast.BitAnd: lambda one, two: one & two,
    ast.BitOr: lambda one, two: one | two,
    ast.BitXor: lambda one, two: one ^ two,
    ast.LShift: lambda one, two: one << two,
    ast.RShift: lambda one, two: one >> two,
    ast.FloorDiv: lambda one, two: one // two if two else 0,
    ast.Mod: lambda one, two: one % two if two else 0,
}
"""The operators on numbers without a limit."""

PLAIN: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
"""LLVM's instruction for an operator, where it has the operator's meaning for all operands."""

BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)


class ArithmeticWriter:
    """Writes instructions that compute, into the blocks of a function."""

    def __init__(self) -> None:
        self.blocks = Blocks()

    # Conversions ----------------------------------------------------------------------------------------------

    def converted(self, value: TypedValue, kind: Kind) -> TypedValue:
        """The value as a value of another kind that has room for it."""
        if value.kind == kind:
            return value
        if value.kind == TRUTH and kind == NUMBER:
            if value.known is not None:
                return literal(value.known)
            return number(self.blocks.result(f"zext i1 {value.operand} to i64"), 0, 1)
        assert isinstance(value.kind, Tuple), "kinds were joined before"
        assert isinstance(kind, Tuple), "as above"
        return joined_tuple([self.converted(*pair) for pair in zip(parts(value), kind.parts, strict=True)])

    def as_number(self, value: TypedValue) -> TypedValue:
        """A number; a truth is 0 or 1."""
        if value.kind not in (NUMBER, TRUTH):
            raise KernelTextError(f"a number is needed, and this is {said(value.kind)}")
        return self.converted(value, NUMBER)

    def as_truth(self, value: TypedValue) -> TypedValue:
        """Whether a number is not 0."""
        if value.kind == TRUTH:
            return value
        found = self.as_number(value)
        if found.known is not None:
            return TRUE if found.known else FALSE
        return truth(self.blocks.result(f"icmp ne i64 {found.operand}, 0"))

    # Operators ------------------------------------------------------------------------------------------------

    def binary(self, operator: ast.operator, one: TypedValue, two: TypedValue) -> TypedValue:
        """The result of an operator."""
        kind = type(operator)
        if kind not in EXACT:
            raise KernelTextError(f"the operator {kind.__name__} is outside the language of kernels")
        if isinstance(one.kind, Tuple) and isinstance(two.kind, Tuple) and kind is ast.Add:
            return joined_tuple([*parts(one), *parts(two)])
        if UNSIGNED in (one.kind, two.kind):
            return self._unsigned(kind, one, two)
        if one.kind == two.kind == TRUTH and kind in BITWISE:
            return self._bits_of_truths(kind, one, two)
        one, two = self.as_number(one), self.as_number(two)
        if one.known is not None and two.known is not None:
            return literal(EXACT[kind](one.known, two.known))
        if kind is ast.LShift or kind is ast.RShift:
            return self._shift(kind, one, two)
        if kind is ast.FloorDiv or kind is ast.Mod:
            return self._divided(kind, one, two)
        # A neutral operand: the text has many, and LLVM need not read them.
        if two.known == 0 and kind not in (ast.Mult, ast.BitAnd):
            return one
        if one.known == 0 and kind in (ast.Add, ast.BitOr, ast.BitXor):
            return two
        found = self.blocks.result(f"{PLAIN[kind]} i64 {one.operand}, {two.operand}")
        return number(found, *_range(kind, one, two))

    def _bits_of_truths(self, kind: type[ast.operator], one: TypedValue, two: TypedValue) -> TypedValue:
        if one.known is not None and two.known is not None:
            return literal(EXACT[kind](one.known, two.known), TRUTH)
        return truth(self.blocks.result(f"{PLAIN[kind]} i1 {one.operand}, {two.operand}"))

    def _unsigned(self, kind: type[ast.operator], one: TypedValue, two: TypedValue) -> TypedValue:
        if (one.kind, two.kind) != (UNSIGNED, UNSIGNED):
            other = two.kind if one.kind == UNSIGNED else one.kind
            raise KernelTextError(f"an unsigned word is combined with {said(other)}")
        if one.known is not None and two.known is not None:
            return literal(EXACT[kind](one.known, two.known) % MODULUS, UNSIGNED)
        a, b = one.operand, two.operand
        if kind is ast.LShift or kind is ast.RShift:
            instruction = "shl" if kind is ast.LShift else "lshr"
            if two.known is not None and two.known < 64:
                return self._word(f"{instruction} i64 {a}, {b}")
            shifted = self.blocks.result(f"{instruction} i64 {a}, {self.blocks.result(f'and i64 {b}, 63')}")
            return self._word(f"select i1 {self.blocks.result(f'icmp ult i64 {b}, 64')}, i64 {shifted}, i64 0")
        if kind is ast.FloorDiv or kind is ast.Mod:
            instruction = "udiv" if kind is ast.FloorDiv else "urem"
            none = self.blocks.result(f"icmp eq i64 {b}, 0")
            divisor = self.blocks.result(f"select i1 {none}, i64 1, i64 {b}")
            return self._word(f"select i1 {none}, i64 0, i64 {self.blocks.result(f'{instruction} i64 {a}, {divisor}')}")
        return self._word(f"{PLAIN[kind]} i64 {a}, {b}")

    def _word(self, instruction: str) -> TypedValue:
        return TypedValue(UNSIGNED, (self.blocks.result(instruction),))

    def _shift(self, kind: type[ast.operator], one: TypedValue, by: TypedValue) -> TypedValue:
        """A shift of a number. A distance that is negative, an error in Python, counts as one beyond 63."""
        if by.known == 0:
            return one
        near = by.lo is not None and by.hi is not None and 0 <= by.lo <= by.hi < 64
        if kind is ast.RShift:
            distance = by.operand if near else self._call("umin", by.operand, "63")
            return number(self.blocks.result(f"ashr i64 {one.operand}, {distance}"), *_range(kind, one, by))
        if near:
            return number(self.blocks.result(f"shl i64 {one.operand}, {by.operand}"), *_range(kind, one, by))
        inside = self.blocks.result(f"icmp ult i64 {by.operand}, 64")
        shifted = self.blocks.result(f"shl i64 {one.operand}, {self.blocks.result(f'and i64 {by.operand}, 63')}")
        return number(self.blocks.result(f"select i1 {inside}, i64 {shifted}, i64 0"))

    def _divided(self, kind: type[ast.operator], one: TypedValue, by: TypedValue) -> TypedValue:
        """Division that rounds down, or its remainder, which has the divisor's sign."""
        if by.known is not None and by.known > 0:
            return self._floored(kind, one, by)
        # The two divisors for which LLVM's division has no result: 0, and -1 (the least number has no opposite).
        zero, minus = (self.blocks.result(f"icmp eq i64 {by.operand}, {each}") for each in (0, -1))
        either = self.blocks.result(f"or i1 {zero}, {minus}")
        safe = number(self.blocks.result(f"select i1 {either}, i64 1, i64 {by.operand}"))
        found = self._floored(kind, one, safe).operand
        opposite = self.blocks.result(f"sub i64 0, {one.operand}") if kind is ast.FloorDiv else "0"
        found = self.blocks.result(f"select i1 {minus}, i64 {opposite}, i64 {found}")
        return number(self.blocks.result(f"select i1 {zero}, i64 0, i64 {found}"))

    def _floored(self, kind: type[ast.operator], one: TypedValue, by: TypedValue) -> TypedValue:
        rest = self.blocks.result(f"srem i64 {one.operand}, {by.operand}")
        # LLVM rounds towards 0. If the rest and the divisor have opposite signs, the quotient is one too large.
        uneven = self.blocks.result(f"icmp ne i64 {rest}, 0")
        apart = self.blocks.result(f"icmp slt i64 {self.blocks.result(f'xor i64 {rest}, {by.operand}')}, 0")
        off = self.blocks.result(f"and i1 {uneven}, {apart}")
        if kind is ast.Mod:
            more = self.blocks.result(f"add i64 {rest}, {by.operand}")
            found = self.blocks.result(f"select i1 {off}, i64 {more}, i64 {rest}")
            return number(found, 0, by.known - 1) if by.known is not None else number(found)
        quotient = self.blocks.result(f"sdiv i64 {one.operand}, {by.operand}")
        less = self.blocks.result(f"sub i64 {quotient}, 1")
        return number(self.blocks.result(f"select i1 {off}, i64 {less}, i64 {quotient}"))

    def unary(self, operator: ast.unaryop, value: TypedValue) -> TypedValue:
        """``not``, a sign, or all bits inverted."""
        if isinstance(operator, ast.Not):
            found = self.as_truth(value)
            if found.known is not None:
                return literal(1 - found.known, TRUTH)
            return truth(self.blocks.result(f"xor i1 {found.operand}, true"))
        if isinstance(operator, ast.USub):
            return self.binary(ast.Sub(), literal(0), value)
        if isinstance(operator, ast.Invert) and value.kind != UNSIGNED:
            return self.binary(ast.BitXor(), self.as_number(value), literal(-1))
        raise KernelTextError(f"the operator {type(operator).__name__} is outside the language of kernels")

    # Comparisons ----------------------------------------------------------------------------------------------

    def compared(self, operator: ast.cmpop, one: TypedValue, two: TypedValue) -> TypedValue:
        """A comparison. Tuples compare by their first parts that differ."""
        sign = SIGNS.get(type(operator))
        if sign is None:
            raise KernelTextError(f"the operator {type(operator).__name__} is outside the language of kernels")
        if not isinstance(one.kind, Tuple):
            return self._scalars(sign, one, two)
        assert isinstance(two.kind, Tuple)
        pairs = list(zip(parts(one), parts(two), strict=True))
        if sign in ("eq", "ne"):
            same = reduce(self.both, (self.compared(ast.Eq(), *pair) for pair in pairs))
            return same if sign == "eq" else self.unary(ast.Not(), same)
        # From the last part to the first: less there, or equal there and less behind.
        strict = {"le": "lt", "ge": "gt"}.get(sign, sign)
        found = self._scalars(sign, *pairs[-1])
        for pair in reversed(pairs[:-1]):
            found = self.both(self._scalars("eq", *pair), found)
            found = self.either(self._scalars(strict, *pair), found)
        return found

    def _scalars(self, sign: str, one: TypedValue, two: TypedValue) -> TypedValue:
        unsigned = UNSIGNED in (one.kind, two.kind)
        if unsigned and one.kind != two.kind:
            raise KernelTextError("an unsigned word is compared with a number")
        if not unsigned:
            one, two = self.as_number(one), self.as_number(two)
            known = _decided(sign, one, two)
            if known is not None:
                return literal(known, TRUTH)
        how = sign if sign in ("eq", "ne") else ("u" if unsigned else "s") + sign
        return truth(self.blocks.result(f"icmp {how} i64 {one.operand}, {two.operand}"))

    def both(self, one: TypedValue, two: TypedValue) -> TypedValue:
        """Whether two truths hold that are computed both."""
        if one.known is not None:
            return two if one.known else FALSE
        if two.known is not None:
            return one if two.known else FALSE
        return truth(self.blocks.result(f"and i1 {one.operand}, {two.operand}"))

    def either(self, one: TypedValue, two: TypedValue) -> TypedValue:
        """Whether one of two truths holds that are computed both."""
        if one.known is not None:
            return TRUE if one.known else two
        if two.known is not None:
            return TRUE if two.known else one
        return truth(self.blocks.result(f"or i1 {one.operand}, {two.operand}"))

    # Functions of Python --------------------------------------------------------------------------------------

    def extreme(self, name: str, values: list[TypedValue]) -> TypedValue:
        """``min`` or ``max`` of numbers."""
        pick = min if name == "min" else max
        values = [self.as_number(value) for value in values]
        found = values[0]
        for value in values[1:]:
            ends = [(end, other) for end, other in ((found.lo, value.lo), (found.hi, value.hi))]
            lo, hi = (None if one is None or two is None else pick(one, two) for one, two in ends)
            found = number(self._call(f"s{name}", found.operand, value.operand), lo, hi)
        return found

    def magnitude(self, value: TypedValue) -> TypedValue:
        """``abs`` of a number."""
        found = self.as_number(value)
        opposite = self.blocks.result(f"sub i64 0, {found.operand}")
        negative = self.blocks.result(f"icmp slt i64 {found.operand}, 0")
        most = None if found.lo is None or found.hi is None else max(-found.lo, found.hi)
        result = self.blocks.result(f"select i1 {negative}, i64 {opposite}, i64 {found.operand}")
        return number(result, None if most is None else 0, most)

    def _call(self, name: str, *operands: str) -> str:
        """A call of one of LLVM's own functions of two words."""
        return self.blocks.result(f"call i64 @llvm.{name}.i64({', '.join(f'i64 {each}' for each in operands)})")


def parts(value: TypedValue) -> list[TypedValue]:
    """The parts of a tuple."""
    assert isinstance(value.kind, Tuple), value
    found, start = [], 0
    for kind in value.kind.parts:
        count = len(registers(kind))
        operands = value.operands[start : start + count]
        found.append(_part(kind, operands))
        start += count
    return found


def _part(kind: Kind, operands: tuple[str, ...]) -> TypedValue:
    if isinstance(kind, Scalar) and not operands[0].startswith("%"):
        word = operands[0]
        return literal({"true": 1, "false": 0}[word] if kind == TRUTH else int(word), kind)
    return truth(operands[0]) if kind == TRUTH else TypedValue(kind, operands)


def joined_tuple(values: list[TypedValue]) -> TypedValue:
    """A tuple of values."""
    kinds = tuple(value.kind for value in values)
    return TypedValue(Tuple(kinds), tuple(operand for value in values for operand in value.operands))


def _decided(sign: str, one: TypedValue, two: TypedValue) -> int | None:
    """The truth of a comparison, if the ranges decide it."""
    if one.lo is None or one.hi is None or two.lo is None or two.hi is None:
        return None
    match sign:
        case "lt" | "ge":
            known = 1 if one.hi < two.lo else 0 if one.lo >= two.hi else None
            return known if sign == "lt" or known is None else 1 - known
        case "gt" | "le":
            known = 1 if one.lo > two.hi else 0 if one.hi <= two.lo else None
            return known if sign == "gt" or known is None else 1 - known
        case _:
            apart = one.hi < two.lo or two.hi < one.lo
            same = one.lo == one.hi == two.lo == two.hi
            if not (apart or same):
                return None
            return int(same) if sign == "eq" else int(apart)


def _range(kind: type[ast.operator], one: TypedValue, two: TypedValue) -> tuple[int | None, int | None]:
    """The range of a result, if it is known."""
    if kind is ast.BitAnd:
        # The result has no more bits than an operand that is not negative.
        tops = [value.hi for value in (one, two) if value.lo is not None and value.hi is not None and value.lo >= 0]
        return (0, min(tops)) if tops else (None, None)
    if one.lo is None or one.hi is None or two.lo is None or two.hi is None:
        return None, None
    if kind in (ast.BitOr, ast.BitXor):
        if one.lo < 0 or two.lo < 0:
            return None, None
        return 0, (1 << max(one.hi, two.hi).bit_length()) - 1
    if kind in (ast.LShift, ast.RShift) and not 0 <= two.lo <= two.hi < 64:
        return None, None
    if kind is ast.Sub:
        return one.lo - two.hi, one.hi - two.lo
    ends = [EXACT[kind](a, b) for a in (one.lo, one.hi) for b in (two.lo, two.hi)]
    return min(ends), max(ends)
