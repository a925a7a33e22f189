"""Starts the processes of a standalone cluster, and ends them as soon as its standard input ends.

``standalone.py`` runs it as ``python -m spark.cluster.keeper PLAN`` and holds the other end of that pipe. The pipe
closes however the holder ends, also when it is killed, so no process outlives the holder. The keeper leads a session
of its own, to which all processes belong that it starts, and all that they start. By the session it finds them.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from spark.cluster.jvm import telling_line
from spark.cluster.processes import end_session

STARTING = 120
"""The longest time in seconds for a master or a worker to start."""

ENDING = 10
"""Seconds that master and workers may take to end before they are killed."""

_TICK = 0.05
"""Seconds between two looks at the log of a process."""

MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
"""The classes of Spark's two services."""

_LISTENS = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master (\S+)")


class ClusterPlan(msgspec.Struct, frozen=True):
    """What a keeper starts. ``spark``: the folder in which Spark is installed. ``folder``: where all files go.

    ``workers``: how many there are, each with ``cores`` and ``memory``, such as 1g. ``host``: the address on which all
    of them listen.
    """

    spark: str
    folder: str
    host: str
    workers: int
    cores: int
    memory: str


class ClusterStart(msgspec.Struct, frozen=True):
    """What a keeper says once: the address of the master and the process ids, or why there is no cluster."""

    master: str = ""
    master_process: int = 0
    worker_processes: tuple[int, ...] = ()
    error: str = ""


class _StartError(Exception):
    """A process of the cluster did not start."""


class _Services:
    """The services of a cluster, by name."""

    def __init__(self, plan: ClusterPlan, ended: threading.Event) -> None:
        self._plan, self._ended = plan, ended
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> ClusterStart:
        """Start the master, then the workers side by side. Raises _StartError."""
        plan = self._plan
        self._launch("master", MASTER)
        master = self._logged("master", _LISTENS)
        names = [f"worker-{number}" for number in range(1, plan.workers + 1)]
        for name in names:
            size = ("--cores", str(plan.cores), "--memory", plan.memory)
            self._launch(name, WORKER, *size, "--work-dir", str(Path(plan.folder, name)), master)
        for name in names:
            self._logged(name, _REGISTERED)
        return ClusterStart(master, self.processes["master"].pid, tuple(self.processes[name].pid for name in names))

    def _launch(self, name: str, service: str, *arguments: str) -> None:
        # Port 0: the system chooses a free one.
        listen = ("--host", self._plan.host, "--port", "0", "--webui-port", "0")
        with self._log(name).open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [str(Path(self._plan.spark, "bin", "spark-class")), service, *listen, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _logged(self, name: str, pattern: re.Pattern[str]) -> str:
        """The first group of a pattern in the log of a process, as soon as the log has it."""
        process = self.processes[name]
        for _ in range(int(STARTING / _TICK)):
            over = process.poll() is not None
            text = self._log(name).read_text(encoding="utf-8", errors="backslashreplace")
            found = pattern.search(text)
            if found is not None:
                return found[1]
            if over:
                raise _StartError(f"{name}: {telling_line(text) or f'it ended with {process.returncode}'}")
            if self._ended.wait(_TICK):
                raise _StartError("nobody wants the cluster any more")
        raise _StartError(f"{name}: it did not start within {STARTING} s")

    def _log(self, name: str) -> Path:
        return Path(self._plan.folder, f"{name}.log")

    def end(self) -> None:
        """End all services and all that they started."""
        for process in self.processes.values():
            process.terminate()
        end_session(os.getpid(), ENDING, spared=os.getpid())


def main(arguments: Sequence[str]) -> None:
    """Start the cluster of a plan (JSON), print its start as JSON, and end it when the standard input ends."""
    plan = msgspec.json.decode(arguments[1], type=ClusterPlan)
    ended = threading.Event()
    threading.Thread(target=_wait, args=(ended,), daemon=True).start()
    signal.signal(signal.SIGTERM, _leave)
    services = _Services(plan, ended)
    try:
        start = services.start()
        _say(start)
        ended.wait()
    except _StartError as error:
        _say(ClusterStart(error=str(error)))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        services.end()
        shutil.rmtree(plan.folder, ignore_errors=True)


def _wait(ended: threading.Event) -> None:
    """Wait for the end of the standard input. It is read as a file descriptor: no lock is held at the exit."""
    while os.read(0, 1 << 10):
        pass
    ended.set()


def _leave(*_: object) -> None:
    raise SystemExit(0)


def _say(start: ClusterStart) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(start) + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv)
