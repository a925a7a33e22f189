"""Where Spark runs, as options of a command: those of spark-submit that mean something where it is the driver."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import attrs
from cyclopts import Parameter

from holdfast.ir.errors import UsageError
from spark.cluster.settings import SparkOptions, read_master, read_setting

_SIZE = re.compile(r"\d+[kmgtp]?b?", re.IGNORECASE)

_PROPERTY = re.compile(r"^\s*(?P<name>spark\.[^\s=:]+)", re.MULTILINE)


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class SparkSettings:
    """Where Spark runs; but for the first, the options are those of spark-submit.

    Parameters
    ----------
    master
        The master of Spark (local[*]): local[2], spark://HOST:PORT, yarn, k8s://URL.
    conf
        A setting of Spark, KEY=VALUE. May be repeated.
    properties_file
        A file of settings of Spark.
    name
        The name that the cluster shows.
    driver_memory
        Memory of this machine's Java, such as 2g.
    executor_memory
        Memory of an executor's Java, such as 4g; its Python comes on top.
    executor_cores
        Cores of an executor.
    num_executors
        How many executors there are, on YARN and Kubernetes.
    total_executor_cores
        Cores of all executors together, on a standalone cluster.
    queue
        The queue of YARN.
    py_files
        Files of Python for executors: .py, .zip or .egg, separated by commas.
    archives
        Archives that executors unpack, separated by commas; one may be an environment of Python.
    packages
        Packages of Maven, separated by commas.
    deploy_mode
        The driver is this command, so that there is one only: client.
    """

    master: str = "local[*]"
    conf: Annotated[tuple[str, ...], Parameter(negative="", consume_multiple=False)] = ()
    properties_file: Path | None = None
    name: str | None = None
    driver_memory: str | None = None
    executor_memory: str | None = None
    executor_cores: int | None = None
    num_executors: int | None = None
    total_executor_cores: int | None = None
    queue: str | None = None
    py_files: str | None = None
    archives: str | None = None
    packages: str | None = None
    deploy_mode: str = "client"

    def options(self) -> SparkOptions:
        """As the session wants them; raises UsageError for what contradicts itself or cannot be meant."""
        self._check()
        words = {
            "--properties-file": self.properties_file,
            "--name": self.name,
            "--driver-memory": self.driver_memory,
            "--executor-memory": self.executor_memory,
            "--executor-cores": self.executor_cores,
            "--num-executors": self.num_executors,
            "--total-executor-cores": self.total_executor_cores,
            "--queue": self.queue,
            "--py-files": self.py_files,
            "--archives": self.archives,
            "--packages": self.packages,
        }
        given = {option: str(value) for option, value in words.items() if value is not None}
        kept = _PROPERTY.findall(self._properties()) if self.properties_file else []
        return SparkOptions(
            master=self.master,
            conf=tuple(read_setting(text) for text in self.conf),
            submit=tuple(word for pair in given.items() for word in pair),
            kept=frozenset([*kept, *(["spark.app.name"] if self.name else [])]) - {"spark.master"},
        )

    def _check(self) -> None:
        master = read_master(self.master)
        if self.deploy_mode != "client":
            raise UsageError(
                f"--deploy-mode is {self.deploy_mode}: the driver is this command, so it can only be client"
            )
        of_clusters = {
            "--executor-memory": self.executor_memory,
            "--executor-cores": self.executor_cores,
            "--num-executors": self.num_executors,
            "--total-executor-cores": self.total_executor_cores,
            "--queue": self.queue,
        }
        for option, value in of_clusters.items():
            if value is not None and master.local:
                raise UsageError(
                    f"{option} is for a cluster, and --master is {self.master}: the cores stand there, as in local[2], "
                    "and --driver-memory is the memory"
                )
            if isinstance(value, int) and value < 1:
                raise UsageError(f"{option} is {value}; it is at least 1")
        for option, size in (("--driver-memory", self.driver_memory), ("--executor-memory", self.executor_memory)):
            if size is not None and _SIZE.fullmatch(size) is None:
                raise UsageError(f"{option} is {size!r}; write a size such as 512m or 2g")
        for text in self.conf:
            read_setting(text)

    def _properties(self) -> str:
        assert self.properties_file is not None
        try:
            return self.properties_file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(
                f"--properties-file {self.properties_file}: {error.strerror}; name a file that is there"
            ) from error


NO_SETTINGS = SparkSettings()
