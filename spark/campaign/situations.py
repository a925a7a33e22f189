"""Situations of clusters, added up over a campaign: as a whole, in their circumstances, and with the events before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from spark.campaign.reading import Row
from spark.campaign.words import DECIDING_RULE


@attrs.frozen
class SituationSum:
    """How many runs reached a situation, and the first of them; 0 and None if none did."""

    name: str
    runs: int
    unit: int | None
    run: int | None


@attrs.frozen
class CircumstancesSum:
    """How many runs reached a situation of a stream in these circumstances."""

    situation: str
    circumstances: str
    runs: int

    @property
    def name(self) -> str:
        """The situation and its circumstances in words."""
        return f"{self.situation} ({self.circumstances})"


@attrs.frozen
class MomentSum:
    """How many runs reached a situation with these last two events of its stream or partition."""

    situation: str
    event: str
    before: str
    runs: int

    @property
    def name(self) -> str:
        """The moment in words."""
        events = [each for each in (self.before, self.event) if each]
        return f"{self.situation} ({', '.join(events) or 'no event before'})"


class SituationSums:
    """The sums over the units added so far. They must come in the order of their numbers."""

    def __init__(self, names: Iterable[str]) -> None:
        """``names``: the situations that runs can reach, in their order."""
        self._situations = {name: SituationSum(name, 0, None, None) for name in names}
        self._circumstances: dict[tuple[str, str], int] = {}
        self._moments: dict[tuple[str, str, str], int] = {}

    def add(self, unit: int, coverage: Row) -> None:
        """Add the row of a unit in ``coverage``."""
        for each in coverage["situations"]:
            old = self._situations.get(each["situation"])
            new = SituationSum(each["situation"], each["runs"], unit, each["run"])
            reached = attrs.evolve(old, runs=old.runs + new.runs) if old is not None and old.runs else new
            self._situations[reached.name] = reached
        for each in coverage["circumstances"]:
            found = each["situation"], each["circumstances"]
            self._circumstances[found] = self._circumstances.get(found, 0) + each["runs"]
        for each in coverage["moments"]:
            moment = each["situation"], each["event"], each["before"]
            if each["situation"] == DECIDING_RULE:
                continue  # The table of rules has it.
            self._moments[moment] = self._moments.get(moment, 0) + each["runs"]

    def sums(self) -> dict[str, Any]:
        """The fields of a Summary that are about situations."""
        return {
            "situations": tuple(self._situations.values()),
            "circumstances": tuple(CircumstancesSum(*each, runs) for each, runs in sorted(self._circumstances.items())),
            "moments": tuple(MomentSum(*moment, runs) for moment, runs in sorted(self._moments.items())),
        }
