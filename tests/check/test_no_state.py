"""A model without state has one state: it has only constants of the scope, or ghosts that nothing reads."""

from __future__ import annotations

import pytest

from holdfast.check.live.engine import live
from holdfast.check.search.engine import search
from holdfast.check.walk.engine import walk
from holdfast.check.walk.options import WalkOptions
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from holdfast.runs.loading import open_trace
from holdfast.trace.line import to_line
from tests.check.conftest import Compiled
from tests.check.mutating import mutation

SIGNPOST = "tests/tla/models/signpost.py"

HISTORY = """
seen: Ghost[Rel[Node]]
tiny = Scope({Node: 3})
@init
def begin(self) -> None:
    self.seen.fill(False)
@action
def see(self, n: Node) -> None:
    self.seen[n] = True
@step
def some(self, old: Self) -> bool:
    return any(n == n for n in Node)
"""


@pytest.fixture(params=["a constant", "ghosts that nothing reads"])
def still(request: pytest.FixtureRequest, compiled: Compiled) -> System:
    """A system without a state cell."""
    return compiled(HISTORY) if "ghosts" in request.param else compile_model(load_model(SIGNPOST))


@pytest.mark.parametrize("symmetry", [True, False])
def test_a_search_finds_one_state(still: System, symmetry: bool) -> None:
    """The search finds one state, whose steps lead back to it, with and without symmetry."""
    found = search(still, still.scope("tiny"), symmetry=symmetry, engine="interpreter")

    assert (found.verdict, found.figures.distinct, found.figures.depth) == ("exhausted", 1, 0)
    assert sum(action.taken for action in found.figures.actions) > 0


def test_a_walk_stays_there(still: System) -> None:
    """Every run ends after one step, which changes nothing."""
    found = walk(still, still.scope("tiny"), WalkOptions(traces=5), engine="interpreter")

    assert found.verdict == "not_found"
    assert found.figures.steps == 5


def test_what_is_owed_never_comes() -> None:
    """If the premise is true in the one state and the goal is not, the lasso has no step, and its line replays it."""
    system = compile_model(load_model(SIGNPOST))
    found = live(system, system.scope("tiny"), target=SIGNPOST)

    assert (found.exit_code, found.figures.states) == (13, 1)
    [violation] = found.findings
    again = open_trace(to_line(violation)).trace
    assert (again.shown.name, again.length) == ("moves", 0)


def test_its_rule_has_a_mutant() -> None:
    """Without the rule a step changes nothing, so only liveness kills the mutant."""
    [row] = mutation(compile_model(load_model(SIGNPOST)), pairs=False).report().rows

    assert (row.facts.mutant.name, row.way) == ("SG-01", "liveness")
