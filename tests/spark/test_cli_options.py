"""Options for where Spark runs: the arguments of spark-submit, and errors before anything starts."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.ir.errors import UsageError
from spark.cli.options import SparkSettings
from spark.cluster.settings import JAVA_OPTIONS, arguments, environment, read_master, settings_file

SPARK = "spark://host:7077"

LINE = re.compile(r"((?:[^\\\s=:]|\\.)+)\s*[=: ]\s*((?:[^\\]|\\.)*)")
"""A line of a file of Java properties: a name, a sign, a value."""

ESCAPE = re.compile(r"\\(.)")
CODES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


def words(**options: Any) -> list[str]:
    """The arguments of spark-submit behind the file of settings and its option."""
    named, file, *more = arguments(SparkSettings(**options).options(), Path("/settings"))
    assert (named, file) == ("--properties-file", "/settings")
    return more


def told(folder: Path, **options: Any) -> dict[str, list[str]]:
    """The file of settings: by setting, its values in the order of their lines, as Java reads them."""
    chosen = SparkSettings(**options).options()
    found: dict[str, list[str]] = {}
    for line in settings_file(chosen, read_master(chosen.master), folder).splitlines():
        matched = LINE.fullmatch(line)
        if matched is not None and not line.startswith("#"):
            name, value = (ESCAPE.sub(lambda each: CODES.get(each[1], each[1]), part) for part in matched.groups())
            found.setdefault(name, []).append(value)
    return found


def test_options_are_those_of_spark_submit(tmp_path: Path) -> None:
    """Options keep spark-submit's names, and this command sets no setting that they mean."""
    options = {"executor_memory": "4g", "total_executor_cores": 8, "py_files": "a.py,b.zip", "name": "n"}
    assert words(master=SPARK, **options) == [
        "--load-spark-defaults",
        *("--name", "n", "--executor-memory", "4g", "--total-executor-cores", "8", "--py-files", "a.py,b.zip"),
    ]
    assert "spark.app.name" not in told(tmp_path, master=SPARK, **options)


def test_a_setting_of_the_user_wins(tmp_path: Path) -> None:
    """A user's setting replaces the one of this command. The user's Java options stand after the required ones."""
    found = told(tmp_path, conf=("spark.ui.enabled=true", f"{JAVA_OPTIONS}=-Dx=y", "spark.hadoop.a=b=c"))
    assert found["spark.ui.enabled"] == ["true"]
    assert found["spark.hadoop.a"] == ["b=c"]
    [java] = found[JAVA_OPTIONS]
    assert java.startswith("-Dlog4j2.configurationFile=file:")
    assert java.endswith(" -Dx=y")


def test_a_file_of_settings_wins_too(tmp_path: Path) -> None:
    """A setting in the user's file is not set again, except the master, which has an option and stands last."""
    file = tmp_path / "settings"
    file.write_text("# mine\nspark.ui.enabled   true\nspark.local.dir=/big\nspark.master yarn\nspark.a b\\")
    found = told(tmp_path, properties_file=file)
    assert words(properties_file=file) == []
    assert found["spark.ui.enabled"] == ["true"]
    assert found["spark.local.dir"] == ["/big"]
    assert found["spark.master"][-1].startswith("local[")


@pytest.mark.parametrize("value", ["hush", " a=b:c # ! ", "back\\slash", "two\nlines\tand\rmore", "ü 漢", "", "a\\"])
def test_a_secret_is_in_no_command_line(value: str, tmp_path: Path) -> None:
    """A value given with --conf stands in the file alone, and Java reads it there as it was given."""
    conf = (f"spark.hadoop.secret={value}",)
    assert words(conf=conf) == ["--load-spark-defaults"]
    assert told(tmp_path, conf=conf)["spark.hadoop.secret"] == [value]


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[1,1,1024]"])
def test_what_runs_here_is_not_reached_from_elsewhere(master: str, tmp_path: Path) -> None:
    """A local session uses the loopback address. On a cluster Spark chooses one that executors reach."""
    assert told(tmp_path, master=master)["spark.driver.host"] == ["127.0.0.1"]
    assert "spark.driver.host" not in told(tmp_path, master=SPARK)


def test_a_long_folder_has_no_sockets() -> None:
    """Sockets are put into a short path, since Spark fails if a long temporary folder exceeds their limit."""
    name = "spark.python.unix.domain.socket.enabled"
    assert told(Path("/x"))[name] == ["true"]
    assert told(Path("/", "x" * 70))[name] == ["false"]


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
    ({"deploy_mode": "cluster"}, "--deploy-mode is cluster, and the driver is this command; write client"),
    ({"num_executors": 3}, r"--num-executors is for a cluster, and --master is local\[\*\]"),
    ({"executor_memory": "4g", "master": "local[2]"}, "--executor-memory is for a cluster"),
    ({"executor_cores": 0, "master": SPARK}, "--executor-cores is 0; give at least 1"),
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
