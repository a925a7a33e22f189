"""Values of TLA+ as trees: read from the encoding of ITF, and written to it.

A truth value, a number and a string stand for themselves; every other value is an object of a class below. Sets and
functions keep their members in one order, so equal values are equal trees in whatever order a file lists the members.
In Python ``True == 1``; ``key`` tells them apart, and orders all values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import attrs

from holdfast.ir.errors import UsageError

MOST_DEPTH = 100
"""The limit of nesting. No checker writes deeper values; without a limit they would exhaust Python's stack."""

MOST_DIGITS = 50_000
"""The limit of digits in a number. To read and print one takes a time that grows with their square."""

_NAME = re.compile(r"(?!(?:TRUE|FALSE|SUBSET|UNION|DOMAIN)$)[A-Za-z_][A-Za-z0-9_]*")
"""A string that needs no quotes, because it cannot be mistaken for another value."""


@attrs.frozen
class Tup:
    """A tuple."""

    items: tuple[Tree, ...]


@attrs.frozen
class Listing:
    """A sequence, or a list."""

    items: tuple[Tree, ...]


@attrs.frozen
class SetOf:
    """A set; its members are sorted by ``key`` and distinct."""

    items: tuple[Tree, ...]

    @classmethod
    def of(cls, items: Iterable[Tree]) -> SetOf:
        """The set of the given members, which may come in any order and more than once."""
        found = {key(item): item for item in items}
        return cls(tuple(found[each] for each in sorted(found)))


@attrs.frozen
class Fun:
    """A function, as pairs of argument and value in the order of the arguments."""

    pairs: tuple[tuple[Tree, Tree], ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[Tree, Tree]]) -> Fun:
        """The function of the given pairs, which may come in any order."""
        return cls(tuple(sorted(pairs, key=lambda pair: key(pair[0]))))


@attrs.frozen
class Rec:
    """A record; its fields keep the order in which they were written."""

    fields: tuple[tuple[str, Tree], ...]

    def get(self, name: str) -> Tree | None:
        """The field of that name; None if the record has no such field."""
        return dict(self.fields).get(name)


@attrs.frozen
class Variant:
    """One of several alternatives, with its tag."""

    tag: str
    value: Tree

    @property
    def is_unit(self) -> bool:
        """Whether it carries no value, which is written as an empty tuple, or by older versions of Quint as an empty
        record.
        """
        return self.value in (Tup(()), Rec(()), "U_OF_UNIT")


@attrs.frozen
class Opaque:
    """A value that its writer could not encode, as a text about it."""

    text: str


Tree = bool | int | str | Tup | Listing | SetOf | Fun | Rec | Variant | Opaque


def key(value: Tree) -> tuple[Any, ...]:
    """A sort key for all values; two values have equal keys only if they are equal."""
    # In this order: in Python, a bool is an int, too.
    match value:
        case bool():
            return (0, value)
        case int():
            return (1, value)
        case str():
            return (2, value)
        case Tup(items):
            return (3, tuple(key(item) for item in items))
        case Listing(items):
            return (4, tuple(key(item) for item in items))
        case SetOf(items):
            return (5, tuple(key(item) for item in items))
        case Fun(pairs):
            return (6, tuple((key(argument), key(item)) for argument, item in pairs))
        case Rec(fields):
            return (7, tuple(sorted((name, key(item)) for name, item in fields)))
        case Variant(tag, of):
            return (8, tag, key(of))
        case Opaque(text):
            return (9, text)


def show(value: Tree) -> str:
    """The value in the syntax of TLA+; elements and model values are written as their names."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return number(value)
        case str():
            return value if _NAME.fullmatch(value) else json.dumps(value, ensure_ascii=False)
        case Tup(items) | Listing(items):
            return f"<<{_listed(items)}>>"
        case SetOf(items):
            return f"{{{_listed(items)}}}"
        case Fun(pairs):
            return f"({' @@ '.join(f'{show(argument)} :> {show(item)}' for argument, item in pairs)})"
        case Rec(fields):
            return f"[{', '.join(f'{name} |-> {show(item)}' for name, item in fields)}]"
        case Variant(tag, of):
            return tag if value.is_unit else f"{tag}({show(of)})"
        case Opaque(text):
            return text


def _listed(items: Iterable[Tree]) -> str:
    return ", ".join(show(item) for item in items)


def is_printable(value: int) -> bool:
    """Whether ``str`` prints the number. Python refuses more than 4,300 digits; 13,000 bits are about 3,913 digits."""
    return value.bit_length() < 13_000


def number(value: int) -> str:
    """The decimal digits of a number of any size."""
    if is_printable(value):
        return str(value)
    # A number that is not printable at once has more than 3,900 digits, so ``high`` is not 0 and the recursion ends.
    high, low = divmod(abs(value), 10**3900)
    return f"{'-' if value < 0 else ''}{number(high)}{low:03900d}"


# Reading --------------------------------------------------------------------------------------------------------


def decode(value: Any, *, records: bool = False) -> Tree:
    """The tree of a value in the encoding of ITF, or in plain JSON (plain numbers).

    An object with the keys ``tag`` and ``value`` is a variant. With ``records`` it is a record: set it if the file's
    types say so. Raises UsageError, without a place, for a value that is in neither encoding.
    """
    return _Reader(records).read(value, 0)


@attrs.frozen
class _Reader:
    records: bool

    def read(self, value: Any, depth: int) -> Tree:
        if depth > MOST_DEPTH:
            raise UsageError(f"a value nests deeper than {MOST_DEPTH} levels")
        match value:
            case bool() | int() | str():
                return value
            case list():
                return Listing(tuple(self.read(item, depth + 1) for item in value))
            case dict():
                return self._object(value, depth)
            case None:
                raise UsageError("null is no value of ITF")
            case _:
                raise UsageError(f"{value} is no value of ITF, whose numbers are integers")

    def _object(self, value: dict[str, Any], depth: int) -> Tree:
        marks = [name for name in value if name.startswith("#")]
        if not marks:
            return self._record(value, depth)
        if len(value) > 1:
            raise UsageError(f"an object with {marks[0]} has other fields too: {excerpt(value)}")
        mark, of = marks[0], value[marks[0]]
        match mark:
            case "#bigint":
                return _bigint(of)
            case "#unserializable":
                return Opaque(of if isinstance(of, str) else json.dumps(of))
            case "#tup" | "#set" | "#map":
                if not isinstance(of, list):
                    raise UsageError(f"{mark} holds a list, and not {excerpt(of)}")
                if mark == "#map":
                    return self._map(of, depth)
                items = [self.read(item, depth + 1) for item in of]
                return Tup(tuple(items)) if mark == "#tup" else SetOf.of(items)
            case _:
                raise UsageError(f"{mark} is no encoding of ITF: {excerpt(value)}")

    def _record(self, value: dict[str, Any], depth: int) -> Tree:
        if not self.records and value.keys() == {"tag", "value"} and isinstance(value["tag"], str):
            # Apalache's own writer gives an option without a value as null in some versions.
            of = value["value"]
            return Variant(value["tag"], Tup(()) if of is None else self.read(of, depth + 1))
        return Rec(tuple((name, self.read(item, depth + 1)) for name, item in value.items()))

    def _map(self, pairs: list[Any], depth: int) -> Fun:
        found: list[tuple[Tree, Tree]] = []
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise UsageError(f"#map holds a list of pairs [key, value], and not {excerpt(pair)}")
            found.append((self.read(pair[0], depth + 1), self.read(pair[1], depth + 1)))
        if len({key(argument) for argument, _ in found}) < len(found):
            raise UsageError(f"#map gives two values for one key: {excerpt(pairs)}")
        return Fun.of(found)


def _bigint(text: Any) -> int:
    if isinstance(text, str) and text.removeprefix("-").isdecimal() and text.isascii():
        return whole(text)
    raise UsageError(f"#bigint holds a string of digits, and not {excerpt(text)}")


def whole(text: str) -> int:
    """The number that the digits write; ``int`` alone refuses more than 4,300.

    Raises UsageError, without a place, for more than MOST_DIGITS digits.
    """
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    if len(digits) > MOST_DIGITS:
        raise UsageError(f"a number has {len(digits):,} digits, and at most {MOST_DIGITS:,} are read: {text[:20]}...")
    if len(digits) <= 4000:
        return sign * int(digits)
    # Split the digits in two halves: the recursion has logarithmic depth.
    half = len(digits) // 2
    power: int = 10**half
    return sign * (whole(digits[:-half]) * power + whole(digits[-half:]))


def excerpt(value: Any) -> str:
    """The first 60 characters of a value, for a message."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except ValueError:
        # Python prints no number of more than 4,300 digits.
        text = "a value with a number of very many digits"
    return text if len(text) <= 60 else f"{text[:57]}..."


# Writing --------------------------------------------------------------------------------------------------------


def encode(value: Tree) -> Any:
    """The value in the encoding of ITF."""
    match value:
        case bool() | str():
            return value
        case int():
            return {"#bigint": number(value)}
        case Tup(items):
            return {"#tup": [encode(item) for item in items]}
        case Listing(items):
            return [encode(item) for item in items]
        case SetOf(items):
            return {"#set": [encode(item) for item in items]}
        case Fun(pairs):
            return {"#map": [[encode(argument), encode(item)] for argument, item in pairs]}
        case Rec(fields):
            return {name: encode(item) for name, item in fields}
        case Variant(tag, of):
            return {"tag": tag, "value": encode(of)}
        case Opaque(text):
            return {"#unserializable": text}
