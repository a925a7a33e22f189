"""Layout of TLA+ text on one or more lines: joins parts so that brackets and bulleted lists stay correct.

TLA+ parses a bulleted list by its columns: each line of an item must be to the right of the item's bullet. So the
functions always move a text of several lines as a whole.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

import attrs

WIDTH = 110
"""The greatest width of a comment line."""

ROOM = 66
"""The greatest width of an expression on one line, not counting its indentation."""

OPEN, IMPLIED, JOINED, NEGATED, COMPARED, RANGED, ADDED, MULTIPLIED, WHOLE = range(9)
"""The precedence of a text; a greater number binds tighter. ``OPEN``: a text that begins with a word or sign and
extends as far as possible, such as a quantifier, IF, LET or a bulleted list."""


COMMENT = r"\*"


@attrs.frozen
class Text:
    """A text of one or more lines; columns count from the first character of the first line.

    ``level``: the precedence. ``joint``: the connective of a JOINED or ADDED text; another part with the same
    connective may follow without brackets.
    """

    lines: tuple[str, ...]
    level: int = WHOLE
    joint: str = ""

    @property
    def flat(self) -> str | None:
        """The text if it is on one line; None if it has more lines, or a comment that runs to the end of its line."""
        return self.lines[0] if len(self.lines) == 1 and COMMENT not in self.lines[0] else None


def word(text: str, level: int = WHOLE) -> Text:
    """A text on one line."""
    return Text((text,), level)


def hang(prefix: str, text: Text, suffix: str = "") -> Text:
    """The text between a prefix and a suffix; all its lines are moved to the right of the prefix."""
    first, *rest = text.lines
    lines = [prefix + first, *(" " * len(prefix) + line for line in rest)]
    # Behind a comment the suffix would be part of the comment, so it goes on a line of its own.
    if suffix and COMMENT in lines[-1]:
        lines.append(" " * len(prefix) + suffix)
    else:
        lines[-1] += suffix
    return Text(tuple(lines))


def indented(text: Text, columns: int) -> tuple[str, ...]:
    """The lines, moved to the right by a number of columns."""
    return tuple(" " * columns + line for line in text.lines)


def bracketed(text: Text, level: int) -> Text:
    """The text, in round brackets unless its precedence is at least ``level``."""
    return text if text.level >= level else hang("(", text, ")")


def fits(texts: Iterable[Text], between: int) -> bool:
    """Whether the texts fit on one line, with ``between`` columns between any two."""
    found = list(texts)
    return all(text.flat is not None for text in found) and (
        sum(len(text.lines[0]) + between for text in found) - between <= ROOM
    )


def junction(bullet: str, parts: Sequence[Text]) -> Text:
    r"""A conjunction (``/\``) or disjunction (``\/``) of two or more parts."""
    inline = [part if part.joint == bullet else bracketed(part, NEGATED) for part in parts]
    # A bullet with a space on both sides takes four columns.
    if fits(inline, 4):
        return Text((f" {bullet} ".join(part.lines[0] for part in inline),), JOINED, bullet)
    return Text(bulleted(bullet, parts).lines, OPEN)


def bulleted(bullet: str, parts: Iterable[Text]) -> Text:
    """The parts below one another, each behind its bullet."""
    return Text(tuple(line for part in parts for line in hang(f"{bullet} ", part).lines), OPEN)


def infix(left: Text, operator: str, right: Text, level: int) -> Text:
    """Two texts with an operator of precedence ``level`` that is not associative: both sides must bind tighter."""
    one, two = bracketed(left, level + 1), bracketed(right, level + 1)
    *before, last = one.lines
    return Text((*before, *hang(f"{last} {operator} ", two).lines), level)


def implication(left: Text, right: Text) -> Text:
    """``left => right``; the right side is below the left one if both do not fit on one line."""
    one = bracketed(left, JOINED)
    two = bracketed(right, JOINED) if right.level == IMPLIED else right
    if fits((one, two), 4):
        return word(f"{one.lines[0]} => {two.lines[0]}", IMPLIED)
    return Text((*one.lines[:-1], f"{one.lines[-1]} =>", *indented(two, 4)), IMPLIED)


def equation(head: str, text: Text) -> Text:
    """``head = text``; an OPEN text needs no brackets, because it extends to the end anyway."""
    return hang(f"{head} = ", text if text.level == OPEN else bracketed(text, COMPARED + 1))


def choice(test: Text, then: Text, orelse: Text, note: str = "") -> Text:
    """``IF test THEN then ELSE orelse``; the note is a comment behind the test."""
    if not note and fits((test, then, orelse), 6):
        return word(f"IF {test.lines[0]} THEN {then.lines[0]} ELSE {orelse.lines[0]}", OPEN)
    lines = [*commented(hang("IF ", test), note).lines, *hang("THEN ", then).lines]
    first, *others = orelse.lines
    # A chain of tests is written as ELSE IF without further indentation.
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
    """``head == body`` as part of a LET; the body is below the head if both do not fit on one line."""
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
    """A text as comment lines: an empty comment line between paragraphs, and each list item on a new line."""
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
"""The line break before an item of a list."""


def ascii_only(text: str) -> str:
    """The text in ASCII: usual signs become their usual replacements, other characters their escaped numbers."""
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
"""The signs beyond ASCII that models use in comments, by code point, with their replacements."""
