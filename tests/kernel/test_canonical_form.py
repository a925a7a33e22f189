"""Canonical states of large groups in the kernel: equal to the interpreter's, to the byte; and whole searches."""

from __future__ import annotations

import random
from math import comb
from pathlib import Path

import pytest

from holdfast.check.budget import Budget
from holdfast.check.result import to_json
from holdfast.check.search.engine import Engine, search
from holdfast.lower import symmetry
from holdfast.lower.kernel import build
from holdfast.lower.kernel.kernel import Kernel
from holdfast.lower.layout import Layout
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.symmetry import Symmetry
from tests.kernel.searching import equal_searches
from tests.kernel.writing import SEARCHED, written
from tests.lower.crowds import SCOPES, cycles, layout, random_states

GRAPHS = """
near: Rel[Node, Node]
tiny = Scope({Node: 4})
large = Scope({Node: 8})
@init
def apart(self) -> None:
    self.near.fill(False)
@action
def link(self, m: Node, n: Node) -> None:
    require(m != n, "A-1")
    self.near[m, n] = True
    self.near[n, m] = True
@witness
def ring(self) -> bool:
    return all(count(self.near[m, n] for n in Node) == 2 for m in Node)
@invariant
def not_full(self) -> bool:
    return any(not self.near[m, n] for m in Node for n in Node if m != n)
"""
"""Graphs without loops. Up to names there are 11 of four nodes, and 12,346 of eight: OEIS A000088."""

MOODS = """
here: Map[Node, N]
last: Node | None
large = Scope({Node: 8, N: 3})
@init
def zero(self) -> None:
    self.here.fill(N(0))
    self.last = None
@action
def put(self, n: Node, k: N) -> None:
    self.here[n] = k
@action
def name(self, n: Node) -> None:
    self.last = n
"""
"""Eight nodes with one of four numbers each, and one node that may be named."""


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No group is small enough to try all renamings."""
    monkeypatch.setattr(symmetry, "MOST_LISTED", 0)


def differing(of: Layout, states: list[bytes]) -> list[bytes]:
    """The states whose canonical states differ between the kernel and the interpreter."""
    group = Symmetry(of)
    assert group.form is not None
    kernel = Kernel(Interpreter(of.system, of.scope), group)
    pack, unpack = kernel.packing.pack, kernel.packing.unpack
    return [state for state in states if unpack(kernel.module.canonical(pack(state))) != group.canonical(state)]


def looked_at(name: str, of: Layout) -> list[bytes]:
    """States of a model of ``crowd.py``."""
    return random_states(of, 12, random.Random(5)) + (turned(of, (5,), (2, 3)) if name == "Pairs" else [])


def turned(of: Layout, *shapes: tuple[int, ...]) -> list[bytes]:
    """Cycles of these lengths, one way and both ways, each renamed at random five times."""
    group, chance, count = Symmetry(of), random.Random(5), of.scope.sizes["Member"]
    return [
        group.renamed(cycles(*lengths, both_ways=both_ways), {"Member": chance.sample(range(count), count)})
        for lengths in shapes
        for both_ways in (False, True)
        for _ in range(5)
    ]


@pytest.mark.usefixtures("uncompiled", "unlisted")
@pytest.mark.parametrize("name", SCOPES)
def test_canonical_states_are_equal(name: str) -> None:
    """Python runs the kernel's text, and gets the canonical states of the interpreter."""
    assert differing(layout(name), looked_at(name, layout(name))) == []


@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("name", SCOPES)
def test_compiled_canonical_states_are_equal(name: str) -> None:
    """Machine code gets the canonical states of the interpreter."""
    of = layout(name)
    assert differing(of, looked_at(name, of) + random_states(of, 300, random.Random(6))) == []


def test_compiled_canonical_states_of_several_words_are_equal() -> None:
    """Branches of several levels, in states of two words."""
    of = layout("Pairs", Member=9)
    assert differing(of, [cycles(2, 3, 4), cycles(4, 5), cycles(9), *random_states(of, 30, random.Random(7))]) == []


# Whole searches -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("uncompiled", "unlisted")
@pytest.mark.parametrize("keep_going", [True, False])
@pytest.mark.parametrize("name", SEARCHED)
def test_searches_are_equal(name: str, keep_going: bool, tmp_path: Path) -> None:
    """Both engines give the same answer, and the runs do not depend on symmetry."""
    system = written(tmp_path, SEARCHED[name])
    reduced, whole = (
        equal_searches(system, "tiny", keep_going=keep_going, symmetry=symmetry) for symmetry in (True, False)
    )
    for key in ("verdict", "findings", "witnesses"):
        assert to_json(reduced)[key] == to_json(whole)[key]


@pytest.mark.usefixtures("uncompiled", "unlisted")
def test_orbits_are_counted(tmp_path: Path) -> None:
    """Graphs of four nodes: 64, which are 11 up to names; and the search finds the same runs for both."""
    system = written(tmp_path, GRAPHS)
    reduced, whole = (equal_searches(system, "tiny", keep_going=True, symmetry=symmetry) for symmetry in (True, False))
    assert (reduced.figures.distinct, whole.figures.distinct) == (11, 64)
    assert (reduced.findings, reduced.witnesses) == (whole.findings, whole.witnesses)


def test_a_group_of_40320_is_searched(tmp_path: Path) -> None:
    """The search finds all graphs of eight nodes, with every one of their 28 edges."""
    system = written(tmp_path, GRAPHS)
    figures = search(system, system.scopes["large"], engine="kernel", keep_going=True, cores=2).figures
    assert (figures.group_order, figures.distinct, figures.depth) == (40_320, 12_346, 28)


def test_both_engines_search_a_group_of_40320(tmp_path: Path) -> None:
    """Eight nodes with one of four numbers each are a multiset. A node that is named leaves a multiset of seven."""
    found = equal_searches(written(tmp_path, MOODS), "large", cores=(1, 2))
    assert found.figures.distinct == comb(11, 3) + 4 * comb(10, 3)


@pytest.mark.parametrize(("engine", "states"), [("interpreter", 200), ("kernel", 4000)])
def test_a_budget_of_states_ends_the_search(engine: Engine, states: int, tmp_path: Path) -> None:
    """A search of a large group stops within 5 % of its budget of states."""
    system = written(tmp_path, GRAPHS)
    found = search(system, system.scopes["large"], engine=engine, budget=Budget(states=states))
    assert found.verdict == "out_of_budget"
    assert states <= found.figures.distinct <= 1.05 * states


# Planted faults -------------------------------------------------------------------------------------------------------

FAULTS = {
    "Twins are assumed, and not tested.": ("alike = are_twins(s, first, e, work)", "alike = True"),
    "Every branch is a twin of an earlier one.": ("== tie and are_twins(s, other, e, work):", "== tie:"),
    "A colour is refined once.": ("        if not tied:\n            return", "        return"),
    "The first leaf is taken, not the least.": ("elif t < best:", "elif False:"),
    "A known leaf ends the search.": ("depth = parting(path, first_path)", "depth = -1"),
    "Twins keep one colour.": ("poke(colours, e, place)", "pass"),
}
"""Faults: a sentence for each, and what it replaces in ``canonical_driver.py``."""


@pytest.mark.usefixtures("uncompiled", "unlisted")
@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_noticed(sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a planted fault, canonical states differ, or a state has none."""
    right, wrong = FAULTS[sentence]
    true_text = build.kernel_text

    def text(functions: str, driver: str) -> str:
        found = true_text(functions, driver)
        assert found.count(right) == 1, right
        return found.replace(right, wrong)

    monkeypatch.setattr(build, "kernel_text", text)
    assert noticed(layout("Pairs", Member=7))


def noticed(of: Layout) -> bool:
    """Whether canonical states differ, or cannot be found."""
    try:
        return differing(of, [*random_states(of, 5, random.Random(5)), *turned(of, (3, 4))]) != []
    except AssertionError:
        return True
