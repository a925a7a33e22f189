"""The work of the tests' tasks. Executors import it by name, like the work of campaigns."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from holdfast.ir.errors import ModelError, Place

DOUBLED = pa.schema(
    [pa.field("unit", pa.int64()), pa.field("twice", pa.uint64()), pa.field("names", pa.list_(pa.string()))]
)

KERNEL = pa.schema([pa.field("compiled", pa.int64()), pa.field("states", pa.int64()), pa.field("code", pa.string())])


def doubled(payload: bytes, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Each unit with its double, one batch for each."""
    for unit in batch.column("unit").to_pylist():
        row = {"unit": unit, "twice": 2 * unit, "names": [payload.decode()]}
        yield pa.RecordBatch.from_pylist([row], schema=DOUBLED)


def noted(folder: Path) -> None:
    """Create one more file in the folder."""
    folder.joinpath(f"{len(list(folder.iterdir()))}").touch()


def refused(payload: bytes, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Record the attempt, and raise a usage error."""
    noted(Path(payload.decode()))
    yield from doubled(payload, batch)
    raise ModelError(Place("model.py", 7), "x", "it is wrong", "mend it")


def broken(payload: bytes, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Record the attempt, and raise an error that is not the user's."""
    noted(Path(payload.decode()))
    error = ValueError('not "this"\nway')
    error.add_note(f"unit {batch.column('unit')[0]}")
    raise error
    yield batch


def killed_once(payload: bytes, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Kill the worker process on the first attempt."""
    folder = Path(payload.decode())
    if not any(folder.iterdir()):
        noted(folder)
        os.kill(os.getpid(), signal.SIGKILL)
    yield from doubled(payload, batch)


def endless(payload: bytes, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Report the start by opening a pipe, and run for ever."""
    with Path(payload.decode()).open("w"):
        while True:
            signal.pause()
    yield batch


def searched(payload: bytes, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Search a model. Answers the number of kernels that had to be compiled, and the origin of the code."""
    from holdfast.check.search import engine as search  # noqa: PLC0415 - the other tasks do without
    from holdfast.lower.kernel.build import compiled_here  # noqa: PLC0415 - as above

    system = pickle.loads(payload)  # noqa: S301 - the test wrote it
    found = search.search(system, system.scopes["tiny"], engine="kernel")
    row = {
        "compiled": len(compiled_here),
        "states": found.figures.distinct,
        "code": str(search.__file__),
    }
    yield pa.RecordBatch.from_pylist([row] * batch.num_rows, schema=KERNEL)
