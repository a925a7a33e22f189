"""From the expressions of a kernel's text to instructions of LLVM."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from holdfast.lower.kernel.llvm.arithmetic import ArithmeticWriter, joined_tuple, parts
from holdfast.lower.kernel.llvm.kinds import (
    NUMBER,
    TRUTH,
    UNSIGNED,
    Array,
    KernelTextError,
    Kind,
    Nothing,
    Tuple,
    joined,
    registers,
    returned,
)
from holdfast.lower.kernel.llvm.values import TypedValue, literal, number, spanned

MOST_EAGER = 12
"""The nodes of an expression that is computed although its value may not be needed: a jump would cost more."""

EAGER = (
    ast.Constant, ast.Name, ast.Load, ast.UnaryOp, ast.BinOp, ast.Compare, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
"""The nodes that may stand in such an expression. They read no memory and call nothing."""


class Definitions(Protocol):
    """The module around a function."""

    constants: Mapping[str, TypedValue]

    def called(self, name: str, kinds: tuple[Kind, ...]) -> tuple[str, Kind]:
        """LLVM's name of a function for arguments of these kinds, and the kind of its result."""
        ...

    def table(self, operands: Sequence[str]) -> str:
        """LLVM's name of an array of these literals."""
        ...

    def loop_to_write_out(self) -> str:
        """LLVM's name of one more loop that it is to write out."""
        ...


class ExpressionWriter(ArithmeticWriter):
    """Translates expressions. ``kinds`` has the local variables seen so far, ``ranges`` the ranges of some of them."""

    def __init__(self, around: Definitions) -> None:
        super().__init__()
        self.around = around
        self.kinds: dict[str, Kind] = {}
        self.ranges: dict[str, tuple[int, int]] = {}
        self.places: dict[str, int] = {}
        """A number for each local variable, which names its registers in memory."""
        self.memory: list[str] = []
        """The instructions that reserve memory: variables, tuples read at a computed index, and ``reserve``."""

    def expr(self, node: ast.expr) -> TypedValue:
        """The value of an expression."""
        match node:
            case ast.Constant(bool(value)):
                return literal(value, TRUTH)
            case ast.Constant(int(value)):
                return literal(value)
            case ast.Name(name):
                return self.variable(name)
            case ast.Tuple(elements):
                return joined_tuple([self.expr(each) for each in elements])
            case ast.BinOp(left, operator, right):
                return self.binary(operator, self.expr(left), self.expr(right))
            case ast.UnaryOp(operator, operand):
                return self.unary(operator, self.expr(operand))
            case ast.Compare():
                return self.comparison(node)
            case ast.BoolOp():
                return self.connected(node)
            case ast.IfExp():
                return self.choice(node)
            case ast.Subscript():
                return self.item(node)
            case ast.Call():
                return self.call(node)
        raise KernelTextError(f"{ast.unparse(node)} is outside the language of kernels")

    # Variables ------------------------------------------------------------------------------------------------

    def variable(self, name: str) -> TypedValue:
        """The value of a local variable or of a constant."""
        kind = self.kinds.get(name)
        if kind is None:
            if name not in self.around.constants:
                raise KernelTextError(f"{name} is read before it has a value")
            return self.around.constants[name]
        operands = tuple(
            self.blocks.result(f"load {llvm}, ptr {place}")
            for llvm, place in zip(registers(kind), self.held(name, kind), strict=True)
        )
        lo, hi = (0, 1) if kind == TRUTH else self.ranges.get(name, (None, None))
        return TypedValue(kind, operands, lo, hi)

    def held(self, name: str, kind: Kind) -> list[str]:
        """The memory of a variable, one place for each register."""
        index = self.places.setdefault(name, len(self.places))
        return [f"%v{index}.{part}" for part in range(len(registers(kind)))]

    # Conditions -----------------------------------------------------------------------------------------------

    def truth(self, node: ast.expr) -> TypedValue:
        """Whether a condition holds."""
        return self.as_truth(self.expr(node))

    def branch(self, node: ast.expr, yes: str, no: str) -> None:
        """End the open block with a jump to ``yes`` if the condition holds, else to ``no``."""
        match node:
            case ast.UnaryOp(ast.Not(), operand):
                self.branch(operand, no, yes)
            case ast.BoolOp(operator, values):
                is_and = isinstance(operator, ast.And)
                for group in _groups(values):
                    if self.blocks.here is None:
                        return
                    beyond = self.blocks.label()
                    ends = (beyond, no) if is_and else (yes, beyond)
                    if len(group) == 1:
                        self.branch(group[0], *ends)
                    else:
                        self.blocks.fork(self._together(group, is_and=is_and), *ends)
                    self.blocks.open(beyond)
                self.blocks.jump(yes if is_and else no)
            case _:
                self.blocks.fork(self.truth(node), yes, no)

    def _together(self, nodes: Sequence[ast.expr], *, is_and: bool) -> TypedValue:
        """Whether all of the conditions hold, or one of them; each is computed."""
        found, *rest = [self.truth(node) for node in nodes]
        for each in rest:
            found = self.both(found, each) if is_and else self.either(found, each)
        return found

    def comparison(self, node: ast.Compare) -> TypedValue:
        """A comparison, or a chain of them, whose parts are all computed."""
        values = [self.expr(each) for each in (node.left, *node.comparators)]
        found, *rest = [self.compared(sign, *pair) for sign, pair in zip(node.ops, pairwise(values), strict=True)]
        for each in rest:
            found = self.both(found, each)
        return found

    def connected(self, node: ast.BoolOp) -> TypedValue:
        """``and`` and ``or`` as values: the first operand that decides, else the last one; a number."""
        is_and = isinstance(node.op, ast.And)
        behind, arms = self.blocks.label(), list[tuple[str, TypedValue]]()
        for index, each in enumerate(node.values):
            found = self.as_number(self.expr(each))
            assert self.blocks.here is not None
            arms.append((self.blocks.here, found))
            if index + 1 == len(node.values):
                self.blocks.jump(behind)
                break
            test, onward = self.as_truth(found), self.blocks.label()
            if test.known is not None:
                # The operand surely decides: those behind it are never computed. Or it never does, and is dropped.
                if bool(test.known) != is_and:
                    self.blocks.jump(behind)
                    break
                arms.pop()
                continue
            self.blocks.fork(test, *((onward, behind) if is_and else (behind, onward)))
            self.blocks.open(onward)
        self.blocks.open(behind)
        return self.blocks.merged(NUMBER, arms)

    def choice(self, node: ast.IfExp) -> TypedValue:
        """``a if test else b``."""
        if eager(node.body) and eager(node.orelse):
            return self._selected(node)
        yes, no, behind = (self.blocks.label() for _ in range(3))
        self.branch(node.test, yes, no)
        arms: list[tuple[str, TypedValue]] = []
        for label, arm in ((yes, node.body), (no, node.orelse)):
            if self.blocks.open(label):
                value = self.expr(arm)
                # Both arms need one kind, and the second is not known yet: a truth becomes a number.
                value = self.as_number(value) if value.kind == TRUTH else value
                assert self.blocks.here is not None
                arms.append((self.blocks.here, value))
                self.blocks.jump(behind)
        if len({value.kind for _, value in arms}) > 1:
            raise KernelTextError(f"{ast.unparse(node)}: the two values are of different kinds")
        self.blocks.open(behind)
        return self.blocks.merged(arms[0][1].kind, arms)

    def _selected(self, node: ast.IfExp) -> TypedValue:
        """A choice between two values that are both computed."""
        test = self.truth(node.test)
        if test.known is not None:
            return self.expr(node.body if test.known else node.orelse)
        one, two = self.expr(node.body), self.expr(node.orelse)
        kind = joined(one.kind, two.kind)
        one, two = self.converted(one, kind), self.converted(two, kind)
        found = tuple(
            self.blocks.result(f"select i1 {test.operand}, {llvm} {a}, {llvm} {b}")
            for llvm, a, b in zip(registers(kind), one.operands, two.operands, strict=True)
        )
        return TypedValue(kind, found, *spanned([one, two]))

    # Items ----------------------------------------------------------------------------------------------------

    def item(self, node: ast.Subscript) -> TypedValue:
        """A part of a tuple, an item of an array, or an extent of an array."""
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            array, place = self.expr(node.value.value), self.expr(node.slice).known
            assert isinstance(array.kind, Array)
            assert place is not None
            return number(array.operands[1 + place])
        value = self.expr(node.value)
        if isinstance(value.kind, Array):
            pointer, kind = self.pointer(value, node.slice), value.kind
            word = self.blocks.result(f"load i{kind.bits}, ptr {pointer}")
            if kind.bits == 64:
                return number(word)
            return number(self.blocks.result(f"{'s' if kind.signed else 'z'}ext i{kind.bits} {word} to i64"))
        index = self.as_number(self.expr(node.slice))
        if index.known is not None:
            return parts(value)[index.known]
        return self._looked_up(value, index)

    def _looked_up(self, value: TypedValue, index: TypedValue) -> TypedValue:
        """A number of a tuple at a computed index, which must lie in the tuple: the numbers are put into memory."""
        assert isinstance(value.kind, Tuple), value
        if not set(value.kind.parts) <= {NUMBER, TRUTH}:
            raise KernelTextError("a tuple with a computed index holds numbers only")
        value = joined_tuple([self.as_number(part) for part in parts(value)])
        ends: tuple[int | None, int | None] = (None, None)
        if all(not each.startswith("%") for each in value.operands):
            base = f"@{self.around.table(value.operands)}"
            known = [int(each) for each in value.operands]
            ends = min(known), max(known)
        else:
            base = f"%t{len(self.memory)}"
            self.memory.append(f"  {base} = alloca [{len(value.operands)} x i64]")
            for place, operand in enumerate(value.operands):
                to = self.blocks.result(f"getelementptr i64, ptr {base}, i64 {place}")
                self.blocks.effect(f"store i64 {operand}, ptr {to}")
        at = self.blocks.result(f"getelementptr i64, ptr {base}, i64 {index.operand}")
        return number(self.blocks.result(f"load i64, ptr {at}"), *ends)

    def pointer(self, array: TypedValue, index: ast.expr) -> str:
        """The address of an array's item. Indices are not negative, and lie within the array."""
        assert isinstance(array.kind, Array)
        nodes = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(nodes) != array.kind.extents:
            raise KernelTextError(f"{ast.unparse(index)}: an index has one number for each dimension")
        place = self.as_number(self.expr(nodes[0]))
        for extent, node in zip(array.operands[2:], nodes[1:], strict=True):
            rows = self.binary(ast.Mult(), place, number(extent))
            place = self.binary(ast.Add(), rows, self.as_number(self.expr(node)))
        return self.blocks.result(f"getelementptr i{array.kind.bits}, ptr {array.operands[0]}, i64 {place.operand}")

    # Calls ----------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> TypedValue:
        """A call of a function of the text, of Python, or of the kernel's memory."""
        if node.keywords:
            raise KernelTextError(f"{ast.unparse(node)}: a call has no keywords in kernels")
        name = ast.unparse(node.func)
        if name == "np.uint64":
            return self._unsigned_of(node.args[0])
        args = [self.expr(arg) for arg in node.args]
        match name, args:
            case "len", [TypedValue(Tuple(elements))]:
                return literal(len(elements))
            case "int", [value]:
                return self.as_number(value)
            case "np.int64", [value]:
                return number(value.operand) if value.kind == UNSIGNED else self.as_number(value)
            case (("min" | "max"), [_, *_]):
                return self.extreme(name, args)
            case "abs", [value]:
                return self.magnitude(value)
            case "address", [TypedValue(Array()) as array]:
                return number(self.blocks.result(f"ptrtoint ptr {array.operands[0]} to i64"))
            case (("peek" | "poke" | "prefetch" | "reserve"), _):
                return self._memory(name, args)
        return self._function(name, args)

    def _memory(self, name: str, args: list[TypedValue]) -> TypedValue:
        """A call that reads, writes or reserves memory."""
        match name, args:
            case "peek", [start, index]:
                return number(self.blocks.result(f"load i64, ptr {self._word_at(start, index)}"))
            case "poke", [start, index, value]:
                word = value if value.kind == UNSIGNED else self.as_number(value)
                self.blocks.effect(f"store i64 {word.operand}, ptr {self._word_at(start, index)}")
                return TypedValue(Nothing(), ())
            case "prefetch", [start, index]:
                # For reading, to be kept in all levels of the cache, data and not instructions.
                pointer = self._word_at(start, index)
                self.blocks.effect(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 3, i32 1)")
                return TypedValue(Nothing(), ())
            case "reserve", [TypedValue(lo=int(words), hi=hi)] if words == hi and words > 0:
                base = f"%t{len(self.memory)}"
                self.memory.append(f"  {base} = alloca [{words} x i64]")
                return number(self.blocks.result(f"ptrtoint ptr {base} to i64"))
        raise KernelTextError(f"{name} does not take these arguments")

    def _unsigned_of(self, node: ast.expr) -> TypedValue:
        # A literal may be greater than any number of 63 bits.
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return literal(node.value, UNSIGNED)
        value = self.expr(node)
        if value.kind == UNSIGNED:
            return value
        found = self.as_number(value)
        return literal(found.known, UNSIGNED) if found.known is not None else TypedValue(UNSIGNED, (found.operand,))

    def _word_at(self, start: TypedValue, index: TypedValue) -> str:
        base = self.blocks.result(f"inttoptr i64 {self.as_number(start).operand} to ptr")
        return self.blocks.result(f"getelementptr i64, ptr {base}, i64 {self.as_number(index).operand}")

    def _function(self, name: str, args: list[TypedValue]) -> TypedValue:
        """A call of a function of the text. A truth is passed as a number, so that one function serves both."""
        if name in self.kinds:
            raise KernelTextError(f"{name} is called, and is a local variable")
        args = [self.as_number(arg) if arg.kind == TRUTH else arg for arg in args]
        symbol, kind = self.around.called(name, tuple(arg.kind for arg in args))
        given = ", ".join(
            f"{llvm} {operand}" for arg in args for llvm, operand in zip(registers(arg.kind), arg.operands, strict=True)
        )
        instruction = f"call {returned(kind)} @{symbol}({given})"
        count = len(registers(kind))
        if count == 0:
            self.blocks.effect(instruction)
            return TypedValue(kind, ())
        found = self.blocks.result(instruction)
        if count > 1:
            taken = [self.blocks.result(f"extractvalue {returned(kind)} {found}, {place}") for place in range(count)]
            return TypedValue(kind, tuple(taken))
        return TypedValue(kind, (found,), 0, 1) if kind == TRUTH else TypedValue(kind, (found,))


def eager(node: ast.expr) -> bool:
    """Whether to compute an expression although its value may not be needed."""
    nodes = list(ast.walk(node))
    return len(nodes) <= MOST_EAGER and all(isinstance(each, EAGER) and not _divides(each) for each in nodes)


def _divides(node: ast.AST) -> bool:
    return isinstance(node, ast.FloorDiv | ast.Mod)


def _groups(nodes: Sequence[ast.expr]) -> list[list[ast.expr]]:
    """The conditions in order: neighbours that are cheap to compute together, others alone."""
    found: list[list[ast.expr]] = []
    size = 0
    for node in nodes:
        cheap = eager(node)
        more = sum(1 for _ in ast.walk(node))
        if cheap and found and size and size + more <= MOST_EAGER:
            found[-1].append(node)
            size += more
        else:
            found.append([node])
            size = more if cheap else 0
    return found
