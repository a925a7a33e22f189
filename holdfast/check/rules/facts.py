"""The facts about the rules of a folder of models: the holders of each rule, and the evidence that it is needed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import attrs

from holdfast.check.mutate.guards import RESULTS, read_results
from holdfast.check.rules.book import Book
from holdfast.check.rules.code import IMPLEMENTATION, CodeGuard, guards_in
from holdfast.check.rules.evidence import (
    FINDINGS,
    Evidence,
    FindingPage,
    Removal,
    evidence_of,
    read_findings,
    removals_in,
)
from holdfast.check.rules.holders import Holders, holders_of
from holdfast.ir.load import names_in
from holdfast.ir.variants import load_variant


@attrs.define
class RuleFacts:
    """The facts about the rules in ``book``, whose models lie in ``folder``.

    The first question compiles all models.
    """

    folder: Path
    book: Book

    def of(self, rule: str) -> tuple[Holders, Evidence]:
        """The holders of a rule, and the evidence that it is needed."""
        evidence = evidence_of(rule, self._removals, self.book.tables, self._findings)
        return self._holders.get(rule, Holders()), evidence

    @cached_property
    def code(self) -> dict[str, tuple[CodeGuard, ...]]:
        """The guards of the implementation beside the models, by rule; none if there is no implementation."""
        root = self.folder.resolve().parent
        return guards_in(root / IMPLEMENTATION, root)

    @cached_property
    def _holders(self) -> dict[str, Holders]:
        systems = {name: load_variant(str(self.folder / f"{name}.py")) for name in names_in(self.folder)}
        return holders_of(systems, self.folder.resolve().parent)

    @cached_property
    def _removals(self) -> tuple[Removal, ...]:
        return tuple(removals_in(read_results(self.folder / RESULTS)))

    @cached_property
    def _findings(self) -> tuple[FindingPage, ...]:
        return tuple(read_findings(self.folder.resolve().parent / FINDINGS))
