"""Random runs of every model satisfy its properties."""

from __future__ import annotations

import pytest
from hypothesis import settings

from holdfast.ir.load import load_model, model_names
from holdfast.testing import run, state_machine


@pytest.mark.parametrize("name", model_names())
def test_every_run_keeps_the_properties(name: str) -> None:
    """None of thirty runs of up to fifty steps violates a property."""
    keep_the_properties(name, 30)


@pytest.mark.slow
@pytest.mark.parametrize("name", model_names())
def test_many_runs_keep_the_properties(name: str) -> None:
    """None of fifty runs does, either."""
    keep_the_properties(name, 50)


def keep_the_properties(name: str, runs: int) -> None:
    """Make runs of a model. Raises ViolatedError for a violated property."""
    machine = state_machine(load_model(name), target=name)
    machine.TestCase.settings = settings(machine.TestCase.settings, max_examples=runs)
    run(machine)
