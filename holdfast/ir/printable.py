"""The filter for all text that leaves: nothing in it controls a terminal, a viewer or a CI server.

Names, docstrings, options and lines of files may come from anybody. A control character in them would move a cursor or
hide a line, a bidirectional character would reorder what a reader sees, and a line that begins with ``::`` would be a
command of GitHub.
"""

from __future__ import annotations

import re
import unicodedata

INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""The categories of Unicode whose characters are escaped: controls, formats (marks of direction are some), surrogates,
separators of lines and of paragraphs."""

_COMMAND = re.compile(r"^\s*:(?=:)|#(?=#(?:vso|teamcity)?\[)", re.MULTILINE)
"""The first sign of a command: of GitHub (``::`` at the start of a line, ``##[`` anywhere), Azure and TeamCity."""


def printable(text: str) -> str:
    r"""The text with an escape, as JSON writes it, for each character that is not shown as itself: ``\u001b``.

    Line feeds stay. JSON remains the same JSON: a character beyond the first 65,536 becomes two escapes.
    """
    if text.isprintable():
        return text
    lines = text.split("\n")
    return "\n".join(line if line.isprintable() else "".join(map(_visible, line)) for line in lines)


def one_line(text: str) -> str:
    """The printable text on one line: line feeds are escaped as well."""
    return printable(text).replace("\n", _escape("\n"))


def without_commands(text: str) -> str:
    """The text with an escape for the first sign of each command to a CI server, which is then no command."""
    return _COMMAND.sub(lambda found: f"{found[0][:-1]}{_escape(found[0][-1])}", text)


def _visible(char: str) -> str:
    return char if char.isprintable() or unicodedata.category(char) not in INVISIBLE else _escape(char)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place] << 8 | units[place + 1]:04x}" for place in range(0, len(units), 2))
