"""The tables of a campaign: what each column means, and Parquet files of them.

A unit is so many random runs with a seed of their own. Each has one row in ``runs``, one in ``coverage`` and one in
``timing``, each in a file named by the unit's number: to write a unit again is to write the same file again. The file
in ``runs`` is written last, so a unit that has one is whole. ``campaign`` has one row, written before all others;
``findings`` is one file, written anew from ``runs`` whenever a campaign ends or pauses.

Nothing here depends on when, where or in which order units were run, but for ``timing``, which is about nothing else.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

VERSION = 1
"""Of all schemas together: a change of any is another one, and no command mixes two."""

STATE_BITS = 1 << 16
"""How many signatures of states can be told apart: see ``coverage``."""

CAMPAIGN = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),  # of the schemas
        pa.field("holdfast", pa.string(), nullable=False),  # the version that began the campaign
        pa.field("fingerprint", pa.string(), nullable=False),  # of the model, with its variants and without its rules
        pa.field("model", pa.string(), nullable=False),  # the model's name
        pa.field("config", pa.string(), nullable=False),  # what was asked, as JSON: units.Config
        pa.field("actions", pa.list_(pa.string()), nullable=False),  # of the model, in its order
    ]
)

STOPS = pa.list_(
    pa.struct(
        [
            pa.field("reason", pa.string(), nullable=False),  # lower.walking.STOPS
            pa.field("runs", pa.int64(), nullable=False),
            pa.field("steps", pa.int64(), nullable=False),  # of all of them together
            pa.field("shortest", pa.int64(), nullable=False),
            pa.field("longest", pa.int64(), nullable=False),
        ]
    )
)

SIGHTINGS = pa.list_(
    pa.struct(
        [
            pa.field("signature", pa.string(), nullable=False),  # a digest of the next three
            pa.field("property", pa.string(), nullable=False),
            pa.field("action", pa.string(), nullable=False),  # the last one; "" if an initial state violates it
            pa.field("state", pa.list_(pa.string()), nullable=False),  # the predicates that hold before that action
            pa.field("times", pa.int64(), nullable=False),  # how many runs of the unit
            pa.field("run", pa.int64(), nullable=False),  # the shortest of them, the first of equals
            pa.field("steps", pa.int64(), nullable=False),  # that it has
        ]
    )
)

RUNS = pa.schema(
    [
        pa.field("unit", pa.int64(), nullable=False),
        pa.field("seed", pa.uint64(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),  # violated or not_found
        pa.field("runs", pa.int64(), nullable=False),
        pa.field("steps", pa.int64(), nullable=False),
        pa.field("violations", pa.int64(), nullable=False),  # how many runs violate something
        pa.field("stops", STOPS, nullable=False),
        pa.field("sightings", SIGHTINGS, nullable=False),  # by signature, in their order
    ]
)

COVERAGE = pa.schema(
    [
        pa.field("unit", pa.int64(), nullable=False),
        # For each action of the model how often it was taken, and how often one of its rules refused it.
        pa.field(
            "actions",
            pa.list_(
                pa.struct(
                    [
                        pa.field("action", pa.string(), nullable=False),
                        pa.field("taken", pa.int64(), nullable=False),
                        pa.field("refused", pa.int64(), nullable=False),
                    ]
                )
            ),
            nullable=False,
        ),
        # For each rule in each action how often it refused it (a require), and how often it decided something: refused,
        # held (a labelled condition), or took place (a labelled effect). It is counted once for all arguments that
        # neither it nor a line before it reads.
        pa.field(
            "rules",
            pa.list_(
                pa.struct(
                    [
                        pa.field("action", pa.string(), nullable=False),
                        pa.field("rule", pa.string(), nullable=False),
                        pa.field("refused", pa.int64(), nullable=False),
                        pa.field("decisive", pa.int64(), nullable=False),
                    ]
                )
            ),
            nullable=False,
        ),
        # How often the bounds of the scope cut a step.
        pa.field(
            "cuts",
            pa.list_(
                pa.struct(
                    [
                        pa.field("action", pa.string(), nullable=False),
                        pa.field("bound", pa.string(), nullable=False),
                        pa.field("times", pa.int64(), nullable=False),
                    ]
                )
            ),
            nullable=False,
        ),
        # How often one action was taken right after another, pairs that never happened left out.
        pa.field(
            "pairs",
            pa.list_(
                pa.struct(
                    [
                        pa.field("first", pa.string(), nullable=False),
                        pa.field("second", pa.string(), nullable=False),
                        pa.field("times", pa.int64(), nullable=False),
                    ]
                )
            ),
            nullable=False,
        ),
        # For each witness the run that first reached one and after how many steps, those never reached left out.
        pa.field(
            "witnesses",
            pa.list_(
                pa.struct(
                    [
                        pa.field("witness", pa.string(), nullable=False),
                        pa.field("run", pa.int64(), nullable=False),
                        pa.field("steps", pa.int64(), nullable=False),
                    ]
                )
            ),
            nullable=False,
        ),
        # Signatures of the states met: STATE_BITS bits, the lowest of the first byte first. A signature is a hash of a
        # state without its numbers: epochs, offsets, budgets.
        pa.field("states", pa.binary(STATE_BITS // 8), nullable=False),
    ]
)

TIMING = pa.schema(
    [
        pa.field("unit", pa.int64(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),  # from its begin to its end, without compiling
        pa.field("cpu_seconds", pa.float64(), nullable=False),  # of the process that ran it
        pa.field("setup_seconds", pa.float64(), nullable=False),  # imports and compiling before it, mostly 0
    ]
)

FINDINGS = pa.schema(
    [
        pa.field("signature", pa.string(), nullable=False),
        pa.field("property", pa.string(), nullable=False),
        pa.field("action", pa.string(), nullable=False),
        pa.field("state", pa.list_(pa.string()), nullable=False),
        pa.field("times", pa.int64(), nullable=False),  # in all units
        pa.field("units", pa.int64(), nullable=False),  # how many units met it
        pa.field("unit", pa.int64(), nullable=False),  # of its shortest run, the first of equals
        pa.field("seed", pa.uint64(), nullable=False),  # of that unit
        pa.field("run", pa.int64(), nullable=False),
        pa.field("drawn", pa.int64(), nullable=False),  # steps of that run as it was drawn
        pa.field("steps", pa.int64(), nullable=False),  # and as it was shrunk
        pa.field("shape", pa.string(), nullable=False),  # the signature that the shrunk run has
        pa.field("replay", pa.string(), nullable=False),  # the command that shows the shrunk run
        pa.field("itf", pa.string(), nullable=False),  # the shrunk run, in the Informal Trace Format
        pa.field("text", pa.string(), nullable=False),  # the shrunk run, as commands print it
    ]
)

SCHEMAS = {
    "campaign": CAMPAIGN,
    "runs": RUNS,
    "coverage": COVERAGE,
    "timing": TIMING,
    "findings": FINDINGS,
}


def to_parquet(table: str, rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The rows as a Parquet file; equal rows are equal bytes. Raises for rows that are not of the schema."""
    schema = SCHEMAS[table].with_metadata({"holdfast": f"{table} {VERSION}"})
    held = pa.Table.from_pylist(list(rows), schema=schema)
    out = io.BytesIO()
    pq.write_table(held, out, compression="zstd", version="2.6")
    return out.getvalue()


def from_parquet(data: bytes) -> list[dict[str, Any]]:
    """The rows of a Parquet file."""
    # `read_table` would look for a dataset first, which takes longer than to read so small a file.
    rows: list[dict[str, Any]] = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False).to_pylist()
    return rows
