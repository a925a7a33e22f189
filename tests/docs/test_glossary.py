"""docs/glossary.md defines each noun once and names existing places; class names use each noun in one meaning."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.docs.test_architecture import SPAN
from tests.docs.test_pages import PAGES, prose

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PROGRAMS = ("holdfast", "spark", "reports", "impl", "mutants", "benchmarks")
TESTS = ("tests", "stateful_tests")

STATED = {"benchmarks/takeover.py", "holdfast/cli/starter.py"}
"""Files that state a model. Their classes are sorts, which have the names of the protocol."""

WANTED = {
    "campaign", "run", "trace", "finding", "violation", "refusal", "cut", "scope", "budget", "outcome", "witness",
    "lasso", "instance", "premise", "frontier", "partition", "switch", "core", "case", "vacuous property",
}  # fmt: skip
"""The nouns that once had several meanings."""

TWICE = {
    "Cut": "the outcome, and what CPython raises for it in a model",
    "Record": "a value with named parts, as TLA+ calls it; authors of models never see the answer of that name",
    "Refused": "as Cut",
    "Violation": "a broken claim in both places; the oracles of the implementation import nothing of the engine",
}
"""Names that two classes share, with the reason."""

TWICE_IN_MODELS = dict.fromkeys(
    ["Epoch", "Mode", "Phase", "R"],
    "fingerprints of models hash the names of sorts and enums, and old replay lines carry them",
) | dict.fromkeys(
    ["Broker", "Partition"],
    "the balancer breaks ties by number, so its brokers and partitions have an order; elsewhere they have none",
)
"""Names that two sorts or enums of different protocols share, with the reason."""

PARTICIPLES = {
    "Asked", "Begun", "Beside", "Both", "Done", "Every", "Found", "Given", "Half", "Held", "Here", "Kept", "Lost",
    "Made", "Met", "One", "Owed", "Ran", "Said", "Seen", "Sent", "Shown", "Spent", "Stuck", "Taken", "Told", "Two",
    "Woken", "Written",
}  # fmt: skip
"""Words that name no thing; words ending in -ed are added to these."""

TERMS = {
    "Quantified": "fingerprints of models hash the names of expressions, and old replay lines carry them",
    "Refused": "an outcome, as the glossary has it",
    "Ruled": "as Quantified",
    "Taken": "as Refused",
    "Unchanged": "the word of TLA+",
}
"""Participles that are terms of the field."""

HOMES = {"Campaign": "spark/campaign", "Lasso": "holdfast/check/live", "Budget": "holdfast/check/budget.py"}
"""Nouns that end class names in one folder only."""


REPLACED = re.compile(r"[Nn]ot \*([^*]+)\*")


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


def replaced(glossary: str) -> list[str]:
    """The words that a row of the glossary replaces: ``not *word*``."""
    return [word for row in re.findall(r"^\|.*", glossary, re.MULTILINE) for word in REPLACED.findall(row)]


def uses(page: str, words: Sequence[str]) -> list[str]:
    """Those of the words that the prose of a page uses, in singular or plural. Code is left out."""
    text = re.sub(r"`[^`]*`", "", prose(page))
    return [word for word in words if re.search(rf"\b{re.escape(word)}s?\b", text, re.IGNORECASE)]


def classes(folders: Sequence[str]) -> dict[str, list[str]]:
    """The public classes of packages by name, with the files that define them. Those of STATED files are left out."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            if file in STATED:
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(file)
    return found


def shared(found: Mapping[str, Sequence[str]], allowed: Collection[str] = ()) -> list[str]:
    """The names that two classes share, except the allowed ones, with the files."""
    return [f"{name}: {', '.join(files)}" for name, files in found.items() if len(files) > 1 and name not in allowed]


def participles(found: Mapping[str, Sequence[str]]) -> list[str]:
    """The classes whose name is one word that is no noun."""
    return [
        f"{name}: no noun ({files[0]})"
        for name, files in found.items()
        if re.findall(r"[A-Z][a-z0-9]*", name)[-1:] == [name]
        if (name in PARTICIPLES or name.endswith("ed")) and name not in TERMS
    ]


def modules_without_noun(paths: Sequence[str]) -> list[str]:
    """The modules whose name is no noun."""
    words = {word.lower() for word in PARTICIPLES}
    return [path for path in paths if (stem := Path(path).stem) in words or stem.endswith("ed")]


def borrowed(found: Mapping[str, Sequence[str]]) -> list[str]:
    """The classes whose last word is a noun of another folder."""
    wrong = []
    for name, files in found.items():
        noun = re.findall(r"[A-Z][a-z0-9]*", name)[-1:]
        home = HOMES.get(noun[0]) if noun else None
        if home is not None and not files[0].startswith(home):
            wrong.append(f"{name}: {noun[0]} is a word of {home} ({files[0]})")
    return wrong


def test_each_noun_stands_once() -> None:
    """Every noun has one row, rows are sorted, and the nouns that once had several meanings are there."""
    found = nouns(PAGE)
    assert len(found) == len(set(found))
    assert set(found) >= WANTED
    for section in PAGE.split("\n## ")[1:]:
        rows = nouns(section)
        assert rows == sorted(rows)


@pytest.mark.parametrize("name", sorted({*PAGES, "CONTRIBUTING.md"} - {"docs/glossary.md"}))
def test_no_page_uses_a_replaced_word(name: str) -> None:
    """A page uses the noun of the glossary, and not the word that it replaces."""
    assert uses((ROOT / name).read_text(encoding="utf-8"), replaced(PAGE)) == []


def test_a_noun_with_two_rows_and_a_replaced_word_are_noticed() -> None:
    """A second row of a noun is seen in any section; so is a replaced word, also in the plural, but not in code."""
    page = "## A\n| noun | meaning |\n| cut | A step. Not *stop*. |\n\n## B\n| cut | A fault. |\n"
    assert nouns(page) == ["cut", "cut"]
    assert replaced(page) == ["stop"]
    assert uses("Stops are counted.", ["stop"]) == ["stop"]
    assert uses("Write `stop`; a stopper.\n```\nstop\n```\n", ["stop"]) == []


def test_each_place_is_there() -> None:
    """A path that the page names is a file or a folder, and a name after it is defined there."""
    for path, name in places(PAGE):
        assert (ROOT / path).exists(), path
        if name is not None:
            assert re.search(rf"^(class|def) {name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name


def test_a_module_has_a_noun_for_its_name() -> None:
    """No module is named by a participle or by a word that names nothing; one that is so named is noticed."""
    paths = [
        path.relative_to(ROOT).as_posix() for folder in (*PROGRAMS, "models") for path in (ROOT / folder).rglob("*.py")
    ]
    assert modules_without_noun(paths) == []
    assert modules_without_noun(["a/asked.py", "a/searched.py", "a/search.py"]) == ["a/asked.py", "a/searched.py"]


def test_a_class_has_a_noun_of_its_own() -> None:
    """No two public classes share a name, each name is a noun, and none uses a noun of another folder."""
    found = classes(PROGRAMS)
    assert [*shared(found, TWICE), *participles(found), *borrowed(found)] == []


def test_a_class_of_a_test_is_called_by_a_noun() -> None:
    """The name of a public class of the tests is a noun. Tests of two folders may share one."""
    assert participles(classes(TESTS)) == []


def test_a_sort_has_a_noun_of_its_own() -> None:
    """No two classes of the models share a name, except where a new name would make old replay lines stale."""
    found = classes(("models",))
    assert [*shared(found, TWICE_IN_MODELS), *participles(found)] == []


def test_each_exception_is_needed() -> None:
    """The names that two classes may share are shared by two."""
    assert {name for name, files in classes(PROGRAMS).items() if len(files) > 1} == set(TWICE)
    assert {name for name, files in classes(("models",)).items() if len(files) > 1} == set(TWICE_IN_MODELS)


def test_wrong_names_are_seen() -> None:
    """The checks find a duplicate name, a participle, and a noun of another folder."""
    found = {
        "Plan": ["a.py", "b.py"],
        "Asked": ["c.py"],
        "Compared": ["d.py"],
        "Campaign": ["e.py"],
        "Refused": ["f.py", "g.py"],
    }
    assert shared(found, TWICE) == ["Plan: a.py, b.py"]
    assert participles(found) == ["Asked: no noun (c.py)", "Compared: no noun (d.py)"]
    assert borrowed(found) == ["Campaign: Campaign is a word of spark/campaign (e.py)"]
    assert list(places("| a | b | `x/y.py` `Z`, `w/` |\n")) == [("x/y.py", "Z"), ("w/", None)]
