"""Random runs of generated models: each run of the kernel equals the interpreter's."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from holdfast.ir.errors import HoldfastError
from holdfast.ir.system import System
from tests.check.walking import WalkPair, noted
from tests.differential.comparing import configurations
from tests.differential.generate import models
from tests.differential.running import loaded

RUNS = 25


def agree(system: System, seed: int, pct: int | None) -> None:
    """Fail if a run differs; priorities are used if the actions have a sort for them."""
    both = WalkPair.of(system, system.scopes["tiny"], seed, 12, pct)
    for number in range(RUNS):
        tally = both.walker.tally()
        both.walker.machine.statistics.reset()
        both.walker.run(number, tally)
        tally.statistics.add(both.walker.machine.statistics)

        assert noted(both.walks.runs(number, number + 1)) == noted(tally)


def check(examples: int) -> None:
    """Compare N generated models, each with some variants chosen and some rules removed."""

    @given(source=models(), seed=st.integers(0, 2**64 - 1))
    @settings(max_examples=examples, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    def compare(source: str, seed: int) -> None:
        chance = random.Random(seed)
        # Some models have no initial state, and some no processes.
        with loaded(source) as model, suppress(HoldfastError):
            *_, system = configurations(model, chance)
            agree(system, seed, chance.choice((None, 2)))

    compare()


def test_some_generated_models_agree() -> None:
    """Steps, ends, cuts, rules, premises, witnesses and violations are the same in each run."""
    check(2)


@pytest.mark.slow
def test_many_generated_models_agree() -> None:
    """Each run is the same over many models; each model takes seconds to compile."""
    check(30)
