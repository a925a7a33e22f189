"""Runs for the tests: of the stream table that the tests of the search use, and of a model with every type."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.trace.trace import Trace

MODELS = Path(__file__).parents[1] / "check" / "models"


def only_run(system: System, *without: str) -> Trace:
    """The run to the first violation in the tiny scope."""
    (trace,) = search(remove_rules(system, without), system.scopes["tiny"], target=system.name.lower()).findings
    return trace


@pytest.fixture(scope="session")
def handover() -> Trace:
    """The run on which two processes hold one stream."""
    return only_run(compile_model(load_model(str(MODELS / "table.py"))), "ST-14")


@pytest.fixture(scope="session")
def sampler() -> Trace:
    """A run whose states have values of every type."""
    return only_run(compile_model(load_model(str(MODELS / "sampler.py"))))


@pytest.fixture(scope="session")
def repeated() -> Trace:
    """A run that shows that an action is not idempotent."""
    system = compile_model(load_model(str(MODELS / "sampler.py")))
    (trace,) = search(system, system.scopes["tiny"], properties=["INV-16"]).findings
    return trace
