"""Check the values that every event has, in all log formats: source, number, times, cause, span.

``name``: the log's own name for the value, for errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn

from holdfast.check.conform.logs.damage import damaged, shown
from holdfast.check.conform.logs.events import Json
from holdfast.ir.errors import Place

LARGEST = 2**63 - 1
"""The largest number of an event, and the largest time: both fit into 64 bits."""


def source_name(value: Json, at: Place, name: str = "source") -> str:
    """The name of a source; raises UsageError if the value is no text or an empty one."""
    if isinstance(value, str) and value:
        return value
    damaged(at, f"{name} is {shown(value)}", "it is the name of who wrote the line, a text that is not empty")


def event_number(value: Json, at: Place, name: str = "seq") -> int:
    """The number of an event within its source; raises UsageError if the value is no integer from 1."""
    if type(value) is int and 1 <= value <= LARGEST:
        return value
    damaged(at, f"{name} is {shown(value)}", "it counts the lines of a source: 1, 2, 3, …")


def interval(value: Json, at: Place, name: str = "t") -> tuple[int, int]:
    """Begin and end of an event in microseconds, from a pair, or from one integer for an instant.

    Raises UsageError for anything else, and for an event that ends before it begins.
    """
    begin, end = value if isinstance(value, list) and len(value) == 2 else (value, value)
    if type(begin) is not int or type(end) is not int:
        damaged(
            at, f"{name} is {shown(value)}", "it is [begin, end], two integers (microseconds), or one for an instant"
        )
    if begin < -LARGEST or end > LARGEST or begin > LARGEST or end < -LARGEST:
        damaged(at, f"{name} is {shown(value)}", "a time is an integer of at most 64 bits")
    if begin > end:
        damaged(at, f"{name} is {shown(value)}: the event ends before it begins", "give the earlier time first")
    return begin, end


def event_cause(value: Json, at: Place, name: str = "cause") -> tuple[str, int] | None:
    """The source and number of a cause, None for null; raises UsageError for anything else."""
    if value is None:
        return None
    if isinstance(value, list) and len(value) == 2:
        source, number = value
        if isinstance(source, str) and source and type(number) is int and 1 <= number <= LARGEST:
            return source, number
    damaged(at, f"{name} is {shown(value)}", "it is [source, seq] of the event that this one came after")


def offsets(value: Json, at: Place, name: str = "span") -> tuple[int, int] | None:
    """The first offset of a span and the offset after its last, None for null; raises UsageError for anything else."""
    if value is None:
        return None
    if isinstance(value, list) and len(value) == 2:
        base, end = value
        if type(base) is int and type(end) is int and base >= 0 and end >= 0:
            if base > end:
                damaged(at, f"{name} is {shown(value)}: it ends before its base", "give the lower offset first")
            return base, end
    damaged(at, f"{name} is {shown(value)}", "it is [base, end], two integers from 0; end is the offset after the last")


def missing(name: str, keys: Iterable[str], at: Place) -> NoReturn:
    """Raise UsageError about a key that every line must have."""
    near = get_close_matches(name, list(keys), n=1)
    damaged(at, f"{name} is missing", f"{near[0]} is near it" if near else "every event has source, seq, t and action")
