"""What the finished units of a campaign have seen so far, read from their files as they appear."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import attrs

from spark.campaign.findings import Finding, sighted
from spark.campaign.places import unit_number, unit_path
from spark.campaign.reading import Row, row_of
from spark.cluster.storage import Storage

READERS = 8
"""How many files are read at the same time: those of S3 take long to come."""


@attrs.define
class Sightings:
    """The finished units of a storage, added up; ``look`` adds those that are new. Sums depend on no order."""

    storage: Storage
    done: set[int] = attrs.field(factory=set)
    runs: int = 0
    violations: int = 0
    seen: dict[str, Finding] = attrs.field(factory=dict)
    first: dict[str, int] = attrs.field(factory=dict)
    """The first unit that met each finding."""

    def look(self) -> None:
        """Add the units that have come since the last look."""
        new = [unit for name in self.storage.list("runs") if (unit := unit_number("runs", name)) not in self.done]
        with ThreadPoolExecutor(READERS) as pool:
            for unit, data in zip(new, pool.map(self._read, new), strict=True):
                if data is not None:
                    self._add(unit, row_of(self.storage, "runs", unit_path("runs", unit), data))

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
        """How many findings the units before this one have met."""
        return sum(1 for first in self.first.values() if first < unit)
