"""What a proof knows of sequences and records without being told.

The entries of a sequence are None from its length on, and nowhere before. The parts of a record that may be None are
None together. Every operation keeps that, and a search finds nothing else. A proof begins with any state, so each
sequence and record adds a lemma that says it, which is proved with all others. Its name has a space, as no name of a
model has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from holdfast.ir.expr import TRUE, Compare, Expr, IsNone, Name, Quantified, Read, conjunction
from holdfast.ir.system import Property, System, Var
from holdfast.ir.types import Key, OptionalType


def with_implied_lemmas(system: System) -> System:
    """The system with a lemma for each of its sequences, and for each record that may be None."""
    return attrs.evolve(system, properties=(*system.properties, *_of_sequences(system), *_of_records(system)))


def is_declared(lemma: Property) -> bool:
    """Whether the model declares a lemma itself."""
    return lemma.name.isidentifier()


def _of_sequences(system: System) -> Iterator[Property]:
    for length in system.variables:
        if length.length_of is not None:
            entries = [var for var in system.variables if var.entries_of == length.length_of]
            doc = f"The entries of {length.length_of} are None from its length on, and nowhere before."
            yield _lemma(f"sequence {length.length_of}", doc, [_packed(var, length) for var in entries], length)


def _of_records(system: System) -> Iterator[Property]:
    fields: dict[str, list[Var]] = {}
    for var in system.variables:
        if var.part_of is not None and isinstance(var.value, OptionalType):
            fields.setdefault(var.part_of, []).append(var)
    for name, (first, *others) in fields.items():
        if others:
            doc = f"The parts of {name} are None together."
            yield _lemma(f"record {name}", doc, [_alike(first, var) for var in others], first)


def _lemma(name: str, doc: str, parts: list[Expr], of: Var) -> Property:
    return Property(
        name=name, kind="lemma", ids=(), doc=doc, params=(), body=conjunction(parts), premise=TRUE, at=of.at
    )


def _packed(entries: Var, length: Var) -> Expr:
    domains = _domains(entries.keys)
    *keys, index = (Name(name, kind) for name, kind in domains.items())
    beyond = Compare(">=", index, Read(length.name, tuple(keys), length.value))
    return _for_all(domains, Compare("==", IsNone(Read(entries.name, (*keys, index), entries.value)), beyond))


def _alike(first: Var, other: Var) -> Expr:
    domains = _domains(first.keys)
    keys = tuple(Name(name, kind) for name, kind in domains.items())
    one, two = (IsNone(Read(var.name, keys, var.value)) for var in (first, other))
    return _for_all(domains, Compare("==", one, two))


def _domains(keys: Sequence[Key]) -> dict[str, Key]:
    return {f"key_{place}": kind for place, kind in enumerate(keys)}


def _for_all(domains: Mapping[str, Key], body: Expr) -> Expr:
    for name, domain in reversed(list(domains.items())):
        body = Quantified("all", name, domain, body)
    return body
