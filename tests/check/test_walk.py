"""Random runs: kernel and interpreter make the same runs, of steps of the model; the seed and number fix a run."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest

from holdfast.ir.errors import UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower.kernel import build
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.random_runs.chance import Chance
from holdfast.lower.random_runs.plan import (
    CUT,
    DEPTH,
    FINAL,
    STILL,
    STUCK,
    VIOLATED,
    Schedule,
    by_priority,
)
from tests.check.walking import ENDS, FINAL_AT_TWO, GATES, LADDER, MANY_DOORS, REST, WalkPair, noted, runs_of
from tests.kernel.plain import use_python

Compiled = Callable[[str], System]


PINNED = [[478, 360, 847], [233, 807, 111], [33, 837, 802]]

PINNED_STREAM = [2, 5, 2, 4, 6, 0, 9, 8, 9, 0, 4, 2]
"""Pinned draws of three seeds and three runs: the first number below 1000, and numbers below 10 of one run."""


# Chance --------------------------------------------------------------------------------------------------------------


def test_the_numbers_are_pinned() -> None:
    """The streams never change, so a seed that somebody wrote down finds the same run years later."""
    drawn = [[Chance(seed, run).below(1000) for run in range(3)] for seed in (0, 7, 2**64 - 1)]
    stream = Chance(7, 0)

    assert drawn == PINNED
    assert [stream.below(10) for _ in range(12)] == PINNED_STREAM


def test_the_numbers_spread() -> None:
    """Over many draws of one run, and over the first draws of many runs, the numbers are equally frequent."""
    stream = Chance(3, 5)
    one_run = Counter(stream.below(10) for _ in range(10_000))
    many_runs = Counter(Chance(3, run).below(10) for run in range(10_000))

    # Six standard deviations of a fair draw are 180.
    assert all(abs(times - 1000) < 180 for drawn in (one_run, many_runs) for times in drawn.values())
    assert set(one_run) == set(many_runs) == set(range(10))


# The kernel's runs are the interpreter's -----------------------------------------------------------------------------


@pytest.mark.parametrize("pct", [None, 1, 3])
@pytest.mark.parametrize("seed", [0, 5, 2**64 - 1])
def test_both_make_the_same_runs(compiled: Compiled, pct: int | None, seed: int) -> None:
    """Kernel and interpreter count the same over many runs: steps, stops, cuts, rules, premises, witnesses."""
    system = compiled(LADDER)
    both = WalkPair.of(system, system.scopes["tiny"], seed, 17, pct)

    assert noted(both.walks.runs(0, 300)) == noted(both.interpreted(300))


CHOICE = """
    seen: Map[Node, N]
    tiny = Scope({Node: 2, N: 3})
    @init
    def begin(self) -> None:
        self.seen.fill(N(0))
    @action
    def visit(self, n: Node) -> None:
        require(self.seen[n] < N(3), "CH-1")
        self.seen[n] = N(0) if rule("CH-2", self.seen[n] == N(2)) else self.seen[n] + 1
"""
"""A labelled condition inside an expression."""


def test_both_note_a_rule_within_an_expression(compiled: Compiled) -> None:
    """Kernel and interpreter both note a labelled condition that chooses a value."""
    system = compiled(CHOICE)
    tally = WalkPair.of(system, system.scopes["tiny"], 1, 17).walks.runs(0, 5)

    assert noted(tally) == noted(WalkPair.of(system, system.scopes["tiny"], 1, 17).interpreted(5))
    assert ("visit", "CH-2") in tally.statistics.decisive_in


def test_both_make_each_run_alike(compiled: Compiled) -> None:
    """Kernel and interpreter agree on each single run, not only on the sums."""
    system = compiled(LADDER)
    both = WalkPair.of(system, system.scopes["tiny"], 1, 17, 2)

    for number in range(60):
        tally = both.walker.tally()
        both.walker.run(number, tally)

        assert both.walks.runs(number, number + 1) == tally


def test_both_agree_on_a_violation(table: System) -> None:
    """Kernel and interpreter stop at the same run and step, with the same counts up to there."""
    broken = remove_rules(table, ["CK-02.epoch"])
    both = WalkPair.of(broken, broken.scopes["tiny"], 5, 30)

    found = both.walks.runs(0, 500)

    assert found.violation is not None
    assert noted(found) == noted(both.interpreted(500))


def test_chunks_add_up(compiled: Compiled) -> None:
    """The totals do not depend on the division into chunks, even if later chunks skip what earlier ones showed."""
    system = compiled(LADDER)
    walks = WalkPair.of(system, system.scopes["tiny"], 9, 12).walks
    whole = walks.runs(0, 200)

    total = walks.runs(0, 0)
    for first, last in [(0, 1), (1, 70), (70, 70), (70, 200)]:
        total.add(walks.runs(first, last, total))

    assert noted(total) == noted(whole)


FAULTS = {
    "the swarm": ("if below(work, 100) < share else 1", "if below(work, 100) <= share else 1"),
    "the weights": ("drawn = 1 + below", "drawn = below"),
    "who comes back": ("if place == 0:", "if place == able - 1:"),
    "a second try at what changes nothing": ("not (moving and state_of(seen, 0) == s)", "True"),
    "a second list of what changes nothing": (
        "if state_of(seen, i) != s:\n            list_step",
        "if True:\n            list_step",
    ),
    "a return that leads nowhere": ("< 0 and leads_on(a, s, seen) else 0", "< 0 and offers(a, s, seen) else 0"),
    "the weight on return": ("poke(work, WEIGHTS + a, -peek(work, WEIGHTS + a))", "poke(work, WEIGHTS + a, 1)"),
    "the order of steps": ("if less == rank:", "if True:"),
    "how many are tried": ("for _ in range(min(count", "for _ in range(min(1 + count"),
    "the instances of a process": ("(number // stride * elements + process)", "(number // stride * elements)"),
    "the steps of a process": ("if number // stride % (peek(work, PROCESSES) - 1) == process:", "if True:"),
    "a change point": ("change |= peek(work, ORDER + processes + point) == step", "change = False"),
    "who yields": ("if prioritised:\n                demote", "if False:\n                demote"),
    "what changes nothing": ("poke(work, LEFT + a, 0)\n            if prioritised", "if prioritised"),
    "cuts counted twice": ("poke(seen, bound, before)", "pass"),
    "a premise": ("silent & ~premises", "silent | premises"),
    "a witness": ("2 * index + 1, step)", "2 * index + 1, run)"),
    "a shortest run": ("or steps < stops[stop, 2]", "or steps > stops[stop, 2]"),
    "a repetition": ("bump(counts, REPEATS + 2, 1)", "pass"),
    "a stream": ("(twice + np.uint64(2))", "(twice + np.uint64(3))"),
}
"""Faults of the driver and of the generated functions, each at one place."""

ELSEWHERE = {
    "cuts counted twice": (ENDS, None),
    "a shortest run": (MANY_DOORS, None),
    "the instances of a process": (GATES.replace("GATE", "key > N(3)"), 2),
    "a second try at what changes nothing": (REST, None),
    "a second list of what changes nothing": (REST, None),
}
"""The model and the priorities for faults that no run of LADDER meets."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_the_kernel_are_seen(compiled: Compiled, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """A planted fault makes the kernel's runs differ from the interpreter's, so the comparison above finds it."""
    right, wrong = FAULTS[fault]
    text_of = build.kernel_text

    def faulty(functions: str, driver: str) -> str:
        text = text_of(functions, driver)
        assert text.count(right) == 1
        return text.replace(right, wrong)

    monkeypatch.setattr(build, "kernel_text", faulty)
    body, pct = ELSEWHERE.get(fault, (LADDER, 3))
    system = compiled(body)
    both = WalkPair.of(system, system.scopes["tiny"], 0, 17, pct)

    assert noted(both.walks.runs(0, 300)) != noted(both.interpreted(300))


# What a run is -------------------------------------------------------------------------------------------------------


def test_every_step_is_one_of_the_model(compiled: Compiled) -> None:
    """A run begins in an initial state, and each of its steps is a step of the model."""
    system = compiled(LADDER)
    walker = WalkPair.of(system, system.scopes["tiny"], 0, 20).walker

    for number in range(50):
        run = walker.run(number)
        state = run.start
        assert state in walker.plan.starts
        for new, action, args in run.edges:
            assert (new, args) in walker.machine.successors[action](state)
            assert run.weights[action] > 0
            state = new


def test_the_swarm_omits_and_weighs(compiled: Compiled) -> None:
    """Some runs keep all actions and some only one, but each keeps at least one; weights range from 1 to 100."""
    runs = runs_of(compiled(LADDER), 400)
    kept = Counter(sum(weight > 0 for weight in run.weights) for run in runs)
    weights = {weight for run in runs for weight in run.weights if weight}

    assert set(kept) == {1, 2, 3, 4}
    assert weights == set(range(1, 101))


def test_what_changes_nothing_is_not_repeated(compiled: Compiled) -> None:
    """In one state, an action that changes nothing is taken again only if no other action is left to try."""
    system = compiled("""
    n: N
    tiny = Scope({N: 3})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def wait(self) -> None:
        self.n = self.n
    @action
    def up(self) -> None:
        self.n = self.n + 1
    """)
    runs = [run for run in runs_of(system, 100) if all(run.weights) and not run.returned]

    assert runs
    for run in runs:
        # In each of three states one step leads on, and the run waits at most once; the last state has no step.
        assert 3 <= len(run.edges) <= 7
        assert run.stop == STILL


REASONS = [{STILL}, {STUCK}, {STUCK}, {DEPTH}, {CUT}, {STUCK}, {CUT}]
"""The possible reasons for the end of a run, by initial state."""


@pytest.mark.parametrize("by_python", [False, True])
@pytest.mark.parametrize("final", [False, True])
def test_why_a_run_ends(compiled: Compiled, final: bool, by_python: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reason for the end of a run is reported as itself, and the kernel reports the same for each run.

    If the model names final states, a state without a step is a final state or a deadlock.
    """
    if by_python:
        use_python(monkeypatch)
    system = compiled(ENDS + FINAL_AT_TWO if final else ENDS)
    both = WalkPair.of(system, system.scopes["tiny"], 0, 6)
    reasons: list[set[int]] = [set() for _ in REASONS]
    for number in range(300):
        tally = both.walker.tally()
        run = both.walker.run(number, tally)
        reasons[both.walker.plan.starts.index(run.start)].add(run.stop)

        assert both.walks.runs(number, number + 1) == tally

    if final:
        assert reasons == [*REASONS[:1], {FINAL}, {FINAL}, *REASONS[3:5], {VIOLATED}, *REASONS[6:]]
    else:
        assert reasons == REASONS


# Priorities ----------------------------------------------------------------------------------------------------------

TURNS = """
    rung: Map[Node, N]
    tiny = Scope({Node: 3, N: 9})
    @init
    def ground(self) -> None:
        self.rung.fill(N(0))
    @action
    def climb(self, n: Node) -> None:
        self.rung[n] = self.rung[n] + 1
"""


def climbers(system: System, pct: int, depth: int) -> list[list[int]]:
    """The climbing process of each step, for some runs with priorities."""
    walker = WalkPair.of(system, system.scopes["tiny"], 0, depth, pct).walker
    return [[args[0] for _, _, args in walker.run(number).edges] for number in range(60)]


def test_the_first_in_priority_runs_alone(compiled: Compiled) -> None:
    """Without change points one process runs alone in the prioritised part; after that, any process may run."""
    runs = climbers(compiled(TURNS), 1, 12)

    assert {len(set(run[:9])) for run in runs} == {1}
    assert {run[0] for run in runs} == {0, 1, 2}
    assert any(len(set(run)) > 1 for run in runs)


def test_a_change_point_hands_over(compiled: Compiled) -> None:
    """With one change point, at most two processes run in the prioritised part, and sometimes two do."""
    switches = {sum(a != b for a, b in itertools.pairwise(run[:9])) for run in climbers(compiled(TURNS), 2, 12)}

    assert switches == {0, 1}


def test_who_changes_nothing_yields(compiled: Compiled) -> None:
    """A process whose step changes nothing loses priority, so that the others run."""
    system = compiled(TURNS.replace("self.rung[n] + 1", "N(1)"))

    assert {len(set(run[:6])) for run in climbers(system, 1, 12)} == {3}


def test_processes_are_of_the_commonest_sort(table: System) -> None:
    """The processes are the elements of the named sort, or of the sort that most actions have a parameter of."""
    layout = Interpreter(table, table.scopes["default"]).layout

    assert by_priority(layout, None, 3, 40) == Schedule((4, 4), 4, 2, 30)
    assert by_priority(layout, "Stream", 1, 4) == Schedule((4, 4), 2, 0, 3)
    with pytest.raises(UsageError, match=r"of sort 'Node', so there are no processes .*: Proc, Stream"):
        by_priority(layout, "Node", 1, 4)
