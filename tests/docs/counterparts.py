"""The tables of the page for users of TLA+: pieces of TLA+, and their counterparts in models."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.docs.fences import ROOT, blocks

PAGE = ROOT / "docs" / "coming-from-tla.md"
HEADER = "| TLA+ | Here |"
"""How the header of a table begins whose left column is TLA+ and whose next one is the language of models."""

CODE = re.compile(r"`([^`]+)`")
COLUMN = re.compile(r"(?<!\\)\|")


def pieces(page: str, column: int) -> Iterator[str]:
    """The pieces of code in one column, from 0, of all tables under ``HEADER``."""
    inside = False
    for line in page.splitlines():
        inside = line.startswith(HEADER) or (inside and line.startswith("|"))
        if inside and not line.startswith((HEADER, "|---")):
            cell = COLUMN.split(line)[column + 1]
            yield from (code.replace("\\|", "|") for code in CODE.findall(cell))


def modules(page: str) -> dict[str, str]:
    """The modules of TLA+ on the page, by name."""
    texts = [block.text for block in blocks(page) if block.language == "tla"]
    return {re.findall(r"MODULE (\w+)", text)[0]: text for text in texts}


def python_file(page: str, name: str) -> str:
    """The text of the Python file of that name on the page."""
    [text] = [block.text for block in blocks(page) if block.text.startswith(f"# file: {name}\n")]
    return text
