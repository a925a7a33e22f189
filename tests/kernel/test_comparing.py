"""Comparing a mutant's steps with the whole model's: the kernel's answer equals the interpreter's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.lower.kernel import comparing
from holdfast.lower.kernel.comparing import CHUNK, MutantComparison
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.python.interpreter import Interpreter
from tests.differential.running import rules_of
from tests.kernel.plain import plain_build

STATES = 60


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons run in Python here, which needs no compile time."""
    monkeypatch.setattr(comparing, "build", plain_build)


def reachable(machine: Interpreter, most: int) -> list[bytes]:
    """The first reachable states, in the order of a breadth-first search."""
    found = dict.fromkeys(machine.initial())
    for state in (waiting := list(found)):
        if len(waiting) >= most:
            break
        for successors in machine.successors:
            for after, _ in successors(state):
                if after not in found:
                    found[after] = None
                    waiting.append(after)
    return waiting[:most]


def expected(system: System, scope: str, removed: str, states: list[bytes]) -> int | None:
    """The index of the first state with different steps or cuts, as the interpreters of both systems find it."""
    whole = Interpreter(system, system.scopes[scope])
    mutant = Interpreter(remove_rules(system, [removed]), system.scopes[scope])
    for number, state in enumerate(states):
        if any(one(state) != two(state) for one, two in zip(whole.successors, mutant.successors, strict=True)):
            return number
        if whole.statistics.cut_by_bounds() != mutant.statistics.cut_by_bounds():
            return number
    return None


def answers(system: System, scope: str) -> Iterator[tuple[str, int | None, int | None]]:
    """For every rule, and every rule in one action: its name, the kernel's answer and the interpreters' answer."""
    machine = Interpreter(system, system.scopes[scope])
    comparison, packing = MutantComparison(machine), Packing(machine.layout)
    states = reachable(machine, STATES)
    rows = np.array([packing.pack(state) for state in states], np.int64)
    for name in rules_of(system):
        label, _, action = name.partition("@")
        actions = (action,) if action else system.rule(label).actions
        yield name, comparison.first_difference(rows, [name], actions), expected(system, scope, name, states)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("model", ["streams", "gauges", "locks"])
def test_the_first_difference_is_the_interpreters(model: str, request: pytest.FixtureRequest) -> None:
    """For each rule of three models, everywhere and in one action, both find the same first state, or none."""
    found = list(answers(request.getfixturevalue(model), "tiny"))

    assert [(name, kernel) for name, kernel, _ in found] == [(name, plain) for name, _, plain in found]
    assert any(kernel is not None for _, kernel, _ in found)


def test_a_compiled_comparison_agrees(locks: System) -> None:
    """Compiled comparisons agree too; some rules have a difference within these states, and some have none."""
    found = list(answers(locks, "tiny"))

    assert [(name, kernel) for name, kernel, _ in found] == [(name, plain) for name, _, plain in found]
    assert any(kernel is not None for _, kernel, _ in found)


@pytest.mark.usefixtures("plain")
def test_only_the_actions_asked_for_are_compared(locks: System) -> None:
    """Removing a rule from an action that is not compared makes no difference."""
    machine = Interpreter(locks, locks.scopes["tiny"])
    comparison, packing = MutantComparison(machine), Packing(machine.layout)
    rows = np.array([packing.pack(state) for state in reachable(machine, STATES)], np.int64)
    [(name, place), *_] = [(name, kernel) for name, kernel, _ in answers(locks, "tiny") if kernel is not None]
    label = name.partition("@")[0]
    others = [action.name for action in locks.actions if action.name not in locks.rule(label).actions]

    assert comparison.first_difference(rows, [label], locks.rule(label).actions) == place
    assert comparison.first_difference(rows, [label], others) is None
    assert comparison.first_difference(rows[:place], [label], locks.rule(label).actions) is None
    assert comparison.first_difference(rows, [], [action.name for action in locks.actions]) is None


@pytest.mark.usefixtures("plain")
def test_differences_are_found_behind_the_first_chunk(locks: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index counts over all states, whatever the size of a chunk."""
    monkeypatch.setattr(comparing, "CHUNK", 2)
    assert CHUNK > STATES
    found = list(answers(locks, "tiny"))

    assert [(name, kernel) for name, kernel, _ in found] == [(name, plain) for name, _, plain in found]
    assert any(kernel is not None and kernel > 2 for _, kernel, _ in found)
