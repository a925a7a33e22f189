"""The LLVM module of a kernel's text: each function that an entry reaches, once for each kind of its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from holdfast.lower.kernel.llvm.kinds import KernelTextError, Kind, registers, returned
from holdfast.lower.kernel.llvm.statements import FunctionWriter
from holdfast.lower.kernel.llvm.text import ENTRY, Function, KernelText, read_text

HEAD = """\
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""


@attrs.frozen
class EntryPoint:
    """A function that Python may call: the kinds of its parameters and of its result."""

    params: tuple[Kind, ...]
    result: Kind


@attrs.frozen
class Translation:
    """A text in LLVM's language, its entries by name, and its constants by name."""

    llvm: str
    entries: Mapping[str, EntryPoint]
    constants: Mapping[str, int]


def translate(text: str) -> Translation:
    """Translate a kernel's text. Raises KernelTextError if the text is outside the language of kernels."""
    return _Module(read_text(text)).translation()


class _Module:
    def __init__(self, text: KernelText) -> None:
        self.text = text
        self.constants = text.constants
        self._known: dict[tuple[str, tuple[Kind, ...]], tuple[str, Kind]] = {}
        self._open: set[str] = set()
        self._count = 0
        self._tables: dict[tuple[str, ...], str] = {}
        self._loops = 0
        self._written: list[str] = []

    def translation(self) -> Translation:
        """Translate all entries, and the functions that they call."""
        entries = {}
        for function in self.text.functions.values():
            if function.decorator == ENTRY:
                kinds = self.text.kinds(function)
                symbol, result = self.called(function.name, kinds)
                self._written.append(_outside(function, symbol, kinds, result))
                entries[function.name] = EntryPoint(kinds, result)
        tables = [
            f"@{name} = private constant [{len(items)} x i64] [{', '.join(f'i64 {item}' for item in items)}]"
            for items, name in self._tables.items()
        ]
        loops = [f"!{loop} = distinct !{{!{loop}, !0}}" for loop in range(1, self._loops + 1)]
        if loops:
            loops.insert(0, '!0 = !{!"llvm.loop.unroll.full"}')
        constants = {name: value.known for name, value in self.constants.items() if value.known is not None}
        return Translation("\n".join([HEAD, *tables, *self._written, *loops]), entries, constants)

    def called(self, name: str, kinds: tuple[Kind, ...]) -> tuple[str, Kind]:
        """LLVM's name of a function for arguments of these kinds, and the kind of its result."""
        found = self._known.get((name, kinds))
        if found is not None:
            return found
        function = self.text.functions.get(name)
        if function is None or len(kinds) != len(function.params):
            raise KernelTextError(f"the text has no function {name} of {len(kinds)} arguments")
        if name in self._open:
            raise KernelTextError(f"{name} calls itself")
        self._open.add(name)
        # With a number: a function is written once for each kind of arguments.
        self._count += 1
        symbol = f"{name}.{self._count}"
        writer = FunctionWriter(self, function, kinds)
        self._written.append(writer.written(symbol))
        assert writer.result is not None
        self._open.remove(name)
        self._known[name, kinds] = (symbol, writer.result)
        return self._known[name, kinds]

    def table(self, operands: Sequence[str]) -> str:
        """LLVM's name of an array of these literals."""
        return self._tables.setdefault(tuple(operands), f"table.{len(self._tables)}")

    def loop_to_write_out(self) -> str:
        """LLVM's name of one more loop that it is to write out."""
        self._loops += 1
        return f"!{self._loops}"


def _outside(function: Function, symbol: str, kinds: Sequence[Kind], result: Kind) -> str:
    """The function that Python calls. It writes the parts of the result, each as a word, to its last argument."""
    types = [llvm for kind in kinds for llvm in registers(kind)]
    params = ", ".join([*(f"{llvm} %a{place}" for place, llvm in enumerate(types)), "ptr %out"])
    args = ", ".join(f"{llvm} %a{place}" for place, llvm in enumerate(types))
    lines = [f"define void @{function.name}({params}) nounwind {{"]
    parts = registers(result)
    if not parts:
        lines.append(f"  call void @{symbol}({args})")
    else:
        lines.append(f"  %found = call {returned(result)} @{symbol}({args})")
    for place, llvm in enumerate(parts):
        part = "%found"
        if len(parts) > 1:
            part = f"%part{place}"
            lines.append(f"  {part} = extractvalue {returned(result)} %found, {place}")
        if llvm == "i1":
            lines.append(f"  %wide{place} = zext i1 {part} to i64")
            part = f"%wide{place}"
        lines.append(f"  %to{place} = getelementptr i64, ptr %out, i64 {place}")
        lines.append(f"  store i64 {part}, ptr %to{place}")
    return "\n".join([*lines, "  ret void", "}", ""])
