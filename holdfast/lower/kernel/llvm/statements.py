"""From the statements of one function of a kernel's text to a function of LLVM."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from holdfast.lower.kernel.llvm.arithmetic import parts
from holdfast.lower.kernel.llvm.blocks import Blocks
from holdfast.lower.kernel.llvm.expressions import Definitions, ExpressionWriter
from holdfast.lower.kernel.llvm.kinds import (
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
from holdfast.lower.kernel.llvm.text import INLINED, Function
from holdfast.lower.kernel.llvm.values import TypedValue, literal, number

MOST_WRITTEN_OUT = 4000
"""The most instructions of a loop that LLVM writes out. The number of turns must be known.

Then each turn has constants for its variable and shifts. That is a quarter off the time of a step, and takes LLVM about
a third longer. Without a limit, it takes LLVM ten times as long for a large model.
"""


class FunctionWriter(ExpressionWriter):
    """Translates one function for arguments of these kinds.

    A variable's kind is that of all values that the function gives it. So the function is written again until no kind
    changes any more: mostly once, twice if a truth turns out to be a number.
    """

    def __init__(self, around: Definitions, function: Function, kinds: Sequence[Kind]) -> None:
        super().__init__(around)
        self.function = function
        self.given = dict(zip(function.params, kinds, strict=True))
        self.result: Kind | None = None
        self.loops: list[tuple[str, str]] = []
        """The labels to go on and to leave at, of each loop that is open."""
        self._settled = False
        self._copied = 0
        """How many instructions LLVM adds when it writes out the loops so far."""
        self._bound = Counter(_bound(function.body))
        """How often the translated function gives each variable a value, by place: see ``set``."""

    def written(self, symbol: str) -> str:
        """LLVM's text of the function under this name."""
        while not self._settled:
            self._settled = True
            self.blocks, self.memory, self._copied = Blocks(), [], 0
            self._parameters()
            self.body(self.function.body)
            if self.blocks.here is not None:
                self._return(TypedValue(Nothing(), ()))
        for name, kind in self.kinds.items():
            for llvm, place in zip(registers(kind), self.held(name, kind), strict=True):
                self.memory.append(f"  {place} = alloca {llvm}")
        kinds = [llvm for kind in self.given.values() for llvm in registers(kind)]
        params = ", ".join(f"{llvm} %a{place}" for place, llvm in enumerate(kinds))
        how = " alwaysinline" if self.function.decorator == INLINED else ""
        assert self.result is not None
        head = f"define internal {returned(self.result)} @{symbol}({params}){how} nounwind {{"
        return "\n".join([head, "begin:", *self.memory, *self.blocks.lines, "}", ""])

    def _parameters(self) -> None:
        place = 0
        for name, kind in self.given.items():
            count = len(registers(kind))
            self.set(name, TypedValue(kind, tuple(f"%a{place + part}" for part in range(count))))
            place += count

    def set(self, name: str, value: TypedValue) -> None:
        """Give a variable a value."""
        before = self.kinds.get(name)
        kind = value.kind if before is None else joined(before, value.kind)
        if isinstance(kind, Nothing):
            raise KernelTextError(f"{self.function.name}: {name} is given the result of a call without one")
        if kind != before:
            self._settled = self._settled and before is None
            self.kinds[name] = kind
        # If only one place gives the variable a value, the value's range holds wherever the variable is read.
        if self._bound[name] == 1 and name not in self.given and value.lo is not None and value.hi is not None:
            self.ranges[name] = (value.lo, value.hi)
        operands = self.converted(value, kind).operands
        for llvm, operand, place in zip(registers(kind), operands, self.held(name, kind), strict=True):
            self.blocks.effect(f"store {llvm} {operand}, ptr {place}")

    # Statements -----------------------------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Translate statements up to one that jumps away; those behind it are never reached."""
        for statement in statements:
            if self.blocks.here is None:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:  # noqa: C901 - one case for each kind of statement
        """Translate one statement."""
        match node:
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value):
                self.expr(value)
            case ast.Assign([target], value):
                self._assign(target, value)
            case ast.AugAssign(target, operator, value):
                self._change(target, operator, value)
            case ast.If():
                self._if(node)
            case ast.While(test, body, []):
                self._while(test, body)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), ends), body, []):
                self._count(name, ends, body)
            case ast.For(ast.Name(name), iterated, body, []):
                self._each(name, iterated, body)
            case ast.Continue():
                self.blocks.jump(self.loops[-1][0])
            case ast.Break():
                self.blocks.jump(self.loops[-1][1])
            case ast.Return(None):
                self._return(TypedValue(Nothing(), ()))
            case ast.Return(ast.expr() as value):
                self._return(self.expr(value))
            case _:
                raise KernelTextError(f"{ast.unparse(node)} is outside the language of kernels")

    def _assign(self, target: ast.expr, node: ast.expr) -> None:
        # All values are computed before the first is stored, as Python does.
        value = self.expr(node)
        self._store(target, value)

    def _store(self, target: ast.expr, value: TypedValue) -> None:
        match target:
            case ast.Name(name):
                self.set(name, value)
            case ast.Tuple(targets):
                if not isinstance(value.kind, Tuple) or len(value.kind.parts) != len(targets):
                    raise KernelTextError(f"{self.function.name}: {ast.unparse(target)} has other parts than its value")
                for each, part in zip(targets, parts(value), strict=True):
                    self._store(each, part)
            case ast.Subscript(ast.Name(name), index):
                array = self.variable(name)
                if not isinstance(array.kind, Array):
                    raise KernelTextError(f"{self.function.name}: {name} is no array")
                self._store_at(array.kind, self.pointer(array, index), value)
            case _:
                raise KernelTextError(f"{ast.unparse(target)} is no target of an assignment in kernels")

    def _store_at(self, kind: Array, pointer: str, value: TypedValue) -> None:
        word = value.operand if value.kind == UNSIGNED else self.as_number(value).operand
        if kind.bits < 64:
            word = self.blocks.result(f"trunc i64 {word} to i{kind.bits}")
        self.blocks.effect(f"store i{kind.bits} {word}, ptr {pointer}")

    def _change(self, target: ast.expr, operator: ast.operator, node: ast.expr) -> None:
        """``target op= value``; an index in the target is computed once only in Python, and has no effects here."""
        assert isinstance(target, ast.Name | ast.Subscript), ast.unparse(target)
        self._store(target, self.binary(operator, self.expr(target), self.expr(node)))

    def _return(self, value: TypedValue) -> None:
        before = self.result
        kind = value.kind if before is None else joined(before, value.kind)
        if kind != before:
            self._settled = self._settled and before is None
            self.result = kind
        value, types = self.converted(value, kind), registers(kind)
        if len(types) <= 1:
            self.blocks.end(f"ret {types[0]} {value.operand}" if types else "ret void")
            return
        found = "undef"
        for place, (llvm, operand) in enumerate(zip(types, value.operands, strict=True)):
            found = self.blocks.result(f"insertvalue {returned(kind)} {found}, {llvm} {operand}, {place}")
        self.blocks.end(f"ret {returned(kind)} {found}")

    # Jumps ----------------------------------------------------------------------------------------------------

    def _if(self, node: ast.If) -> None:
        yes, no, behind = (self.blocks.label() for _ in range(3))
        self.branch(node.test, yes, no)
        for label, body in ((yes, node.body), (no, node.orelse)):
            if self.blocks.open(label):
                self.body(body)
                self.blocks.jump(behind)
        self.blocks.open(behind)

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        again, inside, behind = (self.blocks.label() for _ in range(3))
        self.blocks.jump(again)
        self.blocks.open(again)
        self.branch(test, inside, behind)
        if self.blocks.open(inside):
            self._loop(body, again, behind)
            self.blocks.jump(again)
        self.blocks.open(behind)

    def _loop(self, body: Sequence[ast.stmt], again: str, behind: str) -> None:
        self.loops.append((again, behind))
        self.body(body)
        self.loops.pop()

    def _count(self, name: str, ends: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        """A loop over ``range``. A counter of its own runs through the numbers: the body may change the variable.

        A step that is not known is positive.
        """
        values = [self.as_number(self.expr(end)) for end in ends]
        start, stop, step = [literal(0)] * (len(values) == 1) + values + [literal(1)] * (len(values) < 3)
        downward = step.known is not None and step.known < 0
        if step.known == 0:
            raise KernelTextError("a range has a step of 0")
        counter = f"%c{len(self.memory)}"
        self.memory.append(f"  {counter} = alloca i64")
        again, inside, onward, behind = (self.blocks.label() for _ in range(4))
        size_before = len(self.blocks.lines) + self._copied
        self.blocks.effect(f"store i64 {start.operand}, ptr {counter}")
        self.blocks.jump(again)
        self.blocks.open(again)
        present = self.blocks.result(f"load i64, ptr {counter}")
        sign = ast.Gt() if downward else ast.Lt()
        self.blocks.fork(self.compared(sign, number(present), stop), inside, behind)
        self.blocks.open(inside)
        self.set(name, number(present, *_ends(start, stop, downward=downward)))
        self._loop(body, onward, behind)
        self.blocks.jump(onward)
        if self.blocks.open(onward):
            before = self.blocks.result(f"load i64, ptr {counter}")
            self.blocks.effect(f"store i64 {self.blocks.result(f'add i64 {before}, {step.operand}')}, ptr {counter}")
            self.blocks.jump(again, self._writing_out(_turns(start, stop, step), size_before))
        self.blocks.open(behind)

    def _writing_out(self, turns: int | None, size_before: int) -> str:
        """What the jump to a loop's next turn says to LLVM: to write the loop out, or nothing."""
        size = len(self.blocks.lines) + self._copied - size_before
        if turns is None or turns < 2 or turns * size > MOST_WRITTEN_OUT:
            return ""
        self._copied += (turns - 1) * size
        return f", !llvm.loop {self.around.loop_to_write_out()}"

    def _each(self, name: str, iterated: ast.expr, body: Sequence[ast.stmt]) -> None:
        """A loop over the parts of a tuple, written out."""
        value, behind = self.expr(iterated), self.blocks.label()
        if not isinstance(value.kind, Tuple):
            raise KernelTextError(f"{ast.unparse(iterated)} is neither a range nor a tuple")
        for part in parts(value):
            if self.blocks.here is None:
                break
            onward = self.blocks.label()
            self.set(name, part)
            self._loop(body, onward, behind)
            self.blocks.jump(onward)
            self.blocks.open(onward)
        self.blocks.jump(behind)
        self.blocks.open(behind)


def _ends(start: TypedValue, stop: TypedValue, *, downward: bool) -> tuple[int | None, int | None]:
    """The range of the numbers of a loop, if it is known."""
    if start.lo is None or start.hi is None or stop.lo is None or stop.hi is None:
        return None, None
    return (stop.lo + 1, start.hi) if downward else (start.lo, stop.hi - 1)


def _turns(start: TypedValue, stop: TypedValue, step: TypedValue) -> int | None:
    """How often the body of a loop runs at most, if it is known."""
    if start.known is None or stop.known is None or step.known is None:
        return None
    return len(range(start.known, stop.known, step.known))


def _bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The variables that statements give values to, once for each place of the translated function."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            # A loop over a tuple is written out, so each place in it becomes several.
            if isinstance(node, ast.For) and not (
                isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range"
            ):
                yield from _bound([ast.Assign([node.target], node.iter), *node.body])
