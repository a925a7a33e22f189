"""Bodies in TLA+ whose branches have different locals."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.lower.tla.files import Specification

ONE_SIDE = """\
from holdfast.lang import *
class Node(Sort): ...
class OneSide(Model):
    here: Node | None
    there: Node | None
    tiny = Scope({Node: 2})
    @init
    def begin(self, n: Node) -> None:
        self.here = n
        self.there = None
    @action
    def move(self) -> None:
        if self.there is None:
            kept = self.here
            self.there = kept
        else:
            self.here = None
    @invariant
    def moved(self) -> bool:
        return self.here is not None or self.there is not None
"""
"""A local that only one branch has."""


def test_a_local_of_one_branch_is_none_of_the_other(tmp_path: Path) -> None:
    """The module gives each branch's writes, and leaves the other branch's variable unchanged."""
    path = tmp_path / "one_side.py"
    path.write_text(ONE_SIDE)
    system = compile_model(load_model(str(path)))
    text = Specification.of(system, system.scope("tiny"), "one_side.py").files["one_side.tla"]
    branches = text.partition("Move ==\n")[2].partition("\n\n")[0]
    assert (
        branches
        == """\
    IF there = Nil
    THEN LET kept == here
         IN  /\\ there' = kept
             /\\ UNCHANGED here
    ELSE /\\ here' = Nil
         /\\ UNCHANGED there"""
    )


ONE_START = """\
from holdfast.lang import *
class Node(Sort): ...
class OneStart(Model):
    up: Rel[Node]
    lit: bool
    tiny = Scope({Node: 2})
    @init
    def begin(self, bright: bool) -> None:
        if bright:
            self.up.fill(True)
            self.lit = True
        self.up.fill(False)
        self.lit = False
    @action
    def rise(self, n: Node) -> None:
        self.up[n] = True
        self.lit = True
    @invariant
    def shown(self) -> bool:
        return self.lit or not any(self.up[n] for n in Node)
"""
"""An initial condition that writes a variable in a branch and again after it."""


def test_what_is_written_again_starts_as_the_last_write_says(tmp_path: Path) -> None:
    """The last write of a map or plain field counts, and the branch's write is not visible."""
    path = tmp_path / "one_start.py"
    path.write_text(ONE_START)
    system = compile_model(load_model(str(path)))
    text = Specification.of(system, system.scope("tiny"), "one_start.py").files["one_start.tla"]
    assert (
        text.partition("Init ==\n")[2].partition("\n\n")[0]
        == """\
    \\E bright \\in BOOLEAN :
        /\\ up = [n \\in Node |-> FALSE]
        /\\ lit = FALSE"""
    )


INNER_BOUND = """\
from holdfast.lang import *
class Tick(Nat): ...
class InnerBound(Model):
    wound: bool
    late: bool
    clock: Tick
    tiny = Scope({Tick: 1})
    @init
    def begin(self) -> None:
        self.wound = True
        self.late = False
        self.clock = Tick(0)
    @action
    def go(self) -> None:
        if self.wound:
            if self.late:
                LATE
            else:
                EARLY
        require(not self.late, "NB-01")
        self.wound = False
    @final
    def over(self) -> bool:
        return self.late
"""
"""A bound in an inner branch, before a rule."""


@pytest.mark.parametrize(
    ("late", "early", "inner"),
    [
        ("self.clock += 1", "self.wound = True", ["clock + 1 <= MaxTick => ~late", "~late"]),
        ("self.wound = True", "self.clock += 1", ["~late", "clock + 1 <= MaxTick => ~late"]),
        ("self.clock += 1", "self.clock += 1", ["clock + 1 <= MaxTick => ~late"] * 2),
    ],
)
def test_a_rule_behind_an_inner_bound_is_asked_only_within_it(
    tmp_path: Path, late: str, early: str, inner: list[str]
) -> None:
    """If a bound cuts a step in any inner branch, no rule refuses it: the rules after the branch stand behind it."""
    path = tmp_path / "inner_bound.py"
    path.write_text(INNER_BOUND.replace("LATE", late).replace("EARLY", early))
    system = compile_model(load_model(str(path)))
    text = Specification.of(system, system.scope("tiny"), "inner_bound.py").files["inner_bound.tla"]
    allowed = text.partition("GoAllowed ==\n")[2].partition("\n\n")[0]
    assert allowed.split() == f"IF wound THEN IF late THEN {inner[0]} ELSE {inner[1]} ELSE ~late".split()


def test_a_rule_before_or_without_a_bound_stands_alone(tmp_path: Path) -> None:
    """If no branch can cut the step, the rule after it is asked in any case."""
    path = tmp_path / "inner_bound.py"
    path.write_text(INNER_BOUND.replace("LATE", "self.wound = True").replace("EARLY", "self.clock = Tick(0)"))
    system = compile_model(load_model(str(path)))
    text = Specification.of(system, system.scope("tiny"), "inner_bound.py").files["inner_bound.tla"]
    assert "GoAllowed == ~late\n" in text
