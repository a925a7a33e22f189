"""The interpreter against CPython: both must say the same of any state, reached or not."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Action, Property
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Cut, Taken
from holdfast.lower.python.cpython import CPython
from holdfast.lower.python.interpreter import Args, Interpreter
from tests.lower.packed import packed

MODELS = Path(__file__).parent / "models"

CASES = {
    "streams": ("streams.py", "default", (), ()),
    "streams without rules": ("streams.py", "tiny", (), ("ST-12", "CK-02.node@close")),
    "gauges": ("gauges.py", "tiny", (), ()),
    "larger gauges": ("gauges.py", "default", (), ()),
    "lenient gauges": ("gauges.py", "tiny", ("lenient", "keep_leader"), ()),
    "logs": ("logs.py", "tiny", (), ()),
    "longer logs": ("logs.py", "default", ("far",), ()),
    "logs without rules": ("logs.py", "tiny", (), ("LO-02", "LO-03", "LO-04", "LO-05", "LO-06", "LO-07")),
    "queues": ("queues.py", "tiny", (), ()),
    "longer queues": ("queues.py", "default", (), ()),
    "queues without rules": ("queues.py", "default", (), ("QU-01", "QU-02", "QU-05", "QU-06", "QU-09")),
    "bags": ("bags.py", "tiny", (), ()),
    "larger bags": ("bags.py", "default", (), ("BA-01", "BA-03", "BA-04")),
    "answers": ("answers.py", "default", (), ()),
    "answers without rules": (
        "answers.py",
        "tiny",
        (),
        ("AN-01", "AN-02", "AN-03", "AN-04", "AN-05", "AN-06", "AN-08"),
    ),
    "holders": ("holders.py", "default", (), ()),
    "holders without rules": ("holders.py", "default", ("generous",), ("HO-01", "HO-02", "HO-04", "HO-05", "HO-06")),
    "moves": ("moves.py", "default", (), ()),
    "moves without rules": ("moves.py", "default", (), ("MO-01", "MO-02", "MO-03")),
    "pools": ("pools.py", "default", (), ()),
    "pools without rules": ("pools.py", "default", (), ("PO-01", "PO-04", "PO-05", "PO-06", "PO-08")),
    "quorums": ("quorums.py", "tiny", (), ()),
    "larger quorums": ("quorums.py", "default", (), ("Q-02", "Q-05", "Q-06", "Q-07", "Q-09", "Q-10")),
    "gauges without rules": ("gauges.py", "tiny", (), ("GA-02", "GA-03", "GA-05", "GA-06", "GA-07@look", "GA-10")),
}


@cache
def executors(case: str) -> tuple[Interpreter, CPython]:
    """Both executors of a case."""
    file, scope, variants, removed = CASES[case]
    system = remove_rules(compile_model(load_model(str(MODELS / file)), variants=variants), removed)
    return Interpreter(system, system.scopes[scope]), CPython(system, system.scopes[scope])


def states(machine: Interpreter) -> st.SearchStrategy[bytes]:
    """Any state of a layout, except for sequences that no operation leaves."""
    layout = machine.layout
    codes = st.tuples(*(st.integers(0, cell.field.codes - 1) for cell in layout.cells))
    return codes.map(lambda state: packed(machine.system, layout, state))


def arguments(layout: Layout, of: Action | Property) -> Iterator[Args]:
    """All arguments of an action or a property."""
    return itertools.product(*(range(layout.codes(param.type)) for param in of.params))


@pytest.mark.parametrize("case", CASES)
def test_initial_states_agree(case: str) -> None:
    """Both executors start in the same states."""
    interpreter, cpython = executors(case)
    assert interpreter.initial() == cpython.initial()


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@settings(max_examples=30)
def test_steps_agree(case: str, data: st.DataObject) -> None:
    """For every action and arguments both give the same new state, refusal (rule, error, place) or cut (bound)."""
    interpreter, cpython = executors(case)
    state = data.draw(states(interpreter))
    for action in interpreter.system.actions:
        for args in arguments(interpreter.layout, action):
            assert interpreter.step(state, action.name, args) == cpython.step(state, action.name, args), (
                action.name,
                args,
            )


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@settings(max_examples=30)
def test_successors_are_the_steps_taken(case: str, data: st.DataObject) -> None:
    """The search's function of an action yields exactly the enabled instances, and counts the cut ones."""
    interpreter, _ = executors(case)
    state = data.draw(states(interpreter))
    for action, successors in zip(interpreter.system.actions, interpreter.successors, strict=True):
        interpreter.statistics.reset()
        found = successors(state)
        outcomes = {args: interpreter.step(state, action.name, args) for args in arguments(interpreter.layout, action)}
        taken = [(outcome.state, args) for args, outcome in outcomes.items() if isinstance(outcome, Taken)]
        cut = Counter((action.name, outcome.bound) for outcome in outcomes.values() if isinstance(outcome, Cut))
        assert sorted(found) == sorted(taken)
        assert interpreter.statistics.cuts == cut


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@settings(max_examples=30)
def test_properties_of_states_agree(case: str, data: st.DataObject) -> None:
    """Every property of states has the same value in both, for all its arguments, premises and goals included."""
    interpreter, cpython = executors(case)
    state = data.draw(states(interpreter))
    for prop in interpreter.system.properties:
        if prop.kind != "step":
            for args in arguments(interpreter.layout, prop):
                assert interpreter.holds(prop, state, args) is cpython.holds(prop, state, args), prop.name
                if prop.goal is not None:
                    assert interpreter.goal(prop, state, args) is cpython.goal(prop, state, args), prop.name


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@settings(max_examples=30)
def test_step_properties_agree(case: str, data: st.DataObject) -> None:
    """Every step property has the same value in both for any two states, with the arguments of its action."""
    interpreter, cpython = executors(case)
    old, new = data.draw(states(interpreter)), data.draw(states(interpreter))
    for prop in interpreter.system.of_kind("step"):
        of = interpreter.system.action(prop.of) if prop.of is not None else None
        for args in arguments(interpreter.layout, of) if of is not None else [()]:
            assert interpreter.holds_step(prop, old, new, args) is cpython.holds_step(prop, old, new, args), prop.name


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@settings(max_examples=30)
def test_the_fast_paths_name_the_first_failure(case: str, data: st.DataObject) -> None:
    """``invariants`` and ``steps`` give the index of the first property that fails, or -1."""
    interpreter, _ = executors(case)
    old, new = data.draw(states(interpreter)), data.draw(states(interpreter))
    failing = [index for index, prop in enumerate(interpreter.checked) if not interpreter.holds(prop, new)]
    assert interpreter.invariants(new) == min(failing, default=-1)
    for action, first in zip(interpreter.system.actions, interpreter.steps, strict=True):
        args = data.draw(st.sampled_from(list(arguments(interpreter.layout, action))))
        failing = [
            index
            for index, prop in enumerate(interpreter.checked_steps)
            if prop.of in (None, action.name) and not interpreter.holds_step(prop, old, new, args)
        ]
        assert first(new, old, args) == min(failing, default=-1)
