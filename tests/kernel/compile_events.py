"""Run a search in a process of its own, and print its figures and the number of kernels that it compiled.

Run as a script: the file of a model, and its scope.
"""

from __future__ import annotations

import sys

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.lower.kernel.build import compiled_here


def main(model: str, scope: str) -> None:
    """Search, and print one line."""
    system = compile_model(load_model(model))
    result = search(system, system.scopes[scope], engine="kernel", cores=2, keep_going=True)
    print(result.verdict, result.figures.distinct, result.figures.generated, len(compiled_here))  # noqa: T201 - for the test


if __name__ == "__main__":
    main(*sys.argv[1:])
