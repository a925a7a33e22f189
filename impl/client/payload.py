"""The bytes of a record: the value of its send, and its place among the records of that send."""

from __future__ import annotations

LONGEST = 200
"""Records are padded to lengths from 8 to LONGEST + 7 bytes."""


def payload(value: int, place: int) -> bytes:
    """The bytes of a record: the value of its send, its place, and spaces, so that records differ in size."""
    return (b"%d.%d" % (value, place)).ljust(8 + (abs(value) * 37 + place * 11) % LONGEST)


def decode(data: bytes) -> tuple[int, int]:
    """The value and the place of a record. Raises ValueError for bytes that ``payload`` never makes."""
    value, _, place = data.rstrip(b" ").partition(b".")
    found = int(value), int(place)
    if payload(*found) != data:
        raise ValueError(f"{data!r} is not the record {found[1]} of value {found[0]}")
    return found
