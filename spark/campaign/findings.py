"""A finding of a campaign: the runs that violate one property alike, and the shrunk run that shows it.

Executors make a ``Sighting`` for each unit (``units.py``). Equal sightings of all units add up to one ``Finding``. Once
the campaign ends or pauses, executors shrink its best run to a ``ShrunkRun``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from spark.campaign.words import UNANSWERED

MOST_SHOWN = 25
"""The most findings that a campaign's page shows. The page says how many it leaves out."""


@attrs.frozen(kw_only=True)
class ShrunkRun:
    """The shrunk run that shows a finding: see ``tables.FINDINGS`` for the fields."""

    drawn: int
    steps: int
    shape: str
    line: str
    replay: str
    sentence: str
    itf: str
    text: str
    case: str = ""

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> ShrunkRun:
        """The run in a row of a table. The row may have other columns, too."""
        return cls(**{field.name: row[field.name] for field in attrs.fields(cls)})


@attrs.frozen(kw_only=True)
class Finding:
    """A violated property: how many runs (``times``) and units violate it alike, and the best of these runs as drawn.

    The best run is the shortest one, and the first of equally short ones: run ``run`` of unit ``unit`` with seed
    ``seed``; it has ``drawn`` steps. ``signatures`` are those of the runs as drawn; all of them shrink to runs with the
    same ``signature``. Until the campaign ends or pauses, nothing is shrunk: ``shrunk`` is None, and ``signature`` is
    that of the runs as drawn.
    """

    signature: str
    signatures: tuple[str, ...]
    property: str
    action: str
    state: tuple[str, ...]
    times: int
    units: int
    unit: int
    seed: int
    run: int
    drawn: int
    shrunk: ShrunkRun | None = None
    logs: tuple[str, ...] = ()
    """If the campaign judges recorded logs: the names of the logs of this finding, which fail in the same way."""


def signature(prop: str, action: str, state: Sequence[str]) -> str:
    """The name of a finding: 12 hex digits, a hash of the property, the last action, and the state before it."""
    said = "\0".join((prop, action, *state))
    return hashlib.blake2b(said.encode(), digest_size=6).hexdigest()


def unanswered(logs: Mapping[str, Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """The logs without an answer, each with the reason, sorted. ``logs``: the names of logs by signature."""
    open_ones = ((said.removeprefix(UNANSWERED), names) for said, names in logs.items() if said.startswith(UNANSWERED))
    return tuple(sorted((log, reason) for reason, names in open_ones for log in names))


def rank(finding: Finding) -> tuple[int, int, int]:
    """The sort key of runs that show a finding; the run with the least key is the best."""
    return finding.drawn, finding.unit, finding.run


def sighted(known: Finding | None, unit: int, seed: int, sighting: Mapping[str, Any]) -> Finding:
    """The finding with one more unit added. ``sighting`` is a row of ``sightings`` in ``tables.RUNS``.

    The result of several calls does not depend on the order of the units.
    """
    new = Finding(
        signature=sighting["signature"],
        signatures=(sighting["signature"],),
        property=sighting["property"],
        action=sighting["action"],
        state=tuple(sighting["state"]),
        times=sighting["times"],
        units=1,
        unit=unit,
        seed=seed,
        run=sighting["run"],
        drawn=sighting["steps"],
    )
    if known is None:
        return new
    best = min(known, new, key=rank)
    return attrs.evolve(best, times=known.times + new.times, units=known.units + 1)
