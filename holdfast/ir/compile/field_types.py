"""Translates the annotation of a field: Ghost, Flag, Map, Rel, Bag, Pool, Seq or a single value."""

from __future__ import annotations

import ast

import attrs

from holdfast.ir.compile import type_remedies
from holdfast.ir.compile.annotations import RecordType, Types, key, resolve, scalar, unquote
from holdfast.ir.compile.source import Module
from holdfast.ir.marks import MARK
from holdfast.ir.names import UniqueName
from holdfast.ir.types import BOOL, Key, NatType, OptionalType, Scalar

SEQUENCE = "write Seq[Value, Index] with class Index(Nat): its bound in a scope is the greatest length"

BAG = "write Bag[Key, Copies] with class Copies(Nat): its bound in a scope is the most copies of one key"

POOL = "write Pool[Key, Most] with class Most(Nat): its bound in a scope is the greatest number of members"

Shape = tuple[Key | RecordType, ...]
"""The keys of a map as its author wrote them."""


def flat(shape: Shape) -> tuple[Key, ...]:
    """The keys, with those of its parts for a record."""
    return tuple(
        key for kind in shape for key in ([k for _, k in kind.keys] if isinstance(kind, RecordType) else [kind])
    )


@attrs.frozen
class FieldType:
    """The meaning of a field's annotation.

    ``shape``: the keys as they are written, where a record stands for several. ``index``: for a sequence, or a map to
    sequences, the Nat whose bound is the greatest length. Then it is the last of the keys too, and ``value`` is the
    type of an entry or None. ``record``: for entries or values that are records, their type; each part has a variable.
    ``optional``: for values that are records, whether they may be None. ``bag``: whether the values count the copies of
    each key. ``most``: for a pool, the Nat that bounds its members.
    """

    keys: tuple[Key, ...]
    value: Scalar
    ghost: bool = False
    flag: bool = False
    index: NatType | None = None
    record: RecordType | None = None
    optional: bool = False
    bag: bool = False
    most: NatType | None = None
    shape: Shape = attrs.field(default=attrs.Factory(lambda self: self.keys, takes_self=True))

    @property
    def holds_record(self) -> bool:
        """Whether the values are records."""
        return self.record is not None and self.index is None

    def cells(self, name: str) -> dict[str, Scalar]:
        """The variables that hold the cells of a field, by name, and their types: one for each part of a record."""
        if self.record is None:
            return {name: self.value}
        found: dict[str, Scalar] = {}
        for part, kind in self.record.parts:
            source = f"{name}.{part}" if self.holds_record else name
            plain = self.holds_record and not self.optional
            found[UniqueName(f"{name}_{part}", source)] = kind if plain else OptionalType(kind)
        return found


def field_type(node: ast.expr, module: Module, types: Types) -> FieldType:
    """The type of a field from its annotation: Ghost[...], Flag, Map[...], Rel[...], Seq[...] or a scalar."""
    match node:
        case ast.Constant(value=str(text)):
            return field_type(unquote(node, text, module), module, types)
        case ast.Subscript(value=value, slice=inner):
            origin = resolve(value, module)
            role = getattr(origin, MARK, None)
            if _annotated(origin, "ghost"):
                return _ghost(node, field_type(inner, module, types), module)
            if role == "rel":
                shape = _keys(node, inner, module, types)
                return FieldType(flat(shape), BOOL, shape=shape)
            if role == "map":
                if not isinstance(inner, ast.Tuple) or len(inner.elts) != 2:
                    module.refuse(
                        node, "a Map has a key and a value", "write Map[Key, Value] or Map[tuple[A, B], Value]"
                    )
                return _map_type(inner.elts[0], inner.elts[1], module, types)
            if role == "bag":
                return _bag_type(node, module, types)
            if role == "pool":
                return _pool_type(node, module, types)
            if role == "seq":
                return _sequence_type(node, (), module, types)
        case ast.Name() | ast.Attribute():
            found_name = resolve(node, module)
            if _annotated(found_name, "flag"):
                return FieldType((), BOOL, flag=True)
            _refuse_bare(node, getattr(found_name, MARK, None), module)
    return _value_type(node, (), module, types)


def _value_type(node: ast.expr, shape: Shape, module: Module, types: Types) -> FieldType:
    """The type of a single value for each of the keys: a scalar, a record, or a record that may be None."""
    record, optional = types.record_or_none(node, module)
    if record is None:
        return FieldType(flat(shape), scalar(node, module, types), shape=shape)
    first = record.parts[0][1]
    value = OptionalType(first) if optional else first
    return FieldType(flat(shape), value, record=record, optional=optional, shape=shape)


def _refuse_bare(node: ast.expr, role: object, module: Module) -> None:
    """Refuse ``Map``, ``Rel`` and ``Seq`` without the types that they hold."""
    if role in ("map", "rel"):
        module.refuse(node, "its keys are not given", "write Map[Key, Value] or Rel[Key]")
    if role == "bag":
        module.refuse(node, "its members are not given", BAG)
    if role == "pool":
        module.refuse(node, "its members are not given", POOL)
    if role == "seq":
        module.refuse(node, "its entries are not given", SEQUENCE)


def _ghost(node: ast.expr, found: FieldType, module: Module) -> FieldType:
    if found.ghost or found.flag:
        module.refuse(node, "a Ghost holds a plain field", "write Ghost[Map[...]] or Ghost[Rel[...]]")
    if found.index is not None:
        problem = "a ghost must not cut a step, as a full sequence does"
        module.refuse(node, problem, "record a relation: Ghost[Rel[...]]")
    if found.most is not None:
        problem = "a ghost must not cut a step, as a full pool does"
        module.refuse(node, problem, "record a relation: Ghost[Rel[...]]")
    return attrs.evolve(found, ghost=True)


def _map_type(keys: ast.expr, held: ast.expr, module: Module, types: Types) -> FieldType:
    if isinstance(held, ast.Subscript) and isinstance(held.value, ast.Name | ast.Attribute):
        role = getattr(resolve(held.value, module), MARK, None)
        if role in ("map", "rel", "bag", "pool"):
            outer = type_remedies.keys_text(keys)
            module.refuse(held, *type_remedies.of_map_in_map(outer, held, role))
        if role == "seq":
            return _sequence_type(held, _map_keys(keys, module, types), module, types)
    return _value_type(held, _map_keys(keys, module, types), module, types)


def _bag_type(node: ast.Subscript, module: Module, types: Types) -> FieldType:
    """The type of ``Bag[Key, Copies]``: a map to numbers."""
    shape, copies = _counted(node, "copies", BAG, module, types)
    return FieldType(flat(shape), copies, bag=True, shape=shape)


def _pool_type(node: ast.Subscript, module: Module, types: Types) -> FieldType:
    """The type of ``Pool[Key, Most]``: a relation with few members."""
    shape, most = _counted(node, "members", POOL, module, types)
    return FieldType(flat(shape), BOOL, most=most, shape=shape)


def _counted(node: ast.Subscript, counted: str, remedy: str, module: Module, types: Types) -> tuple[Shape, NatType]:
    """The keys of a Bag or Pool, and the Nat that counts its copies or members."""
    if not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) != 2:
        module.refuse(node, f"a {ast.unparse(node.value)} has a key and a number of {counted}", remedy)
    keys, number = node.slice.elts
    nat = key(number, module, types)
    if not isinstance(nat, NatType):
        module.refuse(number, f"{nat} cannot count {counted}", remedy)
    return _map_keys(keys, module, types), nat


def _sequence_type(node: ast.Subscript, shape: Shape, module: Module, types: Types) -> FieldType:
    """The type of ``Seq[Value, Index]``, for each of the keys."""
    if not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) != 2:
        module.refuse(node, "a Seq has a type of entries and an index", SEQUENCE)
    entry, bound = node.slice.elts
    index = key(bound, module, types)
    if not isinstance(index, NatType):
        module.refuse(bound, f"{index} cannot be the index of a sequence", SEQUENCE)
    record = types.record_named(entry, module)
    if record is not None:
        first = OptionalType(record.parts[0][1])
        return FieldType((*flat(shape), index), first, index=index, record=record, shape=(*shape, index))
    value = scalar(entry, module, types)
    if isinstance(value, OptionalType):
        module.refuse(entry, "an entry of a sequence is never None", f"write Seq[{value.of}, {index}]")
    return FieldType((*flat(shape), index), OptionalType(value), index=index, shape=(*shape, index))


def _map_keys(node: ast.expr, module: Module, types: Types) -> Shape:
    match node:
        case ast.Subscript(value=value, slice=inner) if resolve(value, module) is tuple:
            return _keys(node, inner, module, types)
    return (key_or_record(node, module, types),)


def _keys(node: ast.expr, inner: ast.expr, module: Module, types: Types) -> Shape:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if not parts:
        module.refuse(node, "it has no keys", "declare a plain field, or give it a key")
    return tuple(key_or_record(part, module, types) for part in parts)


def _annotated(origin: object, word: str) -> bool:
    """Whether a type is ``Annotated`` with the word, as ``Ghost`` and ``Flag`` are."""
    return word in getattr(origin, "__metadata__", ())


def key_or_record(node: ast.expr, module: Module, types: Types) -> Key | RecordType:
    """The type of a key, of a parameter that is a record, or of the domain of a loop."""
    found = types.record_named(node, module)
    return key(node, module, types) if found is None else found.as_key(node, module)
