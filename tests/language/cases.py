"""The cases in ``refusals/*.txt`` and ``accepted/*.txt``: small models, each with the one line that refuses it, if any.

A file holds cases of this form, below a line that says what they have in common:

    ### every iteration writes one and the same cell
    class M(Table):
        @action
        def grab(self, n: Node) -> None:
            for s in Stream:
                self.leader = n  # <- here
    ---
    model.py:6:13: self.leader = ...: every iteration of the loop ...; write only cells ...

A model begins at line 2 of its file: line 1 imports the language, and ``toy.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import attrs

HERE = Path(__file__).parent
MARK = "# <- here"


@attrs.frozen
class Case:
    """A model, and its refusal or an empty message."""

    file: str
    title: str
    source: str
    message: str

    @property
    def name(self) -> str:
        """What the case is called in reports."""
        return f"{self.file}: {self.title}"

    @property
    def marked_line(self) -> int:
        """The line of ``model.py`` that the message should name."""
        [line] = [number for number, text in enumerate(self.source.splitlines(), start=2) if text.endswith(MARK)]
        return line


def read_cases(folder: Literal["accepted", "refusals"]) -> list[Case]:
    """All cases of a folder, in order."""
    found = []
    for path in sorted((HERE / folder).glob("*.txt")):
        for part in path.read_text().split("\n### ")[1:]:
            title, _, text = part.partition("\n")
            source, _, message = text.partition("\n---\n")
            found.append(Case(path.stem, title, source + "\n", message.strip()))
    return found


def write_messages(file: str, messages: Mapping[str, str]) -> None:
    """Put the messages, by title, into a file of refusals; the others stay."""
    path = HERE / "refusals" / f"{file}.txt"
    parts = path.read_text().split("\n### ")
    for index, part in enumerate(parts[1:], start=1):
        title = part.partition("\n")[0]
        if title in messages:
            source = part.partition("\n---\n")[0]
            parts[index] = f"{source}\n---\n{messages[title]}\n"
    path.write_text("\n### ".join(parts))
