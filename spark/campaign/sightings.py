"""The findings of a running campaign's finished units, read from their files as they appear."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import attrs

from spark.campaign.findings import Finding, sighted
from spark.campaign.places import unit_number, unit_path
from spark.campaign.reading import READERS, Row, remedy_of, row_of
from spark.cluster.storage import FileStorage


@attrs.define
class Sightings:
    """The sums over the finished units in a storage. ``look`` adds new units; the sums do not depend on their order."""

    storage: FileStorage
    done: set[int] = attrs.field(factory=set)
    runs: int = 0
    violations: int = 0
    seen: dict[str, Finding] = attrs.field(factory=dict)
    first: dict[str, int] = attrs.field(factory=dict)
    """For each finding: the lowest number of a unit that met it."""

    def look(self) -> None:
        """Add the units that were finished since the last look."""
        new = [unit for name in self.storage.list("runs") if (unit := unit_number("runs", name)) not in self.done]
        with ThreadPoolExecutor(READERS) as pool:
            for unit, data in zip(new, pool.map(self._read, new), strict=True):
                if data is not None:
                    path = unit_path("runs", unit)
                    self._add(unit, row_of(self.storage, "runs", path, data, remedy_of(path)))

    def _read(self, unit: int) -> bytes | None:
        return self.storage.read(unit_path("runs", unit))

    def _add(self, unit: int, row: Row) -> None:
        self.done.add(unit)
        self.runs += row["runs"]
        self.violations += row["violations"]
        for sighting in row["sightings"]:
            name = sighting["signature"]
            self.seen[name] = sighted(self.seen.get(name), unit, row["seed"], sighting)
            self.first[name] = min(self.first.get(name, unit), unit)

    def before(self, unit: int) -> int:
        """The number of findings that the units before this one have met."""
        return sum(1 for first in self.first.values() if first < unit)
