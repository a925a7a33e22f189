"""One task: the code that runs the caller's work in an executor, and sends its answer and errors to the driver.

A task answers with rows of two columns: a batch of the caller's rows as bytes, or an error as bytes. So Spark need not
know the caller's types. An error that the user can correct is an answer like any other, and Spark does not retry the
task. Any other exception fails the task, and Spark tries it again.
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
"""The work of a task: a function of an importable module. It takes the payload and the task's rows."""

ANSWER = "batch binary, error binary"
"""The columns of an answer, as Spark writes types."""

_SCHEMA = pa.schema([pa.field("batch", pa.binary()), pa.field("error", pa.binary())])

_MARK = "holdfast-task-failed:"


class TaskError(HoldfastError):
    """A task failed in every attempt, with an error that the user cannot correct (exit code 1)."""

    exit_code = 1


@attrs.frozen
class TaskPart:
    """One of N parts of a table: the rows from ``begin`` up to, but not including, ``end``."""

    begin: int
    end: int

    @classmethod
    def of(cls, rows: int, number: int, parts: int) -> TaskPart:
        """Part ``number`` of ``parts``. The parts together are all rows in order; their sizes differ by at most 1."""
        return cls(number * rows // parts, (number + 1) * rows // parts)


def task(
    work: Work, payload: bytes, rows: pa.Table, partitions: int, kernels: Callable[[], str] | None = None
) -> Callable[..., Iterator[pa.RecordBatch]]:
    """The function that Spark calls in an executor with part numbers. It does the work on the rows of each part.

    ``kernels`` returns, in the executor, the path of a file with compiled kernels; None if there is none to load.
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
    """Exclude all objects that exist at the end of this process's first task from garbage collection.

    pyspark collects garbage after each task. That takes 40 ms if the collector visits the objects of all imported
    libraries, and 1 ms without them.
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
    """The caller's table from the answers of all tasks. Raises the first error among the answers."""
    for error in rows.column("error"):
        if error.is_valid:
            raise _revived(error.as_py())
    tables = [unpack(batch.as_py()) for batch in rows.column("batch")]
    return pa.concat_tables([schema.empty_table(), *tables])


def _revived(data: bytes) -> HoldfastError:
    """An executor's error, with the same class and attributes.

    It is built without calling ``__init__``, because a class may take other arguments than ``args`` holds.
    """
    kind, args, attributes = pickle.loads(data)  # noqa: S301 - our own executors wrote it
    error: HoldfastError = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(attributes)
    return error


def failure(text: str) -> str | None:
    """The error of the task in one line, taken from the text of Spark's error; None if the text holds none."""
    found = re.search(re.escape(_MARK) + r'("(?:[^"\\]|\\.)*")', text)
    if found is not None:
        return " ".join(str(json.loads(found[1])).split())
    # A Python traceback: the task could not even start, for example because a module is missing. Several exceptions
    # may be chained; the last line with a name and a colon is the outermost.
    lines = text.partition("Traceback (most recent call last):")[2].splitlines()
    raised = [line for line in lines if re.match(r"[A-Za-z_][\w.]*(?:: |$)", line)]
    if raised:
        return raised[-1]
    # A message of Java: a worker process was killed.
    lost = re.search(r"most recent failure: Lost task .*?: (?:[\w$]+\.)*[\w$]+: (.+)", text)
    return None if lost is None else lost[1].strip(" :")


def pack(table: pa.Table) -> bytes:
    """A table as bytes, in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpack(data: bytes) -> pa.Table:
    """The table in bytes that ``pack`` made."""
    return pa.ipc.open_stream(data).read_all()
