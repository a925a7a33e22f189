"""Runs of reads from objects: random ones are sound, the lack of a rule is noticed, and so is a reader that errs."""

from __future__ import annotations

from typing import Any

import pytest

from impl.broker import object_lookup, reader, stream_api
from impl.broker.wal_format import WalRecord
from impl.rules import rule, without
from impl.sim.part_cases.object_reading import BROKEN, LATE, TRIMMED, obstacles
from impl.sim.part_cases.object_shelf import SHORT, ObjectShelf
from impl.sim.part_cases.registry import judged_run
from impl.sim.tape import stream
from impl.sim.violation import PartViolation

PART = "object-reading"
HOLE = PartViolation("PL-13", "a read returns a range with a hole, and no error")


def _found(seeds: int = 500) -> list[PartViolation | None]:
    return [judged_run(PART, seed) for seed in range(seeds)]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("MD-01.start", "MD-01: a reader does not refuse a read below the start"),
        ("MD-01.missing", "MD-01: a reader does not refuse a read of a missing stream"),
        ("MD-01.current", "PL-13: a read fails, though objects and cache have all of its range"),
        ("MD-02", "MD-02: a read does not wait two minutes for metadata that name its range"),
        ("PL-13.gap", f"{HOLE.label}: {HOLE.message}"),
    ],
)
def test_a_missing_rule_is_noticed(label: str, expected: str) -> None:
    """Each rule has a finding of its own, and the same seeds give the same runs again."""
    with without(label):
        found = _found(200)
        assert _found(200) == found
    assert {f"{each.label}: {each.message}" for each in found if each is not None} == {expected}


@pytest.mark.parametrize("place", [reader, stream_api])
def test_both_places_of_a_rule_are_needed(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-13.gap: the reader notices a hole in objects, and the read of both a hole in the cache."""
    monkeypatch.setattr(place, "rule", lambda label, met=True: label != "PL-13.gap" and rule(label, met))
    assert set(_found()) == {None, HOLE}


def test_a_read_that_invents_batches_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that returns other bytes than were written."""
    read = reader.RecordReader.read

    async def other(self: reader.RecordReader, number: int, begin: int, end: int) -> list[WalRecord]:
        found = await read(self, number, begin, end)
        return [WalRecord(each.stream, each.epoch, each.base, each.count, b"other") for each in found]

    monkeypatch.setattr(reader.RecordReader, "read", other)
    assert PartViolation("PL-13", "a read returns batches that nobody wrote at these offsets") in _found(20)


def test_a_reader_that_never_ends_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that waits longer than two minutes (PL-13)."""
    monkeypatch.setattr(reader, "WAIT_MS", 10 * reader.WAIT_MS)
    assert PartViolation("PL-13", "a read does not end within two minutes") in _found(50)


def test_a_reader_that_takes_the_wrong_owner_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup that asks another node for its objects fails, though the objects are there (MD-01)."""
    monkeypatch.setattr(object_lookup, "_node_at", lambda image, number, offset: 0)
    assert PartViolation("PL-13", "a read fails, though objects and cache have all of its range") in _found(100)


def test_what_keeps_a_read_from_its_end() -> None:
    """Each defect is an obstacle for the reads of its object, and for no others."""
    shelf = next(
        shelf
        for shelf in (ObjectShelf(stream(seed, "test")) for seed in range(1_000))
        if [each.defect for each in shelf.holders].count(SHORT) == 1 and shelf.start and len(shelf.holders) > 2
        if all(each.is_named and each.defect in (SHORT, "whole") for each in shelf.holders)
    )
    (short,) = (each for each in shelf.holders if each.defect == SHORT)
    assert obstacles(shelf, shelf.start, shelf.end) - {BROKEN, LATE} == set()
    assert obstacles(shelf, shelf.start - 1, shelf.start) >= {TRIMMED}
    for record in shelf.overlapping(shelf.start, shelf.end):
        is_in = short.start < record.end and short.end > record.base
        assert (BROKEN in obstacles(shelf, record.base, record.end)) == is_in
