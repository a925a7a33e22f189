"""The tables of a campaign: the meaning of each column, and their Parquet files.

A unit is a number of random runs with one seed. Each unit has one row in ``runs``, one in ``coverage`` and one in
``timing``, each in a file named by the unit's number; so writing a unit again replaces the file by an equal one. The
file in ``runs`` is written last: a unit that has one is complete. ``campaign`` has one row, written before all others.
``findings`` is one file, rewritten from ``runs`` whenever a campaign ends or pauses.

No table but ``timing`` depends on when, where or in which order the units ran. Each file has a digest of its rows, so
that an altered file is not taken for what the units found.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

VERSION = 6
"""The version of all schemas together. A change of any schema needs a new number; no folder mixes two versions."""

ADDED: dict[int, dict[str, dict[str, Any]]] = {
    4: {
        "campaign": {"kind": "model", "situations": []},
        "runs": {"logs": []},
        "coverage": {"situations": [], "moments": [], "kept": []},
        "findings": {"case": ""},
    },
    6: {"coverage": {"circumstances": []}},
}
"""By version: for each table its new columns, with the values that older tables stand for."""

SEALED = 5
"""The first version whose files have a digest."""

OLDEST = min(ADDED) - 1
"""The oldest version that is still read."""

STATE_BITS = 1 << 16
"""The number of different signatures of states: see ``coverage``."""

TEXT, NUMBER, SEED, SECONDS = pa.string(), pa.int64(), pa.uint64(), pa.float64()


def _row(**columns: pa.DataType) -> list[pa.Field]:
    """Columns without missing values."""
    return [pa.field(name, kind, nullable=False) for name, kind in columns.items()]


def _rows(**columns: pa.DataType) -> pa.DataType:
    """The type of a column that holds a list of rows."""
    return pa.list_(pa.struct(_row(**columns)))


CAMPAIGN = pa.schema(
    _row(
        version=NUMBER,  # of the schemas
        holdfast=TEXT,  # the version that began the campaign
        fingerprint=TEXT,  # of the model with its chosen variants and without its removed rules, or of the cluster
        model=TEXT,  # the model's name, or that of the cluster
        deadlock=TEXT,  # the name of the claim that a deadlock violates
        config=TEXT,  # the configuration as JSON: config.Config
        actions=pa.list_(TEXT),  # of the model, in its order; of a cluster or the balancer, its events
        kind=TEXT,  # of the target: model, cluster, log or balancer
        situations=pa.list_(TEXT),  # the situations that runs of other targets can reach, in their order
    )
)

RUNS = pa.schema(
    _row(
        unit=NUMBER,
        seed=SEED,
        verdict=TEXT,  # violated or not_found
        runs=NUMBER,
        steps=NUMBER,
        violations=NUMBER,  # how many runs violate a property
        stops=_rows(
            reason=TEXT,  # lower.walking.STOPS
            runs=NUMBER,
            steps=NUMBER,  # of all these runs together
            shortest=NUMBER,
            longest=NUMBER,
        ),
        sightings=_rows(
            signature=TEXT,  # a hash of the next three columns; sightings are sorted by these three
            property=TEXT,
            action=TEXT,  # the last action; "" if an initial state violates the property
            state=pa.list_(TEXT),  # the predicates that hold before that action
            times=NUMBER,  # how many runs of the unit violate it so
            run=NUMBER,  # the number of the shortest of these runs, and of the first of equally short ones
            steps=NUMBER,  # the length of that run; of other targets see units.Sighting
        ),
        # The logs that do not conform, with the signature of their sighting; or with "no answer: " and the reason.
        logs=_rows(log=TEXT, signature=TEXT),
    )
)

COVERAGE = pa.schema(
    _row(
        unit=NUMBER,
        # For each action of the model: how often it was taken, and how often one of its rules refused it.
        actions=_rows(action=TEXT, taken=NUMBER, refused=NUMBER),
        # For each rule in each action: how often the rule refused the action (a require), and how often it was
        # decisive: a require refused, a labelled condition held, or a labelled effect took place; in the instances that
        # were tried. Where all instances were tried, arguments that neither the rule nor a line before it reads are
        # not distinguished: all their values count once.
        rules=_rows(action=TEXT, rule=TEXT, refused=NUMBER, decisive=NUMBER),
        # For each action and bound of the scope: how often the bound cut a step of the action that was tried.
        cuts=_rows(action=TEXT, bound=TEXT, times=NUMBER),
        # How often one action was taken right after another. Pairs that never happened are left out.
        pairs=_rows(first=TEXT, second=TEXT, times=NUMBER),
        # For each witness: the first run that reached it, and after how many steps. Unreached witnesses are left out.
        witnesses=_rows(witness=TEXT, run=NUMBER, steps=NUMBER),
        # The signatures of the states met, as a bit set of STATE_BITS bits, the lowest bit of the first byte first. A
        # signature is a hash of a state without its numbers (epochs, offsets, budgets).
        # Of a cluster, the state is the image of the metadata after each batch; of the balancer, it is a kind of round.
        states=pa.binary(STATE_BITS // 8),
        # For each situation that runs of a cluster reached: how many did, and the number of the first one.
        situations=_rows(situation=TEXT, runs=NUMBER, run=NUMBER),
        # For each situation of a stream, with its circumstances when a run first reached it for the stream: how many
        # runs reached it so.
        circumstances=_rows(situation=TEXT, circumstances=TEXT, runs=NUMBER),
        # For each situation of a stream or partition, with its last two events then (the earlier one is "before"): how
        # many runs reached it so. For each rule that decided something: in how many runs it did; the rule is "event".
        # For a removed rule that would have: the two events before then are "before".
        moments=_rows(situation=TEXT, event=TEXT, before=TEXT, runs=NUMBER),
        # Of a guided campaign: the runs that reached something which no run of an earlier round had reached, nor an
        # earlier run of the unit. See guide.py.
        kept=_rows(
            run=NUMBER,
            case=pa.binary(),  # what repeats the run
            # What it reached first (two events, a situation in its circumstances, or a moment), and the virtual time in
            # milliseconds.
            reached=_rows(feature=pa.list_(TEXT), at=NUMBER),
        ),
    )
)

TIMING = pa.schema(
    _row(
        unit=NUMBER,
        seconds=SECONDS,  # wall clock of the unit, without compiling
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
        steps=NUMBER,  # steps of the shrunk run
        shape=TEXT,  # the signature of the shrunk run
        line=TEXT,  # the shrunk run on one line, as `holdfast replay` takes it
        replay=TEXT,  # the command that shows it
        sentence=TEXT,  # what the property says
        itf=TEXT,  # the shrunk run, in the Informal Trace Format
        text=TEXT,  # the shrunk run, as commands print it
        case=TEXT,  # the file in cases/ that repeats the shrunk run; else ""
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
    """The rows as a Parquet file; equal rows give equal bytes. Raises an Arrow error if rows do not fit the schema."""
    title = f"{table} {VERSION}"
    held = pa.Table.from_pylist(list(rows), schema=SCHEMAS[table])
    held = held.replace_schema_metadata({"holdfast": title, "digest": _digest(title, held.to_pylist())})
    out = io.BytesIO()
    pq.write_table(held, out, compression="zstd", version="2.6")
    return out.getvalue()


def with_added(table: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row of a table with the columns that it lacks because an older version wrote it."""
    names = SCHEMAS[table].names
    added: dict[str, Any] = {}
    # The tables of a version lack what it and all later ones have added.
    for version in sorted(ADDED, reverse=True):
        added |= ADDED[version].get(table, {})
        if list(row) == [name for name in names if name not in added]:
            return {name: added[name] if name in added else row[name] for name in names}
    return row


class AlteredError(ValueError):
    """The digest of a file does not fit its rows."""


def from_parquet(data: bytes) -> list[dict[str, Any]]:
    """The rows of a Parquet file.

    Raises AlteredError if they are not the rows that Holdfast wrote, and an Arrow error for what is no Parquet file.
    """
    # `read_table` looks for a dataset first, which takes longer than reading such a small file.
    held = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    rows: list[dict[str, Any]] = held.to_pylist()
    metadata = held.schema.metadata or {}
    title = metadata.get(b"holdfast", b"").decode("utf-8", "replace")
    version = title.rpartition(" ")[2]
    if not version.isdecimal():
        raise AlteredError("it was not written by holdfast")
    if int(version) >= SEALED and metadata.get(b"digest", b"").decode("utf-8", "replace") != _digest(title, rows):
        raise AlteredError("its digest does not fit its rows, so it was altered or damaged")
    return rows


def _digest(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The digest of a file: of its table, its version and its rows."""
    content = msgspec.json.encode([title, *rows], order="deterministic")
    return hashlib.blake2b(content, digest_size=16).hexdigest()
