"""``holdfast prove --ablate``: prove without each lemma in turn, print the table, and store it in ``lemmas.json``."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from holdfast.check.prove.ablation import (
    Ablation,
    Ablations,
    ablations,
    format_ablations,
    read_ablations,
    stored_form,
)
from holdfast.cli.options import GRAVITY
from holdfast.cli.output import Ticker, check_writable, note, say, show, write
from holdfast.cli.proofs import ProofRequest
from holdfast.ir.errors import UsageError
from holdfast.ir.load import model_folders, names_in
from holdfast.ir.system import System
from holdfast.records.proof import ablation_record

STORED = "lemmas.json"
"""The file beside the models that stores the results."""


def print_ablations(asked: ProofRequest, *, update: bool, suggest: bool) -> int:
    """Leave out each lemma of the models in turn, and print the outcomes of the proofs. Returns the exit code.

    With ``update``, store the outcomes; but only if every lemma was tried. ``suggest``: look for clauses that replace a
    lemma.
    """
    path = _stored_at(asked.names, asked.systems) if update else None
    found: list[Ablations] = []
    for name, (each, system) in zip(asked.names, asked.each(), strict=True):
        rows: list[Ablation] = []
        ended_by: str | None = None
        with Ticker() as ticker:
            for row in ablations(
                system,
                target=each.target,
                budget=asked.budget,
                progress=ticker.show,
                cores=asked.cores,
                limits=asked.limits,
                suggest=suggest,
            ):
                if isinstance(row, str):
                    ended_by = row
                else:
                    rows.append(row)
        found.append(Ablations(system.name, name, system.fingerprint, tuple(rows), ended_by))
        _print(found[-1], asked.json)
        if ended_by is not None:
            break
    code = min((each.exit_code for each in found), key=GRAVITY.index)
    if path is not None:
        _store(path, found, whole=all(each.ended_by is None for each in found))
    asked.reports.give(
        [
            ablation_record(system, name, one)
            for name, system, one in zip(asked.names, asked.systems, found, strict=False)
        ]
    )
    return code


def _print(found: Ablations, as_json: bool) -> None:
    if as_json:
        facts = {"model": found.model, "target": found.target, "exit_code": found.exit_code, "ended_by": found.ended_by}
        say(json_format.dumps({"engine": "ablate", **facts, **stored_form(found)}))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("without", "ends", "because", "sizes", "in its place"):
        table.add_column(heading, overflow="fold")
    for row in found.rows:
        because = f"{row.name} after {row.action}" if row.name else ""
        sizes = ", ".join(f"{name} {size}" for name, size in row.sizes)
        table.add_row(row.lemma, row.ends, because, sizes, _place(row))
    show(table)
    say("")
    if found.ended_by is not None:
        say(f"ended early ({found.ended_by})")
    missed = sum(row.ends == "missed" for row in found.rows)
    restored = f"suggestions restore {found.restored}" if found.suggested else "no clauses were looked for"
    say(f"{found.model}: {missed} of {len(found.rows)} lemmas are missed; {restored}\n")


def _place(row: Ablation) -> str:
    """What stands in a lemma's place."""
    if row.ends != "missed":
        return ""
    if row.restored is None:
        return "not looked for"
    return "\n".join(row.clauses) if row.restored else "not found"


# The file beside the models --------------------------------------------------------------------------------------


def _stored_at(names: Sequence[str], systems: Sequence[System]) -> Path:
    """The file for the results. Raises UsageError for models outside the folder, variants and removed rules."""
    folder = next(iter(model_folders()), None)
    if folder is None:
        raise UsageError("there are no models; run this where models/ is")
    for name, system in zip(names, systems, strict=True):
        if name not in names_in(folder):
            raise UsageError(f"--update stores results of the models in {folder}, and {name} is none; name one of them")
        if system.chosen or system.removed:
            raise UsageError("--update stores results of unchanged models; leave out --variant and --without")
    read_ablations(folder / STORED)
    check_writable(folder / STORED)
    return folder / STORED


def _store(path: Path, found: Sequence[Ablations], *, whole: bool) -> None:
    if not whole:
        note(f"holdfast: nothing is stored, because not all was tried: {path} stays as it is")
        return
    write(path, format_ablations(read_ablations(path), found))
    note(f"holdfast: stored in {path}")
