"""The options that say where Spark runs: those of spark-submit that apply if this command is the driver."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import attrs
from cyclopts import Parameter

from holdfast.ir.errors import UsageError
from holdfast.ir.input_file import open_input
from spark.cluster.settings import SparkOptions, read_master, read_setting

_SIZE = re.compile(r"\d+[kmgtp]?b?", re.IGNORECASE)

_PROPERTY = re.compile(r"^\s*(?P<name>spark\.[^\s=:]+)", re.MULTILINE)


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class SparkSettings:
    """Where Spark runs. All options but --master work as those of spark-submit.

    Parameters
    ----------
    master
        The Spark master (local[*]): local[2], spark://HOST:PORT, yarn, k8s://URL.
    conf
        A Spark setting, KEY=VALUE. May be repeated.
    properties_file
        A file of Spark settings.
    name
        The name of the application, which the cluster shows.
    driver_memory
        Memory of the Java process on this machine, such as 2g.
    executor_memory
        Memory of an executor's Java process, such as 4g; its Python processes come on top.
    executor_cores
        Cores of an executor.
    num_executors
        How many executors there are, on YARN and Kubernetes.
    total_executor_cores
        Cores of all executors together, on a standalone cluster.
    queue
        The queue of YARN.
    py_files
        Python files for executors: .py, .zip or .egg, separated by commas.
    archives
        Archives that executors unpack, separated by commas; one may be a Python environment.
    packages
        Maven packages, separated by commas.
    deploy_mode
        Only client is possible, because this command is the driver.
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
        """The options in the form that ``start_cluster`` takes.

        Raises UsageError for values out of range, and for options that contradict each other.
        """
        self._check()
        words = {
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
        # Settings from a file and --name must win over this package's defaults, which stand behind them in one file and
        # would override them. --master is an option of this command, so a master in the file is ignored.
        properties = self._properties() if self.properties_file else None
        kept = _PROPERTY.findall(properties or "")
        return SparkOptions(
            master=self.master,
            conf=tuple(read_setting(text) for text in self.conf),
            properties=properties,
            submit=tuple(word for pair in given.items() for word in pair),
            kept=frozenset([*kept, *(["spark.app.name"] if self.name else [])]) - {"spark.master"},
        )

    def _check(self) -> None:
        master = read_master(self.master)
        if self.deploy_mode != "client":
            raise UsageError(
                f"--deploy-mode is {self.deploy_mode}, and the driver is this command; write client, or leave it out"
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
                    f"{option} is for a cluster, and --master is {self.master}; give the cores there, as in local[2], "
                    "and the memory with --driver-memory"
                )
            if isinstance(value, int) and value < 1:
                raise UsageError(f"{option} is {value}; give at least 1")
        for option, size in (("--driver-memory", self.driver_memory), ("--executor-memory", self.executor_memory)):
            if size is not None and _SIZE.fullmatch(size) is None:
                raise UsageError(f"{option} is {size!r}; write a size such as 512m or 2g")
        for text in self.conf:
            read_setting(text)

    def _properties(self) -> str:
        assert self.properties_file is not None
        try:
            with open_input(self.properties_file) as file:
                return file.read().decode(errors="replace")
        except OSError as error:
            raise UsageError(
                f"--properties-file {self.properties_file}: {error.strerror}; name a file that is there"
            ) from error


NO_SETTINGS = SparkSettings()
