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

VERSION = 3
"""Of all schemas together: a change of any is another one, and no command mixes two."""

STATE_BITS = 1 << 16
"""How many signatures of states can be told apart: see ``coverage``."""

TEXT, NUMBER, SEED, SECONDS = pa.string(), pa.int64(), pa.uint64(), pa.float64()


def _row(**columns: pa.DataType) -> list[pa.Field]:
    """Columns of which none is ever empty."""
    return [pa.field(name, kind, nullable=False) for name, kind in columns.items()]


def _rows(**columns: pa.DataType) -> pa.DataType:
    """Rows within a row."""
    return pa.list_(pa.struct(_row(**columns)))


CAMPAIGN = pa.schema(
    _row(
        version=NUMBER,  # of the schemas
        holdfast=TEXT,  # the version that began the campaign
        fingerprint=TEXT,  # of the model, with its variants and without its rules
        model=TEXT,  # the model's name
        deadlock=TEXT,  # what findings of the model call a state without a step
        config=TEXT,  # what was asked, as JSON: config.Config
        actions=pa.list_(TEXT),  # of the model, in its order
    )
)

RUNS = pa.schema(
    _row(
        unit=NUMBER,
        seed=SEED,
        verdict=TEXT,  # violated or not_found
        runs=NUMBER,
        steps=NUMBER,
        violations=NUMBER,  # how many runs violate something
        stops=_rows(
            reason=TEXT,  # lower.walking.STOPS
            runs=NUMBER,
            steps=NUMBER,  # of all of them together
            shortest=NUMBER,
            longest=NUMBER,
        ),
        sightings=_rows(
            signature=TEXT,  # a digest of the next three; sightings are in their order
            property=TEXT,
            action=TEXT,  # the last one; "" if an initial state violates it
            state=pa.list_(TEXT),  # the predicates that hold before that action
            times=NUMBER,  # how many runs of the unit
            run=NUMBER,  # the shortest of them, the first of equals
            steps=NUMBER,  # that it has
        ),
    )
)

COVERAGE = pa.schema(
    _row(
        unit=NUMBER,
        # For each action of the model how often it was taken, and how often one of its rules refused it.
        actions=_rows(action=TEXT, taken=NUMBER, refused=NUMBER),
        # For each rule in each action how often it refused it (a require), and how often it decided something: refused,
        # held (a labelled condition), or took place (a labelled effect). It is counted once for all arguments that
        # neither it nor a line before it reads.
        rules=_rows(action=TEXT, rule=TEXT, refused=NUMBER, decisive=NUMBER),
        # How often the bounds of the scope cut a step.
        cuts=_rows(action=TEXT, bound=TEXT, times=NUMBER),
        # How often one action was taken right after another, pairs that never happened left out.
        pairs=_rows(first=TEXT, second=TEXT, times=NUMBER),
        # For each witness the run that first reached one and after how many steps, those never reached left out.
        witnesses=_rows(witness=TEXT, run=NUMBER, steps=NUMBER),
        # Signatures of the states met: STATE_BITS bits, the lowest of the first byte first. A signature is a hash of a
        # state without its numbers: epochs, offsets, budgets.
        states=pa.binary(STATE_BITS // 8),
    )
)

TIMING = pa.schema(
    _row(
        unit=NUMBER,
        seconds=SECONDS,  # from its begin to its end, without compiling
        cpu_seconds=SECONDS,  # of the process that ran it
        setup_seconds=SECONDS,  # imports and compiling before it, mostly 0
    )
)

FINDINGS = pa.schema(
    _row(
        signature=TEXT,
        property=TEXT,
        action=TEXT,
        state=pa.list_(TEXT),
        times=NUMBER,  # in all units
        units=NUMBER,  # how many units met it
        unit=NUMBER,  # of its shortest run, the first of equals
        seed=SEED,  # of that unit
        run=NUMBER,
        drawn=NUMBER,  # steps of that run as it was drawn
        steps=NUMBER,  # and as it was shrunk
        shape=TEXT,  # the signature that the shrunk run has
        line=TEXT,  # the shrunk run on one line, as `holdfast replay` takes it
        replay=TEXT,  # the command that shows it
        sentence=TEXT,  # what the property says
        itf=TEXT,  # the shrunk run, in the Informal Trace Format
        text=TEXT,  # the shrunk run, as commands print it
    )
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
