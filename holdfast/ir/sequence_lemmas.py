"""What a proof knows of sequences: their entries are None from the length on, and nowhere before.

Every operation on a sequence keeps that, and a search finds nothing else. A proof begins with any state, so each
sequence adds a lemma that says it, which is proved with all others. Its name has a space, as no name of a model has.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from holdfast.ir.expr import TRUE, Compare, Expr, IsNone, Name, Quantified, Read, conjunction
from holdfast.ir.system import Property, System, Var

NAMED = "sequence {}"


def with_sequence_lemmas(system: System) -> System:
    """The system with a lemma for each of its sequences."""
    return attrs.evolve(system, properties=(*system.properties, *_lemmas(system)))


def is_declared(lemma: Property) -> bool:
    """Whether the model declares a lemma itself."""
    return lemma.name.isidentifier()


def _lemmas(system: System) -> Iterator[Property]:
    for length in system.variables:
        if length.length_of is not None:
            entries = [var for var in system.variables if var.entries_of == length.length_of]
            yield Property(
                name=NAMED.format(length.length_of),
                kind="lemma",
                ids=(),
                doc=f"The entries of {length.length_of} are None from its length on, and nowhere before.",
                params=(),
                body=conjunction([_packed(var, length) for var in entries]),
                premise=TRUE,
                at=length.at,
            )


def _packed(entries: Var, length: Var) -> Expr:
    domains = {f"key_{place}": kind for place, kind in enumerate(entries.keys)}
    *keys, index = (Name(name, kind) for name, kind in domains.items())
    beyond = Compare(">=", index, Read(length.name, tuple(keys), length.value))
    found: Expr = Compare("==", IsNone(Read(entries.name, (*keys, index), entries.value)), beyond)
    for name, domain in reversed(domains.items()):
        found = Quantified("all", name, domain, found)
    return found
