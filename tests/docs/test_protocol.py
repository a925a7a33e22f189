"""The protocols' pages: every rule id that the repository uses has a row there, and every row is used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from holdfast.check.rules.book import ID, Book, read_book
from holdfast.check.rules.facts import RuleFacts
from holdfast.check.rules.page import page_text

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "models"
PAGES = ROOT / "docs" / "protocol"
FINDINGS = ROOT / "docs" / "findings"

NO_RULES = {"KIP-101", "KIP-236", "KIP-279", "KIP-455", "UTF-8", "I-02", "I-09"}
"""Texts that look like rule ids: documents, an encoding, the files of the findings on I-2 and I-9."""

OF_EXAMPLES = {"LA", "TN"}
"""Families of the small models that pages show."""

INVENTED = {"AM-77", "CK-09", "CK-10", "ID-1", "INV-99", "LV-1", "LV-09", "LV-9", "ST-14b", "ST-99"} | {
    *("CS-2005", "CS-95", "ND-1", "ND-2", "ND-3", "ND-4", "P-1", "P-2", "PL-2", "PT-6"),
}
"""Ids of tests that ask for a missing rule, and places in tables of facts that no run shows."""

UNUSED = {
    "F-01": "route_epoch and its tests write F1",
    "F-04": "they write F4",
    "F-06": "they write F6",
    "F-10": "they write F10",
    "F-12": "they write F12",
}
"""Rows whose ids stand nowhere, each with the reason."""

IN_A_VARIANT = {"CA-44.undo", "CL-01.answer"} | {
    *("CA-47.replica", "CL-07.unflagged", "FO-01.stand", "FO-08.ready"),
    *("RA-02.leaving", "RA-11.open", "RA-16.handles", "RA-17.unflagged", "RA-18.closed"),
}
"""Labels that stand in a variant's action only."""

SECTION = re.compile(
    r"\b(streams|reassignment|zone-routing|autobalancer)\.md (\d+(?:\.\d+)?(?:(?:, | and )\d+(?:\.\d+)?)*)"
)
"""A citation of sections: ``streams.md 7, 9.1``."""


@cache
def book() -> Book:
    """The rows of this repository."""
    return read_book(MODELS)


@cache
def facts() -> RuleFacts:
    """The holders of each rule, and the evidence that the rule is needed."""
    return RuleFacts(MODELS, book())


def texts(*places: str) -> Iterator[tuple[str, str]]:
    """The texts of these files or folders, by name, without the protocols' pages and rows and without this file."""
    for place in places:
        path = ROOT / place
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            own = file == Path(__file__) or PAGES in file.parents or MODELS / "rules" in file.parents
            if file.suffix in (".py", ".md", ".toml") and not own:
                yield file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")


def unexplained(found: Mapping[str, str], explained: Book, *, known_families: bool) -> list[str]:
    """The rule ids of these texts without a row; ids of unknown families count only if requested."""
    families = {entry.partition("-")[0] for entry in explained.entries}
    missing: dict[str, str] = {}
    for name, text in found.items():
        for match in ID.finditer(text):
            cited = match["rule"]
            family = cited.partition("-")[0]
            if cited not in explained.entries and cited not in NO_RULES and (family in families or not known_families):
                missing.setdefault(cited, name)
    return [f"{cited} in {name}" for cited, name in missing.items()]


def test_every_id_of_a_model_or_a_finding_has_a_row() -> None:
    """Every rule id in a model or a finding has a row, even if it stands in a comment or a docstring."""
    found = dict(texts("models", "docs/findings", "docs/guards.md", "docs/live.md", "docs/prove.md", "docs/tlc.md"))
    lacking = unexplained(found, book(), known_families=False)
    assert [line for line in lacking if line.partition("-")[0] not in OF_EXAMPLES] == []


def test_every_id_of_a_test_or_a_message_has_a_row() -> None:
    """Every rule id in a test or a message has a row, except the tests' own families and the listed invented ids."""
    places = ("tests", "holdfast", "impl", "spark", "reports", "benchmarks", "stateful_tests", "docs", "README.md")
    found = dict(texts(*places))
    lacking = [line for line in unexplained(found, book(), known_families=True) if line.split()[0] not in INVENTED]
    assert lacking == []


def test_an_id_without_a_row_is_seen() -> None:
    """The check reports a missing row with its file, and ignores texts that are no rule ids."""
    found = {"a.py": 'require(x, "ST-14")  # ST-98, KIP-236', "b.md": "QQ-01"}
    assert unexplained(found, book(), known_families=False) == ["ST-98 in a.py", "QQ-01 in b.md"]
    assert unexplained(found, book(), known_families=True) == ["ST-98 in a.py"]


def test_every_row_is_used() -> None:
    """Each row is used by a model, a test, a page outside the protocols, or a message."""
    places = ("models", "tests", "holdfast", "impl", "benchmarks", "stateful_tests", "docs", "README.md")
    used = {match["rule"] for _, text in texts(*places) for match in ID.finditer(text)}
    assert set(book().entries) - used == set(UNUSED)


def test_every_part_of_a_rule_is_explained_and_used() -> None:
    """Each label of a model, such as ``CK-01.flag``, has its sentence, and each sentence has its label."""
    labels = {site.label for entry in book().entries for site in facts().of(entry)[0].sites}
    used = {label for label in labels if "." in label} | IN_A_VARIANT
    assert {f"{entry.row.id}.{part}" for entry in book().entries.values() for part in entry.row.parts} == used


@pytest.mark.parametrize("page", [page.name for page in read_book(MODELS).pages])
def test_the_tables_are_what_is_generated(page: str) -> None:
    """The pages' tables equal the tables generated from the rows, the models and the stored results."""
    path = PAGES / f"{page}.md"
    found = next(each for each in book().pages if each.name == page)
    written = page_text(found, path.read_text(encoding="utf-8"), facts())
    assert path.read_text(encoding="utf-8") == written, "write it anew: holdfast rule --pages docs/protocol"


def sections_cited(found: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """The sections that texts cite: file, page and number."""
    for name, text in found.items():
        for match in SECTION.finditer(text):
            for number in re.findall(r"\d+(?:\.\d+)?", match[2]):
                yield name, match[1], number


def test_every_section_that_is_cited_stands_on_its_page() -> None:
    """A citation such as ``streams.md 9.1`` names a heading of that page's rules."""
    there = {(page.name, section.number) for page in book().pages for section in page.sections}
    cited = list(sections_cited(dict(texts("models", "tests", "holdfast", "docs", "README.md"))))
    assert [line for line in cited if line[1:] not in there] == []
    assert len(cited) > 30


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*-*.md")), ids=lambda path: path.stem)
def test_a_finding_links_the_rules_that_it_cites(path: Path) -> None:
    """A finding's page links every rule that it cites."""
    text = path.read_text(encoding="utf-8")
    lacking = [cited for cited in book().ids_in(text) if f"(../protocol/{book().entries[cited].link})" not in text]
    assert lacking == []
