"""The draws of random runs: which actions a run has, and how likely each of their steps is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from holdfast.ir.system import System
from holdfast.lower.random_runs.plan import LISTED_FOR_A_TRY, MOST_TRIES, STILL, tries
from tests.check.walking import GATES, MANY_DOORS, REST, WalkPair, noted, runs_of

Compiled = Callable[[str], System]


def test_the_swarm_keeps_what_can_move(compiled: Compiled) -> None:
    """A run that omits every possible action gets one of them back, and goes on until nothing in the model moves.

    The actions that come back were omitted, led on in that state, and are equally likely.
    """
    walker = WalkPair.of(system := compiled(MANY_DOORS), system.scopes["tiny"], 0, 30).walker
    runs = [walker.run(number) for number in range(1000)]
    # Actions 0 to 2 lead on from the start; one of them comes back only to a run that omits all three.
    first = Counter(run.returned[0] for run in runs if run.returned and run.returned[0] < 3)

    assert all(len(run.edges) >= 2 for run in runs)
    assert {run.stop for run in runs} == {STILL}
    assert any(len(run.returned) == 2 for run in runs)
    assert all(run.weights[action] for run in runs for action in run.returned)
    # Six standard deviations are allowed.
    assert set(first) == {0, 1, 2}
    fair = sum(first.values()) / 3
    assert all(abs(times - fair) < 6 * (fair * 2 / 3) ** 0.5 for times in first.values())


def test_without_the_swarm_nothing_comes_back(compiled: Compiled) -> None:
    """Without the swarm no action is omitted, so the run ends where nothing in the model moves, and draws no more."""
    system = compiled(MANY_DOORS)
    both = WalkPair.of(system, system.scopes["tiny"], 0, 30, swarm=False)

    assert all(both.walker.run(number).returned == () for number in range(50))
    assert noted(both.walks.runs(0, 50)) == noted(both.interpreted(50))


def test_steps_are_equally_likely(compiled: Compiled) -> None:
    """All steps of an action are equally likely, in whatever order an engine lists them."""
    system = compiled("""
    n: N
    tiny = Scope({N: 4})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def jump(self, a: bool, to: N) -> None:
        require(to > N(0) and self.n == N(0), "JU-1")
        self.n = to
    """)
    ends = Counter(run.edges[0][0] for run in runs_of(system, 2000, depth=1))

    # Each of four is drawn 500 times, with a standard deviation of 19.
    assert len(ends) == 4
    assert all(abs(times - 500) < 6 * 19 for times in ends.values())


def test_a_list_of_few_instances_needs_no_try() -> None:
    """The number of tries grows with the number of instances, up to a limit."""
    assert [tries(number) for number in (0, 1, LISTED_FOR_A_TRY - 1, LISTED_FOR_A_TRY)] == [0, 0, 0, 1]
    assert tries(LISTED_FOR_A_TRY * MOST_TRIES) == tries(10**9) == MOST_TRIES


OPEN = {
    "hardly any": "key == N(9) and to > N(14)",
    "some": "key == to",
    "many": "key > N(3) or to > N(5)",
    "nearly all": "key > N(0) or to == N(2)",
}
"""For a state in which both nodes stand at 0: 2, 30, 460 and about 450 of 512 instances are steps."""


@pytest.mark.parametrize("pct", [None, 1])
@pytest.mark.parametrize("gate", OPEN)
def test_a_step_is_equally_likely_however_it_is_found(compiled: Compiled, gate: str, pct: int | None) -> None:
    """Steps of an action with many instances are equally likely, whether an instance was tried or the steps listed.

    The sum of squared differences has a chi-square distribution of as many degrees as there are steps, less one; six
    standard deviations of it are allowed.
    """
    system = compiled(GATES.replace("GATE", OPEN[gate]))
    both = WalkPair.of(system, system.scopes["tiny"], 11, 1, pct)
    steps = [args for _, args in both.walker.machine.successors[0](both.walker.plan.starts[0])]
    runs = 40 * len(steps)
    drawn = Counter(both.walker.run(number).edges[0][2] for number in range(runs))

    assert set(drawn) <= set(steps)
    squares = sum((drawn[args] - 40) ** 2 / 40 for args in steps)
    degrees = len(steps) - 1
    assert abs(squares - degrees) < 6 * (2 * degrees) ** 0.5
    assert noted(both.walks.runs(0, 60)) == noted(
        WalkPair.of(system, system.scopes["tiny"], 11, 1, pct).interpreted(60)
    )


def test_a_walk_that_tries_takes_the_steps_of_the_model(compiled: Compiled) -> None:
    """A step that was found by a try is a step of the model, and leads to the state that the model says."""
    system = compiled(GATES.replace("GATE", OPEN["many"]))
    walker = WalkPair.of(system, system.scopes["tiny"], 2, 4, 2).walker

    for number in range(100):
        run = walker.run(number)
        state = run.start
        for new, action, args in run.edges:
            assert (new, args) in walker.machine.successors[action](state)
            state = new


def test_a_run_that_has_tried_all_goes_on_with_what_moves(compiled: Compiled) -> None:
    """After a step that changed nothing, and if no other action is left, the next step changes the state."""
    system = compiled(REST)
    both = WalkPair.of(system, system.scopes["tiny"], 4, 30)

    for number in range(60):
        run = both.walker.run(number)
        assert run.stop == STILL
        # At most one step in each of four states changes nothing, though 15 of 16 steps do.
        assert 3 <= len(run.edges) <= 7
    assert noted(both.walks.runs(0, 60)) == noted(WalkPair.of(system, system.scopes["tiny"], 4, 30).interpreted(60))
