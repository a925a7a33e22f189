"""The output of ``holdfast prove``: proofs, runs of bounded length, and formulas outside the decidable fragment."""

from __future__ import annotations

import json as json_format
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from holdfast.check.budget import INTERRUPTED, Budget
from holdfast.check.prove.prover import SolverLimits
from holdfast.check.prove.result import DISAGREES, ProofResult, ProofTiming, proof_to_json
from holdfast.check.prove.side_by_side import ProofTask, proofs
from holdfast.check.prove.text import fragment_lines, render_proof
from holdfast.check.prove.unroll import DepthResult, unroll
from holdfast.check.result import HOLDS
from holdfast.cli.options import GRAVITY
from holdfast.cli.output import Ticker, cannot_write, note, say, write
from holdfast.cli.reporting import Reports
from holdfast.ir.load import WithLemmas
from holdfast.ir.system import System
from holdfast.records.proof import depth_record, proof_record
from holdfast.trace.itf import itf_text
from holdfast.trace.trace import Trace

UNANSWERED = Path("unanswered")
"""The folder for queries that Z3 could not answer."""


@attrs.frozen
class ProofRequest:
    """The arguments that every kind of question to the prover takes.

    ``names``, ``loaded`` and ``systems`` are parallel: one entry for each model. ``names`` holds the models as the
    command line names them.
    """

    names: tuple[str, ...]
    loaded: tuple[WithLemmas, ...]
    systems: tuple[System, ...]
    properties: tuple[str, ...]
    budget: Budget
    limits: SolverLimits
    cores: int | None
    json: bool
    reports: Reports

    def each(self) -> Iterator[tuple[WithLemmas, System]]:
        """Each loaded model with its compiled system."""
        yield from zip(self.loaded, self.systems, strict=True)


def print_fragments(asked: ProofRequest) -> int:
    """Print for each model the formulas that are outside the logic that Z3 can decide."""
    for system in asked.systems:
        say("\n".join(fragment_lines(system)))
    return HOLDS


def print_unrolled(asked: ProofRequest, depth: int, itf: Path | None) -> int:
    """Look for violations within ``depth`` steps; print and report the results. Returns the exit code."""
    results: list[DepthResult] = []
    for each, system in asked.each():
        with Ticker() as ticker:
            found = unroll(
                system,
                depth,
                properties=asked.properties or None,
                budget=asked.budget,
                progress=ticker.show,
                target=each.target,
                cores=asked.cores,
                limits=asked.limits,
            )
        results.append(found)
        say(json_format.dumps(found.to_json()) if asked.json else f"{found.text()}\n")
        if found.reason == INTERRUPTED:
            break
    if itf is not None:
        _write_itf([found.trace for found in results if found.trace is not None], itf)
    asked.reports.give(
        [
            depth_record(system, name, found, asked.properties or None)
            for name, system, found in zip(asked.names, asked.systems, results, strict=False)
        ]
    )
    return min((found.exit_code for found in results), key=GRAVITY.index)


def print_proofs(
    asked: ProofRequest, *, seeds: int, length: int, explain: bool, suggest: bool, second: bool, itf: Path | None
) -> int:
    """Prove each model; print and report the results. Returns the exit code."""
    results: list[ProofResult] = []
    tasks = [
        ProofTask(number, system, each.target, each.lemmas_from) for number, (each, system) in enumerate(asked.each())
    ]
    with Ticker() as ticker:
        found = proofs(
            tasks,
            ticker.show,
            cores=asked.cores,
            budget=asked.budget,
            properties=asked.properties or None,
            limits=asked.limits,
            seeds=seeds,
            length=length,
            explain=explain,
            suggest=suggest,
            second=second,
        )
        for system, result in zip(asked.systems, found, strict=False):
            ticker.show("")
            results.append(result)
            saved = _save(result)
            if asked.json:
                say(json_format.dumps(proof_to_json(result)))
            else:
                say(f"{render_proof(result, explain=explain, saved=saved)}\n")
                _note_timing(system.name, result.timing, explain)
            if result.ended_by == INTERRUPTED:
                break
    if itf is not None:
        _write_itf([trace for result in results for trace in _runs(result)], itf)
    asked.reports.give(
        [
            proof_record(system, name, result, asked.properties or None)
            for name, system, result in zip(asked.names, asked.systems, results, strict=False)
        ]
    )
    # A disagreement between engines (exit code 1) is graver than any verdict.
    return min((result.exit_code for result in results), key=(DISAGREES, *GRAVITY).index)


def _note_timing(model: str, timing: ProofTiming, explain: bool) -> None:
    """Write the times of a proof to standard error. The text of the proof has no times, so it never varies."""
    note(f"{model}: {timing.seconds:.1f} s, of which Z3 {timing.solver_seconds:.1f} s")
    for what, parts in (("each property", timing.properties), ("the slowest questions", timing.slowest)):
        if explain and parts:
            note(f"{what}:")
            for name, seconds in parts:
                note(f"  {seconds:6.2f} s  {name}")


# Files -----------------------------------------------------------------------------------------------------------


def _save(result: ProofResult) -> list[str]:
    """Write each unanswered query to its own SMT-LIB file, and return the paths."""
    saved: list[str] = []
    for proof in result.properties:
        for gap in proof.gaps:
            if gap.question is not None:
                name = re.sub(r"\W+", "_", f"{result.model}.{proof.claim.name}.{gap.action}")
                path = UNANSWERED / f"{name}.smt2"
                try:
                    UNANSWERED.mkdir(exist_ok=True)
                except OSError as error:
                    raise cannot_write(path, error) from error
                write(path, gap.question)
                saved.append(str(path))
    return saved


def _write_itf(runs: Sequence[Trace], path: Path) -> None:
    if not runs:
        note(f"holdfast: there is no counterexample, so {path} is not written")
    else:
        write(path, itf_text(runs[0]))


def _runs(result: ProofResult) -> list[Trace]:
    """The runs of a result that ``--itf`` may write: violating runs first, then counterexamples to induction."""
    found = [trace for each in result.searched for trace in each.findings]
    return found + [proof.counterexample.trace for proof in result.properties if proof.counterexample is not None]
