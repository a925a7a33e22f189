"""The models that the search tests run on: one in a file of its own, others written in the tests."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from textwrap import dedent

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System

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
