"""The Java process that Spark lives in: started with its words in a file, and ended whatever happens."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import attrs
import psutil

from holdfast.ir.errors import HoldfastError

STARTING = 120
"""Seconds for the process to say where it listens; packages may have to be fetched before that."""

ENDING = 10
"""Seconds to end by itself before it is killed."""

_LINGERING = 1
"""Seconds that what it started may take longer."""

_TICK = 0.05
"""Seconds between two looks whether the process listens."""


class LostSparkError(HoldfastError):
    """Spark did not start, or ended before it had an answer (exit code 20)."""

    exit_code = 20


@attrs.frozen
class Jvm:
    """The process and the folder for its files: what it says goes to ``log``, where it listens to ``listens``."""

    process: subprocess.Popen[bytes]
    folder: Path

    @classmethod
    def launched(cls, submit: Path, arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> Jvm:
        """Let spark-submit start the process with these arguments, for the gateway of pyspark."""
        with _log(folder).open("wb") as log:
            process = subprocess.Popen(
                [str(submit), *arguments, "pyspark-shell"],
                env={**environment, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(_listens(folder))},
                # The process ends when this pipe closes, however this process ends.
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A Ctrl-C of the terminal is for this process alone, which then ends that one.
                start_new_session=True,
            )
        return cls(process, folder)

    def listens(self) -> tuple[int, str]:
        """The port and the secret; raises LostSparkError if the process has none in time."""
        path = _listens(self.folder)
        for _ in range(int(STARTING / _TICK)):
            if path.is_file():
                data = path.read_bytes()
                port, length = struct.unpack_from(">ii", data)
                return port, data[8 : 8 + length].decode("ascii")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_TICK)
                break
        code = self.process.poll()
        ended = f"Java took longer than {STARTING} s" if code is None else f"Java ended with {code}"
        raise LostSparkError(f"Spark did not start: {self.said() or ended}")

    def ended(self, within: float = 0) -> str | None:
        """How the process ended, in words; None if it still runs after so many seconds."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(within)
        code = self.process.poll()
        if code is None:
            return None
        return f"its Java process was killed by signal {-code}" if code < 0 else f"its Java process ended with {code}"

    def said(self) -> str:
        """The line of what it said that tells most about an error; empty if none does."""
        return telling_line(_log(self.folder).read_text(encoding="utf-8", errors="backslashreplace"))

    def end(self, seconds: float = ENDING) -> None:
        """End the process and all that it started; nothing is left when this returns."""
        assert self.process.stdin is not None
        try:
            with suppress(OSError):
                self.process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        finally:
            self.process.kill()
            self.process.wait()
            self._end_rest()

    def _end_rest(self) -> None:
        """End what the process has started: it ends by itself, unless it is in the midst of something."""
        rest = [process for process in psutil.process_iter() if _session_of(process.pid) == self.process.pid]
        try:
            _, rest = psutil.wait_procs(rest, timeout=_LINGERING)
        finally:
            for process in rest:
                with suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs(rest, timeout=_LINGERING)


def _session_of(process: int) -> int | None:
    try:
        return os.getsid(process)
    except OSError:
        return None


def _log(folder: Path) -> Path:
    return folder / "spark.log"


def _listens(folder: Path) -> Path:
    return folder / "listens"


_TELLING = [
    re.compile(r'^Exception in thread "[^"]*" (?:[\w$]+\.)*(?P<what>.+)'),
    re.compile(r"^Error: (?!Could not create the Java|A fatal exception)(?P<what>.+)"),
    re.compile(r"^ERROR [\w$]+: (?P<what>.+)"),
    re.compile(r"^Caused by: (?:[\w$]+\.)*(?P<what>.+)"),
    re.compile(r"^(?!WARN|Using Spark|Setting default|To adjust|\s)(?P<what>.+)"),
]
"""What a line may look like that says why Spark failed, the most telling first."""


def telling_line(text: str) -> str:
    """The most telling line of a log, the first of equals; empty if there is none."""
    lines = text.splitlines()
    for pattern in _TELLING:
        for line in lines:
            found = pattern.match(line)
            if found is not None:
                return found["what"].strip()
    return ""
