"""The models whose reports the tests read, in a working directory, and a command with the reports that it wrote."""

from __future__ import annotations

import shutil
from pathlib import Path
from textwrap import indent

import pytest

from tests.cli.running import CommandRun, Run
from tests.cli.samples import COUNTER
from tests.docs.fences import ROOT
from tests.prove.conftest import HEADER
from tests.prove.samples import TRAP as STAYING
from tests.reports.validating import Files, read

TWO = (ROOT / "docs/examples/two_phase_commit.py").read_text()
BARE, _, _ = TWO.partition("    @lemma\n")
"""Two-phase commit without its lemmas, which therefore is not proved."""

BROKEN = COUNTER.replace("self.value[n] > Count(0) for n", "self.value[n] < Count(2) for n")

DECLARED = COUNTER.replace(
    "    @init\n", '    mutants = outcomes({"CT-01": missing("what a counter was before")})\n\n    @init\n'
).replace("invariant, require", "invariant, missing, outcomes, require")
"""A counter that may decrease, with a declaration that no property forbids it."""

TRAP = HEADER + "class Trap(Model):\n" + indent(STAYING, "    ")
IDLE = TRAP.replace('Mode.TRAP, "TR-02"', 'Mode.BAD, "TR-02"')
"""The trap, which can be entered only from its own state: a property of that step is vacuous."""

ALONE = """\
from holdfast.lang import *
class Node(Sort): ...
class Alone(Model):
    up: Rel[Node]
    tiny = Scope({Node: 1})
    @init
    def begin(self, n: Node) -> None:
        self.up.fill(False)
        self.up[n] = True
    @action
    def stay(self, n: Node) -> None:
        self.up[n] = self.up[n]
    @invariant
    def all_up(self) -> bool:
        return all(self.up[n] for n in Node)
"""
"""A property that holds for one node only."""

FILES = ("--junit", "r.xml", "--sarif", "r.sarif")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the models, in which ``verify`` finds two.py."""
    monkeypatch.chdir(tmp_path)
    models = {
        "two": TWO,
        "bare": BARE,
        "counter": COUNTER,
        "broken": BROKEN,
        "declared": DECLARED,
        "trap": TRAP,
        "idle": IDLE,
        "alone": ALONE,
    }
    for name, text in models.items():
        Path(f"{name}.py").write_text(text)
    shutil.copy(ROOT / "tests/live/models/lease.py", "lease.py")
    shutil.copy(ROOT / "tests/tla/models/lamp.py", "lamp.py")
    return tmp_path


def told(holdfast: Run, *argv: object) -> tuple[CommandRun, Files]:
    """The output of a command, and its reports."""
    ran = holdfast(*argv, *FILES, "--github")
    files = read()
    annotations = [line for line in ran.out.splitlines() if line.startswith("::")]
    assert len(annotations) == len(files.sarif["results"])
    return ran, files
