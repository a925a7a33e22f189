"""Runs a campaign: executors make the missing units and write their files; the driver watches, stops, and adds up.

The files are the only state of a campaign. A unit is done when its file in ``runs`` exists, whichever process wrote it,
and however often. So a campaign can be resumed whatever ended it: it makes the missing units.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import pyarrow as pa

from holdfast import __version__
from holdfast.check.budget import INTERRUPTED, Budget, Meter, interruptible
from holdfast.ir.errors import UsageError
from spark.campaign.config import WAVE, Config
from spark.campaign.findings import Finding, rank
from spark.campaign.places import CAMPAIGN, FINDINGS, case_path, unit_path
from spark.campaign.reading import CampaignHeader, Row, rows_of
from spark.campaign.sightings import Sightings
from spark.campaign.tables import VERSION, to_parquet
from spark.campaign.units import Target
from spark.campaign.work import SHOWN, UNITS, WANTED, Assignment, run_units, show_findings
from spark.cluster.storage import FileStorage, StorageError
from spark.cluster.workers import Job, Workers

TASKS = 8
"""The number of tasks for each core. More tasks balance the load better, but each task has a fixed cost."""

LOOK = 0.5
"""Seconds between two looks at the storage. ``_watch`` waits longer if a look takes long."""

STOPPED = "findings"
"""The reason of a campaign that ended because it had ``stop_after`` findings."""


@attrs.frozen
class CampaignProgress:
    """The progress of a campaign: runs done, all runs, and findings.

    ``seconds``: the time since the command started. ``rate``: runs per second in that time. ``left``: the seconds left
    in the budget, or None. ``showing``: a message while findings are shrunk, otherwise None.
    """

    runs: int
    all_runs: int
    rate: float
    findings: int
    seconds: float
    left: float | None
    showing: str | None = None


# Beginning ---------------------------------------------------------------------------------------------------------


def check_free(storage: FileStorage) -> None:
    """Raise UsageError if the storage already holds a campaign, or cannot be written."""
    storage.check_writable()
    if storage.read(CAMPAIGN) is not None or storage.list("runs"):
        raise UsageError(
            f"{storage.name} holds a campaign; go on with `holdfast campaign resume {storage.name}`, "
            "or name another place with --out"
        )


def begin(storage: FileStorage, config: Config, target: Target) -> None:
    """Write the header of a new campaign. Raises UsageError as ``check_free`` does."""
    check_free(storage)
    row = {
        "version": VERSION,
        "holdfast": __version__,
        "config": config.to_json(),
        **attrs.asdict(target.header()),
    }
    storage.write(CAMPAIGN, to_parquet("campaign", [row]))


def check_same(storage: FileStorage, begun: CampaignHeader, target: Target) -> None:
    """Raise UsageError if the model, its scope or the implementation has changed since the campaign began."""
    now = target.header()
    if now.fingerprint != begun.fingerprint:
        raise UsageError(
            f"{storage.name} was begun with {begun.model} of fingerprint {begun.fingerprint}, and "
            f"{begun.config.target} now is {now.model} of {now.fingerprint}: runs of different targets or scopes are "
            "not one campaign; begin another"
        )


def check_version(storage: FileStorage, begun: CampaignHeader) -> None:
    """Raise UsageError if another version of Holdfast began the campaign: this version may draw different runs.

    Older tables are read, and not continued.
    """
    if begun.version != VERSION:
        raise UsageError(
            f"{storage.name}: its tables have version {begun.version}, which are only read; this holdfast writes "
            f"version {VERSION}: begin another campaign"
        )
    if begun.holdfast != __version__:
        raise UsageError(
            f"{storage.name} was begun with holdfast {begun.holdfast}, and this is {__version__}: runs of different "
            "versions are not one campaign; go on with that version, or begin another"
        )


# Running -----------------------------------------------------------------------------------------------------------


def advance(
    workers: Workers,
    storage: FileStorage,
    config: Config,
    target: Target,
    *,
    budget: Budget,
    progress: Callable[[CampaignProgress], None],
) -> str | None:
    """Make the missing units, then shrink the findings. Returns why it ended early, or None if all units are done.

    The first Ctrl-C ends the units; the findings so far are still shrunk. A second Ctrl-C ends that, too.
    """
    meter = Meter(budget)
    with interruptible(meter):
        run = _Advance(workers, storage, config, Assignment(pickle.dumps(target), config, storage), meter, progress)
        ended = run.units()
        run.findings()
    return ended


class _Advance:
    """One execution of ``advance``."""

    def __init__(
        self,
        workers: Workers,
        storage: FileStorage,
        config: Config,
        assignment: Assignment,
        meter: Meter,
        progress: Callable[[CampaignProgress], None],
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
        """Make the missing units. Returns why that ended early, or None."""
        for wave in self._waves():
            missing = [unit for unit in wave if unit not in self.sightings.done]
            if missing and not self._run(missing):
                return self.meter.spent
            wanted = self.config.stop_after
            if wanted is not None and self.sightings.before(wave.stop) >= wanted and wave.stop < self.config.units:
                return STOPPED
        return None

    def _waves(self) -> Iterator[range]:
        """The waves: units that run together. With ``stop_after`` or ``guided`` it is a round, otherwise all units."""
        units = self.config.units
        size = WAVE if self.config.guided or self.config.stop_after is not None else units
        for first in range(0, units, size):
            yield range(first, min(first + size, units))

    def _run(self, units: Sequence[int]) -> bool:
        """Make these units. Returns whether all of them were made.

        Raises StorageError if their files are missing although the tasks have ended without an error.
        """
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
                f"{unit_path('runs', lost[0])}); let executors write where the driver reads, to a folder that all "
                "machines share or to s3://"
            )
        return done

    def _watch(self, job: Job) -> bool:
        """Wait for a job. Returns True if it ended by itself, and False if the budget or Ctrl-C ended it."""
        pause = LOOK
        try:
            while not job.wait(pause):
                if self.meter.look(0, 0, 0, 0):
                    job.cancel()
                    return False
                began = self.meter.seconds
                # Looks take at most a tenth of the time: listing many files on S3 is slow.
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
            CampaignProgress(
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
        """Shrink the best run of each finding, and write the table. Runs that an earlier command shrunk are kept."""
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
        for row in found:
            if row["case"]:
                self.storage.write(case_path(row["signature"], self.config.kind), row["case"].encode())
        if found or data is not None:
            self.storage.write(FINDINGS, to_parquet("findings", found))

    def _show(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The best run of each of these findings, shrunk by the executors; empty after a second Ctrl-C."""
        rows = [
            {"signature": name, "unit": seen.unit, "seed": seen.seed, "run": seen.run}
            for name in names
            for seen in [self.sightings.seen[name]]
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
    """Whether a row of an earlier table shows the finding's best run; a later unit may have found a better one."""
    best: bool = (row["drawn"], row["unit"], row["run"]) == rank(seen)
    return best


def _row(name: str, seen: Finding, shown: dict[str, Any]) -> dict[str, Any]:
    """The row of a finding in the table ``findings``."""
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
