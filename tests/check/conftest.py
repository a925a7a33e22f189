"""The models that the search tests run on, one in a file of its own, others written in the tests; and a session."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from textwrap import dedent

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.runs.explorer.session import Session
from holdfast.runs.replay import Replayer, StoppedScript
from holdfast.trace.trace import Trace

TABLE = Path(__file__).parent / "models" / "table.py"

HEADER = """\
from __future__ import annotations
from enum import Enum
from typing import Self
from holdfast.lang import *
class Node(Sort): ...
class N(Nat): ...
"""

Compiled = Callable[[str], System]


@pytest.fixture(scope="session")
def table() -> System:
    """A small stream table."""
    return compile_model(load_model(str(TABLE)))


@pytest.fixture(scope="module")
def broken(table: System) -> System:
    """The table without the rule that an open needs a closed stream."""
    return remove_rules(table, ["ST-14"])


@pytest.fixture(scope="module")
def counterexample(broken: System) -> Trace:
    """The run on which two processes hold one stream: open(p1, s1, 1), open(p2, s1, 2)."""
    replayer = Replayer(broken, broken.scopes["tiny"], all_ghosts=True)
    found = search(broken, broken.scopes["tiny"], properties=["one_handle"]).findings[0]
    trace = replayer.trace(replayer.script(found), "one_handle")
    assert not isinstance(trace, StoppedScript)
    return trace


@pytest.fixture
def session(broken: System, counterexample: Trace) -> Session:
    """A session on the counterexample."""
    return Session(counterexample, Replayer(broken, broken.scopes["tiny"], all_ghosts=True))


@pytest.fixture
def compiled(tmp_path: Path) -> Compiled:
    """Compiles a model from the body of its class; Node (a Sort) and N (a Nat) are declared."""
    numbers = count()

    def compile_body(body: str) -> System:
        path = tmp_path / f"written{next(numbers)}.py"
        path.write_text(f"{HEADER}class Written(Model):\n{_indented(body)}", encoding="utf-8")
        return compile_model(load_model(str(path)))

    return compile_body


def _indented(body: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in dedent(body).splitlines(keepends=True))
