"""A session on Spark: start it, let tasks work on parts of a table, end it. The only module that knows pyspark.

Whatever goes wrong is one line: an error of the user's is raised as it was in the executor, everything else says what
Spark or Java said, without their traces.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from holdfast.ir.errors import HoldfastError, UsageError
from spark.cluster.java import EXTRA, spark_java
from spark.cluster.jvm import Jvm, LostSparkError
from spark.cluster.settings import (
    LOG4J2,
    LOG4J2_FILE,
    Master,
    SparkOptions,
    arguments,
    check_reachable,
    environment,
    read_master,
)
from spark.cluster.ship import code_archive, digest, kernels
from spark.cluster.task import ANSWER, TaskError, Work, answer, failure, task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGINNING = 120
"""Seconds for a session to begin here, or on a standalone master."""

QUEUEING = 600
"""Seconds for a session to begin where others may come first: on YARN or Kubernetes."""

OFFERING = 120
"""Seconds for a cluster to have an executor for the first task."""

_NOTICING = 2
"""Seconds until a process that was killed is known to be gone: its sockets close first."""

_LOOKING = 0.5
"""Seconds that Ctrl-C may have to wait for whoever waits for a result."""

_JOBS = 8
"""How many jobs may be under way at once; more of them wait."""

_T = TypeVar("_T")


class SparkJob:
    """Work under way in the background."""

    def __init__(self, future: Future[pa.Table], end: Callable[[], None]) -> None:
        self._future = future
        self._end = end
        self._cancelled = False

    def done(self) -> bool:
        """Whether there is a result, or an error."""
        return self._future.done()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait so long at most; whether the job is done."""
        wait([self._future], timeout=seconds)
        return self._future.done()

    def cancel(self) -> None:
        """End its tasks, which takes a moment. There is no result then, unless it was there before."""
        if not self._future.done():
            self._cancelled = True
            self._future.cancel()
            self._end()

    def result(self) -> pa.Table:
        """The table, once it is there; raises what went wrong, and CancelledError if the job was cancelled."""
        # A wait without end would not let Ctrl-C through if another thread received it.
        while not self.wait(_LOOKING):
            pass
        try:
            return self._future.result()
        except HoldfastError as error:
            if self._cancelled:
                raise CancelledError from error
            raise


class Cluster:
    """A session on Spark, and a context manager that ends it: no process and no file is left on this machine."""

    def __init__(self, session: SparkSession, jvm: Jvm, folder: Path, master: Master) -> None:
        self._session = session
        self._jvm = jvm
        self._folder = folder
        self._master = master
        self._groups = count()
        self._threads = ThreadPoolExecutor(_JOBS, thread_name_prefix="holdfast-spark")
        self._shipped = ""
        self.parallelism: int = session.sparkContext.defaultParallelism
        """How many tasks run at the same time."""

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def map(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> pa.Table:
        """Let so many tasks do the work, each with its part of the rows; their answers in the order of the rows.

        ``work`` is a function of a module that executors can import. It gets the payload and its rows as one batch,
        and yields batches of the schema. It may be called more than once for the same rows, and at the same time.
        """
        job = self.start(work, payload, rows, schema, partitions)
        try:
            return job.result()
        except BaseException:
            job.cancel()
            raise

    def start(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> SparkJob:
        """The same in the background."""
        group = f"holdfast-{next(self._groups)}"
        parts = min(partitions, rows.num_rows)
        run = task(work, payload, rows, parts, self._ship())

        def work_through() -> pa.Table:
            if parts == 0:
                return schema.empty_table()
            with self._one_line():
                self._session.sparkContext.setJobGroup(group, "holdfast", interruptOnCancel=True)
                # One row for each task: the number of its part.
                found = self._session.range(0, parts, 1, parts).mapInArrow(run, ANSWER).toArrow()
            return answer(found, schema)

        return SparkJob(self._threads.submit(work_through), lambda: self._end_tasks(group))

    def close(self) -> None:
        """End the session."""
        try:
            _close(self._session, self._jvm, self._folder)
        finally:
            # Its Java is gone, so that no job is under way.
            self._threads.shutdown(cancel_futures=True)

    def _end_tasks(self, group: str) -> None:
        # There is nothing to end if Java is gone.
        with suppress(Exception):
            self._session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)

    def _ship(self) -> Callable[[], str] | None:
        """Where tasks find the kernels that this process has; None where they share its cache."""
        data = b"" if self._master.local else kernels()
        if not data:
            return None
        from pyspark import SparkFiles  # noqa: PLC0415 - as in start_cluster

        name = f"kernels-{digest(data)}"
        if name != self._shipped:
            (self._folder / name).write_bytes(data)
            with self._one_line():
                self._session.sparkContext.addFile(str(self._folder / name))
            self._shipped = name
        return lambda: str(SparkFiles.get(name))

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        """What Spark raises, as one line."""
        try:
            yield
        except HoldfastError:
            raise
        except Exception as error:
            said = failure(str(error))
            if said is not None:
                raise TaskError(f"a task on Spark failed: {said}") from error
            ended = self._jvm.ended(within=_NOTICING)
            if ended is not None:
                raise LostSparkError(f"Spark ended: {ended}") from error
            raise LostSparkError(f"Spark failed: {_line_of(error)}") from error


def start_cluster(options: SparkOptions) -> Cluster:
    """A session on the master; raises one line for what is missing, wrong or out of reach."""
    master = read_master(options.master)
    try:
        import pyspark  # noqa: PLC0415 - half a second that only Spark costs, and it may be missing
    except ImportError as error:
        raise UsageError(f"Spark is missing: {EXTRA}") from error
    java = spark_java()
    check_reachable(master)
    folder = Path(tempfile.mkdtemp(prefix="holdfast-spark-"))
    jvm = session = None
    try:
        (folder / LOG4J2_FILE).write_text(LOG4J2, encoding="utf-8")
        found = environment(options, master, folder, java.home(folder))
        submit = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent, "bin", "spark-submit")
        jvm = Jvm.launched(submit, arguments(options, master, folder), {**os.environ, **found}, folder)
        port, secret = jvm.listens()
        with _environment({**found, "PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
            patience = QUEUEING if master.queues else BEGINNING
            session = _within(patience, lambda: _begin(folder), f"the master {master.address} did not answer", jvm)
        if not master.local:
            archive = folder / "holdfast.zip"
            archive.write_bytes(code_archive())
            session.sparkContext.addPyFile(str(archive))
            _within(OFFERING, session.range(0, 1, 1, 1).toArrow, f"the master {master.address} gave no executor", jvm)
    except BaseException:
        _close(session, jvm, folder)
        raise
    return Cluster(session, jvm, folder, master)


def _begin(folder: Path) -> SparkSession:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - as in start_cluster
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    context = SparkContext(conf=SparkConf())
    # It has a server that would print a traceback when Java ends; what that means is said elsewhere.
    vars(context._accumulatorServer)["handle_error"] = lambda request, address: None
    # Java removes the folder when it ends, for the case that this process could not.
    jvm = context._jvm
    assert jvm is not None
    jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(jvm.java.io.File(str(folder)))
    logging.getLogger().addFilter(_not_of_py4j)
    return SparkSession(context)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Whether a record of the root logger is not of py4j, which logs there what it raises as well."""
    return "py4j" not in Path(record.pathname).parts


def _within(seconds: float, step: Callable[[], _T], otherwise: str, jvm: Jvm) -> _T:
    """What the step gives; raises LostSparkError if it takes longer or fails."""
    given: Future[_T] = Future()

    def take() -> None:
        try:
            given.set_result(step())
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            given.set_exception(error)

    # In a thread of its own, so that there is a limit, and so that pyspark leaves the handler of Ctrl-C alone.
    threading.Thread(target=take, daemon=True).start()
    try:
        return given.result(timeout=seconds)
    except TimeoutError:
        said = jvm.said()
        raise LostSparkError(f"{otherwise} within {seconds:g} s{said and ': '}{said}") from None
    except Exception as error:
        line = _line_of(error)
        # Some other thread of Java has failed, and has logged why.
        line = (jvm.said() or line) if "stopped SparkContext" in line or jvm.ended(within=0) else line
        raise LostSparkError(f"Spark did not start: {line}") from error


def _line_of(error: Exception) -> str:
    """What Java says in the text of an error of pyspark, else its first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    java = [line for line in lines if re.match(r": (?:[\w$]+\.)+[\w$]+: \S", line)]
    if java:
        return java[0].split(": ", 2)[2]
    return lines[0] if lines else type(error).__name__


def _close(session: SparkSession | None, jvm: Jvm | None, folder: Path) -> None:
    """End all of it, whatever is left of it."""
    from pyspark import SparkContext  # noqa: PLC0415 - as in start_cluster
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    try:
        # Java ends the session by itself when it ends, whatever state that is in.
        if jvm is not None:
            jvm.end()
    finally:
        try:
            with warnings.catch_warnings(), suppress(Exception):
                # That Java does not answer any more is no news here.
                warnings.simplefilter("ignore")
                if session is not None:
                    session.stop()
        finally:
            # pyspark keeps these for good; the next session starts anew.
            gateway = SparkContext._gateway
            SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
            SparkSession._instantiatedSession = SparkSession._activeSession = None
            with suppress(Exception):
                if gateway is not None:
                    gateway.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """These variables in this process, where pyspark reads them, while a session begins."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
