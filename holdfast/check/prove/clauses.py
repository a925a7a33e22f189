"""Clauses over the terms of a model: the candidates for a missing lemma.

A term is a name, or a variable of the model at keys. A key is a name or a constant at names. An atom says that a
relation holds, that a term is None, or that two terms are equal or in order. A clause says that certain literals never
hold together, whatever elements the names stand for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import attrs

from holdfast.ir.expr import (
    Compare,
    Expr,
    Implies,
    IsNone,
    Lit,
    Name,
    Not,
    Quantified,
    Read,
    Unwrap,
    conjunction,
    negate,
    walk,
)
from holdfast.ir.stmt import expressions
from holdfast.ir.system import Param, Property, System
from holdfast.ir.types import BoolType, Key, NatType, OptionalType, SortType, Type

MOST_NAMES = 2
"""The greatest number of names of one type in a clause."""


@attrs.frozen
class Literal:
    """An atom or its negation, with the names that occur in it."""

    expr: Expr
    names: frozenset[str]


def pool(system: System) -> tuple[Param, ...]:
    """The names for clauses: of each type as many as one property or action uses, but at most MOST_NAMES."""
    found: list[Param] = []
    kinds: tuple[SortType | NatType, ...] = (*system.sorts, *system.nats)
    for kind in kinds:
        if any(kind in var.keys for var in system.variables if not _is_reached(system, kind)):
            letters = kind.name[0].lower()
            count = min(MOST_NAMES, _most_names(system, kind))
            found += [Param(f"{letters}{'' if count == 1 else number + 1}", kind) for number in range(count)]
    return tuple(_distinct(found))


def _is_reached(system: System, kind: Key) -> bool:
    """Whether a constant maps keys to elements of a sort, so that clauses need no names for these elements."""
    return isinstance(kind, SortType) and any(var.given and var.value == kind and var.keys for var in system.variables)


def _most_names(system: System, kind: Key) -> int:
    """The greatest number of names of a type in one property or action; 1 for a Nat."""
    most = 1
    for action in system.actions:
        bound = {part.var for part in expressions(action.body) if isinstance(part, Quantified) and part.domain == kind}
        most = max(most, len(bound) + sum(param.type == kind for param in action.params))
    for prop in system.properties:
        bound = {part.var for part in walk(prop.body) if isinstance(part, Quantified) and part.domain == kind}
        most = max(most, len(bound) + sum(param.type == kind for param in prop.params))
    return most if isinstance(kind, SortType) else 1


def _distinct(params: Sequence[Param]) -> Iterator[Param]:
    """The names made distinct: with more letters of the type if two types begin alike, then with underscores."""
    taken: set[str] = set()
    for param in params:
        kind, rest = str(param.type).lower(), param.name[1:]
        letters = (kind[:length] for length in range(1, len(kind) + 1))
        marked = (kind + "_" * marks for marks in itertools.count(1))
        name = next(name for stem in itertools.chain(letters, marked) if (name := stem + rest) not in taken)
        taken.add(name)
        yield Param(name, param.type)


def literals(system: System, names: Sequence[Param], ghosts: frozenset[str]) -> list[Literal]:
    """All literals over the names: each atom at an even index, followed by its negation."""
    atoms = list(dict.fromkeys(_atoms(system, names, ghosts)))
    found: list[Literal] = []
    for atom in atoms:
        used = frozenset(part.name for part in walk(atom) if isinstance(part, Name))
        found += [Literal(atom, used), Literal(negate(atom), used)]
    return found


def _atoms(system: System, names: Sequence[Param], ghosts: frozenset[str]) -> Iterator[Expr]:
    terms: dict[Type, list[Expr]] = {}
    for param in names:
        terms.setdefault(param.type, []).append(Name(param.name, param.type))
    # Constants come first: their values are keys in the terms of the other variables.
    for var in sorted(system.variables, key=lambda var: not var.constant):
        if var.ghost and var.name not in ghosts:
            continue
        for keys in itertools.product(*(_keys(terms, key) for key in var.keys)):
            read = Read(var.name, keys, var.value)
            if isinstance(var.value, BoolType):
                yield read
            elif isinstance(var.value, OptionalType):
                yield IsNone(read)
                terms.setdefault(var.value.of, []).append(read)
            else:
                terms.setdefault(var.value, []).append(read)
    # After all variables, so that each type has all its terms.
    for kind, found in terms.items():
        yield from _comparisons(kind, found)


def _keys(terms: Mapping[Type, list[Expr]], kind: Key) -> list[Expr]:
    """The terms that may be keys: names, and earlier variables at names (above all constants) with values of a sort."""
    return [term for term in terms.get(kind, []) if isinstance(term, Name) or _is_constant_of_names(term)]


def _is_constant_of_names(term: Expr) -> bool:
    return (
        isinstance(term, Read) and all(isinstance(key, Name) for key in term.keys) and isinstance(term.type, SortType)
    )


def _comparisons(kind: Type, terms: Sequence[Expr]) -> Iterator[Expr]:
    for one, other in itertools.combinations(terms, 2):
        yield _guarded("==", one, other)
        if isinstance(kind, NatType):
            yield _guarded("<", one, other)
            yield _guarded("<", other, one)
    if isinstance(kind, NatType):
        for term in terms:
            yield _guarded("==", term, Lit(0, kind))


def _guarded(op: str, one: Expr, other: Expr) -> Expr:
    """The comparison of two terms; False if one of them is None."""
    there = [Not(IsNone(term)) for term in (one, other) if isinstance(term.type, OptionalType)]
    left, right = (Unwrap(term, term.type.of) if isinstance(term.type, OptionalType) else term for term in (one, other))
    compared = Compare(op, left, right)  # type: ignore[arg-type]
    return conjunction([*there, compared]) if there else compared


def clause(name: str, parts: Sequence[Literal], names: Sequence[Param], like: Property) -> Property:
    """The lemma that the literals never hold together, for all elements. It has the place in the source of ``like``.

    The last literal becomes the conclusion and the others the premise of an implication, which reads better.
    """
    *premises, last = [part.expr for part in parts]
    claim = negate(last)
    body: Expr = Implies(conjunction(premises), claim) if premises else claim
    used = frozenset().union(*(part.names for part in parts))
    for param in reversed([param for param in names if param.name in used]):
        assert isinstance(param.type, SortType | NatType)
        body = Quantified("all", param.name, param.type, body)
    return attrs.evolve(
        like, name=name, kind="lemma", ids=(), doc="", params=(), body=body, premise=body, goal=None, of=None
    )
