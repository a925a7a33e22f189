"""A finding of a campaign: the runs that violate one property alike, and the shrunk run that shows it.

Executors make a ``Sighting`` for each unit (``cases.py``). Equal sightings of all units add up to one ``Finding``. Once
the campaign ends or pauses, executors shrink its best run to a ``ShrunkRun``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class ShrunkRun:
    """The run that shows a finding, as short as it got: see ``tables.FINDINGS`` for the fields."""

    drawn: int
    steps: int
    shape: str
    line: str
    replay: str
    sentence: str
    itf: str
    text: str

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> ShrunkRun:
        """The run in a row of a table that has its fields, among others."""
        return cls(**{field.name: row[field.name] for field in attrs.fields(cls)})


@attrs.frozen(kw_only=True)
class Finding:
    """A violated property: in how many runs (``times``) and units, and the best of these runs as it was drawn.

    The best run is the shortest, of equals the first: number ``run`` of the ``unit`` with that ``seed``, of ``drawn``
    steps. ``signatures`` are those of the runs as drawn; all of them shrink to runs of the one ``signature``. Before
    the campaign ends or pauses nothing is shrunk: ``shrunk`` is None, and the signature is that of the runs as drawn.
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


def signature(prop: str, action: str, state: Sequence[str]) -> str:
    """Twelve hex digits that tell a finding from others: the property, the last action, the state before it."""
    said = "\0".join((prop, action, *state))
    return hashlib.blake2b(said.encode(), digest_size=6).hexdigest()


def rank(finding: Finding) -> tuple[int, int, int]:
    """The order of the runs that show a finding: the least is the best."""
    return finding.drawn, finding.unit, finding.run


def sighted(known: Finding | None, unit: int, seed: int, sighting: Mapping[str, Any]) -> Finding:
    """The finding with one more unit: ``sighting`` is a row in ``tables.RUNS``. The order of units does not matter."""
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
