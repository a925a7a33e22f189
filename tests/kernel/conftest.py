"""The models that the kernel tests run on, and a fixture with which Python runs the kernels."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from tests.kernel.plain import use_python

TESTS = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a model adds its folder to the import path; each test begins with the original path."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels run in Python here, which needs no compile time."""
    use_python(monkeypatch)


@pytest.fixture(scope="session")
def streams() -> System:
    """A small stream table."""
    return compile_model(load_model(str(TESTS / "lower" / "models" / "streams.py")))


@pytest.fixture(scope="session")
def gauges() -> System:
    """A model that uses every construct of the language."""
    return compile_model(load_model(str(TESTS / "lower" / "models" / "gauges.py")))


@pytest.fixture(scope="session")
def locks() -> System:
    """A lock service: some hundred states, and a symmetry of four."""
    return compile_model(load_model(str(TESTS / "differential" / "lock_service.py")))
