"""Compiles and runs takeover.c, the benchmark's model written by hand in C: the limit for a search on one core."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.programs import AbsentProgram, output
from benchmarks.scope_search import ScopeSearch
from holdfast.ir.system import Scope

SOURCE = Path(__file__).with_name("takeover.c")
COMPILERS = ("gcc", "clang")
OPTIONS = ("-std=gnu11", "-O3", "-march=native")


def compilers() -> tuple[str, ...]:
    """The C compilers on PATH. Raises AbsentProgram if there is none."""
    found = tuple(name for name in COMPILERS if shutil.which(name) is not None)
    if not found:
        raise AbsentProgram(f"there is no C compiler on PATH ({' or '.join(COMPILERS)}); install gcc")
    return found


def explore(scope: Scope, compiler: str, *, source: Path = SOURCE) -> ScopeSearch:
    """Search the whole scope with the compiled program, which measures its own seconds.

    Raises RuntimeError, with the first line of the program or the compiler, if the source does not compile or the
    search finds a violation.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-native-") as folder:
        program = str(Path(folder, "takeover"))
        command = [compiler, *OPTIONS, *definitions(scope), str(source), "-o", program]
        output(command, f"compile {SOURCE.name} in scope {scope.name}")
        distinct, generated, depth, seconds = output([program], f"search scope {scope.name}").split()
    return ScopeSearch(int(distinct), int(generated), int(depth), float(seconds))


def definitions(scope: Scope) -> list[str]:
    """The options of a preprocessor that give the scope to the source."""
    sizes = {"NODES": scope.sizes["Node"], "STREAMS": scope.sizes["Stream"], "EPOCH": scope.sizes["Epoch"]}
    return [f"-D{name}={value}" for name, value in (sizes | {"MOVES": scope.budgets["move"]}).items()]
