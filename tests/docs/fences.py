"""The fenced blocks of a Markdown page, and replacing their text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)$")


@attrs.frozen
class Block:
    """A fenced block: its language, its lines, and the number of its first line in the page, from 0."""

    language: str
    lines: tuple[str, ...]
    first: int

    @property
    def text(self) -> str:
        """The block as the text of a file."""
        return "".join(f"{line}\n" for line in self.lines)


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page, in order. A block that is not closed is an error of the page."""
    lines = page.splitlines()
    opened: int | None = None
    for number, line in enumerate(lines):
        if opened is None and (found := _FENCE.match(line)):
            opened, language = number + 1, found[1]
        elif opened is not None and line == "```":
            yield Block(language, tuple(lines[opened:number]), opened)
            opened = None
    assert opened is None, f"the block that begins in line {opened} is not closed"


def with_lines(page: str, changed: Mapping[Block, tuple[str, ...]]) -> str:
    """The page with new lines in some of its blocks."""
    lines = page.splitlines()
    for block in sorted(changed, key=lambda block: block.first, reverse=True):
        lines[block.first : block.first + len(block.lines)] = changed[block]
    return "".join(f"{line}\n" for line in lines)
