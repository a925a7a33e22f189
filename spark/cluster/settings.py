"""How Spark is set up for Holdfast: what a user may choose, and each setting with its reason."""

from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path

import attrs

from holdfast.ir.errors import UsageError

REACHING = 10
"""Seconds for a master to accept a connection."""

_LOCAL = re.compile(r"local(?:\[(?P<cores>\*|\d+)(?:,\s*(?P<failures>\d+))?\])?")
_OTHER = re.compile(r"local-cluster\[\d+,\s*\d+,\s*\d+\]|spark://(?P<addresses>[^\s/]+)|yarn|k8s://\S+")
_ADDRESS = re.compile(r"(?P<host>[^:,\s]+|\[[0-9a-fA-F:]+\]):(?P<port>\d+)")

LOOPBACK = "127.0.0.1"

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
"""The setting that holds options of Java. A user's come after those of this module."""

LOG4J2_FILE = "log4j2.properties"

_SOCKET_ROOM = 60
"""How long the path of a folder may be for the sockets in it: a name is 42 characters, a path 103."""

ATTEMPTS = 4
"""How often a task is tried. Spark's own number on a cluster; in local mode it tries once unless told."""


@attrs.frozen
class SparkOptions:
    """Where Spark runs, and what it is told.

    ``conf`` are settings of Spark, which win over those of this module. ``submit`` are options of spark-submit, as they
    would stand on its command line, and ``kept`` are settings that they bring along: those of a file.
    """

    master: str = "local[*]"
    conf: tuple[tuple[str, str], ...] = ()
    submit: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()


def read_setting(text: str) -> tuple[str, str]:
    """The name and the value of KEY=VALUE; raises UsageError for what Spark would pass over. A value may be secret."""
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise UsageError(f"--conf is {name!r}; write KEY=VALUE with a key of Spark, as in spark.cluster.task.cpus=1")
    if name in _CHOSEN:
        raise UsageError(f"--conf sets {name}; {_CHOSEN[name]}")
    return name, value


_CHOSEN = {
    "spark.master": "use --master for that",
    "spark.submit.deployMode": "the driver is this command, so that it is client",
}
"""The settings that are not the user's to set in this way."""


@attrs.frozen
class Master:
    """A master's address, of a form that Spark knows; a local one with retries."""

    address: str
    local: bool

    @property
    def on_this_machine(self) -> bool:
        """Whether driver and executors are all on this machine by the address alone."""
        return self.local or self.address.startswith("local-cluster")

    @property
    def queues(self) -> bool:
        """Whether others may have to be served first."""
        return self.address.startswith(("yarn", "k8s://"))


def read_master(text: str) -> Master:
    """The master that the user wrote; raises UsageError for what is none."""
    local = _LOCAL.fullmatch(text)
    if local is not None:
        cores, failures = local["cores"] or "1", local["failures"] or str(ATTEMPTS)
        if cores == "0" or int(failures) == 0:
            raise UsageError(f"--master is {text}: it needs at least one core and one attempt, as in local[2]")
        return Master(f"local[{cores},{failures}]", local=True)
    other = _OTHER.fullmatch(text)
    if other is None or any(_ADDRESS.fullmatch(part) is None for part in _addresses(other)):
        raise UsageError(
            f"--master is {text!r}; it is local, local[2], local[*], spark://HOST:PORT, yarn, k8s://URL "
            "or local-cluster[EXECUTORS,CORES,MEGABYTES]"
        )
    return Master(text, local=False)


def check_reachable(master: Master) -> None:
    """Raise UsageError if nobody listens at the address of a standalone master, of several at any.

    Spark alone would try for a minute, and say so in forty lines.
    """
    matched = _OTHER.fullmatch(master.address)
    addresses = [] if matched is None else _addresses(matched)
    failures = []
    for address in addresses:
        found = _ADDRESS.fullmatch(address)
        assert found is not None
        try:
            socket.create_connection((found["host"].strip("[]"), int(found["port"])), timeout=REACHING).close()
        except (OSError, OverflowError) as error:
            failures.append(f"{address}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    if failures:
        raise UsageError(
            f"the master {master.address} cannot be reached ({'; '.join(failures)}); start it, or choose another "
            "with --master"
        )


def _addresses(matched: re.Match[str]) -> list[str]:
    return (matched["addresses"] or "").split(",") if matched["addresses"] else []


def settings(master: Master, folder: Path) -> dict[str, str]:
    """The settings for a master; whatever Spark would leave behind on this machine goes to the folder."""
    chosen = {
        "spark.master": master.address,
        "spark.app.name": "holdfast",
        # A progress bar on standard error would mix with the command's own.
        "spark.ui.showConsoleProgress": "false",
        # No web page, and no port for it.
        "spark.ui.enabled": "false",
        # Spark's log is short, and read where something fails. Java hands out tasks and no more: its second compiler
        # would take ten seconds of processor time in the first minute, and give nothing back.
        JAVA_OPTIONS: f"-Dlog4j2.configurationFile={(folder / LOG4J2_FILE).as_uri()} -XX:TieredStopAtLevel=1",
        # No job moves rows between tasks, so there is nothing to plan anew on the way.
        "spark.sql.adaptive.enabled": "false",
        # No tables of Spark's own are used: no catalogue of Hive, and no folder for one in the working directory.
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        # Java and Python would talk over TCP, where Java sends a task's parts as small packets and the last one waits
        # for the acknowledgement of the one before: 40 ms a task.
        "spark.python.unix.domain.socket.enabled": "true",
        # A worker stays for the next task: it has imported, and has its kernels.
        "spark.python.worker.reuse": "true",
        # A task gets one row and answers with few; no worker's memory is worth a limit of its own.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
        # A task whose job is cancelled has nothing to finish: its worker is ended at once, not after two seconds.
        "spark.python.task.killTimeout": "100ms",
        # What a worker says when it crashes names the line of Python.
        "spark.python.worker.faulthandler.enabled": "true",
        # The result of a job is small; the limit is there for those that are not meant to be.
        "spark.driver.maxResultSize": "4g",
    }
    if master.on_this_machine:
        # Driver and executors talk to each other over the loopback address, which no other machine reaches.
        chosen["spark.driver.bindAddress"] = LOOPBACK
        chosen["spark.driver.host"] = LOOPBACK
        # What Spark spills, and its sockets, go away with the session.
        chosen["spark.local.dir"] = str(folder / "local")
        chosen["spark.python.unix.domain.socket.dir"] = str(folder)
        if len(str(folder)) > _SOCKET_ROOM:
            # The path of a socket has a limit that no folder can lift.
            chosen["spark.python.unix.domain.socket.enabled"] = "false"
    else:
        # As often as on this machine.
        chosen["spark.cluster.task.maxFailures"] = str(ATTEMPTS)
        # Machines differ in how many executors they have ready at once: the first tasks wait for most of them.
        chosen["spark.scheduler.minRegisteredResourcesRatio"] = "0.8"
    return chosen


def arguments(options: SparkOptions, master: Master, folder: Path) -> list[str]:
    """What spark-submit is told: the settings, but for those that the user has chosen, and the user's own words."""
    theirs = dict(options.conf)
    ours = {name: value for name, value in settings(master, folder).items() if name not in options.kept}
    if JAVA_OPTIONS in theirs:
        theirs[JAVA_OPTIONS] = f"{ours.get(JAVA_OPTIONS, '')} {theirs[JAVA_OPTIONS]}".strip()
    pairs = {**ours, **theirs}
    return [*(word for name, value in pairs.items() for word in ("--conf", f"{name}={value}")), *options.submit]


LOG4J2 = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex
"""


def environment(options: SparkOptions, master: Master, folder: Path, java_home: Path | None) -> dict[str, str]:
    """What the processes of Spark find in their environment besides what this process has."""
    theirs = dict(options.conf)
    root = str(Path(__file__).parents[2])
    chosen = {
        # The interpreter that runs this, not the first python3 on PATH.
        "PYSPARK_PYTHON": theirs.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # Nothing may depend on the order of sets; should something do, then every time in the same way.
        "PYTHONHASHSEED": "0",
        # An executor of local-cluster keeps its logs here, not where Spark is installed.
        "SPARK_WORKER_DIR": str(folder / "work"),
        # A checkout that is not installed is found by the workers of this machine, too.
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        # A worker imports nothing from the working directory, where a file may be called as a module of Python's is.
        "PYTHONSAFEPATH": "1",
        # Another program's session must not be taken for one's own.
        "PYSPARK_SUBMIT_ARGS": "",
        "SPARK_CONNECT_MODE": "0",
    }
    if master.on_this_machine:
        # Before there is a session Spark looks up the machine's name, and warns of what it finds.
        chosen["SPARK_LOCAL_IP"] = LOOPBACK
    if java_home is not None:
        chosen["JAVA_HOME"] = str(java_home)
    return chosen
