"""States of one to three words, and models beyond the kernel's limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from holdfast.check.budget import Budget
from holdfast.check.handover import COMPILING, LOADING, states_within
from holdfast.check.search.engine import search
from holdfast.check.search.kernel_search import KernelSearch
from holdfast.check.search.plain_search import PlainSearch
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System
from holdfast.lower.graph.fairness import Demands
from holdfast.lower.kernel import graphs
from holdfast.lower.kernel.kernel import Kernel
from holdfast.lower.kernel.packing import MOST_RUN_WORDS, MOST_WORDS, Packing
from holdfast.lower.layout import Layout
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.symmetry import Symmetry
from tests.check.walking import WalkPair, noted
from tests.kernel.comparing import Engines, differences
from tests.kernel.plain import plain_build, use_python
from tests.kernel.searching import equal_searches
from tests.kernel.writing import written

CELLS = """
nothing: Only
first: bool
pad: Map[tuple[Part, N], Gap]
none: Map[Node, Only]
last: Map[Node, N]
tiny = Scope({Node: 2, N: SIZE})
@init
def zero(self) -> None:
    self.nothing = Only.ONE
    self.first = False
    self.pad.fill(Gap(0))
    self.none.fill(Only.ONE)
    self.last.fill(N(0))
@action
def put(self, n: Node, k: N) -> None:
    require(self.none[n] == self.nothing, "A-1")
    require(k != self.last[n], "A-2")
    self.last[n] = k
    self.none[n] = Only.ONE
    self.first = not self.first
@action
def shift(self, p: Part, k: N) -> None:
    require(k > N(SIZE - 1) and p == Part.D, "A-3")
    self.pad[p, k] = self.pad[p, k] + 1
@invariant
def empty(self) -> bool:
    return all(self.pad[p, k] == Gap(0) for p in Part for k in N if k < N(SIZE))
@step
def grows(self, old: Self) -> bool:
    return all(self.last[n] >= old.last[n] for n in Node) or self.first != old.first
@witness
def at_the_end(self) -> bool:
    return self.pad[Part.D, N(SIZE)] == Gap(2)
"""
"""Cells of no bits, and a field that straddles word boundaries, as many as its size requires."""


def cells(folder: Path, size: int) -> System:
    """The model with this size of its Nat."""
    return written(folder, CELLS.replace("SIZE - 1", str(size - 1)).replace("SIZE", str(size)))


@pytest.mark.parametrize(
    ("size", "words", "compiled"), [(3, 1, False), (7, 2, False), (7, 2, True), (13, 3, False), (13, 3, True)]
)
def test_states_of_several_words(
    size: int, words: int, compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States and searches agree, however many words a state takes."""
    if not compiled:
        use_python(monkeypatch)
    system = cells(tmp_path, size)
    engines = Engines(system, system.scopes["tiny"])

    assert engines.kernel.words == words
    assert differences(engines, states=10) == []
    for keep_going in (False, True):
        equal_searches(system, "tiny", keep_going=keep_going, cores=[2])


@pytest.mark.usefixtures("uncompiled")
def test_a_model_of_one_state(tmp_path: Path) -> None:
    """A model whose state has no bits has one state."""
    system = written(
        tmp_path,
        """
    only: Only
    tiny = Scope({})
    @init
    def zero(self) -> None:
        self.only = Only.ONE
    @action
    def stay(self) -> None:
        self.only = Only.ONE
    """,
    )
    assert differences(Engines(system, system.scopes["tiny"]), states=1) == []
    assert equal_searches(system, "tiny").figures.distinct == 1


def test_random_runs_take_many_words(tmp_path: Path) -> None:
    """Kernel and interpreter make the same runs of states that are too wide for a search."""
    system = cells(tmp_path, 60)
    both = WalkPair.of(system, system.scopes["tiny"], 3, 40)

    assert Packing(both.walker.machine.layout, MOST_RUN_WORDS).words > 2 * MOST_WORDS
    assert noted(both.walks.runs(0, 100)) == noted(both.interpreted(100))


def test_a_state_that_is_too_wide_is_refused(tmp_path: Path) -> None:
    """If the kernel is requested, the error tells the width of a state and where it comes from."""
    system = cells(tmp_path, 16)

    with pytest.raises(UsageError, match=r"215 bits, more than 3 words; the widest fields are pad 204"):
        search(system, system.scopes["tiny"], engine="kernel")


@pytest.mark.parametrize("patience", [0, 50])
def test_what_is_too_wide_is_searched_by_the_interpreter(
    patience: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the engine is left open, the interpreter searches, with the same answer and a note."""
    system = cells(tmp_path, 16)
    wanted = search(system, system.scopes["tiny"], engine="interpreter")
    monkeypatch.setattr(PlainSearch, "within", lambda *_: patience)

    found = search(system, system.scopes["tiny"])

    assert (found.verdict, found.figures, found.witnesses) == (wanted.verdict, wanted.figures, wanted.witnesses)
    [note] = found.notes
    assert note.startswith("The interpreter searched, and not the kernel, which is faster: scope tiny: a state takes")


@pytest.mark.usefixtures("uncompiled")
def test_a_search_that_is_done_does_not_begin_anew(locks: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget that ends the interpreter's search ends it even at the point where the kernel would take over."""
    budget = Budget(states=30)
    wanted = search(locks, locks.scopes["tiny"], budget=budget, engine="interpreter")
    monkeypatch.setattr(PlainSearch, "within", lambda *_: 30)

    assert wanted.figures.waiting > 0
    assert search(locks, locks.scopes["tiny"], budget=budget) == wanted


@pytest.mark.usefixtures("uncompiled")
def test_the_kernel_takes_over_from_the_interpreter(locks: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """A growing search starts on the interpreter and continues on the kernel; the answer equals either's alone."""
    wanted = search(locks, locks.scopes["tiny"], engine="interpreter")
    monkeypatch.setattr(PlainSearch, "within", lambda *_: 20)

    assert search(locks, locks.scopes["tiny"]) == wanted


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(("compiled", "kernels"), [(False, 0), (True, 1)])
def test_a_compiled_kernel_takes_over_sooner(
    compiled: bool, kernels: int, locks: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that is longer than loading takes, and shorter than compiling, uses the kernel only if it is there."""
    wanted = search(locks, locks.scopes["tiny"], engine="interpreter")
    asked: list[KernelSearch] = []
    explore = KernelSearch.explore
    monkeypatch.setattr(PlainSearch, "within", lambda _, time: {LOADING: 5, COMPILING: 10**6}[time])
    monkeypatch.setattr(Kernel, "compiled", compiled)
    monkeypatch.setattr(KernelSearch, "explore", lambda found: (asked.append(found), explore(found)))

    assert search(locks, locks.scopes["tiny"]) == wanted
    assert len(asked) == kernels


def test_a_canonical_form_is_an_effort(locks: System) -> None:
    """The interpreter explores fewer states of a large group than without symmetry, and not as few as all renamings."""
    layout = Layout(locks, evolve(locks.scopes["tiny"], sizes={"Client": 8, "Lock": 2}))
    group = Symmetry(layout)
    assert group.form is not None
    assert states_within(COMPILING, layout, group.order) < states_within(COMPILING, layout, group.effort)
    assert states_within(COMPILING, layout, group.effort) < states_within(COMPILING, layout, 1)


def test_a_costly_state_brings_the_kernel_sooner(locks: System) -> None:
    """The more instances and renamings a state has, the fewer states the interpreter explores in a time."""
    scope = locks.scopes["tiny"]
    tiny, larger = (Layout(locks, evolve(scope, sizes={"Client": size, "Lock": 2})) for size in (2, 3))
    within = states_within(COMPILING, tiny, 1)

    assert 0 < states_within(COMPILING, larger, 1) < within
    assert states_within(COMPILING, tiny, 720) < within / 10
    assert states_within(LOADING, tiny, 1) < within


MANY = """
n: N
tiny = Scope({N: 3})
@init
def zero(self) -> None:
    self.n = N(0)
"""


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("number", [63, 64])
def test_many_properties(number: int, tmp_path: Path) -> None:
    """Up to a word's number of properties of one kind are checked at once; more are refused, with a remedy."""
    claims = "".join(
        f"@invariant\ndef claim{index}(self) -> bool:\n    return self.n != N(2) or {index} < {number - 1}\n"
        for index in range(number)
    )
    system = written(tmp_path, f"{MANY}@action\ndef up(self) -> None:\n    self.n = self.n + 1\n{claims}")

    if number == 63:
        assert equal_searches(system, "tiny").findings[0].claim.name == "claim62"
    else:
        with pytest.raises(UsageError, match="64 properties of one kind, and the kernel checks at most 63"):
            search(system, system.scopes["tiny"], engine="kernel")


@pytest.mark.slow
def test_many_idempotent_actions(tmp_path: Path) -> None:
    """With more actions than a word has bits, a violation of idempotence by the last action is found."""
    actions = "".join(
        f'@action(idempotent="R-{index}")\ndef act{index}(self) -> None:\n    require(self.n == N(0), "A-{index}")\n'
        f"    self.n = N({3 if index == 69 else 0})\n"
        for index in range(70)
    )
    system = written(tmp_path, MANY + actions)

    assert equal_searches(system, "tiny").findings[0].claim.name == "act69_idempotent"


MANY_FINALS = "n: N\ntiny = Scope({N: 1})\n@init\ndef zero(self) -> None:\n    self.n = N(0)\n" + "".join(
    f"@final\ndef end_{number}(self) -> bool:\n    return self.n == N({number % 2})\n" for number in range(64)
)
"""A model with one final property more than a word has bits."""


def test_more_finals_than_a_word_has_bits_are_refused(tmp_path: Path) -> None:
    """Too many final properties are refused by name and number, like other properties, for searches and for runs."""
    system = written(tmp_path, MANY_FINALS)
    machine = Interpreter(system, system.scopes["tiny"])

    with pytest.raises(UsageError, match="has 64 properties of one kind"):
        Kernel(machine, None, finals=tuple(system.of_kind("final")))
    with pytest.raises(UsageError, match="has 64 properties of one kind"):
        WalkPair.of(system, system.scopes["tiny"], 0, 5)


def test_more_steps_than_there_is_room_for_are_refused(tmp_path: Path) -> None:
    """A state with more action instances than the kernel has rows is refused before memory is allocated."""
    text = "n: N\ntiny = Scope({N: 62})\n@init\ndef zero(self) -> None:\n    self.n = N(0)\n" + "".join(
        f"@action\ndef go_{each}(self, a: N, b: N, c: N) -> None:\n    require(a == b and b == c)\n    self.n = a\n"
        for each in range(5)
    )
    system = written(tmp_path, text)

    with pytest.raises(UsageError, match=r"have 1250236 choices of arguments, and the kernel has room for 1,048,576"):
        Kernel(Interpreter(system, system.scopes["tiny"]), None)


def test_more_states_than_a_graph_has_numbers_are_refused(streams: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph with more states than state numbers is refused."""
    monkeypatch.setattr(graphs, "build", plain_build)
    monkeypatch.setattr(graphs, "MOST", 5)
    machine = Interpreter(streams, streams.scopes["tiny"], properties=())
    graph = graphs.KernelGraph(machine, Demands(machine.layout), ())

    with pytest.raises(UsageError, match=r"the graph has \d states, and 5 are the most"):
        graph.draw(machine.initial(), lambda *_: False)
