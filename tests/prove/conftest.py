"""The models that the tests of the prover run on: the documentation's examples, and others written in the tests."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from textwrap import dedent

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"

HEADER = """\
from __future__ import annotations
from enum import Enum
from typing import Self
from holdfast.lang import *
class Node(Sort): ...
class N(Nat): ...
class T(Nat): ...
class Mode(Enum):
    OK = 1
    TRAP = 2
    BAD = 3
"""

Compiled = Callable[[str], System]


@pytest.fixture
def compiled(tmp_path: Path) -> Compiled:
    """Compile a model from the body of its class; Node (a Sort), N (a Nat) and Mode (an Enum) are declared."""
    numbers = count()

    def compile_body(body: str) -> System:
        path = tmp_path / f"written{next(numbers)}.py"
        lines = "".join(f"    {line}" if line.strip() else line for line in dedent(body).splitlines(keepends=True))
        path.write_text(f"{HEADER}class Written(Model):\n{lines}", encoding="utf-8")
        return compile_model(load_model(str(path)))

    return compile_body


def example(name: str) -> System:
    """An example of the documentation."""
    return compile_model(load_model(str(EXAMPLES / f"{name}.py")))
