"""Questions in a session: watched expressions, the next and the nearest state where one holds, and the violation."""

from __future__ import annotations

import pytest

from holdfast.check.search.engine import search
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.runs.explorer.session import Session
from holdfast.runs.replay import Replayer, StoppedScript
from tests.check.conftest import Compiled
from tests.check.stepping import take


def test_watches(session: Session) -> None:
    """A watched expression has its value after each step of the current run."""
    session.watch("epoch[s1]")
    session.watch("owner[s1]")
    session.watch(" epoch[s1]")
    assert [session.watched(each) for each in session.watches] == [(0, 1, 2), (None, "n1", "n2")]
    session.unwatch(0)
    session.go(1)
    take(session, "close", p="p1")
    assert [session.watched(each) for each in session.watches] == [(None, "n1", "n1")]


@pytest.mark.parametrize(
    "text",
    [
        "all(opened[s] for s in Stream) or any(not opened[s] for s in Stream)",
        "min(0, 1) == 0 and max(0, 1) == 1",
        "sum(1 for s in Stream if opened[s]) + sum(1 for s in Stream if not opened[s]) == 1",
        "abs(-1) == 1",
    ],
)
def test_an_expression_may_use_what_the_language_has(session: Session, text: str) -> None:
    """The functions of the model language are available in an expression."""
    assert session.value(session.condition(text), session.step) is True


def test_along_the_run(session: Session) -> None:
    """Seeking goes to the next state of this run in which the condition holds, not to the current one."""
    condition = session.condition("epoch[s1] > 0")
    assert [session.seek(condition), session.at] == [True, 1]
    assert [session.seek(condition), session.at] == [True, 2]
    assert [session.seek(condition), session.at] == [False, 2]
    with pytest.raises(UsageError, match="is a value and no condition; compare it"):
        session.condition("epoch[s1]")


def test_the_nearest_state(table: System) -> None:
    """A search from the start finds a state at the exhaustive search's depth, and its path leads there."""
    scope = table.scopes["default"]
    (witness,) = search(table, scope, properties=["handed_over"]).witnesses
    assert witness.trace is not None
    session = Session.of_model(table, scope, "table")
    condition = session.condition("handed_over")
    found = session.search(condition)
    assert found == session.search(condition)
    assert found.path is not None
    assert len(found.path) == found.depth == witness.trace.length
    session.follow(found.path)
    assert session.value(condition, session.step)
    assert [session.value(condition, step) for step in session.run[:-1]] == [False] * found.depth
    session.undo()
    assert session.at == 0


def test_ties_go_to_the_least(broken: System) -> None:
    """Of equally near states the search finds the least, by the least steps: here the first of two processes."""
    session = Session.of_model(broken, broken.scopes["tiny"], "table")
    found = session.search(session.condition("opened[s1]"))
    assert found.path is not None
    successors = session.replayer.machine.successors[0](session.step.code) if session.replayer else []
    least, args = min(successors)
    session.follow(found.path)
    assert (found.path, session.step.code) == ((("open", args),), least)


def test_searches_that_find_nothing(broken: System) -> None:
    """A search says whether no such state exists or the search gave up; the start itself is not considered."""
    session = Session.of_model(broken, broken.scopes["tiny"], "table")
    assert session.replayer is not None
    graph_of_all = session.search(session.condition("epoch[s1] > 2"))
    assert (graph_of_all.path, graph_of_all.ended) == (None, "exhausted")
    limited = session.search(session.condition("epoch[s1] > 2"), most=5)
    assert (limited.path, limited.ended) == (None, "budget")
    assert 5 < limited.states < graph_of_all.states
    stopped = session.search(session.condition("epoch[s1] > 2"), stop=lambda: True)
    assert (stopped.path, stopped.ended, stopped.states) == (None, "stopped", 1)
    assert session.search(session.condition("epoch[s1] == 0")).ended == "exhausted"
    # The exhaustive search with the same ghosts and without symmetry counts as many states.
    every = search(broken, broken.scopes["tiny"], symmetry=False, keep_going=True)
    assert graph_of_all.states == every.figures.distinct


def test_the_violation(session: Session) -> None:
    """The first violating step is found from any state of the run; a sound run has none."""
    assert [session.violated(at) for at in range(3)] == [None, None, "one_handle"]
    assert [session.seek_violation(), session.at] == [True, 2]
    assert [session.seek_violation(), session.at] == [True, 2]
    session.go(1)
    take(session, "close", p="p1")
    assert [session.seek_violation(), session.at] == [False, 2]


def test_a_repetition_shows_the_violation(compiled: Compiled) -> None:
    """If an action is not idempotent, the repeated step can be viewed; going on from it takes it as a real step."""
    system = compiled(
        """
        size: N
        tiny = Scope({N: 3})

        @init
        def zero(self) -> None:
            self.size = N(0)

        @action(idempotent="INV-15")
        def grow(self) -> None:
            self.size = self.size + 1
        """
    )
    scope = system.scopes["tiny"]
    (found,) = search(system, scope).findings
    replayer = Replayer(system, scope)
    trace = replayer.trace(replayer.script(found), "grow_idempotent")
    assert not isinstance(trace, StoppedScript)
    session = Session(trace, replayer)
    assert session.seek_violation()
    assert (session.at, session.step.repeat, session.violated()) == (2, True, "grow_idempotent")
    (choice,) = session.choices()
    session.take(choice.step)
    assert [(step.action, step.repeat) for step in session.run] == [("init", False), *[("grow", False)] * 3]
    assert len(session.runs) == 2
