"""The bytes of records, and the sends that a poll finds in batches."""

from __future__ import annotations

import pytest

from impl.client.contents import FOREIGN, runs
from impl.client.payload import decode, payload


@pytest.mark.parametrize("value", [0, 1, 7, 199, 200, 10**12])
@pytest.mark.parametrize("place", [0, 1, 17, 1_000])
def test_a_record_says_what_it_is(value: int, place: int) -> None:
    """The bytes of a record give back its value and its place."""
    assert decode(payload(value, place)) == (value, place)


def test_records_differ_in_size() -> None:
    """Records differ in size, so that errors about sizes show."""
    assert len({len(payload(value, 0)) for value in range(50)}) > 40


@pytest.mark.parametrize("data", [b"", b"1", b"1.", b".1", b"x.0", b"1.0", payload(1, 0) + b" ", payload(1, 0)[:-1]])
def test_other_bytes_are_no_record(data: bytes) -> None:
    """Shortened, padded or unnumbered bytes are no record."""
    with pytest.raises(ValueError, match=r"invalid literal|is not the record"):
        decode(data)


def records(*found: tuple[int, int]) -> list[bytes]:
    """Records with these values and places."""
    return [payload(value, place) for value, place in found]


def test_a_batch_holds_the_sends_that_were_joined() -> None:
    """A batch gives each send its own offset. Sends that end at the start of the poll are left out."""
    joined = (4, records((8, 0), (8, 1), (9, 0), (5, 0), (5, 1), (5, 2)))
    assert runs([joined, (10, records((6, 0)))], 4) == [(4, 2, 8), (6, 1, 9), (7, 3, 5), (10, 1, 6)]
    assert runs([joined], 6) == [(6, 1, 9), (7, 3, 5)]
    assert runs([joined], 8) == [(7, 3, 5)]


@pytest.mark.parametrize(
    ("batch", "found"),
    [
        ([(8, 1)], [(0, 1, FOREIGN)]),
        ([(8, 0), (8, 2)], [(0, 1, 8), (1, 1, FOREIGN)]),
        ([(8, 1), (8, 0)], [(0, 1, FOREIGN), (1, 1, 8)]),
        ([(8, 0), (8, 0)], [(0, 1, 8), (1, 1, 8)]),
        ([(8, 0), (9, 1), (8, 1)], [(0, 1, 8), (1, 1, FOREIGN), (2, 1, FOREIGN)]),
    ],
)
def test_records_that_do_not_fit_together(batch: list[tuple[int, int]], found: list[tuple[int, int, int]]) -> None:
    """Records that do not belong together are recorded under a value that nobody sends, or under their number."""
    assert runs([(0, records(*batch))], 0) == found


def test_a_damaged_record() -> None:
    """A damaged record is recorded under a value that nobody sends."""
    assert runs([(3, [payload(8, 0), b"?", payload(9, 0)])], 0) == [(3, 1, 8), (4, 1, FOREIGN), (5, 1, 9)]
