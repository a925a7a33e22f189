"""Many random runs: what they find and show, the same on every engine, and what a green answer reports."""

from __future__ import annotations

import pytest

from holdfast.check.budget import Budget
from holdfast.check.result import to_json
from holdfast.check.search.engine import Engine, search
from holdfast.check.walk.engine import walk
from holdfast.check.walk.options import WalkOptions
from holdfast.check.walk.result import WalkResult, render_walk
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from tests.check.conftest import Compiled
from tests.check.walking import ENDS, FINAL_AT_TWO, LADDER


def walked(
    system: System,
    *,
    engine: Engine = "interpreter",
    cores: int = 1,
    properties: list[str] | None = None,
    traces: int = 200,
    depth: int = 50,
    seed: int = 0,
    run: int | None = None,
) -> WalkResult:
    """Random runs in scope tiny, few unless more are asked for."""
    campaign = WalkOptions(traces=traces, depth=depth, seed=seed, run=run)
    return walk(
        system, system.scopes["tiny"], campaign, engine=engine, cores=cores, properties=properties, target="model"
    )


GREEN = """\
Written, scope tiny: nothing found in 1,000 runs, which is no proof

  runs            1,000 from seed 7 and 3 initial states, of at most 12 steps each
  steps           12,000; a run has 12 to 12, 12.0 on average
  ended           1,000 took all steps (after 12)
  state           11 bits; widest: rung 6, held 3, budget(slip) 2
  actions         climb 3,107, hand_over 5,609, slip 1,289, knock 1,995
  evaluated       13,000 times: one_holds; 3,107 times: climbs_by_one; 1,289 times:
                  slip_idempotent
  witnesses       all_up in run 13 after 10 steps
  cut             climb by N 1,162, slip by budget 6,978
  repetitions     617 of idempotent actions were cut, and show nothing"""

COUNT = """
    n: N
    tiny = Scope({N: 2})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        self.n = self.n + 1
"""

LOW = """
    @invariant
    def low(self) -> bool:
        return self.n < N(1)

    @witness
    def high(self) -> bool:
        return self.n == N(2)
"""


def test_finds_what_the_search_finds(table: System) -> None:
    """A violation is found, ends with 12, and its run is at least as long as the shortest."""
    broken = remove_rules(table, ["ST-14"])

    result = walked(broken, seed=1)

    (trace,) = result.findings
    (shortest,) = search(broken, broken.scopes["tiny"]).findings
    assert (result.verdict, result.exit_code, result.ended_by) == ("violated", 12, "violation")
    assert trace.claim.kind in ("invariant", "lemma", "step")
    assert trace.length >= shortest.length
    assert result.run is not None
    assert result.figures.runs == result.run + 1


def test_a_run_alone_is_the_same(table: System) -> None:
    """The number of a violating run repeats it alone, without the runs before it and without the kernel."""
    broken = remove_rules(table, ["CK-02.epoch"])
    found = walked(broken, seed=2)
    assert found.run is not None

    again = walked(broken, seed=2, run=found.run)

    assert again.findings == found.findings
    assert f"--seed 2 --depth 50 --run {found.run}" in found.findings[0].command


def test_the_first_run_by_number_is_shown(table: System) -> None:
    """No run with a smaller number violates anything."""
    broken = remove_rules(table, ["CK-02.epoch"])
    found = walked(broken, seed=11, depth=3)
    assert found.run

    before = [walked(broken, seed=11, depth=3, run=number).findings for number in range(found.run)]

    assert before == [()] * found.run


@pytest.mark.parametrize("removed", [[], ["CK-02.epoch"]])
def test_cores_and_engines_change_nothing(table: System, removed: list[str]) -> None:
    """One core, three cores and the interpreter give the same answer, with and without a violation."""
    system = remove_rules(table, removed)
    engines: list[tuple[Engine, int]] = [("kernel", 1), ("kernel", 3), ("auto", 2)]
    results = [walked(system, engine=engine, cores=cores, traces=30_000, depth=30, seed=3) for engine, cores in engines]

    one = results[0]
    assert one.figures.runs == (30_000 if one.run is None else one.run + 1)
    for other in results[1:]:
        assert other == one
        assert to_json(other) | {"timing": {}} == to_json(one) | {"timing": {}}
        assert render_walk(other) == render_walk(one)


def test_what_changes_nothing_is_not_shown(compiled: Compiled) -> None:
    """The run is shown without the steps that changed nothing; the shorter run is still a run of the model."""
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
    @invariant
    def low(self) -> bool:
        return self.n < N(3)
    """)

    traces = [trace for seed in range(10) for trace in walked(system, seed=seed).findings]

    assert len(traces) == 10
    assert {tuple(step.action for step in trace.steps) for trace in traces} == {("init", "up", "up", "up")}


def test_an_unrepeatable_action_is_shown_twice(compiled: Compiled) -> None:
    """A violation of idempotence ends with the same step again, as in a search."""
    system = compiled("""
    n: N
    tiny = Scope({N: 3})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action(idempotent="ID-1")
    def up(self) -> None:
        require(self.n < N(2), "UP-1")
        self.n = self.n + 1
    """)

    (trace,) = walked(system).findings

    assert (trace.claim.name, trace.claim.kind) == ("up_idempotent", "idempotent")
    assert [(step.action, step.repeat) for step in trace.steps] == [("init", False), ("up", False), ("up", True)]


def test_a_deadlock_is_told(compiled: Compiled) -> None:
    """A state that has no step and is not final ends with 11."""
    system = compiled(ENDS + FINAL_AT_TWO)

    result = walked(system)

    assert (result.exit_code, [trace.claim.kind for trace in result.findings]) == (11, ["deadlock"])


def test_the_start_is_checked(compiled: Compiled) -> None:
    """A violation in an initial state is a run of no steps."""
    system = compiled((COUNT + LOW).replace("self.n < N(1)", "self.n > N(0)"))

    assert [trace.length for trace in walked(system).findings] == [0]


def test_what_is_asked_is_what_counts(compiled: Compiled) -> None:
    """With --property only that property is checked; other violations are ignored."""
    system = compiled(COUNT + LOW)

    assert walked(system).exit_code == 12
    result = walked(system, properties=["high"], traces=50)
    assert result.exit_code == 0
    assert [witness.claim.name for witness in result.witnesses if witness.trace is not None] == ["high"]


def test_why_it_is_green(compiled: Compiled) -> None:
    """Random runs without a violation report how much they tried, how runs ended, and what never happened."""
    assert render_walk(walked(compiled(LADDER), traces=1000, depth=12, seed=7)) == GREEN


def test_the_budget_ends_the_runs(table: System) -> None:
    """If the budget is exceeded at once, the figures of the first runs remain, without an answer; the code is 20."""
    result = walk(table, table.scopes["tiny"], WalkOptions(traces=10**9), cores=1, budget=Budget(memory_bytes=1))

    assert (result.verdict, result.exit_code) == ("out_of_budget", 20)
    assert 0 < result.figures.runs < 10**9
    assert "no answer (memory: more than 0 MB); nothing found in" in render_walk(result)


def test_states_cannot_be_limited(table: System) -> None:
    """A walk stores no states, so a limit on them is refused, with the alternative."""
    with pytest.raises(UsageError, match=r"limit the runs \(--runs\) or the time"):
        walk(table, table.scopes["tiny"], WalkOptions(), budget=Budget(states=5))


def test_a_contradicting_scope_is_refused(compiled: Compiled) -> None:
    """A scope whose constants contradict an assumption is refused before the first run."""
    system = compiled("""
    limit: N
    n: N
    tiny = Scope({N: 2}, given={"limit": 0})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        self.n = self.n + 1
    @assume
    def positive(self) -> bool:
        return self.limit > N(0)
    """)

    with pytest.raises(ModelError, match="contradict the assumption positive"):
        walked(system)


SILENT = """
    @invariant
    def says_nothing(self) -> bool:
        return all(n > N(1) for n in N if n == self.n and self.n > N(5))

    @invariant
    def says_something(self) -> bool:
        return all(n < N(3) for n in N if n == self.n)

    @step
    def never_from_above(self, old: Self) -> bool:
        return all(self.n > n for n in N if n == old.n and n > N(5))

    @step
    def goes_up(self, old: Self) -> bool:
        return all(self.n > n for n in N if n == old.n)
"""


def test_vacuous_properties_are_named(compiled: Compiled) -> None:
    """Properties of states and of steps whose premise is true in no run are listed as vacuous."""
    result = walked(compiled(COUNT + SILENT))
    assert [claim.name for claim in result.vacuous] == ["says_nothing", "never_from_above"]


def test_a_run_is_shown_by_what_changes(compiled: Compiled) -> None:
    """A run shows only the changed cells of its states, unless all cells are asked for."""
    result = walked(
        compiled(
            COUNT.replace("n: N", "n: N\n    still: bool", 1).replace(
                "self.n = N(0)", "self.n = N(0)\n        self.still = True", 1
            )
            + LOW
        )
    )
    assert render_walk(result) == render_walk(result, full=False) != render_walk(result, full=True)
