"""Where the tables of a campaign lie in its storage."""

from __future__ import annotations

from holdfast.ir.errors import UsageError

CAMPAIGN = "campaign.parquet"
FINDINGS = "findings.parquet"
UNIT_TABLES = ("coverage", "timing", "runs")
"""The tables with a file for each unit, in the order in which they are written."""

SUFFIX = ".parquet"


def unit_path(table: str, unit: int) -> str:
    """The file of a unit in a table; names sort as units do."""
    return f"{table}/{unit:010}{SUFFIX}"


def unit_number(table: str, name: str) -> int:
    """The unit whose file has this name; raises UsageError for a name that no unit's file has."""
    stem = name.removesuffix(SUFFIX)
    if not stem.isascii() or not stem.isdigit() or name != unit_path("", int(stem))[1:]:
        raise UsageError(f"{table}/{name}: is no file of a campaign; move it elsewhere")
    return int(stem)
