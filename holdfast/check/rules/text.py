"""The output of ``holdfast rule``, and the legend that explains the rules named in a text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from holdfast.check.json_values import as_json
from holdfast.check.rules.book import Book, BookEntry
from holdfast.check.rules.code import CodeGuard
from holdfast.check.rules.evidence import Evidence
from holdfast.check.rules.holders import Holders

WIDTH = 120


@attrs.frozen
class RuleAnswer:
    """The answer about a rule, or about a part of it. ``asked`` is the id as the user gave it."""

    asked: str
    entry: BookEntry
    holders: Holders
    evidence: Evidence
    code: tuple[CodeGuard, ...] = ()

    def of_its_part(self) -> RuleAnswer:
        """The answer without the sites, removals and guards of other parts. For a whole rule, the answer itself."""
        if "." not in self.asked:
            return self
        sites = tuple(site for site in self.holders.sites if site.label == self.asked)
        removals = tuple(each for each in self.evidence.removals if each.mutant == self.asked)
        return attrs.evolve(
            self,
            holders=attrs.evolve(self.holders, sites=sites),
            evidence=attrs.evolve(self.evidence, removals=removals),
            code=tuple(guard for guard in self.code if guard.label == self.asked),
        )


def render_rule(answer: RuleAnswer) -> str:
    """The text of an answer: the row, the holders in the models, the guards in the implementation, the results of
    removing the rule, the guards that name it, and the findings.
    """
    row, section, evidence = answer.entry.row, answer.entry.section, answer.evidence
    part = answer.asked.partition(".")[2]
    lines = [f"{answer.asked}  ({answer.entry.page} {section.number}, {section.title})", *_wrap(row.text)]
    for name, text in row.parts.items():
        if part in ("", name):
            lines += _wrap(f".{name}  {text}")
    lines += _block("in the models", _holders(answer.holders))
    lines += _block("in the implementation", _in_code(answer.code))
    lines += _block("without it", _removals(evidence))
    lines += _block("guards", (f"{guard.id}  {guard.guard}: {guard.protects}" for guard in evidence.guards))
    lines += _block("findings", (f"docs/findings/{each.file}  {each.title}" for each in evidence.findings))
    return "\n".join(lines)


def legend(text: str, book: Book, width: int = WIDTH) -> str:
    """A line for each rule that the text names and the book explains, wrapped; empty if there is none."""
    rows = [book.entries[rule].row for rule in book.ids_in(text)]
    if not rows:
        return ""
    column = max(len(row.id) for row in rows) + 2
    hang = " " * (column + 2)
    texts = [
        textwrap.fill(f"  {row.id:{column}}{row.text}", width, subsequent_indent=hang, break_long_words=False)
        for row in rows
    ]
    return "\n".join(["rules", *texts])


def to_json(answer: RuleAnswer) -> dict[str, Any]:
    """The answer as JSON values, for ``--json``."""
    entry, holders, evidence = answer.entry, answer.holders, answer.evidence
    return {
        "rule": answer.asked,
        "page": f"{entry.page}.md",
        "section": {"number": entry.section.number, "title": entry.section.title},
        "text": entry.row.text,
        "parts": dict(entry.row.parts),
        "rules": as_json(holders.sites),
        "properties": as_json(holders.claims),
        "code": as_json(answer.code),
        "removals": [
            {"model": each.model, "mutant": each.mutant, "way": each.way, "command": plain(each.command)}
            for each in evidence.removals
        ],
        "guards": [guard.id for guard in evidence.guards],
        "findings": [finding.file for finding in evidence.findings],
    }


def plain(text: str) -> str:
    """The text without Markdown's marks for bold and code."""
    return re.sub(r"\*\*|`", "", text)


def actions_text(actions: Mapping[str, tuple[str, ...]]) -> str:
    """The actions of each model: ``open, close (ownership); open (fast_close, stream_log)``."""
    groups: dict[frozenset[str], tuple[tuple[str, ...], list[str]]] = {}
    for model, names in actions.items():
        groups.setdefault(frozenset(names), (names, []))[1].append(model)
    return "; ".join(f"{', '.join(names)} ({', '.join(models)})" for names, models in groups.values())


def _holders(holders: Holders) -> Iterator[str]:
    for site in holders.sites:
        yield f"{site.label}  {site.file}:{site.line}  {actions_text(site.actions)}"
    for claim in holders.claims:
        kind = claim.kind.replace("_", " ")
        yield f"{kind} {claim.name}  {claim.file}:{claim.line}  ({', '.join(claim.models)})"


def _in_code(guards: tuple[CodeGuard, ...]) -> Iterator[str]:
    for guard in guards:
        yield f"{guard.label}  {guard.file}:{guard.line}  {guard.function}".rstrip()


def _removals(evidence: Evidence) -> Iterator[str]:
    for each in evidence.removals:
        yield f"{each.model} {each.mutant}: {plain(each.because)}"
        yield f"  {plain(each.command)}"


def _block(heading: str, lines: Iterator[str]) -> list[str]:
    found = [f"  {line}" for line in lines]
    return ["", heading, *found] if found else []


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
