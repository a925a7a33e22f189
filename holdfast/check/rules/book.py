"""The rules of the protocols, read from ``rules/*.toml`` and ``guards.toml`` beside the models.

A rule id has a family and a number (``ST-14``). A model may split a rule into parts: ``CK-01.flag`` is the part
``flag`` of CK-01. Each file has the rows of one page of ``docs/protocol``.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from holdfast.check.mutate.guards import GUARDS, GuardTable, read_guards
from holdfast.ir.errors import UsageError, unreadable
from holdfast.ir.load import model_folders, names_in

RULES = "rules"
"""The folder with the rows, beside the models."""

ID = re.compile(r"\b(?P<rule>[A-Z]{1,4}-\d+[a-z]?)(?:\.(?P<part>[a-z_]+))?\b")
"""A rule id in a text, with or without a part."""


@attrs.frozen
class RuleRow:
    """A rule: its id, its text, and the texts of its parts, if models split it."""

    id: str
    text: str
    parts: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Section:
    """A section of a page. Models cite it by the page's name and its number: ``streams.md 9.1``."""

    number: str
    title: str
    text: str
    rows: tuple[RuleRow, ...]


@attrs.frozen
class Page:
    """The page of a protocol. ``name`` is the name of its file without the suffix."""

    name: str
    sections: tuple[Section, ...]


@attrs.frozen
class BookEntry:
    """A row with its page and its section."""

    row: RuleRow
    page: str
    section: Section

    @property
    def link(self) -> str:
        """The address of the row, relative to the folder of the pages."""
        return f"{self.page}.md#{anchor(self.row.id)}"


@attrs.frozen
class Book:
    """All pages, all tables of guards, and the entries by rule id. A section may show a table of guards."""

    pages: tuple[Page, ...]
    tables: tuple[GuardTable, ...]
    entries: Mapping[str, BookEntry]

    def entry(self, text: str) -> BookEntry:
        """The entry of ``ST-14``, or of ``CK-01`` for its part ``CK-01.flag``.

        Raises UsageError, with the nearest ids, if there is no such rule or part.
        """
        rule, _, part = text.partition(".")
        if rule not in self.entries:
            near = difflib.get_close_matches(rule.upper(), self.entries, n=3, cutoff=0.3)
            hint = f"the nearest are {', '.join(near)}" if near else "`holdfast rule` lists all"
            raise UsageError(f"no rule is called {text!r}; {hint}")
        entry = self.entries[rule]
        if part and part not in entry.row.parts:
            has = ", ".join(f"{rule}.{name}" for name in entry.row.parts) or "none"
            raise UsageError(f"{rule} has no part {part!r}; its parts: {has}")
        return entry

    def ids_in(self, text: str) -> list[str]:
        """The rule ids in a text that have a row, each once, in the order of the text."""
        found = (match["rule"] for match in ID.finditer(text))
        return list(dict.fromkeys(rule for rule in found if rule in self.entries))


def anchor(rule: str) -> str:
    """The HTML anchor of a row on its page: ``st-14``, or ``ck-01-flag`` for a part."""
    return rule.lower().replace(".", "-")


def book_beside(folder: Path) -> Book:
    """The book beside the models of ``folder``; an empty book if there is none.

    Only the rows beside a model explain its ids, since another project may use the same ids.
    """
    return read_book(folder) if (folder / RULES).is_dir() else Book((), (), {})


def book_of(target: str) -> Book:
    """The book beside a model, which is not imported. ``target`` names it as on the command line: by name or path."""
    name = target.partition(":")[0]
    named = (folder for folder in model_folders() if name in names_in(folder))
    return book_beside(next(named, Path(name).parent))


def read_book(folder: Path) -> Book:
    """Read the book from the files in ``folder``.

    Raises UsageError for a file that is no list of rules, for an unknown key, and for an id with two rows.
    """
    tables = tuple(read_guards(folder / GUARDS)) if (folder / GUARDS).exists() else ()
    pages = tuple(_page(path, tables) for path in sorted((folder / RULES).glob("*.toml")))
    entries: dict[str, BookEntry] = {}
    for page in pages:
        for section in page.sections:
            for row in section.rows:
                if row.id in entries:
                    raise UsageError(f"{folder / RULES}: {row.id} has two rows; keep one")
                entries[row.id] = BookEntry(row, page.name, section)
    return Book(pages, tables, entries)


def _page(path: Path, tables: Sequence[GuardTable]) -> Page:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        _know(found, {"section"})
        sections = tuple(_section(path.stem, section, tables) for section in found["section"])
    except OSError as error:
        raise unreadable(path, error) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: is no list of rules ({error}); mend it") from error
    return Page(path.stem, sections)


def _section(page: str, found: Mapping[str, Any], tables: Sequence[GuardTable]) -> Section:
    _know(found, {"number", "title", "text", "rule"})
    number, title, text = _line(found["number"]), _line(found["title"]), _line(found.get("text", ""))
    rows = [_row(row) for row in found.get("rule", ())]
    return Section(number, title, text, (*rows, *_guards(f"{page}.md {number}", tables)))


def _row(found: Mapping[str, Any]) -> RuleRow:
    _know(found, {"id", "text", "parts"})
    if ID.fullmatch(found["id"]) is None or "." in found["id"]:
        raise ValueError(f"{found['id']!r} is no rule id")
    return RuleRow(
        found["id"], _line(found["text"]), {name: _line(text) for name, text in found.get("parts", {}).items()}
    )


def _guards(section: str, tables: Sequence[GuardTable]) -> Iterator[RuleRow]:
    """The rows of a section that shows a table of guards."""
    for table in tables:
        if table.name == section:
            for guard in table.guards:
                yield RuleRow(guard.id, f"{guard.guard}. Without it: {guard.protects}.", guard.parts)


def _know(found: Mapping[str, Any], keys: set[str]) -> None:
    for key in found:
        if key not in keys:
            raise ValueError(f"unknown key {key!r}")


def _line(text: str) -> str:
    if "\n" in text or "|" in text:
        raise ValueError(f"{text!r} must be one line without |")
    return text
