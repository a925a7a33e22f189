"""The evidence that a rule is needed: results of removing it, guards that name it, findings that cite it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from holdfast.check.mutate.guards import Guard, GuardTable, because, command
from holdfast.check.rules.book import ID

FINDINGS = "docs/findings"
"""The folder with the pages of the findings, beside the folder of the models. An installed package has none."""


@attrs.frozen
class Removal:
    """The result of a mutant: a model without a rule or a part of it, or a variant.

    - ``of``: the rule id; empty for variants, and for mutants that lack a rule in one action only.
    - ``way``: the way the mutant ends; ``steps``: length of the run that kills it, 0 if no run does.
    - ``because``: the way with its reason; ``command``: the command that shows it. Both are in Markdown.
    """

    of: str
    model: str
    mutant: str
    way: str
    steps: int
    because: str
    command: str


@attrs.frozen
class FindingPage:
    """The page of a finding: the name of its file, its heading, and the rules that it cites."""

    file: str
    title: str
    cites: frozenset[str]


@attrs.frozen
class Evidence:
    """All evidence for one rule."""

    removals: tuple[Removal, ...]
    guards: tuple[Guard, ...]
    findings: tuple[FindingPage, ...]


def evidence_of(
    rule: str, removals: Sequence[Removal], tables: Sequence[GuardTable], findings: Sequence[FindingPage]
) -> Evidence:
    """The evidence for a rule or a guard. The removals of a guard are those of the mutants that stand for it."""
    guards = [guard for table in tables for guard in table.guards]
    standing = {name for guard in guards if guard.id == rule for name in guard.mutants}
    return Evidence(
        tuple(each for each in removals if each.of == rule or f"{each.model}:{each.mutant}" in standing),
        tuple(guard for guard in guards if guard.id != rule and rule in _rules_of(guard)),
        tuple(finding for finding in findings if rule in finding.cites),
    )


def removals_in(results: Mapping[str, Any]) -> Iterator[Removal]:
    """The removals among the stored results of mutants, model by model."""
    for model in sorted(results):
        for row in results[model]["mutants"]:
            match = ID.fullmatch(row["mutant"])
            rule = "" if match is None else match["rule"]
            steps = row.get("steps") or 0
            yield Removal(rule, model, row["mutant"], row["way"], steps, because(row), command(model, row))


def read_findings(folder: Path) -> Iterator[FindingPage]:
    """The findings whose pages lie in the folder; none if there is no such folder."""
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        heading = re.match(r"# (.*)", text)
        if path.stem != "README" and heading is not None:
            yield FindingPage(path.name, heading[1], frozenset(_cited(text)))


def _rules_of(guard: Guard) -> set[str]:
    """The rules that a guard names, and the rules that its mutants lack."""
    return _cited(guard.guard) | {rule for name in guard.mutants for rule in _cited(name.partition(":")[2])}


def _cited(text: str) -> set[str]:
    return {match["rule"] for match in ID.finditer(text)}
