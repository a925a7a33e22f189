"""Translates annotations to types of the transition system."""

from __future__ import annotations

import ast
import dataclasses
import enum
from typing import Any, get_args, get_type_hints

import attrs

from holdfast.ir.compile import type_remedies
from holdfast.ir.compile.source import Module
from holdfast.ir.errors import ModelError
from holdfast.ir.marks import MARK
from holdfast.ir.types import (
    BOOL,
    BUDGET,
    EnumType,
    IntType,
    Key,
    NatType,
    OptionalType,
    Plain,
    Scalar,
    SortType,
)

BUILTINS: dict[str, object] = {
    kind.__name__: kind for kind in (bool, int, float, str, bytes, tuple, list, dict, set, frozenset, object)
}


@attrs.frozen
class RecordType:
    """A record: the name and the type of each part. It is no type of the system: its parts are single values."""

    name: str
    parts: tuple[tuple[str, Plain], ...]

    def __str__(self) -> str:
        return self.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts."""
        return tuple(name for name, _ in self.parts)

    @property
    def keys(self) -> tuple[tuple[str, Key], ...]:
        """The parts of a record that ``as_key`` takes."""
        keys = tuple((name, kind) for name, kind in self.parts if not isinstance(kind, IntType))
        assert len(keys) == len(self.parts), f"{self} is no key"
        return keys

    def as_key(self, node: ast.AST, module: Module) -> RecordType:
        """The record as a key or the domain of a loop. Raises ModelError if a part is an Int."""
        for name, kind in self.parts:
            if isinstance(kind, IntType):
                remedy = "use another type; a record with an Int is a field, an entry of a sequence or a parameter"
                module.refuse(node, f"{self}.{name} is {kind}, which cannot be a key or a domain", remedy)
        return self

    def part(self, name: str) -> Plain:
        """The type of a part."""
        return dict(self.parts)[name]


@attrs.define
class Types:
    """The types that a model uses, by the Python class that declares them. Reading an annotation adds its types."""

    known: dict[type, Plain] = attrs.field(factory=dict)
    _records: dict[type, RecordType] = attrs.field(factory=dict, init=False)
    _refused: dict[type, ModelError] = attrs.field(factory=dict, init=False)

    def of_class(self, cls: object, module: Module, node: ast.AST) -> Plain:
        """The type that a Python class stands for. Raises ModelError if the class is no type of the language."""
        if cls is bool:
            return BOOL
        if not isinstance(cls, type):
            module.refuse(node, "this is not a type", "use bool, an Enum, or a class of Sort, Nat or Int")
        if cls in self.known:
            return self.known[cls]
        if getattr(cls, MARK, None) == "record":
            remedy = "a record is a key, a field, an entry of a sequence or a parameter: use one, or name its parts"
            module.refuse(node, f"{cls.__name__} is a record, and one value is needed", remedy)
        if cls in self._refused:
            raise self._refused[cls]  # its declaration is wrong once, and not at each use
        try:
            made = _declared(cls, module, node)
            # The transition system knows a type by its name only, so names are unique.
            for other, taken in self.known.items():
                if str(taken) == str(made):
                    module.refuse(node, f"two types are called {made} ({other.__module__} has the other)", "rename one")
        except ModelError as error:
            if cls.__name__ not in BUILTINS:
                self._refused[cls] = error
            raise
        self.known[cls] = made
        return made

    def record(self, cls: object, module: Module, node: ast.AST) -> RecordType | None:
        """The record that a class declares, or None. Raises ModelError for a part that cannot be one."""
        if not isinstance(cls, type) or getattr(cls, MARK, None) != "record":
            return None
        if MARK in vars(cls):
            module.refuse(node, f"{cls.__name__} itself has no parts", "declare one: class Vote(Record): ...")
        if cls not in self._records:
            parts = [(part.name, get_type_hints(cls)[part.name]) for part in dataclasses.fields(cls)]
            if not parts:
                module.refuse(node, f"the record {cls.__name__} has no parts", "give it some: `term: Term`")
            kinds = tuple((name, self._part(cls, name, hint, module, node)) for name, hint in parts)
            self._records[cls] = RecordType(cls.__name__, kinds)
        return self._records[cls]

    def record_named(self, node: ast.expr, module: Module) -> RecordType | None:
        """The record that an annotation names, or None."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = unquote(node, node.value, module)
        return self.record(resolve(node, module), module, node) if isinstance(node, ast.Name | ast.Attribute) else None

    def record_or_none(self, node: ast.expr, module: Module) -> tuple[RecordType | None, bool]:
        """The record that an annotation names, and whether it allows None: ``Vote`` or ``Vote | None``."""
        match node:
            case ast.Constant(value=str(text)):
                return self.record_or_none(unquote(node, text, module), module)
            case ast.BinOp(left=ast.Name() | ast.Attribute() as left, op=ast.BitOr(), right=ast.Constant(value=None)):
                return self.record_named(left, module), True
        return self.record_named(node, module), False

    def _part(self, cls: type, name: str, hint: object, module: Module, node: ast.AST) -> Plain:
        # The message about a built-in type such as int names the part, and not the type alone.
        is_declared = isinstance(hint, type) and (hint is bool or hint not in BUILTINS.values())
        kind = self.of_class(hint, module, node) if is_declared else None
        if kind is not None:
            return kind
        shown = " | ".join(getattr(each, "__name__", str(each)) for each in get_args(hint) or [hint])
        shown = shown.replace("NoneType", "None")
        remedy = "use a Sort, a Nat, an Int, an Enum or bool"
        return module.refuse(node, f"{cls.__name__}.{name} is {shown}, which cannot be a part", remedy)


def _declared(cls: type, module: Module, node: ast.AST) -> Plain:
    """The type that a class declares. Raises ModelError if it declares none."""
    role = getattr(cls, MARK, None)
    name = cls.__name__
    if name == BUDGET:
        module.refuse(
            node, "this name is reserved: it stands for the budget of an action", "give the type another name"
        )
    if MARK in vars(cls):  # Sort, Nat, Ring and Int have the mark themselves; a class of a model inherits it
        module.refuse(node, f"{name} itself is not a type of a model", f"declare one: class My{name}({name}): ...")
    if role == "sort":
        return SortType(name)
    if role in ("nat", "ring"):
        return NatType(name)
    if role == "int":
        lo, hi = getattr(cls, "lo"), getattr(cls, "hi")  # noqa: B009 - the compiler knows nothing of lang's classes
        if not (isinstance(lo, int) and isinstance(hi, int) and lo <= hi):
            module.refuse(node, f"{name} has no values: its bounds are {lo!r} to {hi!r}", "give it lo <= hi")
        return IntType(name, lo, hi)
    if issubclass(cls, enum.Enum):
        members = tuple(cls.__members__)
        if not members:
            module.refuse(node, f"the Enum {name} has no members", "give it some")
        # ``__members__`` has aliases too: names with the value of an earlier member. Iteration leaves them out.
        distinct = [member.name for member in cls]
        for member in members:
            if member not in distinct:
                module.refuse(node, f"{name}.{member} has the same value as another member", "give it a new value")
        return EnumType(name, members)
    if cls is int:
        module.refuse(node, "an int has no bounds", "declare a Nat, or class Gap(Int, lo=-2, hi=2)")
    return module.refuse(node, *type_remedies.of_class(cls))


def resolve(node: ast.expr, module: Module) -> Any:
    """The Python object that a dotted name stands for in its module. Raises ModelError for an unknown name."""
    match node:
        case ast.Name(id=name):
            if name in module.names:
                return module.names[name]
            if name in BUILTINS:
                return BUILTINS[name]
            module.refuse(node, "this name is not known here", "define or import it")
        case ast.Attribute(value=value, attr=attr):
            owner = resolve(value, module)
            if hasattr(owner, attr):
                return getattr(owner, attr)
            module.refuse(node, f"there is no {attr} in {ast.unparse(value)}", "check the spelling")
        case ast.Constant(value=str(text)):
            return resolve(unquote(node, text, module), module)
    module.refuse(node, "this is not a name", "use the name of a type")


def unquote(node: ast.expr, text: str, module: Module) -> ast.expr:
    """The expression in a quoted annotation. All its parts get the place of the quoted text."""
    try:
        inner = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        module.refuse(node, "this is not a type", "write the type without quotes")
    for part in ast.walk(inner):
        ast.copy_location(part, node)
    return inner


def scalar(node: ast.expr, module: Module, types: Types) -> Scalar:
    """The type of a cell: a plain type, or ``Plain | None``."""
    match node:
        case ast.Constant(value=str(text)):
            return scalar(unquote(node, text, module), module, types)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            inner = scalar(left, module, types)
            if isinstance(inner, OptionalType):
                module.refuse(node, "an Optional of an Optional", "write `| None` once")
            return OptionalType(inner)
        case ast.BinOp(op=ast.BitOr()):
            module.refuse(node, "a union of types", "only `Type | None` is possible; use an Enum for alternatives")
        case ast.Subscript(value=value):
            origin = resolve(value, module) if isinstance(value, ast.Name | ast.Attribute) else None
            module.refuse(node, *type_remedies.of_container(node, origin, getattr(origin, MARK, None)))
        case ast.Name() | ast.Attribute():
            return types.of_class(resolve(node, module), module, node)
    return module.refuse(node, "this is not a type", "use bool, an Enum, a Sort, Nat or Int, or one of them `| None`")


def plain(node: ast.expr, module: Module, types: Types, what: str) -> Plain:
    """The type of a parameter. ``what``: the parameter in the words of a message."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return plain(unquote(node, node.value, module), module, types, what)
    if isinstance(node, ast.Subscript):
        origin = resolve(node.value, module) if isinstance(node.value, ast.Name | ast.Attribute) else None
        module.refuse(node, *type_remedies.of_parameter(node, origin, what))
    found = scalar(node, module, types)
    if isinstance(found, OptionalType):
        module.refuse(node, f"{what} cannot be None", "take a bool parameter beside it, or write two actions")
    return found


def key(node: ast.expr, module: Module, types: Types) -> Key:
    """The type of a key or of the domain of a loop."""
    found = scalar(node, module, types)
    if isinstance(found, SortType | NatType | EnumType):
        return found
    return module.refuse(node, f"{found} cannot be a key or a domain", "use a Sort, a Nat or an Enum")
