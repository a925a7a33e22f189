"""Run a search in a process of its own, and print its figures and the number of functions that Numba compiled.

Run as a script: the file of a model, and its scope.
"""

from __future__ import annotations

import sys

from numba.core import event

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model


def main(model: str, scope: str) -> None:
    """Search, and print one line."""
    system = compile_model(load_model(model))
    with event.install_recorder("numba:compile") as recorder:
        result = search(system, system.scopes[scope], engine="kernel", cores=2, keep_going=True)
    compiled = sum(found.is_start for _, found in recorder.buffer)
    print(result.verdict, result.figures.distinct, result.figures.generated, compiled)  # noqa: T201 - for the test


if __name__ == "__main__":
    main(*sys.argv[1:])
