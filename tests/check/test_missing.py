"""Which removed rules a run got past: the complete model's verdict on each of the run's steps."""

from __future__ import annotations

from holdfast.check.search.engine import search
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.runs.missing import missing_rules
from holdfast.runs.replay import Replayer
from tests.check.conftest import Compiled

LAMP = """
unread: Ghost[Rel[Node]]
lit: Rel[Node]
warm: Rel[Node]
twice: Ghost[bool]
tiny = Scope({Node: 1})
@init
def dark(self) -> None:
    self.unread.fill(False)
    self.lit.fill(False)
    self.warm.fill(False)
    self.twice = False
@action
def switch(self, n: Node) -> None:
    require(not self.lit[n], "LA-01")
    if rule("LA-02"):
        self.warm[n] = True
    self.unread[n] = True
    self.twice = self.lit[n]
    self.lit[n] = True
@action(idempotent="LA-12")
def touch(self, n: Node) -> None:
    require(not self.warm[n], "LA-03")
    self.warm[n] = True
    self.lit[n] = not self.lit[n]
@invariant
def never_twice(self) -> bool:
    return not self.twice
@invariant
def warms(self) -> bool:
    return all(self.warm[n] for n in Node if self.lit[n])
@invariant
def stays_cold(self) -> bool:
    return not any(self.warm[n] for n in Node)
"""


def notes(system: System, name: str, *without: str) -> dict[int, str]:
    """The notes on the steps of the shortest violation of a property without these rules."""
    lacking = remove_rules(system, without)
    (trace,) = search(lacking, lacking.scopes["tiny"], properties=[name]).findings
    return missing_rules(Replayer(lacking, lacking.scopes["tiny"]), trace)


def test_a_step_that_a_removed_rule_refuses(compiled: Compiled) -> None:
    """The complete model refuses the second switch; a ghost that no property reads is left out of all states."""
    lamp = compiled(LAMP)
    assert notes(lamp, "never_twice", "LA-01") == {2: "LA-01, which is removed, refuses this step"}


def test_a_step_that_leads_elsewhere(compiled: Compiled) -> None:
    """Without the removed effect a step leads to another state; the note names every removed rule."""
    lamp = compiled(LAMP)
    assert notes(lamp, "warms", "LA-02") == {1: "with LA-02 in place the step leads to another state"}
    both = notes(lamp, "never_twice", "LA-01", "LA-02")
    assert both == {
        1: "with LA-01, LA-02 in place the step leads to another state",
        2: "LA-01, which is removed, refuses this step",
    }


def test_a_complete_model_misses_nothing(compiled: Compiled) -> None:
    """Without a removed rule there are no notes; nor is there one on a repetition, which is no step of its own."""
    lamp = compiled(LAMP)
    assert notes(lamp, "stays_cold") == {}
    assert notes(lamp, "LA-12", "LA-03") == {}
