"""The Java process of Spark. Its output goes to a file, and it ends with this process in every case."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import attrs

from holdfast.ir.errors import HoldfastError
from spark.cluster.processes import end_session

STARTING = 120
"""The longest time in seconds until the process listens on a port; it may have to fetch packages before that."""

ENDING = 10
"""Seconds that the process may take to end before it is killed."""

_LINGERING = 1
"""Further seconds for processes that it has started."""

_TICK = 0.05
"""Seconds between two checks whether the process listens."""


AGAIN = "mend that, and start the command again"
"""The remedy after a failure of Spark, whose own words say what is to be mended."""


class LostSparkError(HoldfastError):
    """Spark did not start, or ended before it had an answer (exit code 20)."""

    exit_code = 20


@attrs.frozen
class Jvm:
    """The process, and the folder of its files: ``spark.log`` for its output, ``listens`` for its port and secret."""

    process: subprocess.Popen[bytes]
    folder: Path

    @classmethod
    def launched(cls, submit: Path, arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> Jvm:
        """Start the process through spark-submit, as a gateway for pyspark."""
        with _log(folder).open("wb") as log:
            process = subprocess.Popen(
                [str(submit), *arguments, "pyspark-shell"],
                env={**environment, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(_listens(folder))},
                # The Java process ends when this pipe closes, and the pipe closes however this process ends.
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A new session: Ctrl-C in the terminal reaches only this process, which then ends the Java process.
                start_new_session=True,
            )
        return cls(process, folder)

    def listens(self) -> tuple[int, str]:
        """Wait until the process listens. Returns its port and secret; raises LostSparkError if that fails."""
        path = _listens(self.folder)
        for _ in range(int(STARTING / _TICK)):
            if path.is_file():
                data = path.read_bytes()
                # The format of pyspark: port and length of the secret as big-endian 32-bit integers, then the secret.
                port, length = struct.unpack_from(">ii", data)
                return port, data[8 : 8 + length].decode("ascii")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_TICK)
                break
        code = self.process.poll()
        ended = f"Java took longer than {STARTING} s" if code is None else f"Java ended with {code}"
        raise LostSparkError(f"Spark did not start: {self.said() or ended}; {AGAIN}")

    def ended(self, within: float = 0) -> str | None:
        """How the process ended, in words; None if it still runs after ``within`` seconds."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(within)
        code = self.process.poll()
        if code is None:
            return None
        return f"its Java process was killed by signal {-code}" if code < 0 else f"its Java process ended with {code}"

    def said(self) -> str:
        """The most telling line of the process's output; empty if there is none."""
        return telling_line(_log(self.folder).read_text(encoding="utf-8", errors="backslashreplace"))

    def end(self, seconds: float = ENDING) -> None:
        """End the process and all processes that it started. None is left when this returns."""
        assert self.process.stdin is not None
        try:
            with suppress(OSError):
                self.process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        finally:
            self.process.kill()
            self.process.wait()
            # ``launched`` has made the process the leader of a session.
            end_session(self.process.pid, _LINGERING)


def _log(folder: Path) -> Path:
    return folder / "spark.log"


def _listens(folder: Path) -> Path:
    return folder / "listens"


_TELLING = [
    re.compile(r'^Exception in thread "[^"]*" (?:[\w$]+\.)*(?P<what>.+)'),
    re.compile(r"^Error: (?!Could not create the Java|A fatal exception)(?P<what>.+)"),
    re.compile(r"^ERROR [\w$]+: (?P<what>.+)"),
    re.compile(r"^Caused by: (?:[\w$]+\.)*(?P<what>.+)"),
    re.compile(r"^(?!WARN|INFO|Using Spark|Setting default|To adjust|\s)(?P<what>.+)"),
]
"""Patterns of lines that say why Spark failed, the most telling pattern first."""


def telling_line(text: str) -> str:
    """The most telling line of a log (the first of equally telling ones); empty if there is none."""
    lines = text.splitlines()
    for pattern in _TELLING:
        for line in lines:
            found = pattern.match(line)
            if found is not None:
                return found["what"].strip()
    return ""
