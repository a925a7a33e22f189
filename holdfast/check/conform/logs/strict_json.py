"""Strict JSON (RFC 8259): a quick reader for valid lines, and a slow reader that names the error in others.

Python's own reader accepts NaN and Infinity, a number that is too large for a float, and a key that occurs twice in an
object. Both readers refuse these.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import msgspec

from holdfast.check.conform.logs.damage import shown

DEEPEST = 32
"""The limit of levels of objects and lists within a line."""

Raw = dict[str, Any]
"""The object of a line."""


class StrictError(ValueError):
    """JSON that Python's reader accepts but the standard does not allow."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.remedy = remedy


def quick(data: bytes) -> Raw | None:
    """The object of a line if it is certainly valid; None for all invalid lines, and for a few valid ones.

    msgspec reads strict JSON several times as fast as Python, but silently takes the last of equal keys.
    """
    if data.count(b"{") + data.count(b"[") > DEEPEST:
        return None
    try:
        raw = _decode(data)
    except (ValueError, msgspec.MsgspecError):
        return None
    # A colon follows each key, so there are at least as many colons as keys. With a key twice, the object has fewer
    # keys than colons. A colon inside a text only sends a valid line to the slow reader.
    return raw if type(raw) is dict and data.count(b":") == _keys(raw) else None


def _keys(raw: Raw) -> int:
    """The number of keys of an object and of the objects in it, without objects in lists of lists."""
    count = len(raw)
    for value in raw.values():
        if type(value) is dict:
            count += _keys(value)
        elif type(value) is list:
            for each in value:
                if type(each) is dict:
                    count += _keys(each)
    return count


def _object(pairs: list[tuple[str, Any]]) -> Raw:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise StrictError(f"the key {shown(twice)} stands twice in one object", "write each key once")
    return found


def _constant(text: str) -> NoReturn:
    raise StrictError(f"{text} is no number of JSON", "leave the key out if its value is not known")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise StrictError(f"the number {text[:20]} is too large", "leave the key out if its value is not known")
    return value


_decode = msgspec.json.Decoder().decode
STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
"""Raises StrictError for JSON that only Python accepts, and the errors of Python's reader for other texts."""
