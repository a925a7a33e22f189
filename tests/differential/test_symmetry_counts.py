"""The self-test of symmetry and of the search: orbits add up, and a plain search in CPython finds the same states."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from holdfast.check.search.engine import search
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import Scope, System
from holdfast.lower.layout import Layout
from holdfast.lower.renaming_group import RenamingGroup
from holdfast.lower.symmetry import Symmetry
from tests.differential.exploring import by_hand, orbit_sizes, symmetry_differences

ROOT = Path(__file__).parents[2]


def gauges() -> tuple[System, Scope]:
    """A model with every construct of the language: two interchangeable nests, and few steps to keep it small."""
    system = compile_model(load_model(str(ROOT / "tests/lower/models/gauges.py")))
    scope = system.scopes["tiny"]
    given = {**scope.given, "node_of": (0, 0), "home": (None, None, None), "limit": (1,)}
    sizes = {"Node": 1, "Nest": 2, "Proc": 2, "Tick": 1}
    budgets = {"drift": 1, "pulse": 1, "look": 1, "settle": 1, "elect": 2}
    return system, attrs.evolve(scope, sizes=sizes, given=given, budgets=budgets)


def streams() -> tuple[System, Scope]:
    """A stream table with two streams."""
    system = compile_model(load_model(str(ROOT / "tests/lower/models/streams.py")))
    return system, attrs.evolve(system.scopes["default"], sizes={"Node": 3, "Stream": 2, "Epoch": 2})


def ownership() -> tuple[System, Scope]:
    """Two nodes with one process each, which are interchangeable together."""
    system = compile_model(load_model(str(ROOT / "models/ownership.py")))
    scope = system.scopes["tiny"]
    sizes = {**scope.sizes, "Proc": 2, "Epoch": 1, "Offset": 1}
    given = {"node_of": (0, 1), "incarnation": (1, 1), "failover": (False, False)}
    return system, attrs.evolve(scope, sizes=sizes, given=given)


def locks() -> tuple[System, Scope]:
    """A lock service with two clients and two locks."""
    system = compile_model(load_model(str(Path(__file__).parent / "lock_service.py")))
    return system, system.scopes["tiny"]


MODELS = {"gauges": gauges, "streams": streams, "ownership": ownership, "lock service": locks}


@pytest.mark.parametrize("name", MODELS)
def test_orbits_add_up(name: str) -> None:
    """The orbits of a search with symmetry have together as many states as the search without it finds."""
    system, scope = MODELS[name]()
    reduced = search(system, scope, keep_going=True)
    full = search(system, scope, symmetry=False, keep_going=True)
    sizes = orbit_sizes(system, scope)
    assert Symmetry(Layout(system, scope)).order > 1
    assert len(sizes) == reduced.figures.distinct < full.figures.distinct == sum(sizes)


@pytest.mark.parametrize("name", MODELS)
def test_symmetry_changes_no_answer(name: str) -> None:
    """Verdict, depth, runs and their text are the same with and without symmetry, also with keep-going."""
    assert list(symmetry_differences(*MODELS[name](), most=100_000)) == []


@pytest.mark.parametrize("name", MODELS)
def test_a_search_by_hand_agrees(name: str) -> None:
    """A plain breadth-first search in CPython finds as many states, at the same depths."""
    system, scope = MODELS[name]()
    found = by_hand(system, scope)
    figures = search(system, scope, symmetry=False, keep_going=True).figures
    assert (len(found), max(found.values())) == (figures.distinct, figures.depth)


def test_a_wrong_group_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A symmetry that exchanges processes of different nodes changes the count, so the self-test fails."""
    system, scope = ownership()
    scope = attrs.evolve(scope, given={"node_of": (0, 1), "incarnation": (1, 1), "failover": (True, False)})
    monkeypatch.setattr(RenamingGroup, "_keeps", lambda *_: True)
    sizes = orbit_sizes(system, scope)
    assert sum(sizes) != search(system, scope, symmetry=False, keep_going=True).figures.distinct
