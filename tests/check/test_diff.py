"""Comparing two models: every difference is found, and no difference is reported where there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.check.budget import Budget, Meter
from holdfast.check.diff.compared_system import ComparedSystem, StepAnswer, alike, same_action
from holdfast.check.diff.engine import NameDifferences, RuleDifference, diff
from holdfast.check.diff.lockstep import Difference, Lockstep, LockstepResult
from holdfast.check.diff.text import render_diff
from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import Place
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower import renaming_group, symmetry
from holdfast.lower.outcome import Cut, Refused, Taken
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.replay import Replayer, StoppedScript
from holdfast.trace.text import action as written
from tests.check.comparing import LEASE, versions

Compiled = Callable[[str], System]

GUARD = 'require(self.holder[N(0)] is None, "LE-02")'


def compared(a: System, b: System) -> LockstepResult:
    """The complete comparison of the steps of both systems."""
    left, right = (ComparedSystem(each.system, each.scope, each.target) for each in versions(a, b))
    return Lockstep(left, right, Meter(Budget())).compare()


def calls(found: Difference) -> list[str]:
    """The steps of the run that leads to a difference."""
    return [written(step) for step in found.run.steps[1:]]


def only(found: tuple[Difference, ...]) -> Difference:
    """The only difference; fails if there is none or more than one."""
    (difference,) = found
    return difference


# The same -------------------------------------------------------------------------------------------------------------


def test_a_model_does_what_it_does(table: System) -> None:
    """Compared with itself a model shows no difference, and has as many states as a search of it without ghosts."""
    found = compared(table, table)
    assert (found.differences, found.answers, found.waiting) == ((), (), 0)

    reached = search(table, table.scopes["tiny"], properties=["epochs_grow"], keep_going=True).figures
    assert (found.states, found.depth, found.group_order) == (reached.distinct, reached.depth, reached.group_order)


def test_prose_places_and_order_do_not_count(compiled: Compiled) -> None:
    """Comments, the order of fields and actions, and ghosts do not count as differences."""
    moved = LEASE.replace("    epoch: N\n", "").replace(
        "    holder: Map", "    # Moved.\n    epoch: N\n    holder: Map"
    )
    moved = moved.replace("        self.late = e\n", "").replace(GUARD, f"{GUARD}  # Why?")
    found = diff(*versions(compiled(LEASE), compiled(moved)))

    assert found.same_behaviour
    assert not found.fields.some
    assert not found.bounds.some
    assert "Both do the same" in render_diff(found)
    # The body writes a ghost less.
    assert found.actions == NameDifferences((), (), ("acquire",))


def test_a_field_that_only_one_has_is_not_seen(compiled: Compiled) -> None:
    """A field and a parameter that only one model has make no difference, even if a step has several results."""
    more = LEASE.replace("    epoch: N\n", "    epoch: N\n    mood: bool\n")
    more = more.replace("self.epoch = N(0)", "self.epoch = N(0)\n        self.mood = False")
    more = more.replace("e: N) ->", "e: N, glad: bool) ->").replace(
        "self.late = e", "self.late = e\n        self.mood = glad"
    )
    found = diff(*versions(compiled(LEASE), compiled(more)))

    assert found.same_behaviour
    assert found.fields == NameDifferences((), ("mood",))


def test_a_hidden_field_may_decide_later(compiled: Compiled) -> None:
    """If a field that only one model has decides later steps, a step that no value of the field allows is found."""
    body = """
    n: N
    tiny = Scope({N: 3})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        self.n = self.n + 1
    """
    sulking = """
    n: N
    sulks: bool
    tiny = Scope({N: 3})
    @init
    def zero(self, a: bool) -> None:
        self.n = N(0)
        self.sulks = a
    @action
    def up(self) -> None:
        require(not self.sulks or self.n < N(1), "SU-01")
        require(self.sulks or self.n < N(2), "SU-02")
        self.n = self.n + 1
    """
    found = compared(compiled(body), compiled(sulking))
    lost = only(found.of("A"))

    # One of the two starts goes to 1, the other to 2; nothing goes to 3.
    assert calls(lost) == ["up()"] * 3
    assert lost.answer.kind == "refused"
    assert found.of("B") == ()


# What is different ----------------------------------------------------------------------------------------------------


def test_a_rule_removed_is_gained(compiled: Compiled) -> None:
    """Without a rule the model gains steps: the nearest is shown, with the rule that refuses it in the other model."""
    system = compiled(LEASE)
    found = diff(*versions(system, remove_rules(system, ["LE-02"])))
    gained = only(found.compared.of("B"))

    assert calls(gained) == ["acquire(n=n1, e=1)", "acquire(n=n1, e=2)"]
    assert (gained.action, gained.answer) == ("acquire", StepAnswer("refused", "LE-02"))
    assert found.compared.of("A") == ()
    assert found.rules == (RuleDifference("LE-02", "A", (gained.steps, 0), None),)
    assert found.actions == NameDifferences((), (), ("acquire",))
    assert found.exit_code == 0


def test_the_other_way_round_it_is_lost(compiled: Compiled) -> None:
    """With the sides exchanged, each gained step is a lost one: the same steps, runs and reasons."""
    system = compiled(LEASE)
    less = remove_rules(system, ["LE-01"])
    one, two = compared(system, less), compared(less, system)

    def said(found: tuple[Difference, ...]) -> list[tuple[object, ...]]:
        return [(each.action, each.answer, each.steps, each.run.steps) for each in found]

    assert said(one.of("B")) == said(two.of("A")) != []
    assert said(one.of("A")) == said(two.of("B")) == []


@pytest.mark.parametrize("rule", ["CK-02.epoch", "ST-12", "ST-14"])
def test_every_step_that_is_gained_is_counted(table: System, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of gained steps equals the number that a plain loop over the stricter model's states counts."""
    monkeypatch.setattr(renaming_group, "MOST_COSETS", 0)
    less = remove_rules(table, [rule])
    found = compared(table, less)

    strict, loose = (
        Interpreter(each, each.scopes["tiny"], ghosts=frozenset(), properties=()) for each in (table, less)
    )
    seen, todo, more = set(strict.initial()), list(strict.initial()), 0
    while todo:
        state = todo.pop()
        for ours, theirs in zip(strict.successors, loose.successors, strict=True):
            steps = set(ours(state))
            more += len(set(theirs(state)) - steps)
            fresh = {new for new, _ in steps} - seen
            seen |= fresh
            todo += fresh
    assert (found.states, sum(each.steps for each in found.of("B"))) == (len(seen), more)
    assert more
    assert found.of("A") == ()


@pytest.mark.parametrize("rule", ["CK-02.epoch", "ST-12", "ST-14"])
def test_a_run_to_a_difference_can_be_replayed(table: System, rule: str) -> None:
    """Each run belongs to one side; the other side follows it up to the last step, which the named rule refuses."""
    less = remove_rules(table, [rule])
    here, there = (Replayer(each, each.scopes["tiny"]) for each in (less, table))

    for each in compared(table, less).of("B"):
        script = here.script(each.run)
        assert not isinstance(here.states(script), StoppedScript)
        stopped = there.states(script)
        assert isinstance(stopped, StoppedScript)
        assert stopped.index == len(script.steps)
        assert isinstance(stopped.outcome, Refused)
        assert (stopped.outcome.label, stopped.outcome.error) == (each.answer.what, each.answer.error)


def test_symmetry_hides_nothing(table: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without symmetry reduction, and in a group with a form, the same actions differ alike."""
    less = remove_rules(table, ["ST-14"])

    def said(found: LockstepResult) -> set[tuple[object, ...]]:
        return {(each.side, each.action, each.answer, each.run.length) for each in found.differences}

    reduced = compared(table, less)
    monkeypatch.setattr(renaming_group, "MOST_COSETS", 0)
    whole = compared(table, less)

    monkeypatch.undo()
    monkeypatch.setattr(symmetry, "MOST_LISTED", 0)
    formed = compared(table, less)

    assert said(reduced) == said(whole) == said(formed)
    assert reduced.group_order > whole.group_order == 1
    assert (formed.group_order, formed.states) == (reduced.group_order, reduced.states)
    assert reduced.states < whole.states


def test_what_changes_something_is_shown_first(compiled: Compiled) -> None:
    """A step that changes something is shown in preference to one that changes nothing, even if that one is nearer."""
    body = """
    n: N
    tiny = Scope({N: 2})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def put(self, a: N) -> None:
        require(a > self.n, "PU-01")
        self.n = a
    """
    system = compiled(body)
    found = only(compared(system, remove_rules(system, ["PU-01"])).of("B"))
    assert (calls(found), found.idle) == (["put(a=1)", "put(a=0)"], False)


def test_a_step_that_leads_elsewhere(compiled: Compiled) -> None:
    """A step that both models take, to different states, counts as lost and as gained, and both runs are shown."""
    changed = LEASE.replace("self.holder[N(0)] = None", "self.holder[N(0)] = None\n        self.epoch = N(0)")
    found = compared(compiled(LEASE), compiled(changed))
    lost, gained = only(found.of("A")), only(found.of("B"))

    assert lost.answer == gained.answer == StepAnswer("elsewhere")
    assert calls(lost) == calls(gained) == ["acquire(n=n1, e=1)", "release()"]


def test_actions_and_arguments_that_one_lacks(compiled: Compiled) -> None:
    """An action of one model only, an argument outside the other's scope, and a cut are three kinds of difference."""
    more = LEASE.replace("Scope({Node: 2, N: 2})", "Scope({Node: 3, N: 2})")
    more += """
    @action
    def reset(self) -> None:
        self.epoch = N(0)
    """
    found = diff(*versions(compiled(LEASE), compiled(more)))
    reasons = {(each.action, each.answer) for each in found.compared.of("B")}

    assert reasons == {("acquire", StepAnswer("absent", "acquire")), ("reset", StepAnswer("absent"))}
    assert found.actions == NameDifferences((), ("reset",))
    assert found.bounds == NameDifferences((), (), ("Node",))
    text = render_diff(found)
    assert "acquire takes no such argument in A" in text
    assert "A has no action reset" in text


def test_a_bound_that_cuts(compiled: Compiled) -> None:
    """A step that the other scope cuts is a difference under the bound's name."""
    body = """
    n: N
    tiny = Scope({N: 2})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        self.n = self.n + 1
    """
    found = compared(compiled(body), compiled(body.replace("N: 2", "N: 3")))
    assert (calls(only(found.of("B"))), only(found.of("B")).answer) == (["up()"] * 3, StepAnswer("cut", "N"))


def test_another_start(compiled: Compiled) -> None:
    """An initial state that the other model lacks is a difference without steps; its successors are not compared."""
    found = compared(compiled(LEASE), compiled(LEASE.replace("self.epoch = N(0)", "self.epoch = N(1)", 1)))
    lost, gained = only(found.of("A")), only(found.of("B"))

    assert lost.answer == gained.answer == StepAnswer("start")
    assert (lost.run.length, gained.run.length, found.states) == (0, 0, 0)


def test_guards_in_another_order_answer_otherwise(compiled: Compiled) -> None:
    """If two rules swap places, the same steps are possible, but another rule refuses a request."""
    lines = ['require(e > self.epoch, "LE-01")', GUARD]
    swapped = LEASE.replace(lines[0], "FIRST").replace(lines[1], lines[0]).replace("FIRST", lines[1])
    found = diff(*versions(compiled(LEASE), compiled(swapped)))
    (answer,) = found.compared.answers

    assert found.same_behaviour
    assert (answer.action, answer.a, answer.b) == (
        "acquire",
        StepAnswer("refused", "LE-01"),
        StepAnswer("refused", "LE-02"),
    )
    assert (dict(answer.arguments), answer.run.length) == ({"n": "n1", "e": 0}, 1)
    assert "denied by both" in render_diff(found)


def test_equal_actions_are_told_from_changed_ones(compiled: Compiled) -> None:
    """An action counts as changed if a rule, value or label differs, and as equal wherever it stands."""
    system = compiled(LEASE)
    acquire = system.action("acquire")

    assert same_action(acquire, compiled(f"    # A line.\n{LEASE}").action("acquire"))
    for text in ("LE-02", "self.epoch = e", "e > self.epoch"):
        other = {"LE-02": "LE-03", "self.epoch = e": "self.epoch = N(1)", "e > self.epoch": "e >= self.epoch"}[text]
        assert not same_action(acquire, compiled(LEASE.replace(text, other)).action("acquire"))


def test_one_model_under_two_paths(tmp_path: Path) -> None:
    """The same class in two files counts as two models."""
    source = (Path(__file__).parent / "models" / "table.py").read_text()
    for name, text in (
        ("one", source),
        ("two", source.replace('require(not self.opened[s], "ST-14"', 'require(True, "ST-14"')),
    ):
        (tmp_path / f"{name}.py").write_text(text)
    one, two = (compile_model(load_model(str(tmp_path / f"{name}.py"))) for name in ("one", "two"))
    assert only(compared(one, two).of("B")).answer.what == "ST-14"


def test_which_answers_are_alike() -> None:
    """Alike are two refusals by one rule with one error, two cuts at one bound, and two granted steps, at any place."""
    places = Place("one.py", 1), Place("two.py", 2)
    one, two = (Refused("R-1", "NO", place) for place in places)
    assert alike(one, two)
    assert not alike(one, Refused("R-2", "NO", places[0]))
    assert not alike(one, Refused("R-1", None, places[0]))
    assert alike(Cut("N", places[0]), Cut("N", places[1]))
    assert not alike(Cut("N"), Cut("M"))
    assert alike(Taken(b"a"), Taken(b"b"))
    assert not alike(Taken(b"a"), Cut("N"))
