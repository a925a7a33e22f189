"""Expressions of a mapping: they compute an argument from the fields of a line. No expression runs code.

    ranges.0.end          a field, by names and by indices of lists (from 0)
    data.'node-id'        a name with characters other than letters, digits, _, $ and @
    node?                 a field that a line may lack; then the argument is unknown
    1000, true, 'x'       constants; a scalar in single quotes is a text, too
    end - base + 1        sums and differences of integers
    codes[status]         a look-up in a table of the mapping
    [node, node_epoch]    a list

Within ``{}`` and ``[]``, YAML needs double quotes around an expression that has brackets or ``?``:
``{e: "codes[status]"}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import attrs

from holdfast.check.conform.logs.damage import damaged, nearest, shown
from holdfast.check.conform.logs.events import Json
from holdfast.ir.errors import Place

Tables = Mapping[str, Mapping[str, Json]]
"""The tables of a mapping: by the name of the table, and by the text of a field's value."""

Value = Callable[[Json], Json]
"""Computes the value of an expression from the object of a line."""

LONGEST = 300
"""The limit of characters. A longer expression is a mistake, or nests too deeply for Python's stack."""

_INDEX = re.compile(r"[0-9]{1,9}")
_TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d][\w$@]*|[$@][\w$@]*)|(?P<int>[0-9]+)|'(?P<text>[^']*)'|(?P<sign>[-+.?\[\]]))"
)


class AbsentError(Exception):
    """A line lacks an optional field of an expression."""


class ValueProblem(Exception):
    """A line lacks a field, or has a value that the expression cannot use. The text names the problem."""


class NoFieldError(ValueProblem):
    """A line has no field of that name. Most of these errors are caught, so the text is made only on demand.

    ``names``: the path of the field. ``depth``: the index of the first missing name. ``here``: the value in which it is
    missing.
    """

    def __init__(self, names: list[str], depth: int, here: Json) -> None:
        super().__init__(names, depth, here)
        self._names, self._depth, self._here = names, depth, here

    @property
    def path(self) -> str:
        """The path of the field, as the mapping writes it."""
        return ".".join(self._names)

    def __str__(self) -> str:
        missing, before = ".".join(self._names[: self._depth + 1]), ".".join(self._names[: self._depth])
        if isinstance(self._here, dict):
            return f"the line has no field {missing} ({nearest(self._names[self._depth], self._here)})"
        if isinstance(self._here, list):
            return f"the line has no field {missing}: {before} is a list of {len(self._here)}"
        return f"the line has no field {missing}: {before} is null"


@attrs.frozen
class MappingExpression:
    """An expression, with its text and place in the mapping.

    ``roots``: the first name of each field path in it. An expression without roots is a constant.
    """

    text: str
    at: Place
    value: Value = attrs.field(eq=False, repr=False)
    roots: frozenset[str] = frozenset()

    def of(self, raw: Json, at: Place) -> Json:
        """The value for the line ``raw`` at the place ``at``. Raises AbsentError, or UsageError if it has no value."""
        try:
            return self.value(raw)
        except NoFieldError as problem:
            where = f"{self.at.file}:{self.at.line}"
            damaged(at, str(problem), f"if a line may lack it, write {problem.path}? at {where}")
        except ValueProblem as problem:
            damaged(at, str(problem), f"the mapping has {shown(self.text)} at {self.at.file}:{self.at.line}")


def constant(value: Json, at: Place) -> MappingExpression:
    """An expression whose value does not depend on the line."""
    return MappingExpression(shown(value), at, lambda raw: value)


def list_of(parts: list[MappingExpression], at: Place) -> MappingExpression:
    """An expression whose value is the list of the values of other expressions."""
    values = [part.value for part in parts]
    text = f"[{', '.join(part.text for part in parts)}]"
    roots = frozenset().union(*(part.roots for part in parts))
    return MappingExpression(text, at, lambda raw: [each(raw) for each in values], roots)


def parse(text: str, at: Place, tables: Tables) -> MappingExpression:
    """The expression of a text; raises UsageError if the text is no expression."""
    parser = _Parser(text, at, tables)
    return MappingExpression(text, at, parser.whole(), frozenset(parser.roots))


class _Parser:
    """Parses an expression from left to right. Each method parses the construct that it is named after."""

    def __init__(self, text: str, at: Place, tables: Tables) -> None:
        self.text = text
        self.at = at
        self.tables = tables
        self.tokens: list[tuple[str, str]] = []
        self.roots: set[str] = set()
        end = 0
        if len(text) > LONGEST:
            damaged(at, f"the expression {shown(text)} is too long", f"it has at most {LONGEST} characters")
        while text[end:].strip():
            found = _TOKEN.match(text, end)
            if found is None:
                self.wrong(f"{shown(text[end:].strip()[0])} is not understood")
            self.tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
            end = found.end()
        self.next = 0

    def wrong(self, problem: str) -> NoReturn:
        damaged(
            self.at,
            f"in the expression {shown(self.text)}, {problem}",
            "an expression is a field such as a.b, an integer, a 'text', a look-up such as table[a], or a sum of them",
        )

    def accept(self, sign: str) -> bool:
        """Skip a sign if it is the next token; returns whether it was."""
        found = self.next < len(self.tokens) and self.tokens[self.next] == ("sign", sign)
        self.next += found
        return found

    def whole(self) -> Value:
        value = self.sum()
        if self.next < len(self.tokens):
            self.wrong(f"{shown(self.tokens[self.next][1])} stands where + or - or the end should stand")
        return value

    def sum(self) -> Value:
        value = self.term()
        while True:
            if self.accept("+"):
                value = _sum(value, self.term(), 1)
            elif self.accept("-"):
                value = _sum(value, self.term(), -1)
            else:
                return value

    def term(self) -> Value:
        if self.accept("-"):
            return _sum(lambda raw: 0, self.term(), -1)
        if self.next == len(self.tokens):
            self.wrong("something is missing at the end")
        group, word = self.tokens[self.next]
        before, after = self.tokens[self.next : self.next + 1], self.tokens[self.next + 1 : self.next + 2]
        # A constant before a dot is the first name of a path, as in ``'node-id'.epoch``.
        if group == "text" and after != [("sign", ".")]:
            self.next += 1
            return lambda raw: word
        if group == "int" and after != [("sign", ".")]:
            self.next += 1
            return self.integer(word)
        if before in ([("name", "true")], [("name", "false")]) and after != [("sign", ".")]:
            self.next += 1
            return lambda raw: word == "true"
        if group == "name" and after == [("sign", "[")]:
            return self.look_up(word)
        return self.path()

    def integer(self, digits: str) -> Value:
        if len(digits) > 20 or (len(digits) > 1 and digits[0] == "0"):
            self.wrong(f"{digits[:24]} is no integer in decimal digits of at most 64 bits")
        number = int(digits)
        return lambda raw: number

    def look_up(self, name: str) -> Value:
        if name not in self.tables:
            damaged(
                self.at,
                f"there is no table {name}",
                f"{nearest(name, self.tables)} (a place in a list is written {name}.0)",
            )
        self.next += 2
        key = self.sum()
        if not self.accept("]"):
            self.wrong("] is missing")
        return _look_up(name, self.tables[name], key)

    def path(self) -> Value:
        self.accept(".")
        names: list[str] = []
        while self.next < len(self.tokens) and self.tokens[self.next][0] != "sign":
            names.append(self.tokens[self.next][1])
            self.next += 1
            if not self.accept("."):
                break
        else:
            self.wrong("the name of a field is missing")
        if all(_INDEX.fullmatch(name) for name in names):
            self.wrong(f"{'.'.join(names)} is no integer and no field")
        self.roots.add(names[0])
        return _path(names, optional=self.accept("?"))


def _sum(left: Value, right: Value, sign: int) -> Value:
    def value(raw: Json) -> Json:
        first, second = left(raw), right(raw)
        if type(first) is not int or type(second) is not int:
            wrong = first if type(first) is not int else second
            raise ValueProblem(f"{shown(wrong)} is no integer, and + and - take integers")
        return first + sign * second

    return value


def _look_up(name: str, table: Mapping[str, Json], key: Value) -> Value:
    def value(raw: Json) -> Json:
        found = scalar_text(key(raw))
        if found not in table:
            raise ValueProblem(f"the table {name} has no {shown(found)} ({nearest(found, table)})")
        return table[found]

    return value


def scalar_text(value: Json) -> str:
    """The value's text, as tables and lists of the mapping spell it. Raises ValueProblem for a list or a map."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    raise ValueProblem(f"{shown(value)} is no text and no integer")


def _path(names: list[str], *, optional: bool) -> Value:
    def value(raw: Json) -> Json:
        # Most paths lead from map to map; this loop is the fast way for them. `_walk` handles all other cases.
        here: Any = raw
        for name in names:
            if type(here) is not dict or name not in here:
                return _walk(names, raw, optional=optional)
            here = here[name]
        return here if here is not None else _walk(names, raw, optional=optional)

    return value


def _walk(names: list[str], raw: Json, *, optional: bool) -> Json:
    """The value at the end of a path. Raises AbsentError if an optional field is absent, and ValueProblem otherwise."""
    here = raw
    for depth, name in enumerate(names):
        if isinstance(here, dict):
            if name in here:
                here = here[name]
                continue
        elif isinstance(here, list) and _INDEX.fullmatch(name):
            if int(name) < len(here):
                here = here[int(name)]
                continue
        elif here is not None:
            missing, before = ".".join(names[: depth + 1]), ".".join(names[:depth])
            raise ValueProblem(f"the line has no field {missing}: {before} is {shown(here)}")
        if optional:
            raise AbsentError
        raise NoFieldError(names, depth, here)
    if here is None and optional:
        raise AbsentError
    return here
