"""Random runs of every model satisfy its properties."""

from __future__ import annotations

import pytest

from holdfast.ir.load import load_model, model_names
from holdfast.testing import run, state_machine


@pytest.mark.parametrize("name", model_names())
def test_every_run_keeps_the_properties(name: str) -> None:
    """None of a hundred runs of up to fifty steps violates a property."""
    run(state_machine(load_model(name), target=name))
