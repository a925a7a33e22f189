"""TLC names the action of a step without its arguments: finding arguments that show the same violation."""

from __future__ import annotations

from pathlib import Path

from holdfast.check.tlc.agreement import _with_culprit
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.runs.replay import Replayer, Script

BELL = """\
from typing import Self
from holdfast.lang import *
class Node(Sort): ...
class Bell(Model):
    rung: bool
    tiny = Scope({Node: 3})
    @init
    def silent(self) -> None:
        self.rung = False
    @action
    def ring(self, n: Node, m: Node) -> None:
        self.rung = True
    @action
    def hush(self, n: Node, m: Node) -> None:
        self.rung = False
    @step(of="ring")
    def alone(self, old: Self, n: Node, m: Node) -> bool:
        return n != m or old.rung
    @invariant
    def quiet(self) -> bool:
        return not self.rung
    @step(of="hush")
    def never(self, old: Self, n: Node, m: Node) -> bool:
        return n == n
"""


def test_the_arguments_that_show_it_are_found(tmp_path: Path) -> None:
    """Of the last step's arguments that lead to the same state, the least ones that violate the property are taken."""
    path = tmp_path / "bell.py"
    path.write_text(BELL)
    system = compile_model(load_model(str(path)))
    replayer = Replayer(system, system.scopes["tiny"])
    ring, hush = ("ring", (0, 1)), ("hush", (2, 1))
    script = Script((), (ring, hush, ring))
    assert _with_culprit(replayer, script, "alone") == Script((), (ring, hush, ("ring", (0, 0))))
    # Arguments that already violate stay, and so do those of a step that none can make violate.
    shows = Script((), (("ring", (2, 2)),))
    assert _with_culprit(replayer, shows, "alone") == shows
    assert _with_culprit(replayer, script, "quiet") == script
    assert _with_culprit(replayer, Script((), (ring, hush)), "never") == Script((), (ring, hush))
    assert _with_culprit(replayer, Script((), ()), "alone") == Script((), ())
