"""Measures exhaustive search on Spark: how its time grows with levels and states, from 1 to 26 million states.

A search on Spark pays for each level, because tasks have to start, and for each state. Measured is a search after the
first of a session: Spark has started, the kernel is compiled, and the workers are running.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import attrs

from benchmarks import engines
from benchmarks.clock import now
from benchmarks.scope_search import ScopeSearch
from holdfast.check.search.engine import search
from holdfast.ir.system import Scope, System
from spark.cluster.session import Cluster, start_cluster
from spark.cluster.settings import SparkOptions
from spark.search.engine import SparkSearch
from spark.search.files import Scratch

MOVES = {"two_words": (4,), "one_word": (4, 5)}
"""For each scope of the model: the budgets of moves to search it with."""
QUICK = {"one_word": (3,)}

A_LEVEL, A_STATE = 1.0, 5e-6
"""The goal: seconds for each level, plus seconds for each state."""


@attrs.frozen
class SearchComparison:
    """One search on Spark, and the kernel's search of the same states on the same number of cores."""

    name: str
    spark: ScopeSearch
    kernel: ScopeSearch

    @property
    def goal(self) -> float:
        """The goal for this search, in seconds."""
        return A_LEVEL * self.spark.depth + A_STATE * self.spark.distinct


def searched(cores: int, quick: bool) -> Iterator[tuple[float, SearchComparison]]:
    """Search each scope. Yields the seconds of Spark's start with each result."""
    model = engines.system()
    began = now()
    with start_cluster(SparkOptions(master=f"local[{cores}]")) as cluster:
        start = now() - began
        _explore(model, _scope(model, "one_word", 3), cluster)
        for name, budgets in (QUICK if quick else MOVES).items():
            for moves in budgets:
                scope = _scope(model, name, moves)
                # The first search of a scope compiles its kernel.
                kernel = min((_explore(model, scope, cores) for _ in range(2)), key=lambda found: found.seconds)
                yield start, SearchComparison(f"{name}, {moves} moves", _explore(model, scope, cluster), kernel)


def _scope(model: System, name: str, moves: int) -> Scope:
    scope = model.scopes[name]
    return attrs.evolve(scope, budgets={**scope.budgets, "move": moves})


def _explore(model: System, scope: Scope, on: Cluster | int) -> ScopeSearch:
    """Search without symmetry, on Spark or with the kernel on N cores."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        if isinstance(on, int):
            result = search(model, scope, symmetry=False, engine="kernel", cores=on)
        else:
            storage = Scratch(folder, str(Path(folder)))
            result = search(model, scope, symmetry=False, explorer=partial(SparkSearch, cluster=on, storage=storage))
    figures = result.figures
    return ScopeSearch(figures.distinct, figures.generated, figures.depth, result.timing.seconds)


def lines(start: float, found: SearchComparison, cores: int) -> Iterator[str]:
    """The figures in words, with the goal. Raises RuntimeError if Spark and the kernel disagree."""
    spark, kernel = found.spark, found.kernel
    if (spark.distinct, spark.depth) != (kernel.distinct, kernel.depth):
        raise RuntimeError(f"{found.name}: Spark and the kernel disagree on (states, depth)")
    yield f"search on Spark: {found.name}, {spark.distinct:,} states, depth {spark.depth}, on {cores} cores"
    yield (
        f"  after the start  {spark.seconds:,.1f} s (goal: {found.goal:,.1f} s); "
        f"{1e6 * spark.seconds / spark.distinct:.2f} µs a state, levels and all"
    )
    yield f"  the kernel       {kernel.seconds:,.1f} s; Spark started in {start:,.1f} s"
