"""Orbits by brute force: every renaming of the elements of every Sort, applied to every state."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.lang.maps import Bag, Map, Pool, Rel
from holdfast.lang.model import Model
from holdfast.lang.records import Record, parts_of
from holdfast.lang.sequences import Seq
from holdfast.lang.sorts import Sort
from tests.generated.oracle import Graph, Oracle, code

Renaming = Mapping[type, tuple[int, ...]]


def renamings(oracle: Oracle) -> list[Renaming]:
    """Every renaming that keeps the given constants unchanged."""
    sorts = [cls for cls in oracle.mark.sizes if issubclass(cls, Sort)]
    every = itertools.product(*(itertools.permutations(range(oracle.mark.sizes[cls])) for cls in sorts))
    found = [dict(zip(sorts, chosen, strict=True)) for chosen in every]
    given = oracle.mark.given
    fixed = row(oracle.unset, given, {})
    return [renaming for renaming in found if row(oracle.unset, given, renaming) == fixed]


def renamed(value: Any, renaming: Renaming) -> Any:
    """An element's new name; other values are unchanged. A sequence has renamed entries, a record renamed parts."""
    if isinstance(value, Seq):
        return [renamed(entry, renaming) for entry in value.entries]
    if isinstance(value, Record):
        return type(value)(*(renamed(getattr(value, part), renaming) for part in parts_of(type(value))))
    return type(value).element(renaming[type(value)][value.index]) if type(value) in renaming else value


def row(state: Model, fields: Iterable[str], renaming: Renaming) -> tuple[int, ...]:
    """The renamed state as numbers."""
    found: list[int] = []
    for name in fields:
        held = state.__dict__[name]
        if isinstance(held, Bag | Map | Pool | Rel):
            moved = {tuple(renamed(part, renaming) for part in key): value for key, value in held._cells.items()}
            values = [renamed(moved[key], renaming) for key in held._cells]
        else:
            values = [renamed(held, renaming)]
        for value in values:
            found += codes(value)
    return tuple(found)


def codes(value: Any) -> list[int]:
    """The numbers for a value: several for a sequence or a record."""
    if isinstance(value, list):
        return [len(value), *(number for entry in value for number in codes(entry))]
    if isinstance(value, Record):
        return [number for part in parts_of(type(value)) for number in codes(getattr(value, part))]
    return [code(value)]


def orbits(oracle: Oracle, graph: Graph, dropped: Iterable[str]) -> int:
    """The number of orbits of the states."""
    kept = [name for name in oracle.fields if name not in set(dropped)]
    every = renamings(oracle)
    found = {
        (min(row(state, kept, renaming) for renaming in every), left)
        for state, left in zip(graph.states, graph.left, strict=True)
    }
    return len(found)
