"""docs/glossary.md defines each noun once and names existing places; class names use each noun in one meaning."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.docs.test_architecture import SPAN

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ENGINE = ("holdfast", "spark", "reports")

WANTED = {
    "campaign", "run", "trace", "finding", "violation", "refusal", "cut", "scope", "budget", "outcome", "witness",
    "lasso", "instance",
}  # fmt: skip
"""The nouns that once had several meanings."""

TWICE = {
    "Cut": "the outcome, and what CPython raises for it in a model",
    "Refused": "as Cut",
}
"""Names that two classes share, with the reason."""

PARTICIPLES = {
    "Asked", "Begun", "Both", "Done", "Every", "Found", "Given", "Half", "Held", "Kept", "Lost", "Made", "Met", "One",
    "Owed", "Said", "Seen", "Shown", "Spent", "Told", "Two", "Written",
}  # fmt: skip
"""Words that name no thing; words ending in -ed are added to these."""

TERMS = {
    "Quantified": "fingerprints of models hash the names of expressions, and old replay lines carry them",
    "Refused": "an outcome, as the glossary has it",
    "Ruled": "as Quantified",
    "Unchanged": "the word of TLA+",
}
"""Participles that are terms of the field."""

HOMES = {"Campaign": "spark/campaign", "Lasso": "holdfast/check/live", "Budget": "holdfast/check/budget.py"}
"""Nouns that end class names in one folder only."""


def nouns(page: str) -> list[str]:
    """The first column of every table, without the heads."""
    cells = re.findall(r"^\| ([^|]+?) \|", page, re.MULTILINE)
    return [cell for cell in cells if cell != "noun"]


def places(page: str) -> Iterator[tuple[str, str | None]]:
    """Each path on the page, with the name in that file if one follows."""
    for row in re.findall(r"^\|[^|]+\|[^|]+\|(.*)\|$", page, re.MULTILINE):
        path: str | None = None
        for span in SPAN.findall(row):
            if "/" in span:
                if path is not None:
                    yield path, None
                path = span
            elif path is not None:
                yield path, span
                path = None
        if path is not None:
            yield path, None


def classes(folders: Sequence[str] = ENGINE) -> dict[str, list[str]]:
    """The public classes of packages by name, with the files that define them."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(path.relative_to(ROOT).as_posix())
    return found


def wrong_names(found: Mapping[str, Sequence[str]]) -> list[str]:
    """Classes that share a name, whose name is no noun, or that use another folder's noun."""
    wrong = [f"{name}: {', '.join(files)}" for name, files in found.items() if len(files) > 1 and name not in TWICE]
    for name, files in found.items():
        words = re.findall(r"[A-Z][a-z0-9]*", name)
        is_participle = words[-1:] == [name] and (name in PARTICIPLES or name.endswith("ed"))
        if is_participle and name not in TERMS:
            wrong.append(f"{name}: no noun ({files[0]})")
        home = HOMES.get(words[-1]) if words else None
        if home is not None and not files[0].startswith(home):
            wrong.append(f"{name}: {words[-1]} is a word of {home} ({files[0]})")
    return wrong


def test_each_noun_stands_once() -> None:
    """Every noun has one row, rows are sorted, and the nouns that once had several meanings are there."""
    found = nouns(PAGE)
    assert len(found) == len(set(found))
    assert set(found) >= WANTED
    for section in PAGE.split("\n## ")[1:]:
        rows = nouns(section)
        assert rows == sorted(rows)


def test_each_place_is_there() -> None:
    """A path that the page names is a file or a folder, and a name after it is defined there."""
    for path, name in places(PAGE):
        assert (ROOT / path).exists(), path
        if name is not None:
            assert re.search(rf"^(class|def) {name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name


def test_a_class_has_a_noun_of_its_own() -> None:
    """No two public classes of the engine share a name, and each name is a noun."""
    assert wrong_names(classes()) == []


def test_wrong_names_are_seen() -> None:
    """The check finds a duplicate name, a participle, and a noun of another folder."""
    found = {
        "Plan": ["a.py", "b.py"],
        "Asked": ["c.py"],
        "Compared": ["d.py"],
        "Campaign": ["e.py"],
        "Refused": ["f.py"],
    }
    assert wrong_names(found) == [
        "Plan: a.py, b.py",
        "Asked: no noun (c.py)",
        "Compared: no noun (d.py)",
        "Campaign: Campaign is a word of spark/campaign (e.py)",
    ]
    assert list(places("| a | b | `x/y.py` `Z`, `w/` |\n")) == [("x/y.py", "Z"), ("w/", None)]
