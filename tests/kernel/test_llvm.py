"""The compiler of kernels: machine code gives what CPython gives for the same text, and refuses all other texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import numpy as np
import pytest

from holdfast.lower.kernel import build
from holdfast.lower.kernel.llvm import arithmetic, statements
from holdfast.lower.kernel.llvm.arithmetic import ArithmeticWriter
from holdfast.lower.kernel.llvm.blocks import Blocks
from holdfast.lower.kernel.llvm.expressions import ExpressionWriter
from holdfast.lower.kernel.llvm.kinds import KernelTextError, Kind, kind_of_json, kind_to_json
from holdfast.lower.kernel.llvm.module import translate
from holdfast.lower.kernel.llvm.object_code import compiled, verified
from holdfast.lower.kernel.llvm.statements import FunctionWriter
from holdfast.lower.kernel.llvm.values import TypedValue, number, spanned
from tests.kernel.compiled import machine, python
from tests.kernel.programs import FUNCTIONS, ONES, Draw, program

PAIRS = [(x, y) for x in ONES for y in ONES]


def differences(text: str, pairs: list[tuple[int, int]]) -> list[str]:
    """The arguments for which machine code and CPython differ. Machine code wraps, so numbers are compared so."""
    one, two = machine(text).main, python(text)
    found = []
    for x, y in pairs:
        mine, theirs = int(one(x, y)) % 2**64, two(x, y) % 2**64
        if mine != theirs:
            found.append(f"main({x}, {y}) = {mine}, and {theirs} by CPython")
    return found


@pytest.mark.parametrize("construct", FUNCTIONS)
def test_a_construct_means_what_it_means_in_python(construct: str) -> None:
    """Each construct of the language gives CPython's results, at numbers where signs, widths and shifts show."""
    assert differences(program(FUNCTIONS[construct]), PAIRS) == []


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 400))])
def test_drawn_programs_agree(seed: int) -> None:
    """Programs of loops, jumps, choices and numbers, drawn by a seed, give CPython's results."""
    assert differences(Draw(seed).program(), [(x, y) for x in ONES[:9] for y in (0, 3, 64, 40_000)]) == []


# Faults of the translator, each planted at one place, and the construct that shows it ---------------------------------


def replaced(old: str, new: str) -> Callable[[str], str]:
    """A change of the translated text, which must contain the old instruction."""

    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new)

    return change


def exchanged_arms(text: str) -> str:
    """Exchange the two values of each choice."""
    return re.sub(r"(select i1 \S+), (i64 \S+), (i64 \S+)", r"\1, \3, \2", text)


def without_last_store(text: str) -> str:
    """Drop the last store of the function ``main``."""
    before, found, after = text.rpartition("  store i64")
    middle, _, rest = after.partition("\n")
    assert found
    del middle
    if "%out" not in rest:
        return before + rest
    # The last one is that of the result; the one before it is a variable's.
    earlier, _, tail = before.rpartition("  store i64")
    return earlier + tail.partition("\n")[2] + found + after


IN_TEXT: dict[str, tuple[str, Callable[[str], str]]] = {
    "a shift without the sign": ("shift to the right", replaced("ashr", "lshr")),
    "a comparison without signs": ("early returns", replaced("icmp sgt", "icmp ugt")),
    "an unsigned order with signs": ("unsigned order", replaced("icmp ult", "icmp slt")),
    "a division without the sign": ("floor", replaced("sdiv", "udiv")),
    "a remainder without the sign": ("floor", replaced("srem", "urem")),
    "a truth of -1": ("truths as numbers", replaced("zext i1", "sext i1")),
    "half the width": ("absolute", replaced("255", "127")),
    "arms exchanged": ("choice", exchanged_arms),
    "the least for the greatest": ("smallest", replaced("call i64 @llvm.smax", "call i64 @llvm.smin")),
    "a store that is lost": ("exchange", without_last_store),
    "a loop that counts by two": ("range", replaced(", 1\n  store i64", ", 2\n  store i64")),
    "a part of the result that is another": ("a call of tuples", replaced(", 1\n", ", 0\n")),
}
"""Faults in the translated text: the construct that shows each, and the change."""


@pytest.mark.parametrize("fault", IN_TEXT)
def test_a_faulty_instruction_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A translator that writes a wrong instruction is caught by the comparison with CPython."""
    construct, change = IN_TEXT[fault]
    monkeypatch.setattr(build, "compiled", lambda text, level: compiled(change(text), level))

    assert differences(program(FUNCTIONS[construct]), PAIRS) != []


def one_after_the_other(writer: FunctionWriter, target: ast.expr, node: ast.expr) -> None:
    """Store each value before the next one is computed."""
    if isinstance(target, ast.Tuple) and isinstance(node, ast.Tuple):
        for each, value in zip(target.elts, node.elts, strict=True):
            writer._store(each, writer.expr(value))
    else:
        writer._store(target, writer.expr(node))


def both_computed(self: ExpressionWriter, node: ast.BoolOp) -> TypedValue:
    """Return the last operand, whatever the first ones say."""
    return self.as_number([self.expr(each) for each in node.values][-1])


def too_small(*_: object) -> tuple[int, int]:
    """A range that is not true."""
    return 0, 1


def first_part_only(self: ArithmeticWriter, operator: ast.cmpop, one: TypedValue, two: TypedValue) -> TypedValue:
    """Compare tuples by their first parts."""
    pair = [arithmetic.parts(each)[0] if len(each.operands) > 1 else each for each in (one, two)]
    return self._scalars(arithmetic.SIGNS[type(operator)], *pair)


def arms_exchanged(self: Blocks, kind: Kind, arms: list[tuple[str, TypedValue]]) -> TypedValue:
    """Give each arm's value to the other arm; LLVM finds a value that is not computed there."""
    labels = [label for label, _ in arms]
    return MERGED(self, kind, [(label, value) for label, (_, value) in zip(reversed(labels), arms, strict=True)])


MERGED = Blocks.merged

IN_CODE: dict[str, tuple[str, object, str, object]] = {
    "values stored too early": ("exchange", FunctionWriter, "_assign", one_after_the_other),
    "and without its first operand": ("and of numbers", ExpressionWriter, "connected", both_computed),
    "tuples compared by one part": ("tuple order, equal allowed", ArithmeticWriter, "compared", first_part_only),
    "a range that is too small": ("ranges that decide", arithmetic, "_range", too_small),
    "a jump that goes nowhere": (
        "loops inside loops",
        FunctionWriter,
        "_loop",
        lambda writer, body, *_: writer.body([each for each in body if not isinstance(each, ast.If)]),
    ),
    "a phi with its arms exchanged": ("choice with work", Blocks, "merged", arms_exchanged),
    "a truth that stays a truth": ("truth in a variable", statements, "joined", lambda one, two: one),
}
"""Faults in the translator: the construct that shows each, and the part that is replaced."""


@pytest.mark.parametrize("fault", IN_CODE)
def test_a_faulty_translator_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A translator with a fault gives a wrong result for the construct, or stops with an internal error."""
    construct, owner, name, part = IN_CODE[fault]
    monkeypatch.setattr(owner, name, part)

    try:
        found = differences(program(FUNCTIONS[construct]), PAIRS)
    except (AssertionError, RuntimeError) as error:
        found = [str(error)]
    assert found != []


# Texts outside the language ------------------------------------------------------------------------------------------


OUTSIDE = {
    "return x / y": "the operator Div is outside the language of kernels",
    "return x ** 2": "the operator Pow is outside the language of kernels",
    "return [x]": "[x] is outside the language of kernels",
    "return x is y": "the operator Is is outside the language of kernels",
    "return z": "z is read before it has a value",
    "return missing(x)": "the text has no function missing of 1 arguments",
    "return helper(x)": "the text has no function helper of 1 arguments",
    "helper = 1\nreturn helper(x, y)": "helper is called, and is a local variable",
    "return helper(x, b=y)": "helper(x, b=y): a call has no keywords in kernels",
    "return main(x, y)": "main calls itself",
    "return np.uint64(x) + y": "an unsigned word is combined with number",
    "return np.uint64(x) < y": "an unsigned word is compared with a number",
    "return 1 << 64": "18446744073709551616 does not fit 64 bits",
    "a = x\na = (x, y)\nreturn 1": "one name or result stands for number and for a tuple of 2",
    "if x: return 1": "one name or result stands for number and for nothing",
    "a = store(x)\nreturn 1": "main: a is given the result of a call without one",
    "a, b = x, y, 1\nreturn a": "main: (a, b) has other parts than its value",
    "x[0] = 1\nreturn 1": "main: x is no array",
    "for i in range(0, 9, 0): pass\nreturn 1": "a range has a step of 0",
    "for i in x: pass\nreturn 1": "x is neither a range nor a tuple",
    "try: pass\nfinally: pass\nreturn 1": "try: pass finally: pass is outside the language of kernels",
    "with x: pass\nreturn 1": "with x: pass is outside the language of kernels",
    "del x\nreturn 1": "del x is outside the language of kernels",
    "x.y = 1\nreturn 1": "x.y is no target of an assignment in kernels",
    "while x: pass\nelse: pass\nreturn 1": "while x: pass else: pass is outside the language of kernels",
    "return reserve(x)": "reserve does not take these arguments",
    "return reserve(0)": "reserve does not take these arguments",
    "return (1, x)[y] if x else ((1, 2), 3)[y]": "a tuple with a computed index holds numbers only",
    "return (x, 1) if x % 2 else y": "(x, 1) if x % 2 else y: the two values are of different kinds",
}
"""Bodies outside the language, and the messages of their refusals."""


@pytest.mark.parametrize("body", OUTSIDE)
def test_other_texts_are_refused(body: str) -> None:
    """A text outside the language is refused; it never becomes code that means something else."""
    with pytest.raises(KernelTextError) as refusal:
        translate(program(body))

    assert " ".join(str(refusal.value).split()) == OUTSIDE[body]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(x):\n    return x\n", "f has no decorator, and a kernel's function has one"),
        ("@njit\ndef f(x):\n    return x\n", "njit is no decorator of a kernel's function"),
        ("A = 'a'\n", "'a' is no constant of a kernel's text"),
        ("class A: pass\n", "class A: pass is outside the language of kernels"),
        ("peek = 1\n", "peek is defined, and has another meaning"),
        ("A = 1\n@jit\ndef A(x):\n    return x\n", "A is defined, and has another meaning"),
        ("@entry\ndef f(x: Word):\n    return x\n", "Word is no kind of a kernel's text"),
    ],
)
def test_other_modules_are_refused(text: str, said: str) -> None:
    """A module has constants and decorated functions, and no name with two meanings."""
    with pytest.raises(KernelTextError) as refusal:
        translate(text)

    assert " ".join(str(refusal.value).split()) == said


# Arrays and calls ----------------------------------------------------------------------------------------------------

ARRAYS = """
WORDS = 2
@entry
def fill(rows: Rows, line: Line32, labels: Line16, bits: Line8, blocks: Blocks):
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            rows[i, j] = i * 10 - j
    line[1], labels[1] = -5, 65535
    line[2] = line[1] + labels[1]
    bits[0] |= 200
    bits[1] = bits[0] + 100
    rows[0, 1] += blocks.shape[1] * 1000
    blocks[1, 0, 1] = 7
    return rows[1, 1]
@entry
def swap(s: State, n):
    a, b = s
    return (b, a), n > 0
@entry
def through(rows: Rows):
    at = address(rows)
    poke(at, 3, peek(at + 8, 0) + 1)
    prefetch(at, 0)
@entry
def reversed_bits(n):
    at, more = reserve(4), reserve(4)
    for i in range(4):
        poke(at, i, n >> i & 1)
        poke(more, i, 0)
    found = 0
    for i in range(4):
        found = found * 2 + peek(at, i) + peek(more, i)
    return found
@entry
def half(u: Unsigned):
    return u >> np.uint64(1)
"""


def test_reserved_words_are_apart() -> None:
    """Words that a function reserves keep what it stores in them, and share nothing with other reserved words."""
    assert machine(ARRAYS).reversed_bits(0b0010) == 0b0100


def test_arrays_hold_numbers_of_their_width() -> None:
    """Items are read and written with the width and the sign of their array, in the place of their indices."""
    rows, line, labels = np.zeros((2, 3), np.int64), np.zeros(3, np.int32), np.zeros(2, np.uint16)
    bits, blocks = np.zeros(2, np.uint8), np.zeros((2, 4, 2), np.int64)

    assert machine(ARRAYS).fill(rows, line, labels, bits, blocks) == 9

    assert rows.tolist() == [[0, 3999, -2], [10, 9, 8]]
    assert (line.tolist(), labels.tolist(), bits.tolist()) == ([0, -5, 65530], [0, 65535], [200, 44])
    assert np.argwhere(blocks).tolist() == [[1, 0, 1]]


def test_calls_take_and_give_values_of_their_kinds() -> None:
    """Tuples, truths and unsigned words come out as such; addresses reach the memory of their array."""
    module = machine(ARRAYS)
    rows = np.arange(4).reshape(2, 2)

    assert module.swap((3, -4), 1) == ((-4, 3), True)
    assert module.through(rows) is None
    assert rows.tolist() == [[0, 1], [2, 2]]
    assert module.half(2**64 - 1) == 2**63 - 1
    assert module.WORDS == 2


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("swap", ((1, 2),)),
        ("swap", ((1, 2, 3), 1)),
        ("swap", ((1, 1 << 63), 1)),
        ("half", (-1,)),
        ("through", (np.zeros((2, 2), np.int32),)),
        ("through", (np.zeros(4, np.int64),)),
        ("through", (np.zeros((4, 4), np.int64)[:, :2],)),
    ],
)
def test_a_call_with_other_values_is_an_error(name: str, args: tuple[object, ...]) -> None:
    """Machine code never reads an array of another type or layout, and no number loses bits."""
    with pytest.raises((AssertionError, ValueError)):
        getattr(machine(ARRAYS), name)(*args)


def test_kinds_survive_json() -> None:
    """The kinds of entries, as a file of machine code names them, are read back."""
    for entry in translate(ARRAYS).entries.values():
        for kind in (*entry.params, entry.result):
            assert kind_of_json(kind_to_json(kind)) == kind


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "arm64-apple-macosx", "x86_64-apple-macosx"])
def test_the_text_is_good_for_other_processors(triple: str) -> None:
    """LLVM verifies the translated text for another processor, and makes object code of it."""
    assert len(verified(translate(ARRAYS).llvm, triple)) > 0


def test_a_choice_has_the_range_of_all_its_values() -> None:
    """The least range with all values is known if each value's range is known."""
    assert spanned([number("%a", 0, 3), number("%b", -2, 1), number("%c", 2, 9)]) == (-2, 9)
    assert spanned([number("%a", 0, 3), number("%b")]) == (None, None)
