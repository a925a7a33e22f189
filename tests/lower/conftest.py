"""The models that the tests of the lowerings run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System

MODELS = Path(__file__).parent / "models"


@pytest.fixture(scope="session")
def streams() -> System:
    """A small stream table."""
    return compile_model(load_model(str(MODELS / "streams.py")))


@pytest.fixture(scope="session")
def quorums() -> System:
    """A model whose parameters are whole maps."""
    return compile_model(load_model(str(MODELS / "quorums.py")))


@pytest.fixture(scope="session")
def gauges() -> System:
    """A model that uses every part of the language."""
    return compile_model(load_model(str(MODELS / "gauges.py")))
