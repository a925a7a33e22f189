"""Replaying runs: the Replayer against the runs of search and walk, and scripts that cannot be followed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import attrs
import pytest

from holdfast.check.search.engine import search
from holdfast.check.walk.engine import walk
from holdfast.check.walk.options import WalkOptions
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.lower.outcome import Cut, Refused
from holdfast.runs.matching import fit
from holdfast.runs.replay import Replayer, Script, StoppedScript
from holdfast.trace.itf_read import itf_run
from holdfast.trace.trace import Trace
from tests.check.replaying import PINNED, counterexample, found, model, pinned, title
from tests.kernel.writing import written


def replayer(system: System) -> Replayer:
    """A Replayer of the tiny scope."""
    return Replayer(system, system.scopes["tiny"])


def opening(*args: tuple[int, ...]) -> Script:
    """A script that opens the table, once for each triple of arguments."""
    return Script((), tuple(("open", each) for each in args))


TWICE = opening((0, 0, 1), (1, 0, 2))
"""Two processes open one stream, which ST-14 forbids."""


# Equal to what the engines give ----------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", PINNED, ids=title)
def test_a_search_is_repeated(entry: dict[str, Any]) -> None:
    """The script of a pinned counterexample gives the same Trace again, and shows its claim and no earlier one."""
    system = pinned(entry)
    trace = counterexample(entry)
    again = Replayer(system, system.scopes["tiny"], target=trace.target)
    script = again.script(trace)

    assert again.trace(script, trace.shown.name) == trace
    assert again.shows(script, trace.shown.name)
    assert again.violated(script) == trace.shown.name
    assert not again.shows(Script(script.start, script.steps[:-1]), trace.shown.name)


def test_a_walk_is_repeated() -> None:
    """The script of a random run gives the same Trace again."""
    system = model("table", "ST-14")
    (trace,) = walk(system, system.scopes["tiny"], WalkOptions(seed=3), shrunk=False).findings
    again = Replayer(system, system.scopes["tiny"], options=trace.options, seed=trace.seed)

    assert again.trace(again.script(trace), trace.shown.name) == trace


@pytest.mark.parametrize("name", ["INV-15", "INV-16"])
def test_an_action_that_is_not_idempotent(name: str) -> None:
    """The repeated step is no part of the script, and is in the Trace again, taken or refused."""
    system = model("sampler") if name == "INV-16" else model("table", "ST-14")
    result = search(system, system.scopes["tiny"], properties=[name])
    for trace in result.findings:
        again = Replayer(system, system.scopes["tiny"], options=trace.options)
        script = again.script(trace)
        assert len(script.steps) == trace.length
        assert again.trace(script, trace.shown.name) == trace


def test_witnesses_are_reached() -> None:
    """A witness is shown by a run that reaches it, and violates nothing."""
    system = model("table")
    (witness,) = search(system, system.scopes["tiny"]).witnesses
    again = replayer(system)
    assert witness.trace is not None
    script = again.script(witness.trace)

    assert again.trace(script, "handed_over") == witness.trace
    assert again.shows(script, "handed_over")
    assert again.violated(script) is None


def test_a_run_looks_the_same_whatever_was_asked() -> None:
    """A search for one property shows the same ghosts as a search for all, and as the replayed line."""
    system = model("table", "ST-14")
    one, every = found(system, "one_handle"), found(system)

    assert attrs.evolve(one, options=()) == every


# Questions -------------------------------------------------------------------------------------------------------


def test_a_script_that_is_refused() -> None:
    """The step that stops a script is numbered from one, and comes with the rule that refused it."""
    stopped = replayer(model("table")).states(TWICE)

    assert isinstance(stopped, StoppedScript)
    assert (stopped.index, stopped.outcome) == (
        2,
        attrs.evolve(stopped.outcome, label="ST-14", error="STREAM_NOT_CLOSED"),
    )
    assert isinstance(stopped.outcome, Refused)


def test_a_script_that_is_cut() -> None:
    """A bound of the scope stops a script too."""
    system = model("sampler")
    again = replayer(system)
    sample = ("sample", again.coded("sample", {"s": "l1", "e": 0, "f": "BUSY"})[1])
    stopped = again.states(Script((), (sample,) * 3))

    assert stopped == StoppedScript(3, Cut("budget"))


def test_only_the_end_counts() -> None:
    """A violation on the way, which no longer holds at the run's end, is not shown by the run."""
    again = replayer(model("table", "ST-14"))
    longer = Script((), (*TWICE.steps, ("close", (0, 0, 2))))

    assert again.shows(TWICE, "one_handle")
    assert isinstance(again.states(longer), StoppedScript)
    assert not again.shows(longer, "one_handle")
    assert again.violated(longer) is None


def test_that_very_property() -> None:
    """A run shows only the claims that its last state or step violates or reaches."""
    again = replayer(model("table", "ST-14"))

    assert again.violated(TWICE) == "one_handle"
    assert [name for name in again.claim_names if again.shows(TWICE, name)] == [
        "one_handle",
        "holder_opened_last",
        "closed_before",
        "handed_over",
    ]


def test_a_run_that_shows_nothing() -> None:
    """A claim that the run's end does not show is left out of the trace; a trace without a claim is allowed."""
    again = replayer(model("table"))
    for name in (None, "one_handle"):
        trace = again.trace(opening((0, 0, 1)), name)
        assert isinstance(trace, Trace)
        assert (trace.claim, trace.length) == (None, 1)


def test_step_properties_need_a_step() -> None:
    """A run without steps violates no step property and no idempotence."""
    again = replayer(model("table", "ST-14"))

    assert not any(again.shows(Script((), ()), name) for name in ("epochs_grow", "closed_before", "close_idempotent"))


def test_unknown_names() -> None:
    """An unknown claim, action or value is an error that lists the known names."""
    again = replayer(model("table"))
    with pytest.raises(UsageError, match="has no property 'one_handel' that a run shows; did you mean one_handle"):
        again.claim("one_handel")
    with pytest.raises(UsageError, match="Table has no action 'opne'; did you mean open"):
        again.coded("opne", {})
    with pytest.raises(UsageError, match="'p9' is not a value of Proc in scope tiny; use one of p1, p2"):
        again.coded("open", {"p": "p9", "s": "s1", "e": 1})


# Starts ----------------------------------------------------------------------------------------------------------


def test_the_start_is_found() -> None:
    """If a trace lacks the arguments of its start, the least arguments that give its first state are used."""
    system = model("ownership", "CK-01.flag")
    trace, again = found(system), replayer(system)
    first, *others = trace.steps
    untold = attrs.evolve(trace, steps=(attrs.evolve(first, args=()), *others))

    assert first.args == (("up", False),)
    assert again.script(untold) == again.script(trace)
    elsewhere = attrs.evolve(first, args=(), values=tuple(True for _ in first.values))
    with pytest.raises(UsageError, match="no initial state of Ownership in scope tiny is the first state of the run"):
        again.script(attrs.evolve(trace, steps=(elsewhere,)))


def test_starts_have_the_least_arguments() -> None:
    """If several arguments give one initial state, the interpreter reports the least."""
    machine = replayer(model("ownership")).machine
    states = {args: machine.step(machine.layout.blank(), "init", args) for args in ((0,), (1,))}

    for state, args in machine.starts():
        assert args == min(each for each, outcome in states.items() if getattr(outcome, "state", None) == state)


def test_random_scripts_are_followed_as_the_interpreter_goes() -> None:
    """On random scripts, a Replayer stops at the first step that has no successor for these arguments."""
    system = model("table")
    again, chance = replayer(system), Random(5)
    machine = again.machine
    for _ in range(300):
        state, script = machine.initial()[0], []
        for number in range(1, 6):
            index = chance.randrange(len(system.actions))
            args = tuple(chance.randrange(machine.layout.codes(param.type)) for param in system.actions[index].params)
            script.append((system.actions[index].name, args))
            following = [new for new, taken in machine.successors[index](state) if taken == args]
            if not following:
                stopped = again.states(Script((), tuple(script)))
                assert isinstance(stopped, StoppedScript)
                assert stopped.index == number
                break
            (state,) = following
            states = again.states(Script((), tuple(script)))
            assert not isinstance(states, StoppedScript)
            assert states[-1] == state


def test_of_actions_that_do_the_same_the_first_is_taken(tmp_path: Path) -> None:
    """A file without action names fits several runs; the least of them is the answer."""
    system = written(
        tmp_path,
        """
        n: N
        tiny = Scope({N: 2, Node: 2})
        @init
        def zero(self) -> None:
            self.n = N(0)
        @action
        def climb(self, by: Node) -> None:
            self.n = self.n + 1
        @action
        def jump(self) -> None:
            self.n = self.n + 1
        """,
    )
    run = itf_run({"vars": ["n"], "states": [{"n": 0}, {"n": 1}, {"n": 2}]}, Path("x.itf.json"))
    assert fit(Replayer(system, system.scopes["tiny"]), run).steps == (("climb", (0,)), ("climb", (0,)))
