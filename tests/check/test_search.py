"""The search: the states it visits, the violations it finds, and which of several findings it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from holdfast.check.result import to_json
from holdfast.check.search.engine import search
from holdfast.check.summary import render_result
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower.outcome import Taken
from holdfast.lower.python.cpython import CPython
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.symmetry import Symmetry
from holdfast.trace.itf import itf_text
from tests.check.searching import COUNTER, names

Compiled = Callable[[str], System]


def without_ghosts(system: System) -> System:
    """The system with its ghosts as ordinary variables, so that no engine drops one."""
    return attrs.evolve(system, variables=tuple(attrs.evolve(var, ghost=False) for var in system.variables))


def reachable(system: System, scope: str) -> set[bytes]:
    """Every state that running the model's own class reaches."""
    cpython = CPython(system, system.scopes[scope])
    found = set(cpython.initial())
    waiting = list(found)
    for state in waiting:
        for new in [new for steps in cpython.successors(state) for new, _ in steps]:
            if new not in found:
                found.add(new)
                waiting.append(new)
    return found


# What is visited -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["tiny", "default"])
def test_visits_what_the_class_reaches(table: System, scope: str) -> None:
    """Without symmetry the search stores exactly the states that running the class reaches."""
    every = without_ghosts(table)

    result = search(every, every.scopes[scope], symmetry=False)

    assert len(reachable(every, scope)) == result.figures.distinct


@pytest.mark.parametrize("scope", ["tiny", "default"])
def test_orbits_add_up(table: System, scope: str) -> None:
    """The sizes of the orbits that symmetry leaves add up to the number of states without it."""
    every = without_ghosts(table)
    group = Symmetry(Interpreter(every, every.scopes[scope]).layout)
    states = reachable(every, scope)

    result = search(every, every.scopes[scope])

    orbits = {group.canonical(state) for state in states}
    assert len(orbits) == result.figures.distinct < len(states)
    assert len(states) == sum(group.orbit_size(state) for state in orbits)


def test_figures_of_a_chain(compiled: Compiled) -> None:
    """A counter that a bound stops has one state for each value; the cut is counted and named."""
    system = compiled(COUNTER)

    result = search(system, system.scopes["tiny"])

    assert (result.verdict, result.exit_code, result.ended_by) == ("exhausted", 0, None)
    figures = result.figures
    assert (
        figures.distinct, figures.generated, figures.depth, figures.initial, figures.widest_level, figures.waiting
    ) == (5, 5, 4, 1, 1, 0)  # fmt: skip
    assert [(action.name, action.taken, action.cuts) for action in figures.actions] == [("up", 4, (("N", 1),))]
    assert (figures.bits, figures.widest) == (3, (("n", 3),))


def test_says_what_never_happened(compiled: Compiled) -> None:
    """An action that no state allows, a rule that refuses nothing and a ghost that nothing reads are named."""
    system = compiled(
        COUNTER
        + """
    seen: Ghost[Rel[N]]
    @init
    def unseen(self) -> None:
        self.seen.fill(False)
    @action
    def never(self) -> None:
        require(self.n > N(4), "A-1")
        require(self.n > N(0), "A-2")
        self.n = N(0)
    """
    )

    figures = search(system, system.scopes["tiny"]).figures

    assert figures.never_taken == ("never",)
    assert [rule.label for rule in figures.undecisive] == ["A-2"]
    assert figures.dropped_ghosts == ("seen",)


def test_a_removed_rule_has_nothing_to_decide(table: System) -> None:
    """A rule that was removed is not reported as one that never decided anything."""
    removed = remove_rules(table, ["ST-12"])

    figures = search(removed, removed.scopes["tiny"], keep_going=True).figures

    assert "ST-12" not in [rule.label for rule in figures.undecisive]


# What is found -------------------------------------------------------------------------------------------------------


def test_a_shortest_run(table: System) -> None:
    """Without ST-14 two processes hold the stream after two steps, and no shorter run shows it."""
    broken = remove_rules(table, ["ST-14"])

    result = search(broken, broken.scopes["tiny"])

    assert (result.verdict, result.exit_code, result.ended_by) == ("violated", 12, "violation")
    (trace,) = result.findings
    assert (trace.claim.name, trace.length) == ("one_handle", 2)
    assert [step.action for step in trace.steps] == ["init", "open", "open"]
    assert list(trace.claim.where) == [("s", "s1"), ("p", "p1"), ("q", "p2")]


def test_the_runs_are_runs_of_the_class(table: System) -> None:
    """The model's own class can take every step of every run that is shown."""
    broken = without_ghosts(remove_rules(table, ["ST-14"]))
    scope = broken.scopes["default"]
    cpython = CPython(broken, scope)

    result = search(broken, scope, keep_going=True)

    runs = [*result.findings, *(witness.trace for witness in result.witnesses if witness.trace is not None)]
    assert len(runs) == 4
    for trace in runs:
        assert trace.steps[0].code in cpython.initial()
        for before, step in zip(trace.steps, trace.steps[1:], strict=False):
            args = cpython.layout.encode_args(broken.action(step.action), dict(step.args))
            assert Taken(step.code) == cpython.step(before.code, step.action, args)


@pytest.mark.parametrize("scope", ["tiny", "default"])
@pytest.mark.parametrize("removed", ["ST-14", "ST-12", "CK-02.epoch"])
@pytest.mark.parametrize("keep_going", [False, True])
def test_symmetry_changes_no_run(table: System, scope: str, removed: str, keep_going: bool) -> None:
    """Runs to violations and witnesses are byte-identical with and without symmetry."""
    broken = remove_rules(table, [removed])

    reduced = search(broken, broken.scopes[scope], keep_going=keep_going)
    whole = search(broken, broken.scopes[scope], keep_going=keep_going, symmetry=False)

    assert reduced.figures.distinct < whole.figures.distinct
    assert reduced.findings == whole.findings
    if reduced.ended_by is None:
        assert reduced.witnesses == whole.witnesses
    else:
        assert render_result(reduced) == render_result(whole)


def test_the_same_under_any_hash_seed() -> None:
    """Two processes with different hash seeds write the same text, ITF and figures."""
    script = Path(__file__).parent / "print_violation.py"

    outputs = {
        subprocess.run(
            [sys.executable, str(script)],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    (output,) = outputs
    assert b"one_handle" in output


def test_the_first_property_of_the_source_wins(table: System) -> None:
    """Of several properties that break at the same depth, the first in the source is shown."""
    broken = remove_rules(table, ["ST-14"])

    shown = search(broken, broken.scopes["tiny"])
    others = search(broken, broken.scopes["tiny"], properties=["closed_before", "holder_opened_last"])

    assert names(shown.findings) == ["one_handle"]
    assert names(others.findings) == ["holder_opened_last"]


def test_keep_going_reports_each_once(table: System) -> None:
    """With keep-going, each violated property is found once, all states are explored, and the check still fails."""
    broken = remove_rules(table, ["ST-14"])

    result = search(broken, broken.scopes["tiny"], keep_going=True)

    assert names(result.findings) == ["one_handle", "holder_opened_last", "closed_before"]
    assert (result.exit_code, result.ended_by, result.figures.waiting) == (12, None, 0)


def test_keep_going_keeps_the_shortest_run(compiled: Compiled) -> None:
    """A property that fails at several depths is shown by its shortest run, whatever other properties failed before."""
    system = compiled(
        COUNTER
        + """
    @invariant
    def below_three(self) -> bool:
        return self.n < N(3)
    @invariant
    def below_two(self) -> bool:
        return self.n < N(2)
    """
    )

    first = search(system, system.scopes["tiny"])
    every = search(system, system.scopes["tiny"], keep_going=True)

    assert [(trace.claim.name, trace.length) for trace in first.findings] == [("below_two", 2)]
    assert [(trace.claim.name, trace.length) for trace in every.findings] == [("below_three", 3), ("below_two", 2)]


def test_keep_going_prefers_a_shorter_run_to_a_lesser_state(compiled: Compiled) -> None:
    """A smaller state that fails at a greater depth does not replace the first failing state."""
    system = compiled(
        """
    n: N
    tiny = Scope({N: 4})
    @init
    def full(self) -> None:
        self.n = N(4)
    @action
    def down(self) -> None:
        self.n = self.n - 1
    @invariant
    def high(self) -> bool:
        return self.n > N(3)
    """
    )

    (trace,) = search(system, system.scopes["tiny"], keep_going=True).findings

    assert (trace.length, trace.steps[-1].code) == (1, b"\x03")


MARKS = """
    leader: Node
    red: Rel[Node]
    blue: Map[Node, Node | None]
    tiny = Scope({Node: 3})
    @init
    def choose(self, n: Node) -> None:
        self.leader = n
        self.red.fill(False)
        self.blue.fill(None)
    @action
    def paint(self, n: Node) -> None:
        self.red[n] = True
    @action
    def point(self, n: Node, m: Node) -> None:
        require(n != m, "A-1")
        self.blue[n] = m
    @action
    def wash(self, n: Node) -> None:
        require(self.red[n], "A-2")
        self.red[n] = False
        self.blue[n] = n
    @witness
    def one(self) -> bool:
        return any(self.red[n] for n in Node)
    @witness
    def both(self) -> bool:
        return all(self.blue[n] is not None for n in Node) and any(self.red[n] and n != self.leader for n in Node)
    @witness
    def chain(self) -> bool:
        return any(
            self.blue[n] is not None and self.blue[n] == self.leader and self.blue[m] is not None and self.blue[m] == n
            for n in Node
            for m in Node
            if n != m and n != self.leader
        )
    @witness
    def washed(self) -> bool:
        return any(
            self.blue[n] is not None and self.blue[n] == n and self.red[m] and self.blue[m] is not None
            for n in Node
            for m in Node
            if n != m
        )
    @step
    def keeps(self, old: Self) -> bool:
        return not any(old.red[n] and not self.red[n] and n != self.leader for n in Node)
    @step
    def points_stay(self, old: Self) -> bool:
        return all(old.blue[n] is None or not old.red[n] or not old.red[self.leader] or self.red[n] for n in Node)
"""


def test_ties_are_broken_the_same_way(compiled: Compiled) -> None:
    """If many orbits and renamed states lead on, the runs are the same with and without symmetry."""
    system = compiled(MARKS)

    reduced = search(system, system.scopes["tiny"], keep_going=True)
    whole = search(system, system.scopes["tiny"], keep_going=True, symmetry=False)

    assert (reduced.figures.group_order, whole.figures.group_order) == (6, 1)
    assert len(reduced.findings) == 2
    assert reduced.findings == whole.findings
    assert reduced.witnesses == whole.witnesses


def test_the_path_has_the_least_orbits(compiled: Compiled) -> None:
    """Going back from a run's end, each orbit's predecessor is the least orbit with a shortest path to it."""
    system = compiled(MARKS)
    machine = Interpreter(system, system.scopes["tiny"])
    canonical = Symmetry(machine.layout).canonical
    levels = [{canonical(state) for state in machine.initial()}]
    before: dict[bytes, bytes] = dict.fromkeys(levels[0], b"")
    while levels[-1]:
        levels.append(set())
        for state in sorted(levels[-2]):
            for new in [canonical(new) for successors in machine.successors for new, _ in successors(state)]:
                if new not in before:
                    before[new] = state
                    levels[-1].add(new)

    result = search(system, system.scopes["tiny"], keep_going=True, symmetry=False)

    for witness in result.witnesses:
        assert witness.trace is not None
        orbits = [canonical(step.code) for step in witness.trace.steps]
        assert orbits[:-1] == [before[orbit] for orbit in orbits[1:]]


def test_the_run_takes_the_least_states(compiled: Compiled) -> None:
    """A run begins in the least initial state, and takes the least of several renamed successors."""
    system = compiled(MARKS)

    one = search(system, system.scopes["tiny"], properties=["one"]).witnesses[0].trace

    assert one is not None
    assert [step.code for step in one.steps] == [b"\0\0\0\0\0\0\0", b"\0\0\0\1\0\0\0"]
    assert one.steps[-1].args == (("n", "n3"),)


def test_json_depends_on_the_model_alone(table: System) -> None:
    """Two searches give the same JSON but for its timing."""
    first, second = (to_json(search(table, table.scopes["default"])) for _ in range(2))

    assert first.pop("timing").keys() == second.pop("timing").keys()
    assert first == second


def test_the_itf_of_both_searches(table: System) -> None:
    """The file of a violation is the same with and without symmetry."""
    broken = remove_rules(table, ["ST-14"])

    texts = {
        itf_text(search(broken, broken.scopes["default"], symmetry=symmetry).findings[0]) for symmetry in (True, False)
    }

    assert len(texts) == 1
