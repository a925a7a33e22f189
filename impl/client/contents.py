"""The sends whose records a batch holds, as a poll records them in the history.

A producer may join several sends in one batch, so a batch is a sequence of sends. Each send has the records 0, 1, 2,
... of its value. A record that breaks this order gets the value FOREIGN, which no client sends. The oracles object to
that value, and to a send that has lost records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from impl.client.payload import decode

FOREIGN = -1
"""The value of a record that belongs to no send."""
SendRecords = tuple[int, int, int]
"""Records of one send: the base offset, the number of records, the value."""


def runs(batches: Iterable[tuple[int, Sequence[bytes]]], begin: int) -> list[SendRecords]:
    """The sends of batches, without sends that end at ``begin`` or below. ``batches``: base offset and records."""
    found: list[SendRecords] = []
    for base, values in batches:
        found += _runs(base, values)
    return [(base, count, value) for base, count, value in found if base + count > begin]


def _runs(base: int, records: Sequence[bytes]) -> list[SendRecords]:
    found: list[SendRecords] = []
    for offset, record in enumerate(records, base):
        try:
            value, place = decode(record)
        except ValueError:
            value, place = FOREIGN, 0
        first, count, last = found[-1] if found else (offset, 0, FOREIGN)
        # Place 0 always begins a send, so a second copy of a send is a second run, and ``exactly once`` sees it.
        if place == 0:
            found.append((offset, 1, value))
        elif value == last and place == count:
            found[-1] = first, count + 1, value
        else:
            found.append((offset, 1, FOREIGN))
    return found
