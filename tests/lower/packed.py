"""Random states in which sequences, pools and records are as operations leave them: CPython can have no others."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.ir.system import System
from holdfast.ir.types import OptionalType
from holdfast.lower.layout import Field, Layout


def packed(system: System, layout: Layout, state: Iterable[int]) -> bytes:
    """The state with sequences, pools and records as operations leave them.

    A sequence has an entry at each index below its length and None from there on. Of a pool with too many members the
    first ones stay. The parts of a record are None together.
    """
    codes = bytearray(state)
    fields = {field.name: field for field in layout.fields}
    lengths = {var.length_of: fields[var.name] for var in system.variables if var.length_of is not None}
    for field in layout.fields:
        if field.most is not None:
            members = [at for at in range(field.offset, field.offset + field.count) if codes[at]]
            for at in members[field.most :]:
                codes[at] = 0
    for var in system.variables:
        if var.entries_of is not None:
            length, entries = lengths[var.entries_of], fields[var.name]
            for place in range(entries.count):
                sequence, index = divmod(place, entries.count // length.count)
                at = entries.offset + place
                codes[at] = max(1, codes[at]) if index < codes[length.offset + sequence] else 0
    firsts: dict[str, Field] = {}
    for field in layout.fields:
        part_of = None if field.hidden else system.var(field.name).part_of
        if part_of is not None and isinstance(field.type, OptionalType):
            first = firsts.setdefault(part_of, field)
            for place in range(field.count):
                at = field.offset + place
                codes[at] = max(1, codes[at]) if codes[first.offset + place] else 0
    return bytes(codes)
