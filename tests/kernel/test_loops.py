"""Loops in machine code: those of few turns are written out, and LLVM is asked for no more than it can do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.lower.kernel.llvm.module import translate
from tests.kernel.compiled import machine, python

ROOT = Path(__file__).parents[2]


def test_the_compiler_says_nothing(tmp_path: Path) -> None:
    """LLVM itself prints a warning if it cannot do what the text asks for, and the user would see it."""
    words = ["walk", "ownership", "--runs", "1000000", "--budget", "1s", "--engine", "kernel"]
    environment = os.environ | {"HOLDFAST_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "holdfast", *words]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 20
    assert "warning" not in ran.stderr


NESTED = """
@jit
def body(x):
    return (x * 3 + 1) & 65535

@entry
def main(x, y):
    found = x
{loops}    return found
"""
"""A text with a place for loops."""


def _nested(*turns: str) -> str:
    lines = [f"{'    ' * (place + 1)}for i{place} in range({count}):\n" for place, count in enumerate(turns)]
    return NESTED.format(loops="".join([*lines, "    " * (len(turns) + 1) + "found = body(found) ^ i0\n"]))


@pytest.mark.parametrize(
    ("turns", "written_out"),
    [(("2",), 1), (("3", "4"), 2), (("1",), 0), (("y",), 0), (("9", "y"), 1), (("900",), 0), (("30", "40"), 1)],
)
def test_loops_of_few_turns_are_written_out(turns: tuple[str, ...], written_out: int) -> None:
    """LLVM is told to write a loop out if its turns are known and few, those of the loops inside counted."""
    text = _nested(*turns)
    marked = translate(text).llvm
    assert len(set(re.findall(r"!llvm\.loop (!\d+)", marked))) == written_out == marked.count(" = distinct !{")
    compiled = machine(text)
    for x, y in ((0, 0), (-7, 3), (1 << 40, 2)):
        assert compiled.main(x, y) == python(text)(x, y)
