"""The settings of Spark for Holdfast, each with its reason, and the options that a user may set."""

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
"""The longest path of a folder that can hold sockets: a socket's name has 42 characters, its path at most 103."""

ATTEMPTS = 4
"""The number of attempts for a task. It is Spark's default on a cluster; in local mode the default is 1."""


@attrs.frozen
class SparkOptions:
    """The master that Spark runs on, and the user's settings.

    ``conf``: Spark settings; they override those of this module. ``properties``: the text of a file of settings, or
    None. ``submit``: options for the command line of spark-submit. ``kept``: names of settings that the file and these
    options set; this module does not set them.
    """

    master: str = "local[*]"
    conf: tuple[tuple[str, str], ...] = ()
    properties: str | None = None
    submit: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()


def read_setting(text: str) -> tuple[str, str]:
    """The name and the value in KEY=VALUE. Raises UsageError for a text that Spark would silently ignore.

    A value may be a secret, so no message quotes it.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise UsageError(f"--conf is {name!r}; write KEY=VALUE with a key of Spark, as in spark.task.cpus=1")
    if name in _CHOSEN:
        raise UsageError(f"--conf sets {name}; {_CHOSEN[name]}")
    return name, value


_CHOSEN = {
    "spark.master": "use --master for that",
    "spark.submit.deployMode": "the driver is this command, so that it is client",
}
"""The settings that a user cannot set with ``--conf``, each with the reason or the remedy."""


@attrs.frozen
class Master:
    """The address of a master in a form that Spark accepts. A local address includes the number of attempts."""

    address: str
    local: bool

    @property
    def on_this_machine(self) -> bool:
        """Whether the address says that driver and executors are all on this machine."""
        return self.local or self.address.startswith("local-cluster")

    @property
    def on_loopback(self) -> bool:
        """Whether the address is one of a standalone cluster that only this machine reaches."""
        matched = _OTHER.fullmatch(self.address)
        hosts = [address.rpartition(":")[0] for address in ([] if matched is None else _addresses(matched))]
        return bool(hosts) and all(host in ("localhost", "[::1]") or host.startswith("127.") for host in hosts)

    @property
    def queues(self) -> bool:
        """Whether the session may have to wait for other users of the cluster."""
        return self.address.startswith(("yarn", "k8s://"))


def read_master(text: str) -> Master:
    """The master in the user's text. Raises UsageError if the text is no master."""
    local = _LOCAL.fullmatch(text)
    if local is not None:
        cores, failures = local["cores"] or "1", local["failures"] or str(ATTEMPTS)
        if cores == "0" or int(failures) == 0:
            raise UsageError(f"--master is {text}, without a core or an attempt; write at least one, as in local[2]")
        return Master(f"local[{cores},{failures}]", local=True)
    other = _OTHER.fullmatch(text)
    if other is None or any(_ADDRESS.fullmatch(part) is None for part in _addresses(other)):
        raise UsageError(
            f"--master is {text!r}; write local, local[2], local[*], spark://HOST:PORT, yarn, k8s://URL "
            "or local-cluster[EXECUTORS,CORES,MEGABYTES]"
        )
    return Master(text, local=False)


def check_reachable(master: Master) -> None:
    """Raise UsageError if no process listens at the address of a standalone master, or at any of several addresses.

    Without this check, Spark would retry for a minute and print forty lines.
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
    return matched["addresses"].split(",") if matched["addresses"] else []


def settings(master: Master, folder: Path) -> dict[str, str]:
    """The settings for a master. All files that Spark would leave behind on this machine go to ``folder``."""
    chosen = {
        "spark.master": master.address,
        "spark.app.name": "holdfast",
        # A progress bar on standard error would mix with the command's own.
        "spark.ui.showConsoleProgress": "false",
        # No web page, and no port for it.
        "spark.ui.enabled": "false",
        # Spark's log is short, and is read if something fails. Java only distributes tasks, so its optimizing compiler
        # (tier 4) is off: it would take ten seconds of processor time in the first minute, without a gain.
        JAVA_OPTIONS: f"-Dlog4j2.configurationFile={(folder / LOG4J2_FILE).as_uri()} -XX:TieredStopAtLevel=1",
        # No job moves rows between tasks, so replanning at run time has nothing to do.
        "spark.sql.adaptive.enabled": "false",
        # Spark tables are not used: no Hive catalogue, and no folder for it in the working directory.
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        # Otherwise Java and Python use TCP. Java sends a task's parts as small packets, and the last packet waits for
        # the acknowledgement of the one before (Nagle's algorithm): 40 ms a task.
        "spark.python.unix.domain.socket.enabled": "true",
        # Reuse a worker for the next task: it has imported the libraries and loaded the kernels.
        "spark.python.worker.reuse": "true",
        # A task gets one row and answers with few; no worker's memory is worth a limit of its own.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
        # A task of a cancelled job has nothing to finish: end its worker at once, not after two seconds.
        "spark.python.task.killTimeout": "100ms",
        # The message of a crashed worker then names the line of Python.
        "spark.python.worker.faulthandler.enabled": "true",
        # The results of jobs are small; the limit is for an unexpectedly large one.
        "spark.driver.maxResultSize": "4g",
    }
    if master.on_this_machine or master.on_loopback:
        # Driver and executors talk to each other over the loopback address, which no other machine reaches.
        chosen["spark.driver.bindAddress"] = LOOPBACK
        chosen["spark.driver.host"] = LOOPBACK
    if master.on_this_machine:
        # Spilled data and sockets are in the session's folder, and are removed with it.
        chosen["spark.local.dir"] = str(folder / "local")
        chosen["spark.python.unix.domain.socket.dir"] = str(folder)
        if len(str(folder)) > _SOCKET_ROOM:
            # The system limits the length of a socket's path, and this folder's path is too long: use TCP.
            chosen["spark.python.unix.domain.socket.enabled"] = "false"
    else:
        # The same number of attempts as in local mode.
        chosen["spark.task.maxFailures"] = str(ATTEMPTS)
        # Executors become ready at different times: the first tasks wait until most of them are.
        chosen["spark.scheduler.minRegisteredResourcesRatio"] = "0.8"
    return chosen


def settings_file(options: SparkOptions, master: Master, folder: Path) -> str:
    """The text of a file of settings: the user's file, then the settings of this module, overridden by the user's.

    A setting may be a secret. Any user of the machine can read a command line, so all settings go by this file.
    """
    theirs = dict(options.conf)
    ours = {name: value for name, value in settings(master, folder).items() if name not in options.kept}
    if JAVA_OPTIONS in theirs:
        theirs[JAVA_OPTIONS] = f"{ours.get(JAVA_OPTIONS, '')} {theirs[JAVA_OPTIONS]}".strip()
    lines = [f"{_escaped(name)}={_escaped(value)}" for name, value in {**ours, **theirs}.items()]
    # Of two lines for one setting the last one counts. The blank line ends a line that is to be continued.
    return "\n".join([options.properties or "", "", *lines, ""])


def _escaped(text: str) -> str:
    """A key or a value as files of Java properties write it."""
    written = text.replace("\\", "\\\\")
    for char, code in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\f", "\\f"), (" ", "\\ "), *_SIGNS):
        written = written.replace(char, code)
    return written


_SIGNS = tuple((sign, f"\\{sign}") for sign in "=:#!")
"""The signs that would end a key, or begin a comment."""


def arguments(options: SparkOptions, file: Path) -> list[str]:
    """The arguments of spark-submit: the file of settings, and the user's options."""
    # Spark leaves out its own defaults if it is given a file, and this command gives it one in any case.
    defaults = [] if options.properties is not None else ["--load-spark-defaults"]
    return ["--properties-file", str(file), *defaults, *options.submit]


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
    """The environment variables that Spark's processes get in addition to those of this process."""
    theirs = dict(options.conf)
    root = str(Path(__file__).parents[2])
    chosen = {
        # The interpreter that runs this, not the first python3 on PATH.
        "PYSPARK_PYTHON": theirs.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # No result may depend on the order of sets. If one does by mistake, it does so in the same way each time.
        "PYTHONHASHSEED": "0",
        # An executor of local-cluster keeps its logs here, not where Spark is installed.
        "SPARK_WORKER_DIR": str(folder / "work"),
        # The workers on this machine also find a checkout that is not installed.
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        # A worker imports nothing from the working directory: a file there may have the name of a Python module.
        "PYTHONSAFEPATH": "1",
        # Ignore variables that belong to the session of another program.
        "PYSPARK_SUBMIT_ARGS": "",
        "SPARK_CONNECT_MODE": "0",
    }
    if master.on_this_machine or master.on_loopback:
        # Otherwise Spark looks up the machine's name before the session begins, and prints a warning.
        chosen["SPARK_LOCAL_IP"] = LOOPBACK
    if java_home is not None:
        chosen["JAVA_HOME"] = str(java_home)
    return chosen
