"""The basic blocks of one function while they are written: straight pieces of code that end in a jump or a return."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.lower.kernel.llvm.kinds import TRUTH, Kind, registers
from holdfast.lower.kernel.llvm.values import TypedValue, spanned


class Blocks:
    """Writes instructions into the open block. A block that nothing jumps to stays closed, and is not written."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.here: str | None = "begin"
        """The label of the open block; None behind a jump or a return, where no instruction may stand."""
        self._reached: set[str] = set()
        self._count = 0

    def _fresh(self) -> int:
        self._count += 1
        return self._count

    def result(self, instruction: str) -> str:
        """Write an instruction; returns the register with its result."""
        register = f"%r{self._fresh()}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def effect(self, instruction: str) -> None:
        """Write an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def label(self) -> str:
        """A label for a block that is opened later."""
        return f"b{self._fresh()}"

    def open(self, label: str) -> bool:
        """Open a block, if something jumps to it; returns whether something does. The block before must have ended."""
        assert self.here is None, "a block ends before the next one begins"
        if label in self._reached:
            self.lines.append(f"{label}:")
            self.here = label
        return self.here is not None

    def jump(self, label: str, remark: str = "") -> None:
        """End the open block, if one is open, with a jump. ``remark`` follows in the instruction."""
        if self.here is not None:
            self.end(f"br label %{label}{remark}")
            self._reached.add(label)

    def fork(self, test: TypedValue, yes: str, no: str) -> None:
        """End the open block with a jump to one of two labels."""
        assert test.kind == TRUTH
        if test.known is not None:
            self.jump(yes if test.known else no)
            return
        self.end(f"br i1 {test.operand}, label %{yes}, label %{no}")
        self._reached |= {yes, no}

    def end(self, instruction: str) -> None:
        """End the open block with this instruction."""
        self.effect(instruction)
        self.here = None

    def merged(self, kind: Kind, arms: Sequence[tuple[str, TypedValue]]) -> TypedValue:
        """The value of the arm from which the open block was reached. An arm is a label, and a value of ``kind``."""
        if len(arms) == 1:
            return arms[0][1]
        found = []
        for place, llvm in enumerate(registers(kind)):
            pairs = ", ".join(f"[ {value.operands[place]}, %{label} ]" for label, value in arms)
            found.append(self.result(f"phi {llvm} {pairs}"))
        return TypedValue(kind, tuple(found), *spanned([value for _, value in arms]))
