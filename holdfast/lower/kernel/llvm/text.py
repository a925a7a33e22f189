"""A kernel's text, read: its constants, and its functions by name."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence

import attrs

from holdfast.lower.kernel.llvm.kinds import ANNOTATIONS, NUMBER, TRUTH, UNSIGNED, KernelTextError, Kind, Tuple
from holdfast.lower.kernel.llvm.values import TypedValue, literal

RESERVED = {
    "abs", "address", "int", "len", "max", "min", "np", "peek", "poke", "prefetch", "range", "reserve",
    "State", *ANNOTATIONS, "jit", "entry", "inlined",
}  # fmt: skip
"""The words of the language, which no function or constant may have as its name."""

JIT, ENTRY, INLINED = "jit", "entry", "inlined"
"""The decorators: a function that only functions call, one that Python calls too, one that is copied to its callers."""


@attrs.frozen
class Function:
    """A function of the text."""

    name: str
    decorator: str
    params: tuple[str, ...]
    body: tuple[ast.stmt, ...]
    annotations: tuple[str | None, ...]


@attrs.frozen
class KernelText:
    """The parts of a text, by name."""

    constants: Mapping[str, TypedValue]
    functions: Mapping[str, Function]

    def kinds(self, function: Function) -> tuple[Kind, ...]:
        """The kinds of an entry's parameters, as annotated."""
        return tuple(NUMBER if name is None else self._annotated(name) for name in function.annotations)

    def _annotated(self, name: str) -> Kind:
        if name == "State":
            words = self.constants["WORDS"].known
            assert words is not None
            return Tuple((NUMBER,) * words)
        if name not in ANNOTATIONS:
            raise KernelTextError(f"{name} is no kind of a kernel's text")
        return ANNOTATIONS[name]


def read_text(text: str) -> KernelText:
    """Read a text. Raises KernelTextError if it has other statements than imports, constants and functions."""
    constants: dict[str, TypedValue] = {}
    functions: dict[str, Function] = {}
    for statement in ast.parse(text).body:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant(str())):
                pass
            case ast.Assign([ast.Name(name)], value):
                constants[name] = _constant(value)
            case ast.Assign([ast.Tuple(names)], ast.Call(ast.Name("range"), [ast.Constant(int())])):
                for index, each in enumerate(names):
                    constants[ast.unparse(each)] = literal(index)
            case ast.FunctionDef():
                functions[statement.name] = _function(statement)
            case _:
                raise KernelTextError(f"{ast.unparse(statement)} is outside the language of kernels")
    _refuse_clashes([*constants, *functions])
    return KernelText(constants, functions)


def _refuse_clashes(names: Sequence[str]) -> None:
    # A function and a constant of one name, or a word of the language. Two functions of one name were refused before:
    # see ``build.kernel_text``.
    for name, times in Counter(names).items():
        if times > 1 or name in RESERVED:
            raise KernelTextError(f"{name} is defined, and has another meaning")


def _function(node: ast.FunctionDef) -> Function:
    if len(node.decorator_list) != 1:
        raise KernelTextError(f"{node.name} has no decorator, and a kernel's function has one")
    decorator = ast.unparse(node.decorator_list[0])
    if decorator not in (JIT, ENTRY, INLINED):
        raise KernelTextError(f"{decorator} is no decorator of a kernel's function")
    params = node.args.args
    annotations = tuple(ast.unparse(each.annotation) if each.annotation else None for each in params)
    return Function(node.name, decorator, tuple(each.arg for each in params), tuple(node.body), annotations)


def _constant(node: ast.expr) -> TypedValue:
    match node:
        case ast.Constant(bool(value)):
            return literal(value, TRUTH)
        case ast.Constant(int(value)):
            return literal(value)
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
            return literal(-value)
        case ast.Call(ast.Attribute(ast.Name("np"), "uint64"), [ast.Constant(int(value))]):
            return literal(value, UNSIGNED)
    raise KernelTextError(f"{ast.unparse(node)} is no constant of a kernel's text")
