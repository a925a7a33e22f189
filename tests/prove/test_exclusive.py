"""Sets of literals that never hold together in the explored states, against brute force, and suggested clauses."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import attrs
import numpy as np
import pytest

from holdfast.check.budget import Budget, Meter
from holdfast.check.prove import suggest
from holdfast.check.prove.asking import Askers, LimitExceeded
from holdfast.check.prove.expression_text import written
from holdfast.check.prove.suggest import Suggester, exclusive
from holdfast.ir.system import Property
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.theory import Obligation, obligations
from tests.prove.conftest import Compiled


def by_hand(
    true: Sequence[int], pictures: Sequence[set[int]], relevant: Sequence[int], longest: int
) -> set[frozenset[int]]:
    """The minimal sets of literals that never hold together in any picture, by brute force."""

    def met(parts: frozenset[int]) -> bool:
        return any(parts <= picture for picture in pictures)

    every = (
        frozenset(parts)
        for size in range(1, longest + 1)
        for parts in itertools.combinations(true if size <= 2 else relevant, size)
    )
    return {
        parts for parts in every if not met(parts) and (len(parts) == 1 or all(met(parts - {part}) for part in parts))
    }


@pytest.mark.parametrize("seed", range(12))
def test_exclusive_sets_are_those_found_by_hand(seed: int) -> None:
    """The result has all minimal sets with one or two true literals, and larger ones of the relevant literals."""
    chance = random.Random(seed)
    literals, count = 14, chance.choice((5, 20, 60))
    pictures = [
        {index for index in range(literals) if chance.random() < chance.choice((0.3, 0.6))} for _ in range(count)
    ]
    grid = np.packbits([[index in picture for picture in pictures] for index in range(literals)], axis=1)
    true = sorted(chance.sample(range(literals), 8))
    relevant = [index for index in true if chance.random() < 0.7]
    found = exclusive(true, grid, relevant)
    assert len(found) == len(set(found))
    assert set(found) == by_hand(true, pictures, relevant, suggest.LONGEST)


def test_as_many_sets_as_the_limit_are_all_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for sets stops early only if there are more of them than the limit."""
    pictures = [{0, 1, 2}, {0, 3}]
    grid = np.packbits([[index in picture for picture in pictures] for index in range(4)], axis=1)
    # Four literals and four pairs are true somewhere; the last pair that is not comes behind all of those.
    for limit, expected in ((4, {(1, 3), (2, 3)}), (3, {(1, 3)})):
        monkeypatch.setattr(suggest, "MOST_SETS", limit)
        assert set(exclusive(range(4), grid, range(4))) == {frozenset(pair) for pair in expected}


def test_literals_that_read_only_what_the_question_reads(compiled: Compiled) -> None:
    """Relevant literals read only fields that the property and the action's rules read."""
    system = compiled(PAIRED)
    assumed = tuple(system.of_kind("invariant"))
    askers = Askers(0, Meter(Budget()))
    suggester = Suggester(system, Logic(system, frozenset(), assumed), assumed, askers)
    (due,) = (each for each in obligations(system.actions, assumed, ()) if each.kind == "kept")
    texts = [written(literal.expr) for literal in suggester.literals]
    relevant = {texts[index] for index in suggester._relevant(due)}
    assert relevant == {text for text in texts if "second" not in text}
    assert "self.first" in relevant
    assert any("self.second[n]" in text and "self.third" in text for text in texts)


def test_only_the_clauses_that_are_needed_together_are_suggested(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two of three clauses suffice and no single one does, the third is left out, wherever it stands."""
    system = compiled(PAIRED)
    assumed = tuple(system.of_kind("invariant"))
    suggester = Suggester(system, Logic(system, frozenset(), assumed), assumed, Askers(0, Meter(Budget())))
    (due,) = (each for each in obligations(system.actions, assumed, ()) if each.kind == "kept")
    clauses = [attrs.evolve(assumed[0], name=name) for name in ("one", "spare", "two")]

    def suffices(_: Suggester, __: Obligation, some: Sequence[Property]) -> bool:
        return {"one", "two"} <= {prop.name for prop in some}

    monkeypatch.setattr(Suggester, "_suffices", suffices)
    assert [prop.name for prop in suggester._needed(due, clauses)] == ["one", "two"]
    assert suggester._needed(due, clauses[:2]) == []


def test_looking_for_clauses_ends_with_the_budget(compiled: Compiled) -> None:
    """Exploring states, evaluating atoms and combining literals stop when the budget is spent."""
    system = compiled(f"{PAIRED}tiny = Scope({{Node: 2, N: 1}})\n")
    assumed = tuple(system.of_kind("invariant"))
    meter = Meter(Budget(seconds=1e-9))
    suggester = Suggester(system, Logic(system, frozenset(), assumed), assumed, Askers(0, meter))
    machine = suggester._machine(system.scopes["tiny"])
    states = machine.initial()
    for work in (
        lambda: suggest.explored(machine, suggester.askers.look),
        lambda: suggester._pictures(machine, states),
        lambda: suggester._exclusive([], np.zeros((0, 1), np.uint8), []),
    ):
        with pytest.raises(LimitExceeded):
            work()
    assert meter.spent is not None


def test_an_atom_is_compiled_once(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many chunks of states are evaluated, a machine writes one function for each atom."""
    monkeypatch.setattr(suggest, "CHUNK", 1)
    system = compiled(f"{PAIRED}tiny = Scope({{Node: 2, N: 1}})\n")
    assumed = tuple(system.of_kind("invariant"))
    suggester = Suggester(system, Logic(system, frozenset(), assumed), assumed, Askers(0, Meter(Budget())))
    machine = suggester._machine(system.scopes["tiny"])
    states = suggest.explored(machine, suggester.askers.look)
    suggester._pictures(machine, states)
    assert len(states) > 1
    assert len(machine._predicates) == len(suggester.literals) // 2


PAIRED = """
first: bool
second: Map[Node, N]
third: N
@init
def begin(self) -> None:
    self.first = False
    self.second.fill(N(0))
    self.third = N(0)
@action
def go(self, n: Node) -> None:
    require(not self.first and self.third == N(0), "EX-01")
    self.first = True
    self.second[n] = self.third
@invariant
def fine(self) -> bool:
    return self.first or not self.first
"""
