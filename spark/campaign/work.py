"""The work of executors: make units and write their files, and shrink the runs of findings."""

from __future__ import annotations

import pickle
import resource
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import pyarrow as pa

from holdfast.check.budget import Budget, Meter
from spark.campaign.config import Config
from spark.campaign.findings import ShrunkRun, signature
from spark.campaign.guide import guide_of
from spark.campaign.places import unit_path
from spark.campaign.tables import FINDINGS, to_parquet
from spark.campaign.units import UnitConfig, UnitResult, ready, run_unit
from spark.cluster.storage import FileStorage

UNITS = pa.schema([pa.field("unit", pa.int64(), nullable=False)])
WANTED = pa.schema(
    [
        pa.field("signature", pa.string(), nullable=False),
        pa.field("unit", pa.int64(), nullable=False),
        pa.field("seed", pa.uint64(), nullable=False),
        pa.field("run", pa.int64(), nullable=False),
    ]
)
SHOWN = pa.schema([FINDINGS.field(name) for name in ("signature", *(field.name for field in attrs.fields(ShrunkRun)))])


@attrs.frozen
class Assignment:
    """The input of every task of a campaign: the target as bytes, the configuration, and the storage to write to."""

    target: bytes
    config: Config
    storage: FileStorage

    def unit(self, unit: int) -> UnitConfig:
        """The input of a unit. In a guided campaign, all units of earlier rounds must be done."""
        config = self.config
        guide = guide_of(self.storage, config, self.target, config.round_of(unit)) if config.guided else None
        return UnitConfig(self.target, config.traces_of(unit), guide)

    def to_bytes(self) -> bytes:
        """The assignment as bytes, the payload of tasks."""
        return pickle.dumps(self)


def run_units(payload: bytes, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Make each unit of the batch and write its files. Yields the batch. An error names its unit.

    The file in ``runs`` is written last, because it marks the unit as done.
    """
    assignment: Assignment = pickle.loads(payload)  # noqa: S301 - written by the driver of this campaign
    for unit in batch.column("unit").to_pylist():
        try:
            _run_unit(assignment, unit)
        except Exception as error:
            error.add_note(f"unit {unit}")
            raise
    yield batch


def _run_unit(assignment: Assignment, unit: int) -> None:
    config, storage = assignment.config, assignment.storage
    prepared = ready(assignment.target)
    meter, cpu = Meter(Budget()), _cpu_seconds()
    result = run_unit(config.seed_of(unit), assignment.unit(unit))
    coverage = to_parquet("coverage", [coverage_row(unit, result)])
    runs = to_parquet("runs", [runs_row(unit, config.seed_of(unit), result)])
    timing = {
        "unit": unit,
        "seconds": meter.seconds,
        "cpu_seconds": _cpu_seconds() - cpu,
        "setup_seconds": prepared.unspent(),
    }
    storage.write(unit_path("coverage", unit), coverage)
    storage.write(unit_path("timing", unit), to_parquet("timing", [timing]))
    storage.write(unit_path("runs", unit), runs)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def runs_row(unit: int, seed: int, result: UnitResult) -> dict[str, Any]:
    """The row of a unit in ``runs``."""
    return {
        "unit": unit,
        "seed": seed,
        "verdict": "violated" if result.sightings else "not_found",
        "runs": result.runs,
        "steps": result.steps,
        "violations": sum(sighting.times for sighting in result.sightings),
        "stops": [attrs.asdict(stop) for stop in result.stops],
        "sightings": [
            {"signature": signature(each.property, each.action, each.state), **attrs.asdict(each)}
            for each in result.sightings
        ],
        "logs": _named(result.logs, "log", "signature"),
    }


def coverage_row(unit: int, result: UnitResult) -> dict[str, Any]:
    """The row of a unit in ``coverage``."""
    return {
        "unit": unit,
        "actions": _named(result.actions, "action", "taken", "refused"),
        "rules": _named(result.rules, "action", "rule", "refused", "decisive"),
        "cuts": _named(result.cuts, "action", "bound", "times"),
        "pairs": _named(result.pairs, "first", "second", "times"),
        "witnesses": _named(result.witnesses, "witness", "run", "steps"),
        "states": result.states,
        "situations": _named(result.situations, "situation", "runs", "run"),
        "circumstances": _named(result.circumstances, "situation", "circumstances", "runs"),
        "moments": _named(result.moments, "situation", "event", "before", "runs"),
        "kept": [
            {"run": each.run, "case": each.case, "reached": _named(each.reached, "feature", "at")}
            for each in result.kept
        ],
    }


def _named(rows: Sequence[tuple[Any, ...]], *names: str) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def show_findings(payload: bytes, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Make the best run of each finding again, and shrink it. Yields a row of SHOWN for each."""
    assignment: Assignment = pickle.loads(payload)  # noqa: S301 - as above
    for wanted in batch.to_pylist():
        shown = assignment.unit(wanted["unit"]).runnable().show(wanted["seed"], wanted["run"])
        row = {"signature": wanted["signature"], **attrs.asdict(shown)}
        yield pa.RecordBatch.from_pylist([row], schema=SHOWN)
