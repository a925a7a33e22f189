"""Runs Spin on takeover.pml, the benchmark's model in Promela, on one core."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from benchmarks import native
from benchmarks.clock import now
from benchmarks.programs import AbsentProgram, output
from benchmarks.scope_search import ScopeSearch
from holdfast.ir.system import Scope

SOURCE = Path(__file__).with_name("takeover.pml")
OPTIONS = ("-O3", "-march=native", "-w", "-DBFS", "-DSAFETY", "-DNOREDUCE")
"""Breadth first and without partial-order reduction, as the others search: then states, steps and depth are theirs."""

_DEPTH = re.compile(r"depth reached (\d+), errors: (\d+)")
_STATES = re.compile(r"^ *(\d+) states, stored", re.MULTILINE)
_STEPS = re.compile(r"^ *(\d+) transitions \(= stored\+matched\)", re.MULTILINE)
_ASSERTION = re.compile(r"^pan:\d+: (.+)", re.MULTILINE)
_UNFINISHED = "Search not completed"


def compiler() -> str:
    """The compiler for Spin's program. Raises AbsentProgram if there is none, or no Spin."""
    if shutil.which("spin") is None:
        raise AbsentProgram("there is no spin on PATH; install Spin, on Debian the package spin")
    return native.compilers()[0]


def explore(scope: Scope, *, source: Path = SOURCE) -> ScopeSearch:
    """Search the whole scope with Spin. Raises RuntimeError unless Spin reports that it found all states and no error.

    The seconds are those of Spin's verifier from its start to its end, without making and compiling it.
    """
    chosen = compiler()
    with tempfile.TemporaryDirectory(prefix="holdfast-spin-") as folder:
        shutil.copy(source, Path(folder, SOURCE.name))
        making = ["spin", f"-P{chosen} -E -x c", *native.definitions(scope), "-a", SOURCE.name]
        output(making, f"translate {SOURCE.name} in scope {scope.name}", folder=folder)
        compiling = [chosen, *OPTIONS, "pan.c", "-o", "pan"]
        output(compiling, f"compile Spin's program of scope {scope.name}", folder=folder)
        begun = now()
        # Option -E: no check for deadlocks, which Holdfast's model does not ask for either.
        said = output([str(Path(folder, "pan")), "-E"], f"search scope {scope.name}", folder=folder)
        return read(said, scope, now() - begun)


def read(said: str, scope: Scope, seconds: float) -> ScopeSearch:
    """The search that Spin's verifier reports. Raises RuntimeError if it has an error, or has not seen all states."""
    error = _ASSERTION.search(said)
    depth, states, steps = _DEPTH.search(said), _STATES.search(said), _STEPS.search(said)
    incomplete = error is not None or _UNFINISHED in said
    if incomplete or depth is None or states is None or steps is None or depth[2] != "0":
        raise RuntimeError(
            f"Spin did not finish in scope {scope.name}; it printed: {error[1] if error else 'no violation'}"
        )
    return ScopeSearch(int(states[1]), int(steps[1]), int(depth[1]), seconds)
