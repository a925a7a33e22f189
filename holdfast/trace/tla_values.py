"""Values as TLC prints them: from text to trees.

The values are numbers, strings, TRUE and FALSE, model values, ``<<1, 2>>``, ``{1, 2}``, ``1..3``, ``[a |-> 1]`` and
``(a :> 1 @@ b :> 2)``, nested in one another. TLC prints a tuple, a sequence and a function on 1..n in the same way.
Here ``<<...>>`` is a tuple if it is an argument of a function or in a set, and a sequence elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from holdfast.ir.errors import UsageError
from holdfast.trace.itf_values import MOST_DEPTH, Fun, Listing, Opaque, Rec, SetOf, Tree, Tup, whole

Item = TypeVar("Item")

MOST_IN_INTERVAL = 100_000

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<sign><<|>>|\|->|:>|@@|\.\.|[{}\[\]().,])
    | (?P<number>-?[0-9]+)
    | (?P<name>[A-Za-z_][\w!]*)
    | (?P<other>[^\s"]+?(?=[\s{}\[\](),]|$))
    )""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def parse_value(text: str, *, member: bool = False) -> Tree:
    """The value that a text writes; ``member`` says that the value is an argument of a function or in a set.

    A complete text that is no value of the kinds above (such as ``SUBSET {1, 2}``) is kept as its text. Raises
    UsageError, without a place, for an incomplete text: a string or bracket that does not end.
    """
    tokens = _tokens(text)
    parser = _Parser(tokens)
    try:
        found = parser.value(member=member, depth=0)
        if parser.at == len(tokens):
            return found
    except _NoValueError:
        pass
    _check_whole(tokens, text)
    return Opaque(" ".join(text.split()))


class _NoValueError(Exception):
    """The text is no value of a known kind."""


Token = tuple[str, str]
"""The kind, which is a group of the pattern, and the text."""


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    position, end, depth = 0, len(text.rstrip()), 0
    while position < end:
        token = _TOKEN.match(text, position)
        if token is None:
            raise UsageError(f"the value {_excerpt(text)} ends within a string; was the file truncated?")
        kind = token.lastgroup or "other"
        # A limit while scanning: `_Parser` calls itself for each bracket.
        depth += (token[kind] in CLOSING) - (token[kind] in CLOSING.values())
        if depth > MOST_DEPTH:
            raise UsageError(f"a value nests deeper than {MOST_DEPTH} levels")
        found.append((kind, token[kind]))
        position = token.end()
    return found


CLOSING = {"<<": ">>", "{": "}", "[": "]", "(": ")"}


def _check_whole(tokens: list[Token], text: str) -> None:
    """Raise UsageError unless every bracket is closed by its own kind and there is at least one token."""
    expected: list[str] = []
    for kind, token in tokens:
        if kind == "sign" and token in CLOSING:
            expected.append(CLOSING[token])
        elif kind == "sign" and token in CLOSING.values() and (not expected or expected.pop() != token):
            raise UsageError(f"the value {_excerpt(text)} has a {token} that closes nothing")
    if expected or not tokens:
        raise UsageError(f"the value {_excerpt(text)} lacks its end; was the file truncated?")


def _excerpt(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= 60 else f"{plain[:57]}..."


class _Parser:
    """Parses one token after the other; raises _NoValueError at a token that continues no known kind of value."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    def value(self, *, member: bool, depth: int) -> Tree:
        if depth > MOST_DEPTH:
            raise UsageError(f"a value nests deeper than {MOST_DEPTH} levels")
        kind, text = self._next()
        match kind, text:
            case "string", _:
                return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1], flags=re.DOTALL)
            case "number", _:
                return self._interval(whole(text)) if self._skip("..") else whole(text)
            case "name", "TRUE" | "FALSE":
                return text == "TRUE"
            case "name", "SUBSET" | "UNION" | "DOMAIN":
                raise _NoValueError
            case "name", _:
                return text
            case "sign", "<<":
                items = tuple(self._items(">>", lambda: self.value(member=member, depth=depth + 1)))
                return Tup(items) if member else Listing(items)
            case "sign", "{":
                return SetOf.of(self._items("}", lambda: self.value(member=True, depth=depth + 1)))
            case "sign", "[":
                return Rec(tuple(self._items("]", lambda: self._field(depth))))
            case "sign", "(":
                return self._function(depth)
            case _:
                raise _NoValueError

    def _interval(self, low: int) -> SetOf:
        kind, text = self._next()
        if kind != "number":
            raise _NoValueError
        high = whole(text)
        # A huge interval, such as 0..10^9, is kept as its text.
        if high - low >= MOST_IN_INTERVAL:
            raise _NoValueError
        return SetOf.of(range(low, high + 1))

    def _field(self, depth: int) -> tuple[str, Tree]:
        kind, name = self._next()
        if kind != "name":
            raise _NoValueError
        self._expect("|->")
        return name, self.value(member=False, depth=depth + 1)

    def _function(self, depth: int) -> Tree:
        """``(a :> 1 @@ b :> 2)``; ``()`` is the empty function."""
        if self._skip(")"):
            return Fun(())
        first = self.value(member=True, depth=depth + 1)
        pairs: list[tuple[Tree, Tree]] = []
        while True:
            self._expect(":>")
            pairs.append((first, self.value(member=False, depth=depth + 1)))
            if self._skip(")"):
                return Fun.of(pairs)
            self._expect("@@")
            first = self.value(member=True, depth=depth + 1)

    def _items(self, end: str, item: Callable[[], Item]) -> list[Item]:
        if self._skip(end):
            return []
        found = [item()]
        while not self._skip(end):
            self._expect(",")
            found.append(item())
        return found

    def _next(self) -> Token:
        if self.at == len(self.tokens):
            raise _NoValueError
        self.at += 1
        return self.tokens[self.at - 1]

    def _skip(self, sign: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at] == ("sign", sign)
        self.at += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._skip(sign):
            raise _NoValueError
