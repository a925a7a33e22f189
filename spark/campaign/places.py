"""The paths of a campaign's tables in its storage."""

from __future__ import annotations

import shlex

from holdfast.ir.errors import UsageError
from spark.campaign.config import Config

CAMPAIGN = "campaign.parquet"
FINDINGS = "findings.parquet"
UNIT_TABLES = ("coverage", "timing", "runs")
"""The tables with a file for each unit, in the order of writing. ``runs`` is last: its file marks a finished unit."""

SUFFIX = ".parquet"

CASES = "cases"
"""The folder of the files that repeat findings: `holdfast simulate` those of clusters, `holdfast scenario run` those of
the balancer."""


def unit_path(table: str, unit: int) -> str:
    """The path of a unit's file in a table. Paths sort in the order of the units."""
    return f"{table}/{unit:010}{SUFFIX}"


def case_path(signature: str, kind: str) -> str:
    """The path of the file that repeats the shrunk run of a finding; ``kind``: of the target."""
    return f"{CASES}/{signature}.{'yaml' if kind == 'balancer' else 'json'}"


def case_command(place: str, signature: str, config: Config) -> str:
    """The command that repeats the shrunk run of a finding of a campaign in this place."""
    file = f"{place.rstrip('/')}/{case_path(signature, config.kind)}"
    if config.balancer is None:
        return shlex.join(["holdfast", "simulate", file])
    return shlex.join(["holdfast", "scenario", "run", file, *(f"--without={label}" for label in config.removed)])


def unit_number(table: str, name: str) -> int:
    """The number of the unit whose file has this name. Raises UsageError if no unit's file has this name."""
    stem = name.removesuffix(SUFFIX)
    if not stem.isascii() or not stem.isdigit() or name != unit_path("", int(stem))[1:]:
        raise UsageError(f"{table}/{name}: is no file of a campaign; move it elsewhere")
    return int(stem)
