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
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower.outcome import Taken
from holdfast.lower.python.cpython import CPython
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.symmetry import Symmetry
from holdfast.runs.replay import Replayer, Script
from holdfast.trace.itf import itf_text
from holdfast.trace.trace import Trace

Compiled = Callable[[str], System]

COUNTER = """
    n: N
    tiny = Scope({N: 4})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        self.n = self.n + 1
"""


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


def names(traces: tuple[Trace, ...]) -> list[str]:
    """The names of the claims that the runs show."""
    return [trace.claim.name for trace in traces]


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


def test_violated_at_the_start(compiled: Compiled) -> None:
    """An invariant that an initial state breaks is shown by a run without steps."""
    system = compiled(COUNTER + "    @invariant\n    def some(self) -> bool:\n        return self.n > N(0)\n")

    (trace,) = search(system, system.scopes["tiny"]).findings

    assert (trace.length, len(trace.steps)) == (0, 1)


def test_a_step_that_changes_nothing_is_checked(compiled: Compiled) -> None:
    """A step property is also checked on steps that lead back to the same state."""
    system = compiled(
        """
    n: N
    tiny = Scope({N: 1})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def stay(self) -> None:
        self.n = N(0)
    @step
    def moves(self, old: Self) -> bool:
        return self.n != old.n
    """
    )

    (trace,) = search(system, system.scopes["tiny"]).findings

    assert (trace.claim.name, trace.length) == ("moves", 1)


def test_the_shown_step_is_the_one_that_violates(compiled: Compiled) -> None:
    """If two actions lead to the same state, the run shows the action whose property fails."""
    system = compiled(
        COUNTER
        + """
    @action
    def jump(self, n: N) -> None:
        require(n == N(3), "A-1")
        self.n = n
    @action
    def leap(self, n: N) -> None:
        self.n = n
    @step(of="leap")
    def short(self, old: Self, n: N) -> bool:
        return n <= N(2) or old.n > N(0)
    """
    )

    (trace,) = search(system, system.scopes["tiny"]).findings

    assert (trace.steps[-1].action, trace.steps[-1].args) == ("leap", (("n", 3),))
    assert trace.claim.where == (("n", 3),)


# Idempotence ---------------------------------------------------------------------------------------------------------

REPEATED = """
    n: N
    repeated: Ghost[Rel[N]]
    tiny = Scope({{N: 3}}{budgets})
    @init
    def zero(self) -> None:
        self.n = N(0)
        self.repeated.fill(False)
    @action(idempotent="INV-15")
    def put(self, n: N) -> None:
        \"\"\"Put a number.\"\"\"
        {body}
    @invariant
    def recorded(self) -> bool:
        return all(self.n == n or not self.repeated[n] or n <= N(3) for n in N)
"""


def test_a_repetition_that_is_refused(compiled: Compiled) -> None:
    """A second equal step that a rule refuses violates idempotence; the run shows it, with the rule."""
    system = compiled(REPEATED.format(budgets="", body='require(self.n != n, "A-1"); self.n = n'))

    result = search(system, system.scopes["tiny"])

    (trace,) = result.findings
    assert (
        result.exit_code, trace.claim.kind, trace.claim.ids, trace.length
    ) == (12, "idempotent", ("INV-15",), 1)  # fmt: skip
    first, second = trace.steps[1:]
    assert (first.action, first.args, first.code) == (second.action, second.args, second.code)
    assert (first.repeat, first.refused, second.repeat, second.refused) == (False, None, True, "A-1")


def test_a_repetition_that_changes_something(compiled: Compiled) -> None:
    """A second equal step that changes the state violates idempotence, and is the last step of the run."""
    system = compiled(REPEATED.format(budgets="", body='require(n == N(1), "A-1"); self.n = self.n + n'))

    (trace,) = search(system, system.scopes["tiny"]).findings

    assert [step.code[:1] for step in trace.steps] == [b"\x00", b"\x01", b"\x02"]
    assert trace.steps[-1].repeat


def test_a_repetition_may_be_recorded(compiled: Compiled) -> None:
    """A repetition may change ghosts and consume its budget; a cut repetition is counted, and violates nothing."""
    system = compiled(
        REPEATED.format(budgets=", budgets={'put': 2}", body="self.repeated[n] = self.n == n; self.n = n")
    )

    result = search(system, system.scopes["tiny"])

    assert (result.exit_code, result.findings) == (0, ())
    assert 0 < result.figures.unshown_repeats < dict(result.figures.evaluated)["put_idempotent"]


# Deadlock ------------------------------------------------------------------------------------------------------------

ENDING = """
    n: N
    done: bool
    tiny = Scope({{N: 3}})
    @init
    def zero(self) -> None:
        self.n = N(0)
        self.done = False
    @action
    def up(self) -> None:
        require(not self.done, "A-1")
        {limit}
        self.n = self.n + 1
    @action
    def finish(self) -> None:
        require(not self.done, "A-2")
        require(self.n == N(1), "A-3")
        self.done = True
    @final
    def finished(self) -> bool:
        return self.done
"""


def test_a_deadlock(compiled: Compiled) -> None:
    """A state that has no step and is not final is a deadlock, exit code 11."""
    system = compiled(ENDING.format(limit='require(self.n < N(2), "A-4")'))

    result = search(system, system.scopes["tiny"])

    (trace,) = result.findings
    assert (result.exit_code, trace.claim.name, trace.length) == (11, "deadlock", 2)


def test_an_end_that_a_bound_makes_is_no_deadlock(compiled: Compiled) -> None:
    """A state whose only steps are cut is counted separately; a final state may end a run."""
    system = compiled(ENDING.format(limit=""))

    result = search(system, system.scopes["tiny"])

    assert (result.exit_code, result.figures.cut_ends) == (0, 1)


def test_no_run_shows_a_deadlock_where_a_bound_cut_a_step(compiled: Compiled) -> None:
    """Replayed, a run to a state with only cut steps violates nothing; a run to a state without steps is a deadlock."""
    twice, often = (Script((), (("up", ()),) * times) for times in (2, 3))
    cut, stuck = (compiled(ENDING.format(limit=limit)) for limit in ("", 'require(self.n < N(2), "A-4")'))
    assert Replayer(cut, cut.scopes["tiny"]).violated(often) is None
    assert Replayer(stuck, stuck.scopes["tiny"]).violated(twice) == "deadlock"


def test_deadlock_and_violation(compiled: Compiled) -> None:
    """If an invariant fails as well, the exit code is the invariant's."""
    text = ENDING.format(limit='require(self.n < N(2), "A-4")')
    system = compiled(text + "    @invariant\n    def low(self) -> bool:\n        return self.n < N(2)\n")

    result = search(system, system.scopes["tiny"], keep_going=True)

    assert (result.exit_code, names(result.findings)) == (12, ["low", "deadlock"])


def test_going_on_finds_all_that_fails_in_one_place(compiled: Compiled) -> None:
    """Keep-going finds two invariants violated in one state, and two step properties violated in one step."""
    system = compiled(
        """
    n: N
    tiny = Scope({N: 1})
    @init
    def begin(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        require(self.n == N(0), "A-1")
        self.n = N(1)
    @invariant
    def low(self) -> bool:
        return self.n == N(0)
    @invariant
    def lower(self) -> bool:
        return self.n < N(1)
    @step
    def stays(self, old: Self) -> bool:
        return self.n == old.n
    @step(of="up")
    def sinks(self, old: Self) -> bool:
        return self.n <= old.n
    """
    )
    found = search(system, system.scopes["tiny"], keep_going=True).findings
    assert names(found) == ["low", "lower", "stays", "sinks"]
    assert names(search(system, system.scopes["tiny"]).findings) == ["low"]


def test_deadlock_only_where_it_is_asked(compiled: Compiled) -> None:
    """Deadlocks are not checked if only other properties are selected; they can be selected by name."""
    text = ENDING.format(limit='require(self.n < N(2), "A-4")')
    system = compiled(text + "    @invariant\n    def low(self) -> bool:\n        return self.n < N(4)\n")

    exit_codes = [search(system, system.scopes["tiny"], properties=[name]).exit_code for name in ("low", "deadlock")]

    assert exit_codes == [0, 11]


def test_a_rule_of_the_start_may_decide(compiled: Compiled) -> None:
    """A rule that refuses only choices of the initial condition counts as decisive."""
    system = compiled(
        """
    n: N
    tiny = Scope({N: 2})
    @init
    def low(self, n: N) -> None:
        require(n < N(1), "A-1")
        self.n = n
    @action
    def stay(self) -> None:
        self.n = N(0)
    """
    )

    assert search(system, system.scopes["tiny"]).figures.undecisive == ()


# What was never shown ------------------------------------------------------------------------------------------------


def test_witnesses(table: System, compiled: Compiled) -> None:
    """A witness is shown by a shortest run; one that is not reached makes the exit code 10."""
    held = search(table, table.scopes["tiny"])
    system = compiled(COUNTER + "    @witness\n    def five(self) -> bool:\n        return self.n > N(4)\n")
    missed = search(system, system.scopes["tiny"])

    (witness,) = held.witnesses
    assert witness.trace is not None
    assert (held.exit_code, witness.trace.length, held.missing) == (0, 3, ())
    assert (missed.exit_code, [claim.name for claim in missed.missing]) == (10, ["five"])


@pytest.mark.parametrize(
    "prop",
    [
        "@invariant\n    def says(self) -> bool:\n        return all(n < N(2) for n in N if self.n > N(4))",
        "@step\n    def says(self, old: Self) -> bool:\n        return not old.n > self.n or self.n > N(1)",
        '@step(of="never")\n    def says(self, old: Self) -> bool:\n        return self.n > old.n',
    ],
    ids=["invariant", "step", "step of an action"],
)
def test_a_vacuous_property(compiled: Compiled, prop: str) -> None:
    """A property whose premise is never met, or whose action is never taken, is vacuous: exit code 10."""
    never = '    @action\n    def never(self) -> None:\n        require(self.n > N(4), "A-1")\n'
    system = compiled(f"{COUNTER}{never}    {prop}\n")

    result = search(system, system.scopes["tiny"])

    assert (
        result.verdict, result.exit_code, [claim.name for claim in result.vacuous]
    ) == ("exhausted", 10, ["says"])  # fmt: skip


def test_a_lemma_is_called_one(table: System) -> None:
    """A violated lemma is reported as a lemma."""
    broken = remove_rules(table, ["ST-14"])

    result = search(broken, broken.scopes["tiny"], properties=["INV-02"])

    assert [trace.claim.kind for trace in result.findings] == ["lemma"]
    assert "The lemma holder_opened_last (INV-02) is violated" in render_result(result)


def test_a_false_assumption(compiled: Compiled) -> None:
    """Constants that contradict an assumption are refused, with the place of the scope."""
    system = compiled(
        """
    first: N
    n: N
    tiny = Scope({N: 2}, given={"first": 1})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        self.n = self.first
    @assume
    def starts_low(self) -> bool:
        return self.first == N(0)
    """
    )

    with pytest.raises(ModelError, match=r"py:11:5: tiny: .*contradict the assumption starts_low"):
        search(system, system.scopes["tiny"])


# What is asked -------------------------------------------------------------------------------------------------------


def test_properties_by_name_and_id(table: System) -> None:
    """Properties are chosen by name or rule id; the run's command repeats the choice."""
    broken = remove_rules(table, ["ST-14"])

    (trace,) = search(broken, broken.scopes["tiny"], properties=["INV-02"], target="table").findings

    assert trace.claim.name == "holder_opened_last"
    assert trace.command == "holdfast check table --scope tiny --without ST-14 --property INV-02"


def test_an_unknown_property(table: System) -> None:
    """A property that the model does not have is refused, with the nearest names."""
    with pytest.raises(UsageError, match="Table has no property 'one_hand'; did you mean one_handle"):
        search(table, table.scopes["tiny"], properties=["one_hand"])


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
