"""``python -m spark.cluster.standalone``: a standalone cluster of Spark on this machine, for trying out and for tests.

A master and workers are started from an installed pyspark, each as a process of its own. They listen on the loopback
interface, on free ports, and keep all files in one temporary folder. They get nothing of this process but the path of
their Python: neither its modules nor its settings of Spark. All of them end with the process that started them, however
it ends: a keeper process sees to that (``keeper.py``).
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

import attrs
import msgspec

from holdfast.check.temporary_folder import TemporaryFolder
from holdfast.ir.errors import HoldfastError, UsageError
from holdfast.ir.printable import printable
from spark.cluster.java import EXTRA, spark_java
from spark.cluster.jvm import AGAIN, LostSparkError
from spark.cluster.keeper import ENDING, ClusterPlan, ClusterStart
from spark.cluster.processes import end_session
from spark.cluster.settings import LOG4J2, LOG4J2_FILE, LOOPBACK

_ASKING = 60
"""Seconds that a Python may take to say where its pyspark is."""

_KILLING = 10
"""Seconds that a keeper has beyond ENDING until it is killed itself."""

MOST = 10_000
"""The most workers, and the most cores of a worker."""
_MEMORY = re.compile(r"[1-9]\d*[mg]")

_WHERE = """
import importlib.util, sys
found = importlib.util.find_spec("pyspark")
print("%d.%d" % sys.version_info[:2], found.submodule_search_locations[0] if found else "", sep="\\n")
"""

# Spark says at the level info where a master listens, and when a worker has registered.
_LOG4J2 = f"{LOG4J2}logger.deploy.name = org.apache.spark.deploy\nlogger.deploy.level = info\n"


@attrs.frozen(kw_only=True)
class ClusterSize:
    """The size of a standalone cluster, and its Python.

    ``workers``: how many. ``cores``, ``memory``: those of each worker; an executor takes 1g unless
    ``--executor-memory`` says otherwise. ``python``: the Python of its tasks, whose pyspark is started.
    """

    workers: int = 2
    cores: int = 1
    memory: str = "1g"
    python: str = sys.executable

    def check(self) -> None:
        """Raise UsageError for a value out of range."""
        for option, value in (("--workers", self.workers), ("--cores", self.cores)):
            if not 1 <= value <= MOST:
                raise UsageError(f"{option} is {value}; give 1 to {MOST:,}")
        if _MEMORY.fullmatch(self.memory) is None:
            raise UsageError(f"--memory is {self.memory!r}; write a size such as 1g or 1536m")


class StandaloneCluster:
    """A running cluster, as a context manager. ``start``: its address and its process ids.

    ``environment``: the variables that a command needs beside its own to run tasks in the cluster's Python.
    """

    def __init__(
        self, keeper: subprocess.Popen[bytes], folder: TemporaryFolder, start: ClusterStart, python: str
    ) -> None:
        self._keeper, self._folder = keeper, folder
        self.start = start
        self.environment: Mapping[str, str] = {"PYSPARK_PYTHON": python}

    @classmethod
    def started(cls, size: ClusterSize) -> Self:
        """Start a cluster, and return when all workers have registered.

        Raises UsageError if the size is wrong or if its Python lacks what it needs, and LostSparkError if Spark does
        not start. Nothing is left behind then.
        """
        size.check()
        home = spark_of(size.python)
        java = spark_java()
        made = TemporaryFolder("cluster")
        folder = made.path
        keeper = None
        try:
            (folder / LOG4J2_FILE).write_text(_LOG4J2, encoding="utf-8")
            plan = ClusterPlan(str(home), str(folder), LOOPBACK, size.workers, size.cores, size.memory)
            keeper = _keeper(plan, _environment(home, folder, java.home(folder)))
            assert keeper.stdout is not None
            line = keeper.stdout.readline()
            if not line:
                raise LostSparkError(f"the cluster did not start: its keeper has ended; {AGAIN}")
            start = msgspec.json.decode(line, type=ClusterStart)
            if start.error:
                raise LostSparkError(f"the cluster did not start: {start.error}; {AGAIN}")
        except BaseException:
            _end(keeper, made)
            raise
        return cls(keeper, made, start, size.python)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait(self) -> None:
        """Wait until the keeper ends, which it does only if it is killed."""
        assert self._keeper.stdout is not None
        self._keeper.stdout.read()

    def close(self) -> None:
        """End the cluster. No process and no file of it is left when this returns."""
        _end(self._keeper, self._folder)


def spark_of(python: str) -> Path:
    """The folder of the pyspark that a Python has installed.

    Raises UsageError if there is none, or if the Python has another version than this one.
    """
    remedy = f"name the Python of an environment that has it ({EXTRA})"
    try:
        ran = subprocess.run(
            [python, "-P", "-c", _WHERE],
            env=_own_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ASKING,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"--python {python}: it cannot be run ({_reason(error)}); {remedy}") from error
    version, _, home = ran.stdout.strip().partition("\n")
    own = "{}.{}".format(*sys.version_info[:2])
    if ran.returncode != 0:
        raise UsageError(f"--python {python}: it does not run as a Python of version {own}; {remedy}")
    if version != own:
        raise UsageError(f"--python {python}: it is Python {version}, and this is {own}; {remedy}")
    if not home:
        raise UsageError(f"--python {python}: it has no pyspark; {remedy}")
    return Path(home)


def _reason(error: OSError | subprocess.TimeoutExpired) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else f"no answer within {_ASKING} s"


def _own_environment() -> dict[str, str]:
    """The variables of this process, except the variables that would give the cluster modules or settings of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK_", "SPARK_"))}


def _environment(home: Path, folder: Path, java_home: Path | None) -> dict[str, str]:
    """The environment variables of the cluster's processes, each with its reason."""
    chosen = {
        "SPARK_HOME": str(home),
        # The folder has the settings of the log; those of the installation do not count.
        "SPARK_CONF_DIR": str(folder),
        # Web pages and executors listen here, too.
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        # Master and workers only keep lists: the default of 1g each would be waste.
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1",
        # As in a session on one machine (``settings.environment``).
        "PYTHONHASHSEED": "0",
        "PYTHONSAFEPATH": "1",
        # Executors find only the kernels that a command ships.
        "HOLDFAST_CACHE": str(folder / "cache"),
    }
    if java_home is not None:
        chosen["JAVA_HOME"] = str(java_home)
    return _own_environment() | chosen


def _keeper(plan: ClusterPlan, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the keeper in a session of its own, so that Ctrl-C in a terminal does not reach it."""
    # The keeper needs this checkout; it is the only process of the cluster that does.
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-P", "-c", _KEEP, root, msgspec.json.encode(plan).decode()]
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )


_KEEP = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from spark.cluster.keeper import main
main(sys.argv)
"""
"""The keeper's program. It finds this checkout by its path, and not by PYTHONPATH, which the cluster would inherit."""


def _end(keeper: subprocess.Popen[bytes] | None, folder: TemporaryFolder) -> None:
    """End a keeper and all processes of its session, and remove the folder; each step even if others fail."""
    try:
        if keeper is not None:
            assert keeper.stdin is not None
            assert keeper.stdout is not None
            with suppress(OSError):
                keeper.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                keeper.wait(ENDING + _KILLING)
            keeper.kill()
            keeper.wait()
            keeper.stdout.close()
            end_session(keeper.pid, 0)
    finally:
        folder.remove()


# The command ---------------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; --help lists the options")


def _size(arguments: Sequence[str]) -> ClusterSize:
    parser = _Parser(
        prog="python -m spark.cluster.standalone",
        description="Start a standalone cluster of Spark on this machine, print its address, and end it with Ctrl-C.",
        allow_abbrev=False,
    )
    default = ClusterSize()
    parser.add_argument("--workers", type=int, default=default.workers, help="how many workers (%(default)s)")
    parser.add_argument("--cores", type=int, default=default.cores, help="cores of each worker (%(default)s)")
    parser.add_argument("--memory", default=default.memory, help="memory of each worker (%(default)s)")
    parser.add_argument(
        "--python", default=default.python, help="the Python of its tasks, which has pyspark; otherwise this one"
    )
    return ClusterSize(**vars(parser.parse_args(arguments)))


def main(arguments: Sequence[str]) -> int:
    """Run the command until Ctrl-C or SIGTERM. Returns the exit code: 0, or that of the error that it prints."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A shell makes background jobs ignore SIGINT, so all of them are set.
        signal.signal(number, _interrupt)
    try:
        size = _size(arguments)
        with StandaloneCluster.started(size) as cluster:
            note = (
                f"Run commands with PYSPARK_PYTHON={size.python} and --master {cluster.start.master}. Ctrl-C ends it."
            )
            print(note, file=sys.stderr, flush=True)  # noqa: T201 - the answer of a command
            # The address is last: who waits for it may end this process at once.
            print(cluster.start.master, flush=True)  # noqa: T201 - as above
            cluster.wait()
        raise LostSparkError(f"the cluster has ended: its keeper was killed; {AGAIN}")
    except KeyboardInterrupt:
        return 0
    except HoldfastError as error:
        print(printable(f"standalone: {error}"), file=sys.stderr)  # noqa: T201 - as above
        return error.exit_code


def _interrupt(number: int, _: object) -> NoReturn:
    # A second signal must not keep the cluster from ending.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
