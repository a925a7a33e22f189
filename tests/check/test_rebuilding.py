"""How many canonical states it takes to rebuild a run of ten interchangeable clients."""

from __future__ import annotations

from holdfast.check.budget import Budget, Meter
from holdfast.check.search.plain_search import PlainSearch
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.rebuilding import RunBuilder
from holdfast.runs.selection import select
from holdfast.trace.trace import Origin
from tests.check.conftest import Compiled

TEN = """
inside: Rel[Node]
knows: Rel[Node, Node]
tiny = Scope({Node: 10})
@init
def nobody(self) -> None:
    self.inside.fill(False)
    self.knows.fill(False)
@action
def enter(self, n: Node) -> None:
    self.inside[n] = True
@action
def learn(self, n: Node, m: Node) -> None:
    require(self.inside[n], "TN-01")
    self.knows[n, m] = True
@witness
def met(self) -> bool:
    return any(self.knows[n, m] and self.knows[m, n] for n in Node for m in Node if n != m)
"""
"""Ten interchangeable nodes: 3,628,800 renamings."""


def test_a_run_is_rebuilt_from_few_canonical_states(compiled: Compiled) -> None:
    """Of the steps from a state only those up to the least that fits are looked at, not those beyond it.

    The run is the one that all steps give.
    """
    system = compiled(TEN)
    selection = select(system, None)
    machine = Interpreter(system, system.scopes["tiny"], ghosts=selection.ghosts, properties=selection.properties)
    search = PlainSearch(machine, selection, True, False, Meter(Budget(states=100)))
    search.explore()
    found = search.reached["met"]
    asked: list[bytes] = []

    def canonical(state: bytes) -> bytes:
        asked.append(state)
        return search.canonical(state)

    origin = Origin(system, machine.layout, "ten")
    trace = RunBuilder(machine, canonical, search.starts, search.path, origin).trace(found)

    assert trace.length == found.depth == 4
    state, whole = search.starts[0], 0
    for orbit in map(search.canonical, search.path(found)[1:]):
        edges = [edge for successors in machine.successors for edge in successors(state)]
        whole += len(edges)
        state = min(new for new, _ in edges if search.canonical(new) == orbit)
    assert search.canonical(state) == search.canonical(found.last)
    # The orbits of the path and of the start, and some of the steps.
    assert len(asked) - 6 < whole / 2
