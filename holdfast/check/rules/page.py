"""The generated tables of ``docs/protocol``: a row for each rule, below the part of the page written by hand."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import attrs

from holdfast.check.rules.book import ID, Book, Page, RuleRow, Section, anchor
from holdfast.check.rules.evidence import Evidence
from holdfast.check.rules.facts import RuleFacts
from holdfast.check.rules.holders import CitingClaim, RuleSite
from holdfast.check.rules.text import WIDTH, actions_text
from holdfast.ir.errors import UsageError

PAGES = "protocol/"
"""The folder of the pages, relative to ``docs``."""

MARK = "<!-- Below this line the page is generated"

WAYS = ("killed", "redundant", "liveness", "missing", "equivalent", "sound", "survived", "undecided")
"""The ways in which a mutant may end, the most telling first."""


def page_text(page: Page, by_hand: str, facts: RuleFacts) -> str:
    """The text of a page: the part of ``by_hand`` up to the mark, then the generated tables.

    Raises UsageError for a page without the mark.
    """
    if MARK not in by_hand:
        raise UsageError(f"{page.name}.md has no line that begins with {MARK!r}; put it where the tables are to begin")
    head, _, rest = by_hand.partition(MARK)
    line = rest.partition("\n")[0]
    sections = "\n".join(_section(section, page, facts) for section in page.sections)
    return f"{head}{MARK}{line}\n\n{sections}"


def link_ids(text: str, book: Book, *, page: str | None = None, folder: str = "") -> str:
    """The text with a link at the first mention of each rule that has a row.

    ``page`` is the name of the rules page that the text stands on. For a text elsewhere, ``folder`` is the path from it
    to the rules pages.
    """
    linked: set[str] = set()

    def link(match: re.Match[str]) -> str:
        rule = match["rule"]
        if rule in linked or rule not in book.entries:
            return match[0]
        linked.add(rule)
        entry = book.entries[rule]
        return f"[{match[0]}]({f'#{anchor(rule)}' if entry.page == page else folder + entry.link})"

    return ID.sub(link, text)


def _section(section: Section, page: Page, facts: RuleFacts) -> str:
    lines = [f"### {section.number}. {section.title}", ""]
    if section.text:
        text = link_ids(section.text, facts.book, page=page.name)
        lines += [textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False), ""]
    if section.rows:
        lines += ["| id | rule | in the models | what shows it |", "|---|---|---|---|"]
        lines += [line for row in section.rows for line in _row(row, page, facts)]
        lines.append("")
    return "\n".join(lines)


def _row(row: RuleRow, page: Page, facts: RuleFacts) -> Iterator[str]:
    """The line of a rule, and one line for each of its parts."""
    book = facts.book
    holders, evidence = facts.of(row.id)
    # Without its own entry, a rule gets no link to itself.
    others = attrs.evolve(book, entries={rule: entry for rule, entry in book.entries.items() if rule != row.id})

    def line(name: str, text: str, *links: str) -> str:
        sites = [_site(site) for site in holders.sites if site.label == name]
        claims = [_claim(claim) for claim in holders.claims] if name == row.id else []
        cells = (
            f'<a id="{anchor(name)}"></a>{name}',
            link_ids(text, others, page=page.name).replace("|", "\\|"),
            "<br>".join([*sites, *([", ".join(claims)] if claims else [])]),
            "<br>".join([*_removal(name, row, evidence), *links]),
        )
        return f"| {' | '.join(cells)} |"

    yield line(row.id, row.text, *_links(evidence, book, page))
    for part, text in row.parts.items():
        yield line(f"{row.id}.{part}", text)


def _site(site: RuleSite) -> str:
    return f"[{Path(site.file).name}:{site.line}]({_source(site)}): {actions_text(site.actions)}"


def _claim(claim: CitingClaim) -> str:
    return f"[{claim.name}]({_source(claim)}) ({', '.join(claim.models)})"


def _source(place: RuleSite | CitingClaim) -> str:
    return f"../../{place.file}#L{place.line}"


def _removal(name: str, row: RuleRow, evidence: Evidence) -> Iterator[str]:
    """The most telling removal: the first in the order of ``WAYS``, then the one with the fewest steps."""
    # For a part only its own mutant counts. For a guard the mutants that stand for it count; their rule is another.
    mine = [each for each in evidence.removals if each.mutant == name or (each.of != row.id and name == row.id)]
    best = min(mine, key=lambda each: (WAYS.index(each.way), each.steps), default=None)
    if best is not None:
        yield f"{best.because}: {best.command}"


def _links(evidence: Evidence, book: Book, page: Page) -> Iterator[str]:
    for guard in evidence.guards:
        entry = book.entries.get(guard.id)
        if entry is not None:
            yield f"guard [{guard.id}]({f'#{anchor(guard.id)}' if entry.page == page.name else entry.link})"
    for finding in evidence.findings:
        yield f"finding [{finding.file.removesuffix('.md')}](../findings/{finding.file})"
