"""The text of random runs means the same to CPython as to machine code and to the interpreter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from holdfast.ir.system import System
from holdfast.lower.kernel import walks
from tests.check.test_walk_masks import COUNTERS, counts
from tests.check.walking import ENDS, GATES, LADDER, MANY_DOORS, REST, WalkPair, noted
from tests.kernel.plain import plain_build

Compiled = Callable[[str], System]

BODIES = {
    "ladder": LADDER,
    "ends": ENDS,
    "doors": MANY_DOORS,
    "gates": GATES.replace("GATE", "to != key"),
    "rest": REST,
    "counters": COUNTERS,
}


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function after whose call the kernels of random runs are run by Python."""
    return lambda: monkeypatch.setattr(walks, "build", plain_build)


# Only processes have priorities, and three of the models have some.
@pytest.mark.parametrize(
    ("body", "pct"), [*((body, None) for body in BODIES), ("ladder", 2), ("gates", 2), ("counters", 2)]
)
def test_python_makes_the_runs_of_the_interpreter(
    compiled: Compiled, python: Callable[[], None], body: str, pct: int | None
) -> None:
    """The counts over some runs are equal, with and without priorities."""
    system = compiled(BODIES[body])
    python()
    both = WalkPair.of(system, system.scopes["tiny"], 4, 20, pct)
    # The stream of random numbers wraps on purpose.
    with np.errstate(over="ignore"):
        assert noted(both.walks.runs(0, 8)) == noted(both.interpreted(8))


@pytest.mark.parametrize("body", ["ladder", "counters"])
def test_python_takes_the_samples_of_machine_code(compiled: Compiled, python: Callable[[], None], body: str) -> None:
    """The counts of a sample are equal: decisive rules, pairs of actions, and signatures of states."""
    system = compiled(BODIES[body])
    compiled_runs = WalkPair.of(system, system.scopes["tiny"], 4, 20, sampled=True).walks
    python()
    plain_runs = WalkPair.of(system, system.scopes["tiny"], 4, 20, sampled=True).walks
    with np.errstate(over="ignore"):
        assert counts(plain_runs.sample(0, 8)) == counts(compiled_runs.sample(0, 8))
