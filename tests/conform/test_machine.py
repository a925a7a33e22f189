"""The machine's cached steps equal the steps of each state, and names of elements are not confused."""

from __future__ import annotations

import itertools
import random

import pytest

from holdfast.check.conform.judge.machine import LogMachine
from holdfast.check.conform.logs.events import Json
from holdfast.check.conform.logs.names import LogNames
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import Place
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Taken

AT = Place("a.log", 1)


@pytest.fixture(scope="module")
def ownership() -> System:
    """A model in which most actions do not read all cells."""
    return compile_model(load_model("ownership"))


def test_kept_steps_are_those_of_the_state(ownership: System) -> None:
    """On a random run, cached steps are right in states that differ in cells that the action does not read."""
    machine = LogMachine(Layout(ownership, ownership.scope("default"), frozenset()))
    chance = random.Random(1)
    init = machine.step(ownership.init)
    codes = [range(machine.layout.codes(param.type)) for param in ownership.init.params]
    states = [init(machine.layout.blank(), args) for args in itertools.product(*codes)]
    state = start = next(each.state for each in states if isinstance(each, Taken))
    seen = set()
    for _ in range(300):
        seen.add(state)
        found = []
        for action in ownership.actions:
            choices = tuple(range(machine.layout.codes(param.type)) for param in action.params)
            outcomes = [(args, machine.step(action)(state, args)) for args in itertools.product(*choices)]
            changed = [(args, to.state) for args, to in outcomes if isinstance(to, Taken) and to.state != state]
            assert list(machine.steps(action, choices, state).after(state)) == changed
            found += [after for _, after in changed]
        state = chance.choice(found or [start])
    assert len(seen) > 100


def test_a_text_that_looks_like_a_list_is_another_element(ownership: System) -> None:
    """A text that looks like a list is another element than the list; a process equals the object key that names it."""
    names = LogNames(ownership)
    values: list[Json] = [["n1", 7], "['n1', 7]", ["n1", True], ["n1", 1]]
    nodes = [names.element("Stream", each, AT, "s") for each in values]
    assert nodes == [0, 1, 2, 3]
    assert names.element("Stream", ["n1", 7], AT, "s") == 0
    process = next(iter(names.processes))
    element = names.element(process, ["n1", 7], AT, "p")
    kind = next(var.keys[0] for var in ownership.variables if var.given)
    assert [names.key(kind, '["n1", 7]', AT, "p") for _ in range(2)] == [element] * 2
