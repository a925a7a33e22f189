"""``holdfast mutate --prove``: run the prover on each mutant, and compare its answer with the search's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
from rich.table import Table

from holdfast.check.budget import INTERRUPTED
from holdfast.check.mutate.limits import Interruption, MutationLimits
from holdfast.check.mutate.proving import Proofs
from holdfast.check.mutate.result import Mutant, MutationReport, ProofRow
from holdfast.ir.compile import compile_model
from holdfast.ir.lemmas import compile_with_lemmas
from holdfast.ir.load import WithLemmas
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


@attrs.frozen
class Proving:
    """The proof of one model, and its log of mutants.

    ``known`` looks up the row of a mutant from an earlier run, ``keep`` stores a new row. Both take the fingerprint of
    the model with its lemmas as the first argument: if a lemma changes, stored rows no longer count.
    """

    system: System
    proofs: Proofs
    known: Callable[[str, str], ProofRow | None]
    keep: Callable[[str, ProofRow], None]

    @classmethod
    def of(
        cls,
        model: WithLemmas,
        limits: MutationLimits,
        known: Callable[[str, str], ProofRow | None],
        keep: Callable[[str, ProofRow], None],
    ) -> Proving:
        """The proof of a model with its lemmas. Raises ModelError for lemmas outside the language."""
        system = compile_with_lemmas(model)
        return cls(system, Proofs(system, model.target, limits), known, keep)


def with_proofs(report: MutationReport, proving: Proving) -> MutationReport:
    """The report with the prover's answer for each mutant. Stops at a limit, with the mutants tried until then."""
    rows: list[ProofRow] = []
    lemmas = proving.system.fingerprint
    known = [proving.known(lemmas, row.facts.mutant.name) for row in report.rows]
    asked = [
        (row, _lacking(proving.system, row.facts.mutant))
        for row, before in zip(report.rows, known, strict=True)
        if before is None
    ]
    try:
        found = proving.proofs.rows(asked)
        for before in known:
            row = before or next(found)
            if before is None:
                proving.keep(lemmas, row)
            rows.append(row)
    except (Interruption, KeyboardInterrupt) as stopped:
        return _ended(report, rows, str(stopped) or INTERRUPTED)
    return attrs.evolve(report, proofs=tuple(rows))


def _ended(report: MutationReport, rows: list[ProofRow], ended_by: str) -> MutationReport:
    left = tuple(f"proof of {row.facts.mutant.name}" for row in report.rows[len(rows) :])
    return attrs.evolve(report, proofs=tuple(rows), untried=(*report.untried, *left), ended_by=ended_by)


def _lacking(system: System, mutant: Mutant) -> System:
    """The mutant as a compiled system, with the model's lemmas."""
    if mutant.kind == "variant":
        return compile_model(system.python, variants=(mutant.name,))
    return remove_rules(system, [mutant.name])


def proof_table(report: MutationReport) -> Table:
    """A table with the prover's answer for each mutant."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("mutant", "ends", "proof", "because"):
        table.add_column(heading, overflow="fold")
    ways = {row.facts.mutant.name: row.way for row in report.rows}
    for row in report.proofs:
        said = "no answer" if row.open else f"not proved: {', '.join(row.unproved)}" if row.unproved else "proved"
        said = said.upper() if row.fault is not None else said
        because = row.open or (f"{row.fails[0]} fails" if row.unproved and row.fails else "")
        table.add_row(row.mutant, ways[row.mutant], said, because)
    return table


def proof_lines(report: MutationReport) -> Iterator[str]:
    """A line for each mutant on which prover and search disagree, and a last line with the counts."""
    for row in report.proofs:
        if row.fault is not None:
            yield f"{row.mutant}: {row.fault}"
    proved = sum(not row.unproved and row.open is None for row in report.proofs)
    wrong = sum(row.fault is not None for row in report.proofs)
    agree = f"{wrong} not as the search says" if wrong else "as the search says"
    yield f"{report.model}: {proved} of {len(report.proofs)} mutants are proved, for any sizes; {agree}"
