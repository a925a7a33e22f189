"""States of the models of ``crowd.py``, in scopes with large groups of renamings."""

from __future__ import annotations

import random
from functools import cache
from itertools import product
from pathlib import Path

import attrs

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.lower.layout import Layout

CROWD = Path(__file__).parent / "models" / "crowd.py"

SCOPES: dict[str, dict[str, int]] = {
    "Pairs": {"Member": 5},
    "Crowd": {"Member": 5, "Box": 3, "Slot": 1},
    "Sites": {"Member": 6, "Site": 2},
}
GIVEN = {"site_of": (0, 1, 0, 1, 0, 1)}


@cache
def layout(name: str, **sizes: int) -> Layout:
    """The layout of a model of ``crowd.py``, in a scope of these sizes."""
    system = compile_model(load_model(f"{CROWD}:{name}"))
    scope = attrs.evolve(system.scopes["tiny"], sizes=sizes or SCOPES[name])
    return Layout(system, attrs.evolve(scope, given=GIVEN if scope.given else {}))


def random_states(of: Layout, count: int, chance: random.Random) -> list[bytes]:
    """Random states. In some of them most cells hold the same, so that many elements are alike."""
    found = []
    for _ in range(count):
        likely = chance.random()
        codes = (0 if chance.random() < likely else chance.randrange(cell.field.codes) for cell in of.cells)
        found.append(bytes(codes))
    return found


def cycles(*lengths: int, both_ways: bool = False) -> bytes:
    """A state of ``Pairs`` in which all members look alike, and are not: each knows the next one of its cycle."""
    count, start, edges = sum(lengths), 0, set()
    for length in lengths:
        edges |= {(start + place, start + (place + 1) % length) for place in range(length)}
        start += length
    if both_ways:
        edges |= {(two, one) for one, two in edges}
    return bytes(int(pair in edges) for pair in product(range(count), repeat=2))
