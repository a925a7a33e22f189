"""Which ghosts a set of properties depends on; an engine may drop the others.

The compiler checks three facts: no guard depends on a ghost, no other variable depends on a ghost, and every value that
is written to a ghost lies within its bound, so the write cuts no step. Therefore an engine that drops a ghost changes
neither the runs of the protocol nor the value of a property that does not depend on the ghost. It only merges states
that differ in that ghost alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from holdfast.ir.expr import Expr, Name, Read, walk
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt, Within
from holdfast.ir.system import Property, System

Ghosts = frozenset[str]


def ghosts_read(system: System, properties: Iterable[Property]) -> Ghosts:
    """The ghosts that the properties read, and all ghosts from which the values of these ghosts are computed."""
    ghosts = frozenset(var.name for var in system.variables if var.ghost)
    sources: dict[str, Ghosts] = {}
    for action in (system.init, *system.actions):
        for ghost, read in _writes(action.body, ghosts, frozenset(), {}):
            sources[ghost] = sources.get(ghost, frozenset()) | read
    needed: set[str] = set()
    # A property has no local names ({}): the compiler has put their values in their place.
    waiting = {name for prop in properties for part in _parts(prop) for name in _read(part, ghosts, {})}
    # Transitive closure: each round adds the sources of the ghosts that the last round added.
    while waiting:
        needed |= waiting
        waiting = {source for ghost in waiting for source in sources.get(ghost, ())} - needed
    return frozenset(needed)


def _parts(prop: Property) -> Iterator[Expr]:
    """The expressions of a property that engines evaluate."""
    yield prop.body
    yield prop.premise
    if prop.goal is not None:
        yield prop.goal


def _writes(
    body: tuple[Stmt, ...], ghosts: Ghosts, tests: Ghosts, outer: Mapping[str, Ghosts]
) -> Iterator[tuple[str, Ghosts]]:
    """Each ghost that the body writes, with the ghosts that decide whether, where and what is written.

    ``tests``: the ghosts that the enclosing conditions read. ``outer``: for each local name, the ghosts that its value
    depends on.
    """
    names = dict(outer)  # a copy, because a local of a branch is unknown after it
    for stmt in body:
        match stmt:
            case Let(name=name, value=value):
                names[name] = _read(value, ghosts, names)
            case Assign(var=var, keys=keys, value=value) if var in ghosts:
                yield var, tests.union(*(_read(part, ghosts, names) for part in (*keys, value)))
            case Fill(var=var, value=value) if var in ghosts:
                yield var, tests | _read(value, ghosts, names)
            case If(test=test, then=then, orelse=orelse):
                around = tests | _read(test, ghosts, names)
                yield from _writes(then, ghosts, around, names)
                yield from _writes(orelse, ghosts, around, names)
            case For(body=inner):
                yield from _writes(inner, ghosts, tests, names)
            case Require() | Within() | Assign() | Fill():
                pass  # guards and other variables do not depend on ghosts


def _read(expr: Expr, ghosts: Ghosts, names: Mapping[str, Ghosts]) -> Ghosts:
    """The ghosts that an expression reads, directly or through a local name.

    ``names``: for each local name, the ghosts that its value depends on.
    """
    found: set[str] = set()
    for part in walk(expr):
        match part:
            case Read(var=var) if var in ghosts:
                found.add(var)
            case Name(name=name):
                found |= names.get(name, frozenset())
            case _:
                pass
    return frozenset(found)
