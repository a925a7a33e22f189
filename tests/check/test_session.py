"""Sessions: stepping through a run, the possible steps at each state, and the runs that branch off."""

from __future__ import annotations

import itertools

import attrs
import pytest

from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.lower.outcome import Cut, Refused, Taken
from holdfast.lower.python.cpython import CPython
from holdfast.runs.explorer.choices import Refusal, UntriedAction
from holdfast.runs.explorer.session import Session
from holdfast.trace.trace import Trace
from tests.check.conftest import Compiled
from tests.check.stepping import names, take

# Along the run ----------------------------------------------------------------------------------------------------


def test_stepping_stays_on_the_run(session: Session) -> None:
    """Forward and back move one step and stop at the ends; moving cannot be undone."""
    places = [session.at]
    for move in (session.back, session.forward, session.forward, session.forward, session.back):
        move()
        places.append(session.at)
    assert places == [0, 0, 1, 2, 2, 1]
    assert not session.can_undo


def test_what_a_step_changed(session: Session) -> None:
    """The state is grouped by element, the acting sort first; each change names the old value."""
    session.go(2)
    groups = session.beliefs()
    assert list(groups) == ["p1", "p2", "s1"]
    changed = {
        belief.cell.name: (belief.before, belief.value) for each in groups.values() for belief in each if belief.changed
    }
    assert changed == {
        "handle[p2, s1]": (0, 2),
        "used[p2, s1, 2]": (False, True),
        "owner[s1]": ("n1", "n2"),
        "epoch[s1]": (1, 2),
        "last_opener[s1]": ("p1", "p2"),
    }
    assert all(belief.value for each in groups.values() for belief in each)
    whole = [belief for each in session.beliefs(full=True).values() for belief in each]
    assert len(whole) == len(session.opened.cells)


def test_the_start_has_changed_nothing(session: Session) -> None:
    """In the initial state no change is shown."""
    assert not any(belief.changed for each in session.beliefs(full=True).values() for belief in each)


# What may happen --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1, 2])
def test_every_choice_of_arguments_is_possible_or_refused(session: Session, broken: System, at: int) -> None:
    """Each combination of arguments is a choice with its successor, or refused by its rule, as CPython confirms."""
    session.go(at)
    oracle = CPython(broken, broken.scopes["tiny"])
    expected = {}
    for action in broken.actions:
        for args in itertools.product(range(2), range(1), range(3)):
            outcome = oracle.step(session.step.code, action.name, args)
            named = tuple(oracle.layout.decode_args(action, args).items())
            expected[action.name, named] = outcome.state if isinstance(outcome, Taken) else reason(outcome)
    said: dict[object, object] = {
        (choice.step.action, choice.step.args): choice.step.code for choice in session.choices()
    }
    assert all(choice.changes == (choice.step.code != session.step.code) for choice in session.choices())
    for refusal in session.refusals():
        assert isinstance(refusal, Refusal)
        new = dict.fromkeys(
            ((refusal.action, args) for args in refusal.args), (refusal.label, refusal.error, refusal.by_bound)
        )
        assert not new.keys() & said.keys()
        said |= new
    assert said == expected


def reason(outcome: Refused | Cut) -> tuple[str, str | None, bool]:
    """The reason of a Refusal."""
    return (outcome.label, outcome.error, False) if isinstance(outcome, Refused) else (outcome.bound, None, True)


def test_bounds_and_budgets_cut(compiled: Compiled) -> None:
    """A step beyond the scope is refused by its bound, and a step beyond its budget by the budget."""
    system = compiled(
        """
        size: N
        tiny = Scope({Node: 1, N: 1}, budgets={"spend": 0})

        @init
        def zero(self) -> None:
            self.size = N(0)

        @action
        def grow(self, n: N) -> None:
            self.size = self.size + n + n

        @action
        def spend(self, n: Node) -> None:
            require(n == n, "XX-01")
        """
    )
    refusals = Session.of_model(system, system.scopes["tiny"], "model").refusals()
    assert [attrs.astuple(refusal) for refusal in refusals] == [
        ("grow", "N", None, True, ((("n", 1),),)),
        ("spend", "budget", None, True, ((("n", "n1"),),)),
    ]


def test_what_is_too_much_to_try_is_said(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """An action with too many instances to try is listed with their number; all other refusals and choices remain."""
    monkeypatch.setattr("holdfast.runs.explorer.choices.MOST_TRIED", 5)
    assert session.refusals() == (UntriedAction("open", 6), UntriedAction("close", 6))
    monkeypatch.setattr("holdfast.runs.explorer.choices.MOST_TRIED", 6)
    assert not any(isinstance(each, UntriedAction) for each in session.refusals())
    assert session.choices()


def test_choices_say_what_they_violate(session: Session) -> None:
    """A step that leads to a violation is marked with its name, and other steps are not marked."""
    session.go(1)
    marked = {names((choice.step,))[0]: choice.violates for choice in session.choices()}
    # The first violated property in the source counts: two handles stand before an open of an open stream.
    assert marked == {
        "open('p1', 's1', 2)": "closed_before",
        "open('p2', 's1', 2)": "one_handle",
        "close('p1', 's1', 1)": None,
    }


# Branching off ----------------------------------------------------------------------------------------------------


def test_taking_the_step_of_the_run_stays_on_it(session: Session) -> None:
    """Taking the run's own next step creates no new run."""
    take(session, "open", p="p1", e=1)
    assert (len(session.runs), session.number, session.at) == (1, 0, 1)


def test_another_step_branches_off(session: Session, counterexample: Trace) -> None:
    """Taking another step creates a new run that grows at its end; the opened run is unchanged."""
    session.go(1)
    take(session, "close", p="p1")
    take(session, "open", p="p2", e=2)
    assert [names(run) for run in session.runs] == [
        names(counterexample.steps),
        ["init()", "open('p1', 's1', 1)", "close('p1', 's1', 1)", "open('p2', 's1', 2)"],
    ]
    assert (session.number, session.at) == (1, 3)
    # The same steps lead to the same run.
    session.switch(0)
    assert session.at == 1
    take(session, "close", p="p1")
    assert (len(session.runs), session.number, session.at) == (2, 1, 2)


def test_undo_and_redo(session: Session) -> None:
    """Undo reverts every change, redo repeats it, and a new change discards the undone ones."""
    session.go(1)
    before = (session.runs, session.number, session.at)
    take(session, "close", p="p1")
    session.switch(0)
    after = (session.runs, session.number, session.at)
    session.undo()
    session.undo()
    assert (session.runs, session.number, session.at) == before
    session.undo()
    assert (session.runs, session.number, session.at) == before
    session.redo()
    session.redo()
    session.redo()
    assert (session.runs, session.number, session.at) == after
    session.undo()
    session.undo()
    take(session, "open", p="p1", e=2)
    assert not session.can_redo


def test_another_initial_state(compiled: Compiled) -> None:
    """If there are several initial states, a run can begin in each of them."""
    system = compiled(
        """
        size: N
        tiny = Scope({N: 2})

        @init
        def any_size(self, n: N) -> None:
            self.size = n

        @action
        def rest(self, n: N) -> None:
            require(n == self.size, "XX-01")
        """
    )
    session = Session.of_model(system, system.scopes["tiny"], "model")
    assert [choice.step.args for choice in session.starts()] == [(("n", 0),), (("n", 1),), (("n", 2),)]
    session.begin(session.starts()[2].step)
    assert [names(run) for run in session.runs] == [["init(0,)"], ["init(2,)"]]
    assert names(session.trace().steps) == ["init(2,)"]
    session.switch(0)
    assert (session.number, session.at) == (0, 0)


def test_paths_that_are_not_possible(session: Session) -> None:
    """A path is followed completely or not at all."""
    with pytest.raises(UsageError, match="close is not possible there; take one of the enabled steps"):
        session.follow([("open", (0, 0, 1)), ("close", (1, 0, 2))])
    assert (len(session.runs), session.at, session.can_undo) == (1, 0, False)


# Keeping ----------------------------------------------------------------------------------------------------------


def test_a_kept_run_is_the_run(session: Session) -> None:
    """The opened run is saved unchanged; a branch claims the violation at its end, and has no engine's command."""
    assert session.trace() == session.opened
    session.go(1)
    take(session, "close", p="p1")
    sound = session.trace()
    assert (sound.claim, sound.steps, sound.command) == (None, session.run, None)
    take(session, "open", p="p1", e=2)
    session.switch(0)
    session.go(1)
    take(session, "open", p="p1", e=2)
    made = session.trace()
    assert made.claim is not None
    assert (made.claim.name, made.steps) == ("closed_before", session.run)


# Without a model --------------------------------------------------------------------------------------------------


@pytest.fixture
def foreign(counterexample: Trace) -> Session:
    """The same run, read from another tool's file."""
    steps = tuple(attrs.evolve(step, code=b"") for step in counterexample.steps)
    return Session(attrs.evolve(counterexample, steps=steps, foreign=(), claim=None, scope="", fingerprint=""))


def test_a_run_without_a_model_can_be_read(foreign: Session) -> None:
    """A run without a model can be stepped through, shows its changes, and evaluates expressions over cells."""
    assert foreign.seek(foreign.condition("epoch[s1] == 2"))
    assert foreign.at == 2
    assert [belief.before for belief in foreign.beliefs()["p2"] if belief.changed] == [0, False]
    foreign.watch("owner[s1]")
    assert foreign.watched(foreign.watches[0]) == (None, "n1", "n2")
    assert foreign.violated() is None
    assert not foreign.seek_violation()
    assert foreign.trace() is foreign.opened


def test_a_run_without_a_model_shows_its_claim_at_its_end(foreign: Session, counterexample: Trace) -> None:
    """A run without a model violates what its file claims, in its last state only; a witness is no violation."""
    assert counterexample.claim is not None
    claimed = Session(attrs.evolve(foreign.opened, claim=counterexample.claim))
    assert [claimed.violated(at) for at in range(3)] == [None, None, "one_handle"]
    assert (claimed.seek_violation(), claimed.at) == (True, 2)
    witness = attrs.evolve(counterexample.claim, kind="witness")
    assert Session(attrs.evolve(foreign.opened, claim=witness)).violated(2) is None


def test_a_run_without_a_model_goes_nowhere_else(foreign: Session) -> None:
    """No step can be taken, and the error says that the model is missing."""
    assert (foreign.choices(), foreign.starts(), foreign.refusals()) == ((), (), ())
    for attempt in (lambda: foreign.follow([]), lambda: foreign.search(foreign.condition("epoch[s1] > 1"))):
        with pytest.raises(
            UsageError, match="this run has no model, so that it can be read only; open it with --model"
        ):
            attempt()
