"""The scopes for random runs: a run finds something to do in them, and the kernel takes their states."""

from __future__ import annotations

import pytest

from holdfast.check.walk.engine import plan_of
from holdfast.check.walk.options import WalkOptions
from holdfast.check.walk.walker import Walker
from holdfast.ir.load import names_in
from holdfast.ir.scopes import scope_of_runs
from holdfast.ir.variants import load_variant
from holdfast.lower.kernel.packing import MOST_RUN_WORDS, Packing
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.selection import select
from holdfast.runs.starts import initial_states
from tests.models.test_guards import MODELS

RUNS = 12

LEAST = {"wal": 80, "object_life": 60}
"""The average number of steps that runs have at least, if not 100. A slot of a WAL is written once, so it fills up.

An id of an object is given out once, so a run ends when there is none left.
"""


@pytest.mark.parametrize("model", names_in(MODELS))
def test_a_run_finds_something_to_do(model: str) -> None:
    """No run is without a step, runs have many steps on average, and no property is violated."""
    system = load_variant(model)
    scope = scope_of_runs(system, None)
    selection = select(system, None)
    machine = Interpreter(system, scope, ghosts=selection.ghosts, properties=selection.properties)
    options = WalkOptions(depth=scope.depth or 0)
    walker = Walker(machine, selection, plan_of(machine, options, initial_states(machine, selection)))
    runs = [walker.run(number) for number in range(RUNS)]

    assert scope.name == "deep"
    assert Packing(machine.layout, MOST_RUN_WORDS).words > 1
    assert all(run.edges and run.violation is None for run in runs)
    assert sum(len(run.edges) for run in runs) >= LEAST.get(model, 100) * RUNS
