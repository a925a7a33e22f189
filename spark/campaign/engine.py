"""Running a campaign: what is missing goes to executors, which write it; the driver watches, stops, and adds up.

The files are the only truth. A unit is done when its file in ``runs`` is there, whoever wrote it, and however often;
so a campaign goes on after anything that ended it, and runs what is missing.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import attrs
import pyarrow as pa

from holdfast import __version__
from holdfast.check.budget import INTERRUPTED, Budget, Meter, interruptible
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.runs.selection import DEADLOCK
from spark.campaign.cases import Target
from spark.campaign.config import WAVE, Config
from spark.campaign.findings import Finding, rank
from spark.campaign.places import CAMPAIGN, FINDINGS, unit_path
from spark.campaign.reading import CampaignHeader, Row, rows_of
from spark.campaign.sightings import Sightings
from spark.campaign.tables import VERSION, to_parquet
from spark.campaign.work import SHOWN, UNITS, WANTED, Assignment, run_units, show_findings
from spark.cluster.storage import Storage, StorageError
from spark.cluster.task import Work

TASKS = 8
"""Into how many tasks a core's share of the units is divided: the more, the better they are spread, but each costs."""

LOOK = 0.5
"""Seconds between two looks at the storage; longer where a look takes long."""

STOPPED = "findings"
"""What ends a campaign that was asked to stop after so many of them."""


class Job(Protocol):
    """Work under way."""

    def wait(self, seconds: float | None = None) -> bool:
        """Wait so long at most; whether it is done."""

    def cancel(self) -> None:
        """End it."""

    def result(self) -> pa.Table:
        """Its answer; raises what went wrong."""


class Workers(Protocol):
    """What a campaign needs of a cluster: see ``session.Cluster``."""

    parallelism: int

    def start(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> Job:
        """Let tasks do work in the background."""


@attrs.frozen
class Progress:
    """How far a campaign has come: runs done, and in all; what it found; since when, and what time is left.

    ``rate`` is runs a second of this start of the command. ``showing`` is set while findings are made small.
    """

    runs: int
    all_runs: int
    rate: float
    findings: int
    seconds: float
    left: float | None
    showing: str | None = None


# Beginning ---------------------------------------------------------------------------------------------------------


def check_free(storage: Storage) -> None:
    """Raise UsageError where there is a campaign already, or none can be written."""
    storage.check_writable()
    if storage.read(CAMPAIGN) is not None or storage.list("runs"):
        raise UsageError(
            f"{storage.name} holds a campaign; go on with `holdfast campaign resume {storage.name}`, "
            "or name another place with --out"
        )


def begin(storage: Storage, config: Config, system: System) -> None:
    """Write what is to be run; raises UsageError where that cannot be."""
    check_free(storage)
    row = {
        "version": VERSION,
        "holdfast": __version__,
        "fingerprint": system.fingerprint_in(system.scope(config.scope)),
        "model": system.name,
        "deadlock": system.claim_name(DEADLOCK),
        "config": config.to_json(),
        "actions": [action.name for action in system.actions],
    }
    storage.write(CAMPAIGN, to_parquet("campaign", [row]))


def check_same(storage: Storage, begun: CampaignHeader, system: System) -> None:
    """Raise UsageError unless the model and its scope are what the campaign was begun with."""
    fingerprint = system.fingerprint_in(system.scope(begun.config.scope))
    if fingerprint != begun.fingerprint:
        raise UsageError(
            f"{storage.name} was begun with {begun.model} of fingerprint {begun.fingerprint}, and "
            f"{begun.config.target} now is {system.name} of {fingerprint}: runs of different models or scopes are not "
            "one campaign; begin another"
        )


def check_version(storage: Storage, begun: CampaignHeader) -> None:
    """Raise UsageError if another version of Holdfast made the runs so far: it may draw other ones."""
    if begun.holdfast != __version__:
        raise UsageError(
            f"{storage.name} was begun with holdfast {begun.holdfast}, and this is {__version__}: runs of different "
            "versions are not one campaign; go on with that version, or begin another"
        )


# Running -----------------------------------------------------------------------------------------------------------


def advance(
    workers: Workers,
    storage: Storage,
    config: Config,
    target: Target,
    *,
    budget: Budget,
    progress: Callable[[Progress], None],
) -> str | None:
    """Run the units that are missing, then show what was found; what ended it before all were done, if anything did.

    The first Ctrl-C ends the units, and the findings so far are still shown; a second one ends that, too.
    """
    meter = Meter(budget)
    with interruptible(meter):
        run = _Advance(workers, storage, config, Assignment(pickle.dumps(target), config, storage), meter, progress)
        ended = run.units()
        run.findings()
    return ended


class _Advance:
    """One start of the command."""

    def __init__(
        self,
        workers: Workers,
        storage: Storage,
        config: Config,
        assignment: Assignment,
        meter: Meter,
        progress: Callable[[Progress], None],
    ) -> None:
        self.workers = workers
        self.storage = storage
        self.config = config
        self.payload = assignment.to_bytes()
        self.meter = meter
        self.progress = progress
        self.sightings = Sightings(storage)
        self.sightings.look()
        self.before = self.sightings.runs

    def units(self) -> str | None:
        """Run what is missing; what ended that, if anything did."""
        for wave in self._waves():
            missing = [unit for unit in wave if unit not in self.sightings.done]
            if missing and not self._run(missing):
                return self.meter.spent
            wanted = self.config.stop_after
            if wanted is not None and self.sightings.before(wave.stop) >= wanted and wave.stop < self.config.units:
                return STOPPED
        return None

    def _waves(self) -> Iterator[range]:
        """The units that are run together: all, or few where a number of findings may end the campaign."""
        units = self.config.units
        size = units if self.config.stop_after is None else WAVE
        for first in range(0, units, size):
            yield range(first, min(first + size, units))

    def _run(self, units: Sequence[int]) -> bool:
        """Run these units; whether all of them were."""
        table = pa.table({"unit": pa.array(units, pa.int64())}, schema=UNITS)
        job = self.workers.start(run_units, self.payload, table, UNITS, TASKS * self.workers.parallelism)
        done = self._watch(job)
        if done:
            job.result()
        self.sightings.look()
        self._report()
        lost = [unit for unit in units if unit not in self.sightings.done]
        if done and lost:
            raise StorageError(
                f"{self.storage.name}: {len(lost)} units were run, and their files are not there (the first is "
                f"{unit_path('runs', lost[0])}): executors must write where the driver reads, to a folder that all "
                "machines share or to s3://"
            )
        return done

    def _watch(self, job: Job) -> bool:
        """Wait for a job; whether it ended, and was not ended by the budget or Ctrl-C."""
        pause = LOOK
        try:
            while not job.wait(pause):
                if self.meter.look(0, 0, 0, 0):
                    job.cancel()
                    return False
                began = self.meter.seconds
                self.sightings.look()
                pause = max(LOOK, 10 * (self.meter.seconds - began))
                self._report()
        except KeyboardInterrupt:
            job.cancel()
            raise
        return True

    def _report(self, showing: str | None = None) -> None:
        sightings, seconds, limit = self.sightings, self.meter.seconds, self.meter.budget.seconds
        self.progress(
            Progress(
                sightings.runs,
                self.config.traces,
                (sightings.runs - self.before) / seconds if seconds else 0.0,
                len(sightings.seen),
                seconds,
                None if limit is None else max(limit - seconds, 0.0),
                showing,
            )
        )

    # Findings -------------------------------------------------------------------------------------------------

    def findings(self) -> None:
        """Show one run of each finding, and write the table; runs that an earlier start has shown stay as they are."""
        data = self.storage.read(FINDINGS)
        rows = [] if data is None else rows_of(self.storage, "findings", FINDINGS, data)
        known = {row["signature"]: row for row in rows}
        seen = self.sightings.seen
        kept = {name: row for name, row in known.items() if name in seen and _shows(row, seen[name])}
        wanted = sorted(set(seen) - set(kept))
        shown = {name: {field: row[field] for field in SHOWN.names} for name, row in kept.items()}
        if wanted:
            shown |= self._show(wanted)
        found = [_row(name, seen[name], shown[name]) for name in seen if name in shown]
        found.sort(key=lambda row: (-row["times"], row["signature"]))
        if found or data is not None:
            self.storage.write(FINDINGS, to_parquet("findings", found))

    def _show(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """One run of each of these findings, made small by the executors; none of them after a second Ctrl-C."""
        rows = [
            {"signature": name, "seed": self.sightings.seen[name].seed, "run": self.sightings.seen[name].run}
            for name in names
        ]
        table = pa.Table.from_pylist(rows, schema=WANTED)
        job = self.workers.start(show_findings, self.payload, table, SHOWN, len(rows))
        interrupted = self.meter.spent == INTERRUPTED
        try:
            while not job.wait(LOOK):
                self._report(f"making {len(rows)} runs small")
                if self.meter.spent == INTERRUPTED and not interrupted:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            job.cancel()
            return {}
        return {row["signature"]: row for row in job.result().to_pylist()}


def _shows(row: Row, seen: Finding) -> bool:
    """Whether a row of an earlier table is of the finding's best run."""
    best: bool = (row["drawn"], row["unit"], row["run"]) == rank(seen)
    return best


def _row(name: str, seen: Finding, shown: dict[str, Any]) -> dict[str, Any]:
    """The row of a finding."""
    return {
        **shown,
        "signature": name,
        "property": seen.property,
        "action": seen.action,
        "state": list(seen.state),
        "times": seen.times,
        "units": seen.units,
        "unit": seen.unit,
        "seed": seen.seed,
        "run": seen.run,
    }
