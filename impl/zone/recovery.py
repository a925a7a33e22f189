"""What the recovery of a WAL with links keeps: which objects, and which records (WL-07, M-14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from impl.rules import rule

Extent = tuple[int, int]
"""The first offset of an object of the WAL, and the one behind its last."""


def replayed_objects(objects: Sequence[Extent], trim: int) -> list[Extent]:
    """The objects that are replayed: from the first that the trim does not cover up to the first hole (WL-07)."""
    kept: list[Extent] = []
    for start, end in sorted(objects):
        if end <= trim:
            continue
        if kept and start != kept[-1][1]:
            break
        kept.append((start, end))
    return kept


class UnresolvedError(Exception):
    """A link names a record that cannot be read, so this attempt to recover ends; a later one may succeed."""


def recovered_records(
    ends: Mapping[int, int], records: Sequence[tuple[int, int]], *, readable: bool
) -> list[tuple[int, int]]:
    """The records that a recovery uploads, each a stream and an offset.

    ``ends``: by opening stream, the end that is uploaded. ``readable``: whether links can be resolved. Raises
    UnresolvedError for a link that cannot.
    """
    kept = [(stream, offset) for stream, offset in records if stream in ends and offset >= ends[stream]]
    # What is uploaded already is dropped first: its links may lie in a channel that was trimmed since.
    resolved = kept if rule("M-14", len(kept) < len(records)) else list(records)
    if resolved and not readable:
        raise UnresolvedError
    return kept
