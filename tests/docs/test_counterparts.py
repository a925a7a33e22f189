"""The counterparts of TLA+ compile: each piece of code in the tables of the page is one of the language."""

from __future__ import annotations

import ast
import keyword
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from holdfast import lang
from holdfast.ir.compile.sequences import WRITES
from tests.docs.counterparts import PAGE, pieces, python_file
from tests.docs.fragments import Compiler

COMMAND = re.compile(r"holdfast \w+( --[a-z-]+)*")
DECORATOR = re.compile(r"@(\w+)(\(.*\))?")
STUBS = {
    "action": "(self, n: Node) -> None: self.up[n] = True",
    "init": "(self) -> None: self.phase = Phase.IDLE",
    "step": "(self, old: Self) -> bool: return self.phase == old.phase",
    "leads_to": "(self) -> tuple[bool, bool]: return self.phase == Phase.IDLE, self.phase == Phase.DONE",
}
"""What stands below a decorator; below any other one stands ``CONDITION``."""

CONDITION = "(self) -> bool: return len(Node) > 0"
NAMED = {"next", "previous", "starts_with", "add", "remove"}
"""What the values of a ring, the sequences and the bags have."""

CALLS = ("require(", "self.up.fill(", "self.epoch.fill(", *(f"self.waiting.{name}(" for name in WRITES))
"""How the pieces begin that are statements; other expressions are the value of a local variable."""


def problem(piece: str, model: str, compiler: Compiler) -> str:
    """Why a piece of code is not of the language; empty if it is."""
    if COMMAND.fullmatch(piece) or piece in NAMED:
        return ""
    if piece.isidentifier():
        known = keyword.iskeyword(piece) or piece in ("match", "min", "max") or hasattr(lang, piece)
        return "" if known else "no such name"
    code = f"{piece}\n"
    if found := DECORATOR.fullmatch(piece):
        code = f"{piece}\ndef fragment{STUBS.get(found[1], CONDITION)}\n"
    elif piece.endswith(".choose()"):
        code = f"@init\ndef fragment(self) -> None:\n    {code}"
    elif "old." in piece:
        code = f"@step\ndef fragment(self, old: Self) -> bool:\n    return {code}"
    elif isinstance(ast.parse(code).body[0], ast.Expr) and not piece.startswith(CALLS):
        code = f"value = {code}"
    compiler.model = model
    answer = compiler.message(code)
    return "" if answer.startswith("nothing;") else answer


@pytest.fixture
def model() -> str:
    """The model of the page to which the tables belong, with every name of the language."""
    text = python_file(PAGE.read_text(), "journal.py")
    return text.replace("from enum import Enum\n", "from enum import Enum\nfrom typing import Self\n").replace(
        "from holdfast.lang import ", "from holdfast.lang import *\nfrom holdfast.lang import "
    )


def test_every_counterpart_compiles(model: str, tmp_path: Path) -> None:
    """Each piece in the second column of a table compiles within the page's model."""
    compiler = Compiler(tmp_path)
    found = list(pieces(PAGE.read_text(), 1))
    assert len(found) > 80
    assert {piece: why for piece in found if (why := problem(piece, model, compiler))} == {}


@pytest.mark.parametrize(
    ("piece", "why"),
    [
        ("self.up = {n}", "up is a map"),
        ("self.down[n]", "no field down"),
        ("line: list[Node]", "a cell holds no sequence"),
        ("all(self.epoch[x] >= old.up[x] for x in Stream)", "up"),
        ("@forever", "forever"),
        ('@action(fair="weak", per=("x",))', "no parameter"),
        ("Tree", "no such name"),
    ],
)
def test_a_wrong_counterpart_is_found(model: str, tmp_path: Path, piece: str, why: str) -> None:
    """A piece that the compiler refuses, and a name that the language lacks, are problems."""
    assert why in problem(piece, model, Compiler(tmp_path))


def test_every_option_exists() -> None:
    """Each option in the table of TLC's options is one of the command that it stands behind, or of `holdfast check`."""
    table = PAGE.read_text().partition("### TLC's configuration")[2].partition("\n## ")[0]
    named = defaultdict(set)
    for command, option in re.findall(r"`(?:holdfast (\w+) )?(--[a-z-]+)", table):
        named[command or "check"].add(option)
    assert len(named["check"]) > 5
    for command, options in named.items():
        run = [sys.executable, "-m", "holdfast", command, "--help"]
        said = subprocess.run(run, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "200"})
        assert options <= set(re.findall(r"--[a-z-]+", said.stdout)), command
