"""Translates annotations to types of the transition system."""

from __future__ import annotations

import ast
import enum
from typing import Any

import attrs

from holdfast.ir.compile import type_remedies
from holdfast.ir.compile.source import Module
from holdfast.ir.errors import ModelError
from holdfast.ir.marks import MARK
from holdfast.ir.types import BOOL, BUDGET, EnumType, IntType, Key, NatType, OptionalType, Plain, Scalar, SortType

SEQUENCE = "write Seq[Value, Index] with class Index(Nat): its bound in a scope is the greatest length"

BUILTINS: dict[str, object] = {
    kind.__name__: kind for kind in (bool, int, float, str, bytes, tuple, list, dict, set, frozenset, object)
}


@attrs.define
class Types:
    """The types that a model uses, by the Python class that declares them. Reading an annotation adds its types."""

    known: dict[type, Plain] = attrs.field(factory=dict)
    _refused: dict[type, ModelError] = attrs.field(factory=dict, init=False)

    def of_class(self, cls: object, module: Module, node: ast.AST) -> Plain:
        """The type that a Python class stands for. Raises ModelError if the class is no type of the language."""
        if cls is bool:
            return BOOL
        if not isinstance(cls, type):
            module.refuse(node, "this is not a type", "use bool, an Enum, or a class of Sort, Nat or Int")
        if cls in self.known:
            return self.known[cls]
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
            return resolve(_unquote(node, text, module), module)
    module.refuse(node, "this is not a name", "use the name of a type")


def _unquote(node: ast.expr, text: str, module: Module) -> ast.expr:
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
            return scalar(_unquote(node, text, module), module, types)
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
        return plain(_unquote(node, node.value, module), module, types, what)
    if isinstance(node, ast.Subscript):
        module.refuse(node, *type_remedies.of_parameter(node, what))
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


@attrs.frozen
class FieldType:
    """The meaning of a field's annotation.

    ``index``: for a sequence, or a map to sequences, the Nat whose bound is the greatest length. Then it is the last of
    the keys too, and ``value`` is the type of an entry or None.
    """

    keys: tuple[Key, ...]
    value: Scalar
    ghost: bool = False
    flag: bool = False
    index: NatType | None = None


def field_type(node: ast.expr, module: Module, types: Types) -> FieldType:
    """The type of a field from its annotation: Ghost[...], Flag, Map[...], Rel[...], Seq[...] or a scalar."""
    match node:
        case ast.Constant(value=str(text)):
            return field_type(_unquote(node, text, module), module, types)
        case ast.Subscript(value=value, slice=inner):
            origin = resolve(value, module)
            role = getattr(origin, MARK, None)
            if _annotated(origin, "ghost"):
                return _ghost(node, field_type(inner, module, types), module)
            if role == "rel":
                return FieldType(_keys(node, inner, module, types), BOOL)
            if role == "map":
                if not isinstance(inner, ast.Tuple) or len(inner.elts) != 2:
                    module.refuse(
                        node, "a Map has a key and a value", "write Map[Key, Value] or Map[tuple[A, B], Value]"
                    )
                return _map_type(inner.elts[0], inner.elts[1], module, types)
            if role == "seq":
                return _sequence_type(node, (), module, types)
        case ast.Name() | ast.Attribute():
            found_name = resolve(node, module)
            if _annotated(found_name, "flag"):
                return FieldType((), BOOL, flag=True)
            _refuse_bare(node, getattr(found_name, MARK, None), module)
    return FieldType((), scalar(node, module, types))


def _refuse_bare(node: ast.expr, role: object, module: Module) -> None:
    """Refuse ``Map``, ``Rel`` and ``Seq`` without the types that they hold."""
    if role in ("map", "rel"):
        module.refuse(node, "its keys are not given", "write Map[Key, Value] or Rel[Key]")
    if role == "seq":
        module.refuse(node, "its entries are not given", SEQUENCE)


def _ghost(node: ast.expr, found: FieldType, module: Module) -> FieldType:
    if found.ghost or found.flag:
        module.refuse(node, "a Ghost holds a plain field", "write Ghost[Map[...]] or Ghost[Rel[...]]")
    if found.index is not None:
        problem = "a ghost must not cut a step, as a full sequence does"
        module.refuse(node, problem, "record a relation: Ghost[Rel[...]]")
    return attrs.evolve(found, ghost=True)


def _map_type(keys: ast.expr, held: ast.expr, module: Module, types: Types) -> FieldType:
    if isinstance(held, ast.Subscript) and isinstance(held.value, ast.Name | ast.Attribute):
        role = getattr(resolve(held.value, module), MARK, None)
        if role in ("map", "rel"):
            outer = type_remedies.keys_text(keys)
            module.refuse(held, *type_remedies.of_map_in_map(outer, held, role))
        if role == "seq":
            return _sequence_type(held, _map_keys(keys, module, types), module, types)
    return FieldType(_map_keys(keys, module, types), scalar(held, module, types))


def _sequence_type(node: ast.Subscript, keys: tuple[Key, ...], module: Module, types: Types) -> FieldType:
    """The type of ``Seq[Value, Index]``, for each of the keys."""
    if not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) != 2:
        module.refuse(node, "a Seq has a type of entries and an index", SEQUENCE)
    entry, bound = node.slice.elts
    index = key(bound, module, types)
    if not isinstance(index, NatType):
        module.refuse(bound, f"{index} cannot be the index of a sequence", SEQUENCE)
    value = scalar(entry, module, types)
    if isinstance(value, OptionalType):
        module.refuse(entry, "an entry of a sequence is never None", f"write Seq[{value.of}, {index}]")
    return FieldType((*keys, index), OptionalType(value), index=index)


def _map_keys(node: ast.expr, module: Module, types: Types) -> tuple[Key, ...]:
    match node:
        case ast.Subscript(value=value, slice=inner) if resolve(value, module) is tuple:
            return _keys(node, inner, module, types)
    return (key(node, module, types),)


def _keys(node: ast.expr, inner: ast.expr, module: Module, types: Types) -> tuple[Key, ...]:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if not parts:
        module.refuse(node, "it has no keys", "declare a plain field, or give it a key")
    return tuple(key(part, module, types) for part in parts)


def _annotated(origin: object, word: str) -> bool:
    """Whether a type is ``Annotated`` with the word, as ``Ghost`` and ``Flag`` are."""
    return word in getattr(origin, "__metadata__", ())
