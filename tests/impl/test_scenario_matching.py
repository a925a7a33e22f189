"""How results are compared with expectations."""

from __future__ import annotations

from typing import Any

import pytest

from impl.scenario.matching import AnyOf, Fields, Items, Members, Mismatch, Pattern, Same, agrees, differences, show


def numbers(*values: int) -> tuple[Pattern, ...]:
    """An expectation for each value."""
    return tuple(map(Same, values))


@pytest.mark.parametrize(
    ("pattern", "actual", "fits"),
    [
        (Same(1), 1, True),
        (Same(1), 2, False),
        (Same("1"), 1, False),
        (Same(1), True, False),
        (Same(True), 1, False),
        (Same(None), None, True),
        (Same(None), 0, False),
        (Same(0), None, False),
        (Same(0.5), 0.5000009, True),
        (Same(0.5), 0.500002, False),
        (Same(1), 1.0000001, True),
        (Same(0.5), "0.5", False),
        (Same(float("inf")), float("inf"), True),
        (AnyOf((Same("A"), Same("B"))), "B", True),
        (AnyOf((Same("A"), Same("B"))), "C", False),
        (Items(numbers(1, 2)), [1, 2], True),
        (Items(numbers(1, 2)), [2, 1], False),
        (Items(numbers(1)), [1, 2], False),
        (Items(()), [], True),
        (Items(()), {}, False),
        (Members(numbers(1, 2)), [2, 1], True),
        (Members(numbers(1, 2)), {1, 2}, True),
        (Members(numbers(1)), [1, 2], False),
        (Members(numbers(1, 3)), [1, 2], False),
        (Fields({"a": Same(1)}), {"a": 1, "b": 2}, True),
        (Fields({"a": Same(1)}, whole=True), {"a": 1, "b": 2}, False),
        (Fields({"a": Same(1)}), {"b": 2}, False),
        (Fields({}), 3, False),
        (AnyOf((Items(numbers(1)), Items(()))), [], True),
    ],
)
def test_what_fits(pattern: Pattern, actual: Any, fits: bool) -> None:
    """Values compare by kind and value, lists in order, sets in any order, maps by the expected keys."""
    assert agrees(pattern, actual) is fits


def test_members_of_a_set_are_paired() -> None:
    """Each expected member is matched with its own actual member, also if a first match would leave one without."""
    both = Members((AnyOf((Same(1), Same(2))), AnyOf((Same(1),))))

    assert agrees(both, [1, 2])
    assert not agrees(both, [2, 3])


def test_a_tolerance_of_the_step() -> None:
    """A step may let numbers with a fraction be further apart; whole numbers stay exact."""
    assert agrees(Same(1.0), 1.4, tolerance=0.5)
    assert not agrees(Same(1), 2, tolerance=5.0)


def test_differences_in_order_with_their_places() -> None:
    """The differences come in the order of the expectation, each with the path to it."""
    pattern = Fields(
        {
            "error": Same("NONE"),
            "ranges": Items((Fields({"start": Same(0), "end": Same(3)}), Fields({"node": Same(1)}))),
            "owner": Same(2),
        }
    )
    actual = {"owner": 1, "error": "NONE", "ranges": [{"start": 0, "end": 4}, {"node": 1}]}

    assert differences(pattern, actual) == [
        Mismatch("ranges[0].end", "3", "4"),
        Mismatch("owner", "2", "1"),
    ]


def test_lists_of_other_lengths_differ_as_wholes() -> None:
    """A list of another length is shown as a whole."""
    assert differences(Fields({"records": Items((Same("A"),))}), {"records": ["B", "A"]}) == [
        Mismatch("records", "[A]", "[B, A]")
    ]


def test_a_whole_map_names_what_is_too_much() -> None:
    """In a whole map each unexpected entry is a difference of its own."""
    assert differences(Fields({"a": Same(1)}, whole=True), {"a": 1, "b": [2]}) == [Mismatch("b", "nothing", "[2]")]


def test_an_absent_result() -> None:
    """A missing result differs from every value, also from null."""
    assert differences(Fields({"stream": Same(None)}), {}) == [Mismatch("stream", "null", "nothing")]


def test_values_are_shown_as_a_file_writes_them() -> None:
    """Expectations and values are written alike, so that people can compare them."""
    pattern = Fields({"a": AnyOf((Same(True), Same(None))), "b": Items((Members(numbers(1)), Same("")))})

    assert show(pattern) == '{a: {any_of: [true, null]}, b: [[1], ""]}'
    assert show({"c": {3, 1}, "d": [False, 0.5]}) == "{c: [1, 3], d: [false, 0.5]}"
