"""Random runs of every model keep its properties."""

from __future__ import annotations

import pytest

from holdfast.ir.load import load_model, model_names
from holdfast.testing import run, state_machine


@pytest.mark.parametrize("name", model_names())
def test_every_run_keeps_the_properties(name: str) -> None:
    """No run of a hundred, of up to fifty steps, violates anything."""
    run(state_machine(load_model(name), target=name))
