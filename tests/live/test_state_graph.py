"""The state graph: the kernel's graph equals the interpreter's, which equals the model's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import attrs
import numpy as np
import pytest

from holdfast.check.live.engine import live
from holdfast.check.live.result import live_to_json
from holdfast.ir.compile import compile_model
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.load import load_model
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import LIVENESS, System
from holdfast.lower.graph.fairness import FREE, Demands, protocol_cells
from holdfast.lower.graph.state_graph import FLAGS, GraphArrays, PlainGraph, draw
from holdfast.lower.kernel import build, graphs
from holdfast.lower.python.interpreter import Interpreter
from tests.kernel.plain import plain_build
from tests.kernel.writing import written
from tests.live.asking import LEASE, answer
from tests.live.conftest import Compiled
from tests.live.oracle import puzzles
from tests.live.written import as_model

GAUGES = Path(__file__).parents[1] / "lower" / "models" / "gauges.py"

LADDER = """
n: N
tiny = Scope({N: 80})
@init
def zero(self) -> None:
    self.n = N(0)
@action(fair="weak", per=("m",))
def climb(self, m: N) -> None:
    require(m == self.n + 1, "A-1")
    require(m != N(70), "A-2")
    self.n = m
@action(fair="strong")
def leap(self) -> None:
    require(self.n == N(69), "A-3")
    self.n = N(70)
@leads_to
def arrives(self) -> tuple[bool, bool]:
    return self.n == N(0), self.n == N(80)
"""
"""A model with more fairness demands than one word of flags holds."""


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the kernel's source in Python, with small initial tables, so that each of them has to grow."""
    monkeypatch.setattr(graphs, "build", plain_build)
    monkeypatch.setattr(graphs, "FIRST", 1)
    monkeypatch.setattr(graphs, "CHUNK", 5)


def drawn(system: System) -> tuple[Interpreter, PlainGraph]:
    """The interpreter's graph in scope tiny, with the ghosts that the leads-to properties read."""
    ghosts = ghosts_read(system, tuple(system.of_kind(*LIVENESS)))
    machine = Interpreter(system, system.scopes["tiny"], ghosts=ghosts, properties=())
    graph = draw(machine, machine.initial(), Demands(machine.layout), lambda *_: False)
    assert graph is not None
    return machine, graph


def unequal(system: System) -> Iterator[str]:
    """The differences between the kernel's graph and the interpreter's."""
    machine, plain = drawn(system)
    noted = machine.statistics.cuts, machine.statistics.decisive_in
    machine.statistics.reset()
    props = tuple(system.of_kind(*LIVENESS))
    kernel = graphs.KernelGraph(machine, Demands(machine.layout), props)
    assert kernel.draw(machine.initial(), lambda *_: False)
    for field in attrs.fields(GraphArrays):
        if not np.array_equal(getattr(plain.arrays, field.name), getattr(kernel.arrays, field.name)):
            yield field.name
    if any(plain.state(number) != kernel.state(number) for number in range(plain.arrays.states)):
        yield "states"
    for prop in props:
        args = tuple(machine.layout.codes(param.type) - 1 for param in prop.params)
        if not np.array_equal(plain.asked(prop, args), kernel.asked(prop, args)):
            yield prop.name
    if noted != (machine.statistics.cuts, machine.statistics.decisive_in):
        yield "what was noted"


def test_edges_are_the_steps_that_change_something(lease: System) -> None:
    """Every edge is a step of the model with its demand, and every step that changes something is an edge."""
    machine, graph = drawn(lease)
    numbers = {graph.state(number): number for number in range(graph.arrays.states)}
    demands = Demands(machine.layout)
    for state, number in numbers.items():
        first, last = graph.arrays.offsets[number : number + 2]
        edges = set(
            zip(graph.arrays.targets[first:last].tolist(), graph.arrays.labels[first:last].tolist(), strict=True)
        )
        assert edges == {
            (numbers[new], demands.label(action.name, args))
            for action, successors in zip(lease.actions, machine.successors, strict=True)
            for new, args in successors(state)
            if new != state
        }
    assert [str(demand) for demand in demands.each] == [
        "grant(c=c1, f=f1)", "grant(c=c2, f=f1)", "expire(f=f1)",
    ]  # fmt: skip
    assert FREE in graph.arrays.labels


@pytest.mark.usefixtures("uncompiled")
def test_the_kernel_draws_the_same_graph(tmp_path: Path, lease: System, compiled: Compiled) -> None:
    """The graphs are equal for a model with several words of flags, random ones with cuts, and the full language."""
    gauges = compile_model(load_model(str(GAUGES)))
    small = [as_model(puzzle, tmp_path / f"p{number}.py") for number, puzzle in enumerate(puzzles(7, 12))]
    for system in (lease, compiled(LADDER), *small):
        assert list(unequal(system)) == [], system.file
    machine = Interpreter(gauges, gauges.scopes["tiny"], properties=())
    kernel = graphs.KernelGraph(machine, Demands(machine.layout), tuple(gauges.of_kind(*LIVENESS)))
    looked = iter(range(3))
    assert not kernel.draw(machine.initial(), lambda *_: next(looked, None) is None)


POOR_HASH = ("return h ^ (h >> np.uint64(29))", "return h & np.uint64(2)")
"""A hash with only two values. It is no fault; it exposes faults that otherwise need a full table."""

FAULTS = {
    "A step has the label of the one before.": [("poke(notes, LABELS + k,", "poke(notes, LABELS + max(k - 1, 0),")],
    "Of the demands that are possible one is kept.": [
        ("possible[i, label // FLAGS] |=", "possible[i, label // FLAGS] =")
    ],
    "A cut is one of all later states.": [("poke(notes_at, CUT_FLAGS + word, 0)", "pass")],
    "States of one hash are one.": [POOR_HASH, ("if holds(states_at, table[slot], s):", "if True:")],
    "The last edge of a state is lost.": [("ends[i] = edges", "ends[i] = max(start, edges - 1)")],
    "The goal is taken for the premise.": [("found |= 2", "found |= 1")],
    "A step that changes nothing counts.": [("if t != s: put", "if True: put")],
}
"""Faults of the kernel's source, each under a sentence about it: pairs of original text and replacement."""


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_caught(
    sentence: str, tmp_path: Path, lease: System, compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault makes the graphs differ or the kernel fail."""
    true_text, missing = build.kernel_text, {right for right, _ in FAULTS[sentence]}

    def text(functions: str, driver: str) -> str:
        found = true_text(functions, driver)
        for right, wrong in FAULTS[sentence]:
            missing.difference_update({right} if right in found else ())
            found = found.replace(right, wrong)
        return found

    monkeypatch.setattr(build, "kernel_text", text)
    systems = [lease, compiled(LADDER)]
    systems += [as_model(puzzle, tmp_path / f"p{number}.py") for number, puzzle in enumerate(puzzles(7, 40))]
    try:
        found = next((name for system in systems for name in unequal(system)), None)
    except (AssertionError, IndexError):
        found = "the kernel"
    assert not missing, "the fault is not where it was"
    assert found


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("value", ["~np.uint64(0)", "h & np.uint64(0)"], ids=["last", "first"])
def test_a_table_is_searched_around_its_end(value: str, lease: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """If all states belong in the last slot of the table, the search for a state goes on at its first slot."""
    true_text = build.kernel_text
    hashed, _ = POOR_HASH

    def text(functions: str, driver: str) -> str:
        found = true_text(functions, driver)
        assert hashed in found
        return found.replace(hashed, f"return {value}")

    monkeypatch.setattr(build, "kernel_text", text)
    assert list(unequal(lease)) == []


def test_many_demands_are_kept_apart(compiled: Compiled) -> None:
    """A run of eighty fair steps arrives; without one of them it stays below."""
    ladder = compiled(LADDER)
    assert len(Demands(drawn(ladder)[0].layout).each) > FLAGS
    assert answer(ladder).verdict == "exhausted"
    weak = compiled(LADDER.replace('"strong"', '"weak"').replace("leap", "rest").replace("N(70)\n@", "N(0)\n@"))
    assert len(answer(weak).findings[0].steps) == 71


def test_both_engines_answer_the_same() -> None:
    """The compiled kernel and the interpreter give equal answers, byte by byte, except for the time."""
    starved = remove_rules(compile_model(load_model(str(LEASE))), ["LS-08"])
    one, two = (
        live_to_json(live(starved, starved.scopes["tiny"], engine=engine)) | {"timing": None}
        for engine in ("interpreter", "kernel")
    )
    assert one == two


def test_what_is_part_of_the_protocol(tmp_path: Path) -> None:
    """Neighbouring cells of the protocol's state form one span. Ghosts and budgets are left out everywhere."""
    system = written(
        tmp_path,
        """
        first: N
        second: Map[Node, N]
        seen: Ghost[Rel[Node]]
        third: bool
        tiny = Scope({N: 1, Node: 2}, budgets={"go": 1})
        @init
        def zero(self) -> None:
            self.first = N(0)
            self.second.fill(N(0))
            self.seen.fill(False)
            self.third = False
        @action
        def go(self, n: Node) -> None:
            self.third = True
            self.seen[n] = True
        @invariant
        def unseen(self) -> bool:
            return all(not self.seen[n] for n in Node)
        """,
    )
    layout = Interpreter(system, system.scopes["tiny"]).layout
    assert protocol_cells(layout) == [(0, 3), (5, 6)]


@pytest.mark.parametrize("count", [1, 100])
def test_each_edge_has_room_for_its_label(count: int) -> None:
    """There is as much room for labels as for targets, whenever the arrays grow."""
    room = graphs._GrowingArrays(SimpleNamespace(ROW_WORDS=1, FLAG_WORDS=1, FAN=50, rehash=lambda *_: None), count)
    for edges in (0, len(room.targets)):
        room.ends[0] = edges
        room.grow(1, count)
        assert len(room.labels) == len(room.targets) >= edges + 50
