"""A session on Spark: start it, run tasks on parts of a table, end it. The only module that uses pyspark.

Every error is one line. An error that the user can correct is raised as in the executor; any other error quotes the
telling line of Spark or Java, without their stack traces.
"""

from __future__ import annotations

import logging
import os
import re
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

from holdfast.check.temporary_folder import TemporaryFolder
from holdfast.ir.errors import HoldfastError, UsageError
from spark.cluster.java import EXTRA, spark_java
from spark.cluster.jvm import AGAIN, Jvm, LostSparkError
from spark.cluster.settings import (
    LOG4J2,
    LOG4J2_FILE,
    Master,
    SparkOptions,
    arguments,
    check_reachable,
    environment,
    read_master,
    settings_file,
)
from spark.cluster.ship import code_archive, digest, kernels
from spark.cluster.task import ANSWER, TaskError, Work, answer, failure, task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGINNING = 120
"""The longest time in seconds for a session to begin on this machine, or on a standalone master."""

QUEUEING = 600
"""The longest time in seconds for a session to begin on YARN or Kubernetes, where it may have to queue."""

OFFERING = 120
"""The longest time in seconds for a cluster to provide an executor for the first task."""

SETTINGS_FILE = "settings.properties"
"""The file by which Spark gets its settings. It is removed as soon as Spark has read it."""

_NOTICING = 2
"""Seconds to wait for the exit of a process whose sockets have closed: a killed process closes its sockets first."""

_LOOKING = 0.5
"""Seconds between two checks for a result. Ctrl-C is handled between them."""

_JOBS = 8
"""The largest number of jobs at a time; further jobs wait."""

_T = TypeVar("_T")


class SparkJob:
    """A job that Spark runs in the background."""

    def __init__(self, future: Future[pa.Table], end: Callable[[], None]) -> None:
        self._future = future
        self._end = end
        self._cancelled = False

    def done(self) -> bool:
        """Whether there is a result, or an error."""
        return self._future.done()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for at most ``seconds``, or for ever if None. Returns whether the job is done."""
        wait([self._future], timeout=seconds)
        return self._future.done()

    def cancel(self) -> None:
        """End the job's tasks, which takes a moment. The job then has no result, unless it was done before."""
        if not self._future.done():
            self._cancelled = True
            self._future.cancel()
            self._end()

    def result(self) -> pa.Table:
        """Wait for the job, and return its table. Raises its error, or CancelledError if the job was cancelled."""
        # Wait in short intervals: during an endless wait, a Ctrl-C that another thread received would have no effect.
        while not self.wait(_LOOKING):
            pass
        try:
            return self._future.result()
        except HoldfastError as error:
            if self._cancelled:
                raise CancelledError from error
            raise


class Cluster:
    """A session on Spark, as a context manager. At its end, no process and no file of it is left on this machine."""

    def __init__(self, session: SparkSession, jvm: Jvm, folder: TemporaryFolder, master: Master) -> None:
        self._session = session
        self._jvm = jvm
        self._folder = folder
        self._master = master
        self._groups = count()
        self._threads = ThreadPoolExecutor(_JOBS, thread_name_prefix="holdfast-spark")
        self._shipped = ""
        self.parallelism: int = session.sparkContext.defaultParallelism
        """The number of tasks that run at the same time."""

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def map(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> pa.Table:
        """Run the work in ``partitions`` tasks, each on its part of the rows. Returns the answers in the order of the
        rows. Raises TaskError, LostSparkError, or the HoldfastError of a task.

        ``work`` is a function of a module that executors can import. It takes the payload and the task's rows as one
        batch, and yields batches of the schema. Spark may call it several times for the same rows, also concurrently.
        """
        job = self.start(work, payload, rows, schema, partitions)
        try:
            return job.result()
        except BaseException:
            job.cancel()
            raise

    def start(self, work: Work, payload: bytes, rows: pa.Table, schema: pa.Schema, partitions: int) -> SparkJob:
        """Start the work as ``map`` does, and return without waiting."""
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
            # Java has ended, so no job is running: the threads end at once.
            self._threads.shutdown(cancel_futures=True)

    def _end_tasks(self, group: str) -> None:
        # An error means that Java has ended, and its tasks with it.
        with suppress(Exception):
            self._session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)

    def _ship(self) -> Callable[[], str] | None:
        """Send this process's kernels to the executors. Returns a function that gives their path in an executor.

        None if there are no kernels, or if the tasks share this process's cache (a local master).
        """
        data = b"" if self._master.local else kernels()
        if not data:
            return None
        from pyspark import SparkFiles  # noqa: PLC0415 - as in start_cluster

        name = f"kernels-{digest(data)}"
        if name != self._shipped:
            (self._folder.path / name).write_bytes(data)
            with self._one_line():
                self._session.sparkContext.addFile(str(self._folder.path / name))
            self._shipped = name
        return lambda: str(SparkFiles.get(name))

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        """Turn an exception of Spark into TaskError or LostSparkError with one line."""
        try:
            yield
        except HoldfastError:
            raise
        except Exception as error:
            said = failure(str(error))
            if said is not None:
                raise TaskError(f"a task on Spark failed: {said}; please report it") from error
            ended = self._jvm.ended(within=_NOTICING)
            if ended is not None:
                raise LostSparkError(f"Spark ended: {ended}; {AGAIN}") from error
            raise LostSparkError(f"Spark failed: {_line_of(error)}; {AGAIN}") from error


def start_cluster(options: SparkOptions) -> Cluster:
    """Start a session on the master of the options.

    Raises UsageError if Spark or Java is missing or the master cannot be reached, and LostSparkError if Spark does not
    start in time. Nothing is left behind then.
    """
    master = read_master(options.master)
    try:
        import pyspark  # noqa: PLC0415 - half a second that only Spark costs, and it may be missing
    except ImportError as error:
        raise UsageError(f"Spark is missing; {EXTRA}") from error
    java = spark_java()
    check_reachable(master)
    home = TemporaryFolder("spark")
    folder = home.path
    jvm = session = None
    try:
        (folder / LOG4J2_FILE).write_text(LOG4J2, encoding="utf-8")
        file = folder / SETTINGS_FILE
        file.touch(mode=0o600)
        file.write_text(settings_file(options, master, folder), encoding="utf-8", errors="surrogateescape")
        found = environment(options, master, folder, java.home(folder))
        submit = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent, "bin", "spark-submit")
        jvm = Jvm.launched(submit, arguments(options, file), {**os.environ, **found}, folder)
        port, secret = jvm.listens()
        # Spark has read the settings, and nothing else may read them.
        file.unlink()
        with _environment({**found, "PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
            patience = QUEUEING if master.queues else BEGINNING
            session = _within(patience, lambda: _begin(folder), f"the master {master.address} did not answer", jvm)
        if not master.local:
            archive = folder / "holdfast.zip"
            archive.write_bytes(code_archive())
            session.sparkContext.addPyFile(str(archive))
            _within(OFFERING, session.range(0, 1, 1, 1).toArrow, f"the master {master.address} gave no executor", jvm)
    except BaseException:
        _close(session, jvm, home)
        raise
    return Cluster(session, jvm, home, master)


def _begin(folder: Path) -> SparkSession:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - as in start_cluster
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    # First, since a signal may end Java while the context is made.
    logging.getLogger().addFilter(_not_of_py4j)
    context = SparkContext(conf=SparkConf())
    # The accumulator server prints a traceback when Java ends. Silence it: that error is reported elsewhere.
    vars(context._accumulatorServer)["handle_error"] = lambda request, address: None
    # Java also removes the folder when it ends, in case this process is killed before it can.
    jvm = context._jvm
    assert jvm is not None
    jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(jvm.java.io.File(str(folder)))
    return SparkSession(context)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """A filter that drops py4j's log records: py4j logs each error that it also raises."""
    return "py4j" not in Path(record.pathname).parts


def _within(seconds: float, step: Callable[[], _T], otherwise: str, jvm: Jvm) -> _T:
    """The result of ``step``. Raises LostSparkError if it fails, or takes longer than ``seconds``."""
    given: Future[_T] = Future()

    def take() -> None:
        try:
            given.set_result(step())
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            given.set_exception(error)

    # In its own thread, for two reasons: this thread can stop waiting, and pyspark replaces the handler of Ctrl-C only
    # if it runs in the main thread.
    threading.Thread(target=take, daemon=True).start()
    try:
        return given.result(timeout=seconds)
    except TimeoutError:
        said = jvm.said()
        raise LostSparkError(f"{otherwise} within {seconds:g} s{said and ': '}{said}; {AGAIN}") from None
    except Exception as error:
        line = _line_of(error)
        # Another thread of Java has failed: the cause is in Java's log, not in this error.
        line = (jvm.said() or line) if "stopped SparkContext" in line or jvm.ended(within=0) else line
        raise LostSparkError(f"Spark did not start: {line}; {AGAIN}") from error


def _line_of(error: Exception) -> str:
    """The line of Java in the text of a pyspark error, or else the first line of the text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    java = [line for line in lines if re.match(r": (?:[\w$]+\.)+[\w$]+: \S", line)]
    if java:
        return java[0].split(": ", 2)[2]
    return lines[0] if lines else type(error).__name__


def _close(session: SparkSession | None, jvm: Jvm | None, folder: TemporaryFolder) -> None:
    """End the session, its Java process, and pyspark's state, and remove the folder; each step even if others fail."""
    try:
        # End Java first: that ends the session in whatever state it is.
        if jvm is not None:
            jvm.end()
    finally:
        try:
            with warnings.catch_warnings(), suppress(Exception):
                # The session warns that Java does not answer; that is expected here.
                warnings.simplefilter("ignore")
                if session is not None:
                    session.stop()
        finally:
            # Without Java, pyspark's state is not of this session.
            if jvm is not None:
                _reset_pyspark()
            folder.remove()


def _reset_pyspark() -> None:
    """Reset the attributes that pyspark keeps for the whole process.

    Otherwise the next session would try to use the Java process that has ended.
    """
    from pyspark import SparkContext  # noqa: PLC0415 - as in start_cluster
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    with suppress(Exception):
        if gateway is not None:
            gateway.shutdown()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables of this process while a session begins, because pyspark reads them there."""
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
