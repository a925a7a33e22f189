"""Where runs end: a state without a step is a deadlock unless it is declared final; and which states are new."""

from __future__ import annotations

from holdfast.check.result import DEADLOCK, HOLDS, OUT_OF_BUDGET, STARVED, UNSHOWN, VIOLATED
from holdfast.check.search.engine import search
from holdfast.cli.app import CODES
from holdfast.ir.errors import ModelError
from tests.check.conftest import Compiled

FORK = """
left: bool
right: bool
tiny = Scope({})
@init
def begin(self) -> None:
    self.left = False
    self.right = False
@action
def go_left(self) -> None:
    require(not self.left and not self.right, "FK-01")
    self.left = True
@action
def go_right(self) -> None:
    require(not self.left and not self.right, "FK-02")
    self.right = True
@final
def went_left(self) -> bool:
    return self.left
"""

BACK = """
left: bool
right: bool
tiny = Scope({})
@init
def begin(self) -> None:
    self.left = True
    self.right = False
@action
def turn(self) -> None:
    require(self.left, "FK-01")
    self.left = False
    self.right = True
@action
def turn_back(self) -> None:
    require(self.right, "FK-02")
    self.left = True
    self.right = False
"""
"""A model that returns to its initial state, whose bits are not all zero."""

BOTH = """
@final
def went_right(self) -> bool:
    return self.right
"""


def ends(compiled: Compiled, source: str) -> list[tuple[str, int]]:
    """The names of an interpreted search's findings, with their numbers of steps."""
    system = compiled(source)
    found = search(system, system.scopes["tiny"], engine="interpreter", keep_going=True)
    return [(trace.shown.name, trace.length) for trace in found.findings]


def test_an_end_that_is_no_final_state_is_a_deadlock(compiled: Compiled) -> None:
    """The right-hand state, in which no step is possible and which is not final, is a deadlock."""
    assert ends(compiled, FORK) == [("deadlock", 1)]


def test_a_run_that_comes_back_finds_nothing_new(compiled: Compiled) -> None:
    """The kernel knows the initial state too: a step back to it finds no new state."""
    system = compiled(BACK)
    found = search(system, system.scopes["tiny"], engine="kernel")
    assert (found.verdict, found.figures.distinct, found.figures.depth) == ("exhausted", 2, 1)


def test_one_final_state_of_several_is_enough(compiled: Compiled) -> None:
    """With two declared final states, each end of a run satisfies one of them."""
    assert ends(compiled, FORK + BOTH) == []


def test_exit_codes_are_those_of_the_help() -> None:
    """The exit codes equal those in the help, which authors of CI scripts rely on."""
    said = {int(line.split()[0]) for line in CODES.splitlines()[1:]}
    assert (HOLDS, UNSHOWN, DEADLOCK, VIOLATED, STARVED, OUT_OF_BUDGET) == (0, 10, 11, 12, 13, 20)
    assert {HOLDS, UNSHOWN, DEADLOCK, VIOLATED, STARVED, OUT_OF_BUDGET, ModelError.exit_code} <= said
