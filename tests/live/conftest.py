"""The models of these tests: one in a file of its own, others written in the tests."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from textwrap import dedent, indent

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from tests.live.asking import LEASE

HEADER = """\
from __future__ import annotations
from holdfast.lang import *
class Node(Sort): ...
class N(Nat): ...
class Written(Model):
"""

Compiled = Callable[[str], System]


@pytest.fixture(scope="session")
def lease() -> System:
    """Files that clients lease, and leases that expire."""
    return compile_model(load_model(str(LEASE)))


@pytest.fixture
def compiled(tmp_path: Path) -> Compiled:
    """Compiles a model from the body of its class; Node (a Sort) and N (a Nat) are declared."""
    numbers = count()

    def compile_body(body: str) -> System:
        path = tmp_path / f"written{next(numbers)}.py"
        path.write_text(HEADER + indent(dedent(body), "    "), encoding="utf-8")
        return compile_model(load_model(str(path)))

    return compile_body
