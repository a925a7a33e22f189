"""A standalone cluster of processes of its own: it answers what one machine answers, and no process outlives it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import psutil
import pytest

from holdfast.ir.errors import UsageError
from impl.sim.check import Question, check
from impl.sim.conformance.log import conform_log
from impl.sim.options import Options
from spark.cluster import storage
from spark.cluster.processes import end_session
from spark.cluster.settings import ATTEMPTS, LOOPBACK, SparkOptions, environment, read_master, settings_file
from spark.cluster.standalone import ClusterSize, StandaloneCluster, main
from tests.conform.simulated_logs import without_an_open
from tests.spark.running import BROKEN, TABLE, place, tables
from tests.spark.terminal_process import PATIENCE, TerminalProcess
from tests.spark.worker_python import needed, worker_python

ROOT = Path(__file__).parents[2]

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the packages of the extra alone."""
    return worker_python(tmp_path_factory.mktemp("executors") / "venv")


@pytest.fixture
def standalone(python: Path) -> Iterator[StandaloneCluster]:
    """A master and two workers, each with one core, whose tasks run in that Python."""
    with StandaloneCluster.started(ClusterSize(python=str(python))) as cluster:
        yield cluster


def below(pid: int) -> list[psutil.Process]:
    """All processes that a process has started, directly or not."""
    return psutil.Process(pid).children(recursive=True)


def kill_worker(cluster: StandaloneCluster) -> None:
    """Kill the first worker, while a process of Python works below it."""
    worker = cluster.start.worker_processes[0]
    assert any("pyspark.daemon" in _command_line(process) for process in below(worker))
    os.kill(worker, signal.SIGKILL)


def _command_line(process: psutil.Process) -> list[str]:
    """The words of a process; none if it has just ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


# Answers -------------------------------------------------------------------------------------------------------------

WHERE = """
import json, sys
import pyarrow as pa
from spark.cluster.session import start_cluster
from spark.cluster.settings import SparkOptions

SCHEMA = pa.schema([pa.field(name, pa.string()) for name in ("prefix", "code", "found")])

def where(payload, batch):
    import importlib.util, sys, holdfast
    import pyarrow as pa
    found = [name for name in ("hypothesis", "pytest", "moto") if importlib.util.find_spec(name)]
    row = {"prefix": sys.prefix, "code": holdfast.__file__, "found": " ".join(found)}
    yield pa.RecordBatch.from_pylist([row] * batch.num_rows, schema=SCHEMA)

with start_cluster(SparkOptions(master=sys.argv[1])) as cluster:
    print(json.dumps(cluster.map(where, b"", pa.table({"unit": [1, 2]}), SCHEMA, 2).to_pylist()))
"""


@pytest.mark.slow
def test_tasks_share_no_environment(standalone: StandaloneCluster, python: Path) -> None:
    """A task runs in the Python of the cluster: it has the shipped code, and no package that the extra lacks."""
    ran = subprocess.run(
        [sys.executable, "-c", WHERE, standalone.start.master],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | dict(standalone.environment),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    for row in json.loads(ran.stdout):
        assert row["prefix"] == str(python.parents[1])
        assert "holdfast.zip" in row["code"]
        assert row["found"] == ""


@attrs.frozen
class ClusterCase:
    """A command whose answer must not depend on where it runs.

    ``words``: the command; ``OUT`` and ``LOGS`` stand for folders, and ``--master`` is added. ``half``: whether the
    folder shows that the work is about half done. ``whole``: the answer in the folder, compared byte for byte.
    ``prepare`` fills the folder of logs.
    """

    words: tuple[object, ...]
    code: int
    half: Callable[[Path], bool]
    whole: Callable[[Path], dict[str, bytes]]
    prepare: Callable[[Path], None] = lambda _: None

    def start(self, folder: Path, master: str, cluster: StandaloneCluster | None = None) -> TerminalProcess:
        """Start the command."""
        places = {"OUT": folder, "LOGS": folder.parent / "logs"}
        words = [places.get(word, word) if isinstance(word, str) else word for word in self.words]
        variables = {} if cluster is None else cluster.environment
        return TerminalProcess(*words, "--master", master, variables=variables)


UNITS = 24
SHORT = Options(operations=60, span_ms=20_000, streams=2)
"""The runs whose logs are judged."""


def campaign_case(
    target: tuple[object, ...], code: int, prepare: Callable[[Path], None] = lambda _: None
) -> ClusterCase:
    """A campaign; half of it are UNITS // 2 units."""
    return ClusterCase(
        words=("campaign", "run", *target, "--out", "OUT"),
        code=code,
        prepare=prepare,
        half=lambda folder: len(place(folder).list("runs")) >= UNITS // 2,
        whole=lambda folder: tables(place(folder)),
    )


def record_logs(folder: Path) -> None:
    """Fill a folder with four logs for each unit: copies of seven logs that conform, and one that is impossible."""
    folder.mkdir()
    runs = [check(Question(seed=seed, options=SHORT)).run for seed in range(8)]
    lines = [[json.loads(line) for line in conform_log(run.log).splitlines()] for run in runs]
    lines[-1] = without_an_open(random.Random(1), lines[-1])
    for number in range(4 * UNITS):
        text = "".join(f"{json.dumps(line)}\n" for line in lines[-1 if number == 0 else number % 7])
        (folder / f"{number:03}.ndjson").write_text(text, encoding="utf-8")


def _levels(folder: Path) -> dict[str, bytes]:
    """All files of a search but two kinds: the candidates, which are of no use once a level is settled, and drafts.

    A worker that is killed while it writes a file leaves a draft of it, which nothing reads.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and "candidates" not in path.parts)
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in paths
        if path.name != "search.json" and not path.name.startswith(storage._DRAFT)
    }


CASES = {
    "campaign of a model": campaign_case(
        ("--target", TABLE, "--scope", "default", "--without", *BROKEN, "--runs", 200_000 * UNITS, "--seed", 7), 12
    ),
    "campaign of clusters": campaign_case(
        ("--target", "cluster", "--steps", 60, "--streams", 2, "--runs", 4 * UNITS, "--seed", 7), 0
    ),
    "campaign of logs": campaign_case(
        ("--target", "log", "--in", "LOGS", "--model", "fast_close", "--map", "fast_close"), 12, record_logs
    ),
    "search": ClusterCase(
        words=("check", "stream_log", "--scope", "default", "--engine", "spark", "--checkpoint", "OUT"),
        code=0,
        half=lambda folder: (folder / "level-0018").is_dir(),
        whole=_levels,
    ),
}
"""The commands of the nightly tier. A further kind of campaign is one more line."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_cluster_that_loses_a_worker_answers_the_same(
    name: str, standalone: StandaloneCluster, tmp_path: Path
) -> None:
    """On the cluster, one of whose workers is killed half way, every byte is that of ``local[2]``."""
    case = CASES[name]
    case.prepare(tmp_path / "logs")
    here = case.start(tmp_path / "here", "local[2]").end()

    there = case.start(tmp_path / "there", standalone.start.master, standalone)
    there.wait_for(lambda: case.half(tmp_path / "there"))
    kill_worker(standalone)
    assert there.process.poll() is None
    code, out, said = there.end()

    assert (code, here[0]) == (case.code, case.code), said
    assert out.replace(str(tmp_path / "there"), "OUT") == here[1].replace(str(tmp_path / "here"), "OUT")
    assert case.whole(tmp_path / "there") == case.whole(tmp_path / "here")


# Ends ----------------------------------------------------------------------------------------------------------------


class Script:
    """The command, running, with its processes and its temporary folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "spark.cluster.standalone", *options],
            env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.master = self.process.stdout.readline().strip()
        self.below = below(self.process.pid)

    def left(self) -> list[object]:
        """The processes and files that are left, after some time to end."""
        _, alive = psutil.wait_procs(self.below, timeout=PATIENCE)
        return [*alive, *self.folder.iterdir()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_command_line(number: int, tmp_path: Path) -> None:
    """Whatever signal ends the command, no process and no file of the cluster is left."""
    script = Script(tmp_path)
    assert script.master.startswith(f"spark://{LOOPBACK}:")
    assert len([each for each in script.below if each.name() == "java"]) == 3

    script.process.send_signal(number)
    _, said = script.process.communicate(timeout=PATIENCE)

    assert script.process.returncode == (-9 if number == signal.SIGKILL else 0)
    assert said == f"Run commands with PYSPARK_PYTHON={sys.executable} and --master {script.master}. Ctrl-C ends it.\n"
    assert script.left() == []


@pytest.mark.slow
def test_executors_end_with_the_command_line(python: Path, tmp_path: Path) -> None:
    """If the command is killed while a campaign runs on the cluster, executors and their workers end too."""
    (tmp_path / "tmp").mkdir()
    script = Script(tmp_path / "tmp", "--python", str(python))
    running = CASES["campaign of a model"].start(tmp_path / "there", script.master)
    running.wait_for(lambda: bool(place(tmp_path / "there").list("runs")))
    script.below = below(script.process.pid)
    assert any("pyspark.daemon" in _command_line(process) for process in script.below)

    script.process.kill()
    script.process.communicate(timeout=PATIENCE)

    assert script.left() == []
    running.process.kill()
    running.end()


@pytest.mark.slow
def test_a_killed_keeper_leaves_nothing(tmp_path: Path) -> None:
    """If the process between the command and the cluster is killed, the command says so and ends the cluster."""
    script = Script(tmp_path)
    [keeper] = psutil.Process(script.process.pid).children()
    keeper.kill()
    _, said = script.process.communicate(timeout=PATIENCE)

    assert script.process.returncode == 20
    assert said.splitlines()[1:] == [
        "standalone: the cluster has ended: its keeper was killed; mend that, and start the command again"
    ]
    assert script.left() == []


def test_a_session_ends_as_a_whole() -> None:
    """All processes of a session end, except the one that is spared; one that ended in order is nobody's business."""
    program = "import subprocess, sys; subprocess.Popen(['cat']); print('begun', flush=True); sys.stdin.read()"
    leader = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert leader.stdin is not None
    assert leader.stdout is not None
    leader.stdout.readline()
    [other] = below(leader.pid)

    end_session(leader.pid, 0, spared=leader.pid)
    assert leader.poll() is None
    assert not other.is_running() or other.status() == psutil.STATUS_ZOMBIE
    end_session(leader.pid, 0)
    assert not psutil.pid_exists(leader.pid)
    leader.wait(PATIENCE)
    leader.stdin.close()
    leader.stdout.close()


# What it takes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workers", "0"], "--workers is 0; give 1 to 10,000"),
        (["--cores", "-1"], "--cores is -1; give 1 to 10,000"),
        (["--memory", "much"], "--memory is 'much'; write a size such as 1g or 1536m"),
        (["--worker", "2"], "unrecognized arguments: --worker 2; --help lists the options"),
        (["--cores", "one"], "argument --cores: invalid int value: 'one'; --help lists the options"),
    ],
)
def test_a_wrong_option_is_one_line(options: list[str], said: str, capsys: Captured) -> None:
    """A wrong option is refused before anything is started."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        assert main(options) == 2
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert capsys.readouterr().err == f"standalone: {said}\n"


def test_a_python_without_spark_is_refused(tmp_path: Path) -> None:
    """An environment without pyspark, and a file that is no Python, are refused with the remedy."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty"], check=True)
    for python, said in ((tmp_path / "empty" / "bin" / "python", "it has no pyspark"), (tmp_path, "it cannot be run")):
        with pytest.raises(
            UsageError, match=rf"--python {python}: {said}.*; name the Python of an environment"
        ) as found:
            StandaloneCluster.started(ClusterSize(python=str(python)))
        assert "\n" not in str(found.value)


def test_the_extra_names_what_tasks_need() -> None:
    """The packages of the extra are the packages that its requirements name. No tool of tests is among them."""
    names = set(needed("holdfast", "spark"))
    assert {"pyspark", "pyarrow", "numpy", "llvmlite", "holdfast"} <= names
    assert not names & {"pytest", "hypothesis", "moto"}


@pytest.mark.parametrize(
    ("address", "near"),
    [
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077,127.0.0.2:7077", True),
        ("spark://[::1]:7077", True),
        ("spark://127.0.0.1:7077,host:7077", False),
        ("spark://host:7077", False),
        ("yarn", False),
    ],
)
def test_a_master_on_the_loopback_address_is_on_this_machine(address: str, near: bool, tmp_path: Path) -> None:
    """The driver listens on the loopback address for a master that nobody else reaches, and on no other."""
    master = read_master(address)
    lines = settings_file(SparkOptions(master=address), master, tmp_path).splitlines()
    assert (f"spark.driver.host={LOOPBACK}" in lines) == near
    assert f"spark.task.maxFailures={ATTEMPTS}" in lines
    variables = environment(SparkOptions(master=address), master, tmp_path, None)
    assert ("SPARK_LOCAL_IP" in variables) == near
