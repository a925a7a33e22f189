"""The variables of a model, from its fields: one for each field or part of a record, and the length of a sequence."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, MutableSet

from holdfast.ir.compile.field_types import FieldType
from holdfast.ir.compile.refusals import Refusals
from holdfast.ir.compile.source import ClassSource, SourceField
from holdfast.ir.names import length_name
from holdfast.ir.system import Var


def check_field(field: SourceField, kind: FieldType, taken: MutableSet[str]) -> None:
    """Refuse a field by its name or for its default.

    ``taken``: the names of all fields and methods, and of the variables of the sequences and records before, to which
    the function adds those of this field.
    """
    name, module, node = field.name, field.module, field.node
    if name.startswith("_"):
        module.refuse(node, "a field's name begins with an underscore", "give it a public name", name)
    if node.value is not None:
        module.refuse(node, "a field has no default", "set it in an @init method", name)
    lengths = (length_name(name),) if kind.index is not None else ()
    for made in (*kind.cells(name), *lengths) if kind.record is not None or lengths else ():
        if made != name and made in taken:
            module.refuse(node, f"it has a variable {made}, and another one has this name", "rename one", name)
        taken.add(made)


def variables_of(
    source: ClassSource,
    kinds: Mapping[str, FieldType],
    written: Collection[str],
    initialised: Collection[str],
    refusals: Refusals,
) -> Iterator[Var]:
    """The variables of the fields, without flags.

    ``written``: the variables that actions write. ``initialised``: the variables that the initial condition writes. The
    function refuses a sequence or record that nothing writes.
    """
    for name, kind in kinds.items():
        if kind.flag:
            continue
        field = source.fields[name]
        at = field.module.place(field.node)
        cells = kind.cells(name)
        unset = not any(var in written or var in initialised for var in cells)
        if kind.most is not None and unset and not _may_be_set(name, source, refusals):
            with refusals.collect(name):
                remedy = f"write self.{name}.fill(False) in an @init method, or declare a Rel"
                field.module.refuse(field.node, "nothing sets this pool", remedy, name)
        if kind.holds_record:
            if unset and not _may_be_set(name, source, refusals):
                with refusals.collect(name):
                    remedy = f"set self.{name} in an @init method, or declare a field for each part"
                    field.module.refuse(field.node, "nothing sets this record", remedy, name)
            for var, value in cells.items():
                yield Var(var, kind.keys, value, kind.ghost, var not in written, False, at, part_of=name)
            continue
        if kind.index is None:
            yield Var(name, kind.keys, kind.value, kind.ghost, name not in written, unset, at, most=kind.most)
            continue
        if unset and not _may_be_set(name, source, refusals):
            with refusals.collect(name):
                remedy = f"write self.{name}.clear() in an @init method"
                field.module.refuse(field.node, "nothing empties this sequence", remedy, name)
        length = length_name(name)
        # A scope cannot give the entries of a sequence.
        for var, value in cells.items():
            yield Var(var, kind.keys, value, False, var not in written, False, at, entries_of=name)
        yield Var(length, kind.keys[:-1], kind.index, False, length not in written, False, at, length_of=name)


def _may_be_set(name: str, source: ClassSource, refusals: Refusals) -> bool:
    """Whether a refused method names a field, and so may be what sets it."""
    refused = (member.node for member in source.members.values() if member.name in refusals.names)
    return any(isinstance(part, ast.Attribute) and part.attr == name for node in refused for part in ast.walk(node))
