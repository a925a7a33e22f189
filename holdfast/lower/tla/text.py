"""Texts of TLA+ on one or more lines, joined so that brackets and bulleted lists stay right.

A bulleted list is held together by its columns: whatever is part of an item stands to the right of its bullet. So a
text of several lines is only ever moved as a whole.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

import attrs

WIDTH = 110
"""The columns of a line of comment."""

ROOM = 66
"""The columns that an expression may take before it goes on several lines; it may be indented besides."""

OPEN, IMPLIED, JOINED, NEGATED, COMPARED, RANGED, ADDED, MULTIPLIED, WHOLE = range(9)
"""How tightly a text holds together. ``OPEN`` has a word or sign in front and goes on from there as far as it can: a
quantifier, IF, LET, a bulleted list."""


COMMENT = r"\*"


@attrs.frozen
class Text:
    """Lines, the first of which stands where the text begins, and how tightly they hold together.

    ``joint`` is the connective of a JOINED or ADDED text, which may go on with the same one without brackets.
    """

    lines: tuple[str, ...]
    level: int = WHOLE
    joint: str = ""

    @property
    def flat(self) -> str | None:
        """The text, if it stands on one line and more may follow there."""
        return self.lines[0] if len(self.lines) == 1 and COMMENT not in self.lines[0] else None


def word(text: str, level: int = WHOLE) -> Text:
    """A text on one line."""
    return Text((text,), level)


def hang(prefix: str, text: Text, suffix: str = "") -> Text:
    """The prefix, the text with all its lines to the right of it, and the suffix."""
    first, *rest = text.lines
    lines = [prefix + first, *(" " * len(prefix) + line for line in rest)]
    if suffix and COMMENT in lines[-1]:
        lines.append(" " * len(prefix) + suffix)
    else:
        lines[-1] += suffix
    return Text(tuple(lines))


def indented(text: Text, columns: int) -> tuple[str, ...]:
    """The lines, moved to the right."""
    return tuple(" " * columns + line for line in text.lines)


def bracketed(text: Text, level: int) -> Text:
    """The text, in round brackets unless it holds together as tightly as ``level``."""
    return text if text.level >= level else hang("(", text, ")")


def fits(texts: Iterable[Text], between: int) -> bool:
    """Whether the texts fit on one line, with so many columns between any two."""
    found = list(texts)
    return all(text.flat is not None for text in found) and (
        sum(len(text.lines[0]) + between for text in found) - between <= ROOM
    )


def junction(bullet: str, parts: Sequence[Text]) -> Text:
    r"""A conjunction (``/\``) or disjunction (``\/``) of two or more parts."""
    inline = [part if part.joint == bullet else bracketed(part, NEGATED) for part in parts]
    if fits(inline, 4):
        return Text((f" {bullet} ".join(part.lines[0] for part in inline),), JOINED, bullet)
    return Text(bulleted(bullet, parts).lines, OPEN)


def bulleted(bullet: str, parts: Iterable[Text]) -> Text:
    """The parts below one another, each behind its bullet."""
    return Text(tuple(line for part in parts for line in hang(f"{bullet} ", part).lines), OPEN)


def infix(left: Text, operator: str, right: Text, level: int) -> Text:
    """Two texts with an operator that does not go on without brackets on either side."""
    one, two = bracketed(left, level + 1), bracketed(right, level + 1)
    *before, last = one.lines
    return Text((*before, *hang(f"{last} {operator} ", two).lines), level)


def implication(left: Text, right: Text) -> Text:
    """``left => right``, the right side below the left one where they do not fit on a line."""
    one = bracketed(left, JOINED)
    two = bracketed(right, JOINED) if right.level == IMPLIED else right
    if fits((one, two), 4):
        return word(f"{one.lines[0]} => {two.lines[0]}", IMPLIED)
    return Text((*one.lines[:-1], f"{one.lines[-1]} =>", *indented(two, 4)), IMPLIED)


def equation(head: str, text: Text) -> Text:
    """``head = text``; what goes on as far as it can needs no brackets there."""
    return hang(f"{head} = ", text if text.level == OPEN else bracketed(text, COMPARED + 1))


def choice(test: Text, then: Text, orelse: Text, note: str = "") -> Text:
    """``IF test THEN then ELSE orelse``; the note is a comment behind the test."""
    if not note and fits((test, then, orelse), 6):
        return word(f"IF {test.lines[0]} THEN {then.lines[0]} ELSE {orelse.lines[0]}", OPEN)
    lines = [*commented(hang("IF ", test), note).lines, *hang("THEN ", then).lines]
    first, *others = orelse.lines
    if first.startswith("IF ") and others and others[0].startswith("THEN "):
        return Text((*lines, f"ELSE {first}", *others), OPEN)
    return Text((*lines, *hang("ELSE ", orelse).lines), OPEN)


def bound(head: str, body: Text) -> Text:
    r"""A quantifier such as ``\A s \in Stream`` over its body."""
    if body.flat is not None and len(head) + 3 + len(body.flat) <= ROOM:
        return word(f"{head} : {body.flat}", OPEN)
    return Text((f"{head} :", *indented(body, 4)), OPEN)


def let(definitions: Sequence[Text], body: Text) -> Text:
    """``LET`` definitions ``IN`` body."""
    if not definitions:
        return body
    lines = [line for text in definitions for line in text.lines]
    first, *rest = lines
    return Text((f"LET {first}", *(f"    {line}" for line in rest), *hang("IN  ", body).lines), OPEN)


def definition(head: str, body: Text) -> Text:
    """``head == body``, for the inside of a LET; the body below its head where it does not fit beside it."""
    if body.flat is not None and len(head) + len(body.flat) <= ROOM:
        return word(f"{head} == {body.flat}")
    return Text((f"{head} ==", *indented(body, 4)))


def mapped(bounds: str, body: Text) -> Text:
    r"""A function ``[x \in X |-> body]``."""
    if body.flat is not None and len(bounds) + len(body.flat) <= ROOM:
        return word(f"[{bounds} |-> {body.flat}]")
    return Text((f"[{bounds} |->", *hang("    ", body, "]").lines))


def within_set(bounds: str, cond: Text) -> Text:
    r"""A set ``{x \in X : cond}``."""
    if fits((word(bounds), cond), 3):
        return word(f"{{{bounds} : {cond.flat}}}")
    return Text((f"{{{bounds} :", *hang("    ", cond, "}").lines))


def image_set(value: Text, bound_in: str, chosen: Text) -> Text:
    r"""A set ``{value : x \in chosen}``."""
    if fits((value, word(bound_in), chosen), 3):
        return word(f"{{{value.flat} : {bound_in} {chosen.flat}}}")
    return Text((*hang("{", value, " :").lines, *hang(f"    {bound_in} ", chosen, "}").lines))


def call(name: str, arguments: Sequence[Text]) -> Text:
    """An operator with arguments."""
    if fits((word(name), *arguments), 2):
        return word(f"{name}({', '.join(str(text.flat) for text in arguments)})")
    lines = [f"{name}("]
    for place, text in enumerate(arguments):
        lines += hang("    ", text, ")" if place == len(arguments) - 1 else ",").lines
    return Text(tuple(lines))


def operator(head: str, body: Text) -> list[str]:
    """The lines of a definition of the module."""
    if body.flat is not None and len(head) + 4 + len(body.flat) <= ROOM + 8:
        return [f"{head} == {body.flat}"]
    return [f"{head} ==", *indented(body, 4)]


def commented(text: Text, note: str) -> Text:
    """The text with a comment at the end of its first line."""
    if not note:
        return text
    first, *rest = text.lines
    return Text((f"{first}  {comment(note)}", *rest), text.level)


def comment(text: str) -> str:
    r"""A comment up to the end of the line, in the characters that every TLA+ tool reads."""
    return rf"\* {ascii_only(text)}".rstrip()


def paragraph(text: str, columns: int = 0) -> list[str]:
    """A text as lines of comment, its paragraphs apart and the items of a list below one another."""
    found: list[str] = []
    for part in text.strip().split("\n\n"):
        found += [COMMENT] if found else []
        for item in _ITEM.split(ascii_only(part)):
            further = COMMENT + (" " * 3 if item.startswith("- ") else " ")
            found += textwrap.wrap(
                " ".join(item.split()), WIDTH - columns, initial_indent=f"{COMMENT} ", subsequent_indent=further
            )
    return [" " * columns + line for line in found]


_ITEM = re.compile(r"\n(?=- )")
"""Where an item of a list begins."""


def ascii_only(text: str) -> str:
    """The text in ASCII: the usual signs by their usual stand-ins, others by their numbers."""
    return text.translate(_SIGNS).encode("ascii", "backslashreplace").decode("ascii")


_SIGNS = {
    0x00A0: " ",
    0x00D7: "x",
    0x2013: "-",
    0x2014: "-",
    0x2018: "'",
    0x2019: "'",
    0x201C: '"',
    0x201D: '"',
    0x2026: "...",
    0x2032: "'",
    0x2190: "<-",
    0x2192: "->",
    0x2260: "#",
    0x2264: "<=",
    0x2265: ">=",
}
"""The signs that comments of models have beyond ASCII, by their numbers."""
