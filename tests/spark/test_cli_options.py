"""Options for where Spark runs: the arguments of spark-submit, and errors before anything starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.ir.errors import UsageError
from spark.cli.options import SparkSettings
from spark.cluster.settings import JAVA_OPTIONS, arguments, environment, read_master

SPARK = "spark://host:7077"


def told(folder: Path, **options: Any) -> list[str]:
    """The arguments of spark-submit."""
    chosen = SparkSettings(**options).options()
    return arguments(chosen, read_master(chosen.master), folder)


def values(words: list[str], name: str) -> list[str]:
    """The values of a setting in the arguments."""
    return [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]


def test_options_are_those_of_spark_submit(tmp_path: Path) -> None:
    """Options keep spark-submit's names, and stand after this command's own settings."""
    words = told(tmp_path, master=SPARK, executor_memory="4g", total_executor_cores=8, py_files="a.py,b.zip", name="n")
    assert words[-8:] == [
        *("--name", "n", "--executor-memory", "4g", "--total-executor-cores", "8", "--py-files", "a.py,b.zip")
    ]
    assert values(words, "spark.app.name") == []


def test_a_setting_of_the_user_wins(tmp_path: Path) -> None:
    """A user's setting replaces the one of this command. The user's Java options stand after the required ones."""
    words = told(tmp_path, conf=("spark.ui.enabled=true", f"{JAVA_OPTIONS}=-Dx=y", "spark.hadoop.a=b=c"))
    assert values(words, "spark.ui.enabled") == ["true"]
    assert values(words, "spark.hadoop.a") == ["b=c"]
    [java] = values(words, JAVA_OPTIONS)
    assert java.startswith("-Dlog4j2.configurationFile=file:")
    assert java.endswith(" -Dx=y")


def test_a_file_of_settings_wins_too(tmp_path: Path) -> None:
    """A setting in the user's file is not set again, except the master, which has an option."""
    file = tmp_path / "settings"
    file.write_text("# mine\nspark.ui.enabled   true\nspark.local.dir=/big\nspark.master yarn\n")
    words = told(tmp_path, properties_file=file)
    assert words[-2:] == ["--properties-file", str(file)]
    assert values(words, "spark.ui.enabled") == values(words, "spark.local.dir") == []
    assert len(values(words, "spark.master")) == 1


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[1,1,1024]"])
def test_what_runs_here_is_not_reached_from_elsewhere(master: str, tmp_path: Path) -> None:
    """A local session uses the loopback address. On a cluster Spark chooses one that executors reach."""
    assert values(told(tmp_path, master=master), "spark.driver.host") == ["127.0.0.1"]
    assert values(told(tmp_path, master=SPARK), "spark.driver.host") == []


def test_a_long_folder_has_no_sockets() -> None:
    """Sockets are put into a short path, since Spark fails if a long temporary folder exceeds their limit."""
    name = "spark.python.unix.domain.socket.enabled"
    assert values(told(Path("/x")), name) == ["true"]
    assert values(told(Path("/", "x" * 70)), name) == ["false"]


def test_python_is_the_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors run this Python, unless the user names another by the variable or by the setting."""
    plain = SparkSettings().options()
    named = SparkSettings(conf=("spark.pyspark.python=/opt/python",)).options()
    master = read_master("local")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert environment(plain, master, tmp_path, None)["PYSPARK_PYTHON"] == sys.executable
    monkeypatch.setenv("PYSPARK_PYTHON", "/mine")
    assert environment(plain, master, tmp_path, None)["PYSPARK_PYTHON"] == "/mine"
    assert environment(named, master, tmp_path, None)["PYSPARK_PYTHON"] == "/opt/python"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"conf": ("spark.ui.enabled",)}, "write KEY=VALUE"),
    ({"conf": ("password=hush",)}, "--conf is 'password'; write KEY=VALUE with a key of Spark"),
    ({"conf": ("spark.master=yarn",)}, "--conf sets spark.master; use --master"),
    ({"conf": ("spark.submit.deployMode=cluster",)}, "the driver is this command"),
    ({"deploy_mode": "cluster"}, "--deploy-mode is cluster: the driver is this command"),
    ({"num_executors": 3}, r"--num-executors is for a cluster, and --master is local\[\*\]"),
    ({"executor_memory": "4g", "master": "local[2]"}, "--executor-memory is for a cluster"),
    ({"executor_cores": 0, "master": SPARK}, "--executor-cores is 0; it is at least 1"),
    ({"driver_memory": "lots"}, "--driver-memory is 'lots'; write a size such as 512m or 2g"),
    ({"properties_file": Path("no/such")}, "--properties-file no/such: No such file"),
    ({"master": "here"}, "--master is 'here'"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_cannot_be_meant_is_one_line(options: dict[str, Any], message: str) -> None:
    """A wrong option is one line. No option is silently ignored, and no setting's value is repeated."""
    with pytest.raises(UsageError, match=message) as refused:
        SparkSettings(**options).options()
    assert "\n" not in str(refused.value)
    assert "hush" not in str(refused.value)
