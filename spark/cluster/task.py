"""One task: what runs in an executor around the work of a caller, and how its answer and its errors travel.

A task answers with rows of two columns: a batch of the caller's rows as bytes, or an error as bytes. So Spark need not
know the caller's types, and an error that is the user's to mend is an answer like any other: Spark does not repeat it.
Whatever else is raised fails the task, which Spark then tries again.
"""

from __future__ import annotations

import gc
import json
import pickle
import re
from collections.abc import Callable, Iterator
from functools import cache

import attrs
import pyarrow as pa

from holdfast.ir.errors import HoldfastError
from spark.cluster.ship import unpack_kernels

Work = Callable[[bytes, pa.RecordBatch], Iterator[pa.RecordBatch]]
"""What a task does with its rows: a function of a module, its payload and the rows."""

ANSWER = "batch binary, error binary"
"""The columns of an answer, as Spark writes types."""

_SCHEMA = pa.schema([pa.field("batch", pa.binary()), pa.field("error", pa.binary())])

_MARK = "holdfast-task-failed:"


class TaskError(HoldfastError):
    """A task failed with what is no user's error, as often as it was tried (exit code 1)."""

    exit_code = 1


@attrs.frozen
class TaskPart:
    """Where one of so many parts of a table begins and ends."""

    begin: int
    end: int

    @classmethod
    def of(cls, rows: int, number: int, parts: int) -> TaskPart:
        """The part of that number: all parts together are the rows in their order, and differ by one row at most."""
        return cls(number * rows // parts, (number + 1) * rows // parts)


def task(
    work: Work, payload: bytes, rows: pa.Table, partitions: int, kernels: Callable[[], str] | None = None
) -> Callable[..., Iterator[pa.RecordBatch]]:
    """The function for Spark: it gets the number of a part, and does the work with the rows of that part.

    ``kernels`` names a file with compiled kernels, if the executor is to have some.
    """
    packed = pack(rows.combine_chunks())

    def run(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if kernels is not None:
            unpack_kernels(kernels())
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                whole = unpack(packed)
                part = TaskPart.of(whole.num_rows, number, partitions)
                yield from _answers(work, payload, whole.slice(part.begin, part.end - part.begin))
                _keep_for_good()

    return run


@cache
def _keep_for_good() -> None:
    """Let the garbage collector pass over what this process has loaded by the end of its first task.

    pyspark collects garbage after each task, which takes 40 ms with all libraries to look through, and 1 ms without.
    """
    gc.collect()
    gc.freeze()


def _answers(work: Work, payload: bytes, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    try:
        for batch in rows.combine_chunks().to_batches():
            for answer in work(payload, batch):
                yield _row(batch=pack(pa.Table.from_batches([answer])))
    except HoldfastError as error:
        yield _row(error=pickle.dumps((type(error), error.args, vars(error))))
    except Exception as error:
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        said = f"{type(error).__name__}: {error}{notes}"
        raise RuntimeError(f"{_MARK}{json.dumps(said)}") from error


def _row(batch: bytes | None = None, error: bytes | None = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"batch": batch, "error": error}], schema=_SCHEMA)


def answer(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The caller's table from the rows of all tasks; raises the first error among them."""
    for error in rows.column("error"):
        if error.is_valid:
            raise _revived(error.as_py())
    tables = [unpack(batch.as_py()) for batch in rows.column("batch")]
    return pa.concat_tables([schema.empty_table(), *tables])


def _revived(data: bytes) -> HoldfastError:
    """The error of an executor, of the same class and with the same attributes, whatever its class asks for."""
    kind, args, attributes = pickle.loads(data)  # noqa: S301 - our own executors wrote it
    error: HoldfastError = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(attributes)
    return error


def failure(text: str) -> str | None:
    """What a task raised, from the text of Spark's own error; None if it says nothing of the kind."""
    found = re.search(re.escape(_MARK) + r'("(?:[^"\\]|\\.)*")', text)
    if found is not None:
        return " ".join(str(json.loads(found[1])).split())
    # Python's own: a task that could not even begin, for want of a module.
    lines = text.partition("Traceback (most recent call last):")[2].splitlines()
    raised = [line for line in lines if re.match(r"[A-Za-z_][\w.]*(?:: |$)", line)]
    if raised:
        return raised[-1]
    # Java's: a worker that was killed.
    lost = re.search(r"most recent failure: Lost task .*?: (?:[\w$]+\.)*[\w$]+: (.+)", text)
    return None if lost is None else lost[1].strip(" :")


def pack(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpack(data: bytes) -> pa.Table:
    """The table."""
    return pa.ipc.open_stream(data).read_all()
