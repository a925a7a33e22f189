"""Reads the files of a campaign, unit by unit: only a few of them are in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from holdfast.ir.errors import UsageError
from spark.campaign.config import Config, read_config
from spark.campaign.places import CAMPAIGN, UNIT_TABLES, unit_path
from spark.campaign.tables import OLDEST, SCHEMAS, VERSION, AlteredError, from_parquet, with_added

if TYPE_CHECKING:
    from spark.cluster.storage import FileStorage

TOGETHER = 64
"""The number of units that are fetched together: a file from S3 takes longer to arrive than to decode."""
READERS = 4 + (os.cpu_count() or 1)
"""The number of files that are fetched or decoded at the same time."""

RESTORE = "put the file back as it was, or begin another campaign"
"""The remedy for a damaged file that no unit can write anew."""

Row = Mapping[str, Any]


def remedy_of(path: str) -> str:
    """The remedy for a damaged file of a unit. ``path``: the file without which the unit counts as not made."""
    return f"delete {path}, and resume the campaign"


@attrs.frozen(kw_only=True)
class CampaignHeader:
    """The header of a campaign, written when it began: see ``tables.CAMPAIGN``. ``version``: that of its tables."""

    version: int
    config: Config
    model: str
    deadlock: str
    fingerprint: str
    holdfast: str
    actions: tuple[str, ...]
    kind: str
    situations: tuple[str, ...]


def read_campaign(storage: FileStorage) -> CampaignHeader:
    """The header of the campaign in a storage. Raises UsageError if there is none, or one of another version."""
    data = storage.read(CAMPAIGN)
    if data is None:
        raise UsageError(f"{storage.name}: holds no campaign ({CAMPAIGN} is missing); name what --out named")
    row = row_of(storage, "campaign", CAMPAIGN, data)
    if not OLDEST <= row["version"] <= VERSION:
        raise UsageError(
            f"{storage.name}: its tables have version {row['version']} (holdfast {row['holdfast']}), and this holdfast "
            f"reads versions {OLDEST} to {VERSION}; use that one, or begin another campaign"
        )
    return CampaignHeader(
        version=row["version"],
        config=read_config(storage.name, row["config"]),
        model=row["model"],
        deadlock=row["deadlock"],
        fingerprint=row["fingerprint"],
        holdfast=row["holdfast"],
        actions=tuple(row["actions"]),
        kind=row["kind"],
        situations=tuple(row["situations"]),
    )


def units_of(
    storage: FileStorage, units: Sequence[int], config: Config
) -> Iterator[tuple[int, tuple[Row, Row, Row, int]]]:
    """For each unit: its number, its rows in ``coverage``, ``timing`` and ``runs``, and the bytes of their files.

    Raises UsageError if a file is missing or damaged, and if a unit has not the seed and the number of runs
    of the configuration.
    """
    with ThreadPoolExecutor(READERS) as pool:
        for start in range(0, len(units), TOGETHER):
            some = units[start : start + TOGETHER]
            files = [(table, unit) for unit in some for table in UNIT_TABLES]
            read = pool.map(partial(unit_row, storage), files)
            for unit in some:
                (coverage, one), (timing, two), (runs, three) = next(read), next(read), next(read)
                _check_unit(storage, runs, config)
                yield unit, (coverage, timing, runs, one + two + three)


def _check_unit(storage: FileStorage, runs: Row, config: Config) -> None:
    """Raise UsageError if a row of the table ``runs`` is one of another campaign."""
    unit = runs["unit"]
    path = unit_path("runs", unit)
    for name, found, wanted in (
        ("seed", runs["seed"], config.seed_of(unit)),
        ("number of runs", runs["runs"], config.traces_of(unit)),
    ):
        if found != wanted:
            raise UsageError(
                f"{storage.name}: {path} is one of another campaign: its {name} is {found}, and this campaign's is "
                f"{wanted}; {remedy_of(path)}"
            )


def unit_row(storage: FileStorage, file: tuple[str, int]) -> tuple[Row, int]:
    """The row of a finished unit in a table, and the size of its file in bytes.

    A finished unit has a file in each table, so a missing file is an error: UsageError.
    """
    table, unit = file
    path = unit_path(table, unit)
    remedy = remedy_of(unit_path("runs", unit))
    data = storage.read(path)
    if data is None:
        raise UsageError(f"{storage.name}: {path} is missing, though the unit is done; {remedy}")
    row = row_of(storage, table, path, data, remedy)
    if row["unit"] != unit:
        raise UsageError(f"{storage.name}: {path} holds unit {row['unit']:,}; {remedy}")
    return row, len(data)


def row_of(storage: FileStorage, table: str, path: str, data: bytes, remedy: str = RESTORE) -> Row:
    """The only row of a file. Raises UsageError, with the remedy, if the file has another number of rows."""
    rows = rows_of(storage, table, path, data, remedy)
    if len(rows) != 1:
        raise UsageError(f"{storage.name}: {path} has {len(rows):,} rows instead of 1; {remedy}")
    return rows[0]


def rows_of(storage: FileStorage, table: str, path: str, data: bytes, remedy: str = RESTORE) -> Sequence[Row]:
    """The rows of a file.

    Raises UsageError if it is no Parquet file, was altered, or has other columns than the table.
    """
    try:
        rows = from_parquet(data)
    except AlteredError as error:
        raise UsageError(f"{storage.name}: {path} is not as it was written: {error}; {remedy}") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise UsageError(f"{storage.name}: {path} cannot be read as Parquet: {reason}; {remedy}") from None
    found = [with_added(table, row) for row in rows]
    if found and list(found[0]) != SCHEMAS[table].names:
        raise UsageError(f"{storage.name}: {path} has other columns than the table {table}; {remedy}")
    return found
