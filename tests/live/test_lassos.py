"""Lassos as runs: on one line, in a file, as text, and replayed."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import itf_py
import pytest

from holdfast.ir.errors import UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower.outcome import Taken
from holdfast.runs.lasso_judge import LassoJudge
from holdfast.runs.loading import ImpossibleError, open_trace
from holdfast.runs.replay import Replayer
from holdfast.trace.itf import write_itf
from holdfast.trace.line import parse_line, to_line
from holdfast.trace.text import render
from holdfast.trace.trace import Trace
from tests.live.asking import LEASE, answer, edited, run
from tests.live.conftest import Compiled

RESTLESS = "served: ask(c1,f1) loop: ask(c2,f1) grant(c2,f1) release(c2,f1)"


@pytest.fixture
def restless(tmp_path: Path) -> Trace:
    """A loop of three steps."""
    return answer(edited(tmp_path, ('fair="strong"', 'fair="weak"')), "served").findings[0]


@pytest.fixture
def still(lease: System) -> Trace:
    """A run that ends in endless stuttering."""
    return answer(remove_rules(lease, ["LS-08"]), "freed").findings[0]


def test_a_line_tells_what_goes_on_for_ever(restless: Trace, still: Trace) -> None:
    """The steps of the loop stand behind ``loop:``; after stuttering nothing stands there."""
    assert to_line(restless).endswith(RESTLESS)
    assert to_line(still).endswith("freed: ask(c1,f1) grant(c1,f1) loop:")
    assert (parse_line(to_line(restless)).loop, parse_line(to_line(still)).loop) == (1, 2)
    assert parse_line("m tiny #0123456789abcdef -: init(True) loop: go()").loop == 0


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ("go() loop: go() loop: go()", "column 45: loop: cannot stand here; a run ends in one loop"),
        ("loop: init(True) go()", "column 29: loop: cannot stand here; a loop has steps"),
    ],
)
def test_a_loop_in_the_wrong_place_is_refused(steps: str, problem: str) -> None:
    """A loop in the wrong place is refused with its column."""
    with pytest.raises(UsageError) as refused:
        parse_line(f"m tiny #0123456789abcdef -: {steps}")
    assert problem in str(refused.value)


def test_a_lasso_is_opened_as_it_was(restless: Trace, still: Trace, tmp_path: Path) -> None:
    """A lasso is read back unchanged from its line (which has all but the command) and from its file."""
    for trace in (restless, still):
        assert open_trace(to_line(trace)).trace == attrs.evolve(trace, options=None)
        write_itf(trace, tmp_path / "run.itf.json")
        opened = open_trace(str(tmp_path / "run.itf.json"), model=trace.target)
        assert (opened.trace, opened.changed) == (trace, None)


def test_another_reader_finds_the_loop(restless: Trace, tmp_path: Path) -> None:
    """The file of a lasso names the state to which its loop returns."""
    path = tmp_path / "run.itf.json"
    write_itf(restless, path)
    read = itf_py.trace_from_json(json.loads(path.read_text()))
    assert (read.loop, len(read.states)) == (1, 5)


def test_a_loop_that_does_not_lead_back_is_refused(restless: Trace) -> None:
    """A line whose loop no longer returns to its first state is refused."""
    line = to_line(restless).removesuffix(" release(c2,f1)")
    with pytest.raises(UsageError, match="the loop does not lead back: the last state is not that after step 1"):
        open_trace(line)


def test_a_lasso_that_has_become_unfair_shows_nothing(restless: Trace) -> None:
    """On the model with strong fairness the same lasso is no violation."""
    line = to_line(restless).replace(restless.target, str(LEASE))
    opened = open_trace(line)
    assert opened.trace.claim is None
    assert opened.changed is not None


def test_a_model_that_forbids_it_ends_the_run(restless: Trace, tmp_path: Path) -> None:
    """A run with a step that the model refuses ends there, and the message names the rule."""
    (tmp_path / "other").mkdir()
    changed = edited(tmp_path / "other", ('require(self.up[c], "LS-01")', 'require(not self.up[c], "LS-01")'))
    with pytest.raises(ImpossibleError, match="is refused by LS-01"):
        open_trace(to_line(restless).replace(restless.target, changed.file))


def test_the_text_tells_the_way_round(restless: Trace, still: Trace) -> None:
    """The text has the length of the loop, the state it returns to, and the unmet obligation."""
    text = " ".join(render(restless).split())
    assert text.startswith("served: violated by 4 steps, the last 3 of them over and over LV-01.")
    assert "and then back to the state after step 1, for ever" in text
    assert "served (LV-01) is violated for c = c1, f = f1: it is owed and never comes" in text
    text = render(still)
    assert text.startswith("freed: violated by 2 steps, after which nothing happens\n")
    assert "and then nothing happens any more (stuttering)" in text


HISTORY = """
n: N
seen: Ghost[Rel[N]]
paid: Ghost[bool]
tiny = Scope({N: 1})
@init
def zero(self) -> None:
    self.n = N(0)
    self.seen.fill(False)
    self.paid = False
@action(fair="weak")
def turn(self) -> None:
    self.n = N(1) if self.n == N(0) else N(0)
    self.seen[self.n] = True
@invariant
def seen_first(self) -> bool:
    return not self.seen[N(0)] or self.seen[N(1)]
@leads_to
def pays(self) -> tuple[bool, bool]:
    return self.n == N(0), self.paid
"""


def test_history_does_not_keep_a_run_from_going_round(compiled: Compiled) -> None:
    """A ghost that the property does not read may change in a loop. A ghost that it reads may not."""
    trace = answer(compiled(HISTORY)).findings[0]
    assert run(trace) == ([], ["turn()", "turn()"])
    assert [cell.name for cell in trace.cells] == ["n", "paid"]
    assert open_trace(to_line(trace)).trace == attrs.evolve(trace, options=None)


STAIRS = """
n: N
tiny = Scope({N: 2})
@init
def below(self) -> None:
    self.n = N(0)
@action
def climb(self) -> None:
    self.n += 1
@leads_to
def arrives(self) -> tuple[bool, bool]:
    return self.n == N(0), self.n == N(2)
"""


def test_states_that_do_not_lead_back_are_no_lasso(compiled: Compiled) -> None:
    """A run whose last state differs from the first state of its loop is no lasso, so it shows no violation."""
    system = compiled(STAIRS)
    (prop,) = system.of_kind("leads_to")
    machine = Replayer(system, system.scopes["tiny"], liveness=(prop,)).machine
    (start,) = machine.initial()
    outcome = machine.step(start, "climb", ())
    assert isinstance(outcome, Taken)
    judge, calls = LassoJudge(machine), [("climb", ())]
    assert judge.violated(prop, [start, outcome.state], calls, 1) == ()
    assert judge.violated(prop, [start, outcome.state], calls, 0) is None
