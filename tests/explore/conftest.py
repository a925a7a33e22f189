"""The counterexample that the explorer is tried on, as a file and as a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.check.search.engine import search
from holdfast.cli.explore import open_session
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.runs.explorer.session import Session
from holdfast.trace.itf import write_itf


@pytest.fixture(scope="session")
def counterexample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run on which two processes may ack to one stream, since ownership lacks ST-14."""
    system = remove_rules(compile_model(load_model("ownership")), ["ST-14"])
    (trace,) = search(system, system.scopes["tiny"], target="ownership").findings
    path = tmp_path_factory.mktemp("explore") / "split.itf.json"
    write_itf(trace, path)
    return path


@pytest.fixture
def session(counterexample: Path) -> Session:
    """The counterexample, opened from its file."""
    found, note = open_session(str(counterexample))
    assert note is None
    return found
