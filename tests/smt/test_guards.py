"""The first obstacle of a step: a rule that refuses it, or a bound that cuts it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from holdfast.check.prove.engine import prove
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from holdfast.lower.smt import bodies
from holdfast.lower.smt.guards import PathGuard, either, rule
from tests.smt.comparing import Comparison

HEADER = """\
from holdfast.lang import *
class Node(Sort): ...
class Turn(Nat): ...
class Written(Model):
    left: Turn
    many: Map[Node, Turn]
    closed: Rel[Node]
    tiny = Scope({Node: 2, Turn: 2})
    @init
    def begin(self, n: Node, t: Turn) -> None:
        self.left = t
        self.many.fill(t)
        self.closed.fill(False)
        self.closed[n] = True
"""

ORDERS = """
    @action
    def bound_first(self, n: Node) -> None:
        self.left -= 1
        require(self.closed[n], "GU-01")
    @action
    def rule_first(self, n: Node) -> None:
        require(self.closed[n], "GU-02")
        self.left -= 1
    @action
    def in_turns(self, n: Node) -> None:
        require(self.left != Turn(1), "GU-03")
        self.left += 1
        require(self.closed[n], "GU-04")
        self.many[n] -= 1
    @action
    def in_branches(self, n: Node) -> None:
        if self.closed[n]:
            self.left -= 1
            require(self.many[n] != Turn(0), "GU-05")
        else:
            require(self.many[n] != Turn(0), "GU-06")
            self.left += 1
            return
        require(self.many[n] == Turn(2), "GU-07")
    @action
    def in_a_loop(self) -> None:
        for n in Node:
            self.many[n] -= 1
        require(self.left == Turn(0), "GU-08")
"""


def system(tmp_path: Path, body: str) -> System:
    """A model with these actions and properties."""
    path = tmp_path / f"written{len(list(tmp_path.iterdir()))}.py"
    path.write_text(HEADER + body, encoding="utf-8")
    return compile_model(load_model(str(path)))


def differences(written: System) -> list[str]:
    """The differences between formulas and interpreter, on many states with all arguments."""
    return list(Comparison(written, written.scopes["tiny"]).differences(random.Random(3), 60, 9))


def test_whoever_comes_first_is_in_the_way(tmp_path: Path) -> None:
    """In any order, in branches and after loops, formulas and interpreter agree on the rule that refuses."""
    assert differences(system(tmp_path, ORDERS)) == []


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("bound", rule),
        ("rule", lambda holds: PathGuard(holds, None, cuts=True)),
        ("either", lambda test, then, orelse, ctx: either(test, orelse, then, ctx)),
        ("either", lambda test, then, orelse, ctx: either(test, then[::-1], orelse[::-1], ctx)),
    ],
)
def test_a_planted_fault_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, wrong: object) -> None:
    """The comparison notices a bound taken for a rule, the reverse, a wrong branch, and a wrong order in a branch."""
    monkeypatch.setattr(bodies, name, wrong)
    assert differences(system(tmp_path, ORDERS)) != []


AGAIN = """
    @action(idempotent="GU-20")
    def again(self, n: Node) -> None:
        {body}
"""


def idempotent(tmp_path: Path, *body: str) -> System:
    """A model with one action of this body, declared idempotent."""
    return system(tmp_path, AGAIN.format(body="\n        ".join(body)))


def test_a_repetition_that_a_bound_cuts_shows_nothing(tmp_path: Path) -> None:
    """A search of a scope in which a bound cuts each repetition finds nothing; a proof looks at larger ones."""
    counts = idempotent(tmp_path, "self.left -= 1")
    assert search(counts, counts.scopes["tiny"]).verdict == "violated"
    assert prove(counts, cores=0, suggest=False).verdict == "violated"
    cut = idempotent(tmp_path, "self.left = self.left * 2 + 1")
    assert search(cut, cut.scopes["tiny"]).verdict == "exhausted"
    assert prove(cut, cores=0, suggest=False).verdict == "not_inductive"


def test_a_rule_that_refuses_a_repetition_before_a_bound_is_told(tmp_path: Path) -> None:
    """At 0 the rule refuses a repetition that the bound would have cut."""
    counts = idempotent(tmp_path, 'require(self.left > Turn(0), "GU-21")', "self.left -= self.left")
    assert search(counts, counts.scopes["tiny"]).verdict == "violated"
    assert prove(counts, cores=0, suggest=False).verdict == "violated"
