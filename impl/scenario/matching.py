"""The expectations of steps, and the differences between an expectation and an actual result.

A map is compared by the expected keys (``Fields``); a map marked whole must have no other keys. A list is compared
whole and in order (``Items``), a set whole and in any order (``Members``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

TOLERANCE = 1e-6
"""The maximum distance of a number with a fraction from the expected number."""


class Same(msgspec.Struct, frozen=True):
    """Exactly this value. A number with a fraction is compared within the tolerance."""

    value: Any


class AnyOf(msgspec.Struct, frozen=True):
    """One of several expectations."""

    choices: tuple[Pattern, ...]


class Items(msgspec.Struct, frozen=True):
    """A list, whole and in order."""

    each: tuple[Pattern, ...]


class Members(msgspec.Struct, frozen=True):
    """A set: the members in any order, each once."""

    each: tuple[Pattern, ...]


class Fields(msgspec.Struct, frozen=True):
    """A map with these entries. ``whole``: whether it must have no other entries."""

    entries: dict[Any, Pattern]
    whole: bool = False


Pattern = Same | AnyOf | Items | Members | Fields


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()
"""Stands for a missing value."""


class Mismatch(msgspec.Struct, frozen=True):
    """A place in the result, such as ``ranges[0].end``, with the expected and the actual value as text."""

    path: str
    expected: str
    actual: str


def differences(pattern: Pattern, actual: Any, tolerance: float = TOLERANCE) -> list[Mismatch]:
    """Where an actual value differs from the expectation, in the order of the expectation."""
    return list(_walk(pattern, actual, tolerance, ""))


def agrees(pattern: Pattern, actual: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether an actual value is as expected."""
    return next(iter(_walk(pattern, actual, tolerance, "")), None) is None


def _walk(pattern: Pattern, actual: Any, tolerance: float, path: str) -> Iterable[Mismatch]:
    if isinstance(pattern, Fields) and isinstance(actual, dict):
        yield from _fields(pattern, actual, tolerance, path)
    elif isinstance(pattern, Items) and isinstance(actual, list | tuple):
        yield from _items(pattern, actual, tolerance, path)
    elif not _fits(pattern, actual, tolerance):
        yield Mismatch(path, show(pattern), show(actual))


def _fields(pattern: Fields, actual: dict[Any, Any], tolerance: float, path: str) -> Iterable[Mismatch]:
    for key, each in pattern.entries.items():
        yield from _walk(each, actual.get(key, NOTHING), tolerance, f"{path}.{key}" if path else str(key))
    for key in actual if pattern.whole else ():
        if key not in pattern.entries:
            yield Mismatch(f"{path}.{key}" if path else str(key), show(NOTHING), show(actual[key]))


def _items(pattern: Items, actual: Any, tolerance: float, path: str) -> Iterable[Mismatch]:
    if len(pattern.each) != len(actual):
        # Not compared element by element: behind a missing element all later ones would differ as well.
        yield Mismatch(path, show(pattern), show(actual))
        return
    for place, (each, found) in enumerate(zip(pattern.each, actual, strict=True)):
        yield from _walk(each, found, tolerance, f"{path}[{place}]")


def _fits(pattern: Pattern, actual: Any, tolerance: float) -> bool:
    match pattern:
        case Same(value):
            return _equal(value, actual, tolerance)
        case AnyOf(choices):
            return any(agrees(choice, actual, tolerance) for choice in choices)
        case Members(each) if isinstance(actual, list | tuple | set | frozenset):
            return _pair_up(each, list(actual), lambda wanted, found: agrees(wanted, found, tolerance))
        case _:
            return False


def _equal(value: Any, actual: Any, tolerance: float) -> bool:
    # In Python, True equals 1. In a scenario it does not.
    if isinstance(value, bool) or isinstance(actual, bool) or value is None or actual is None:
        return value is actual
    if isinstance(value, float) or isinstance(actual, float):
        if not (isinstance(value, int | float) and isinstance(actual, int | float)):
            return False
        return value == actual or math.isclose(value, actual, rel_tol=0.0, abs_tol=tolerance)
    return bool(value == actual)


def _pair_up(wanted: tuple[Pattern, ...], found: list[Any], fits: Callable[[Pattern, Any], bool]) -> bool:
    """Whether each expected member can be paired with an actual member of its own, so that none is left over.

    A member such as ``any_of`` may fit several actual ones, so the pairs are a maximum bipartite matching, found by
    augmenting paths.
    """
    if len(wanted) != len(found):
        return False
    # By place in ``found``: the expected member that is paired with it.
    partner: dict[int, int] = {}

    def seat(member: int, tried: set[int]) -> bool:
        # Take a free place, or a place whose present member can move to another one.
        for place, value in enumerate(found):
            if place not in tried and fits(wanted[member], value):
                tried.add(place)
                if place not in partner or seat(partner[place], tried):
                    partner[place] = member
                    return True
        return False

    return all(seat(member, set()) for member in range(len(wanted)))


def show(value: Any) -> str:
    """An expectation or a value as a scenario file writes it."""
    match value:
        case Same(inner):
            return show(inner)
        case AnyOf(choices):
            return f"{{any_of: [{', '.join(map(show, choices))}]}}"
        case Items(each) | Members(each):
            return f"[{', '.join(map(show, each))}]"
        case Fields(entries):
            return show(entries)
        case dict():
            return f"{{{', '.join(f'{key}: {show(each)}' for key, each in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(show, value))}]"
        case set() | frozenset():
            return f"[{', '.join(map(show, sorted(value, key=str)))}]"
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case "":
            return '""'
        case _:
            return str(value)
