"""What a search says of each kind of claim: properties, idempotence, deadlocks, witnesses; and which it checks."""

from __future__ import annotations

import pytest

from holdfast.check.search.engine import Engine, search
from holdfast.check.summary import render_result
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.runs.replay import Replayer, Script
from tests.check.conftest import Compiled
from tests.check.searching import COUNTER, names

# What is found -------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
def test_a_search_for_violations_only(compiled: Compiled, engine: Engine) -> None:
    """It says nothing of witnesses and premises, and finds what is violated: states, steps, and steps of one action."""
    system = compiled(f"""{COUNTER}
    @witness
    def two(self) -> bool:
        return self.n == N(2)
    @invariant
    def says_nothing(self) -> bool:
        return all(n < N(2) for n in N if self.n > N(4))
    @invariant
    def below(self) -> bool:
        return self.n < N(2)
    @step
    def stays_low(self, old: Self) -> bool:
        return self.n <= N(2)
    @step(of="up")
    def no_third(self, old: Self) -> bool:
        return self.n <= N(2)
""")

    result = search(system, system.scopes["tiny"], engine=engine, violations_only=True, keep_going=True)

    assert [trace.claim.name for trace in result.findings] == ["below", "stays_low", "no_third"]
    assert (result.witnesses, result.vacuous, result.exit_code) == ((), (), 12)


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
