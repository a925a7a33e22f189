"""The sends whose records a batch holds, as a poll records them in the history.

A producer may join several sends in one batch, so a batch is a row of sends: each has the records 0, 1, 2, ... of its
value. Whatever breaks this order is recorded under the value FOREIGN, which nobody sends. The oracles object to it, and
to a send that has lost records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from impl.client.payload import decode

FOREIGN = -1
"""The value of a record that belongs to no send."""
Run = tuple[int, int, int]
"""Records of one send: the base offset, the number of records, the value."""


def runs(batches: Iterable[tuple[int, Sequence[bytes]]], begin: int) -> list[Run]:
    """The sends of batches, each batch with its base offset, leaving out those that end at ``begin`` or below."""
    found: list[Run] = []
    for base, values in batches:
        found += _runs(base, values)
    return [(base, count, value) for base, count, value in found if base + count > begin]


def _runs(base: int, records: Sequence[bytes]) -> list[Run]:
    found: list[Run] = []
    for offset, record in enumerate(records, base):
        try:
            value, place = decode(record)
        except ValueError:
            value, place = FOREIGN, 0
        first, count, last = found[-1] if found else (offset, 0, FOREIGN)
        if place == 0:
            found.append((offset, 1, value))
        elif value == last and place == count:
            found[-1] = first, count + 1, value
        else:
            found.append((offset, 1, FOREIGN))
    return found
