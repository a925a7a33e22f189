"""``holdfast verify``: everything on all models, against what is pinned."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import attrs
from cyclopts import Parameter
from rich.table import Table

from holdfast.check.manifest import MANIFEST, Entry, Outcome, format_manifest, measure_all, read_manifest
from holdfast.check.result import HOLDS, OUT_OF_BUDGET
from holdfast.cli.output import Ticker, check_writable, say, show, write
from holdfast.ir.errors import UsageError
from holdfast.ir.load import model_folders

DIFFERS = 1


def verify(
    *, slow: Annotated[bool, Parameter(negative="")] = False, update: Annotated[bool, Parameter(negative="")] = False
) -> int:
    """Check every model in every scope and variant, and compare with what is pinned.

    The pinned outcomes stand in manifest.json beside the models: in models/ of this folder, or as installed. Ends 0
    only if every outcome is the pinned one.

    Parameters
    ----------
    slow
        Check the large scopes too, which takes minutes.
    update
        Pin what is found instead of comparing.
    """
    folder = next(iter(model_folders()), None)
    if folder is None:
        raise UsageError("there are no models; run this where models/ is, or check one file: holdfast check FILE.py")
    if update:
        check_writable(folder / MANIFEST)
    entries = read_manifest(folder)
    chosen = [entry for entry in entries if slow or not entry.slow]
    found = _measured(folder, chosen)
    show(_table(chosen, found))
    differing = sum(_explain(entry, outcome) for entry, outcome in zip(chosen, found, strict=False))
    if len(found) < len(chosen):
        say(f"interrupted: {len(found)} of {len(chosen)} checked, {differing} of them not as expected")
        return OUT_OF_BUDGET
    if update:
        return _pin(folder / MANIFEST, entries, dict(zip(chosen, found, strict=True)))
    say(f"{len(found) - differing} of {len(found)} as expected")
    return DIFFERS if differing else HOLDS


def _pin(manifest: Path, entries: Sequence[Entry], found: Mapping[Entry, Outcome]) -> int:
    """Write the manifest with what was found; what was not checked stays as it is."""
    if any(outcome.error for outcome in found.values()):
        say(f"nothing is pinned, because of the errors above: {manifest} stays as it is")
        return DIFFERS
    write(
        manifest, format_manifest(attrs.evolve(entry, expected=found.get(entry, entry.expected)) for entry in entries)
    )
    say(f"{len(found)} outcomes are pinned in {manifest}")
    return HOLDS


def _measured(folder: Path, entries: Sequence[Entry]) -> list[Outcome]:
    """The outcomes in the order of the entries, with a count on a terminal while they come; fewer after Ctrl-C."""
    found: list[Outcome] = []
    with Ticker() as ticker, suppress(KeyboardInterrupt):
        ticker.show(f"0 of {len(entries)} checked")
        for outcome in measure_all(folder, entries, processes=os.cpu_count() or 1):
            found.append(outcome)
            ticker.show(f"{len(found)} of {len(entries)} checked")
    return found


def _table(entries: Sequence[Entry], outcomes: Sequence[Outcome]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("model", "configuration", "verdict"):
        table.add_column(heading, overflow="fold")
    for heading in ("exit", "states", "depth", "bits"):
        table.add_column(heading, justify="right")
    for heading in ("violated property, steps", "as expected?"):
        table.add_column(heading, overflow="fold")
    for entry, outcome in zip(entries, outcomes, strict=False):
        table.add_row(
            entry.configuration.model,
            str(entry.configuration),
            outcome.verdict,
            str(outcome.exit_code),
            f"{outcome.states:,}",
            str(outcome.depth),
            str(outcome.bits),
            f"{outcome.property}, {outcome.steps}" if outcome.property else "",
            "NO" if entry.differences(outcome) else "yes",
        )
    return table


def _explain(entry: Entry, outcome: Outcome) -> bool:
    """Print both values of all that differs, if anything does."""
    differences = entry.differences(outcome)
    if differences:
        say(f"{entry.configuration.model} {entry.configuration}: {'; '.join(differences)}")
        if outcome.replay is not None:
            say(f"replay:    {outcome.replay}")
    return bool(differences)
