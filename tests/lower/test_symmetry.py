"""Symmetry: the group, and the least state of an orbit."""

from __future__ import annotations

import attrs
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ir.system import System
from holdfast.lower.layout import Layout
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.symmetry import Symmetry


def states(layout: Layout) -> st.SearchStrategy[bytes]:
    """Any state of a layout."""
    return st.tuples(*(st.integers(0, cell.field.codes - 1) for cell in layout.cells)).map(bytes)


def symmetries(streams: System, gauges: System) -> list[Symmetry]:
    """Three groups: Sorts as keys and Optional values, cells with two keys, and one that given constants narrow."""
    free = attrs.evolve(gauges.scopes["default"], given={**gauges.scopes["default"].given, "node_of": (0, 0)})
    layouts = [
        Layout(streams, streams.scopes["default"]),
        Layout(gauges, free),
        Layout(gauges, gauges.scopes["tiny"]),
    ]
    return [Symmetry(layout) for layout in layouts]


@given(data=st.data())
def test_renamed_states_have_one_representative(streams: System, gauges: System, data: st.DataObject) -> None:
    """All renamings of a state have the same canonical state: the least renaming."""
    for symmetry in symmetries(streams, gauges):
        state = data.draw(states(symmetry.layout))
        orbit = {symmetry.permute(state, g) for g in range(symmetry.order)}
        assert {symmetry.canonical(image) for image in orbit} == {min(orbit)}
        assert symmetry.orbit_size(state) == len(orbit)
        assert symmetry.order % len(orbit) == 0


def test_a_renaming_moves_keys_and_values(streams: System) -> None:
    """Exchanging two nodes exchanges them as owners; exchanging two streams exchanges their rows."""
    scope = attrs.evolve(streams.scopes["default"], sizes={"Node": 2, "Stream": 2, "Epoch": 4})
    symmetry = Symmetry(Layout(streams, scope))
    state = symmetry.layout.encode(
        {"opened[s1]": True, "opened[s2]": False, "owner[s1]": "n1", "owner[s2]": None, "epoch[s1]": 3, "epoch[s2]": 1}
    )
    images = [symmetry.layout.decode(symmetry.permute(state, g)) for g in range(symmetry.order)]
    rows = [tuple((i[f"opened[{s}]"], i[f"owner[{s}]"], i[f"epoch[{s}]"]) for s in ("s1", "s2")) for i in images]
    first, second = (True, "n1", 3), (False, None, 1)
    renamed = (True, "n2", 3)
    assert sorted(rows, key=str) == sorted(
        [(first, second), (second, first), (renamed, second), (second, renamed)], key=str
    )


def test_renamings_commute_with_steps(streams: System, gauges: System) -> None:
    """The steps of a renamed state are the renamed steps of the state."""
    for system, name in ((streams, "default"), (gauges, "tiny")):
        interpreter = Interpreter(system, system.scopes[name])
        symmetry = Symmetry(interpreter.layout)
        reached = interpreter.initial()
        for _ in range(3):
            reached = sorted(
                {new for old in reached for successors in interpreter.successors for new, _ in successors(old)}
            )
        for state in reached[:: max(1, len(reached) // 20)]:
            for g in range(symmetry.order):
                image = symmetry.permute(state, g)
                for successors in interpreter.successors:
                    renamed = {symmetry.permute(new, g) for new, _ in successors(state)}
                    assert {new for new, _ in successors(image)} == renamed


def test_given_constants_narrow_the_group(gauges: System) -> None:
    """Renamings that change a given constant are excluded: processes of different nodes are not interchangeable."""
    scope = gauges.scopes["tiny"]
    blank = {"limit": 1, "home": (None, None, None)}
    orders = {
        node_of: Symmetry(
            Layout(gauges, attrs.evolve(scope, given={**scope.given, **blank, "limit": (1,), "node_of": node_of}))
        ).order
        for node_of in ((0, 1, 1), (0, 0, 0))
    }
    # Two nests, and the two processes of one node; or all three processes. Neither node can take the other's place.
    assert orders == {(0, 1, 1): 2 * 2, (0, 0, 0): 2 * 6}
    assert Symmetry(Layout(gauges, scope)).order == 2  # The homes tell the nests apart.


def test_orbits_add_up_to_all_states(streams: System) -> None:
    """The sizes of the orbits that symmetry finds add up to the number of states without symmetry."""
    interpreter = Interpreter(streams, streams.scopes["default"])
    symmetry = Symmetry(interpreter.layout)

    def reachable(canonical: bool) -> set[bytes]:
        found = {symmetry.canonical(state) if canonical else state for state in interpreter.initial()}
        waiting = sorted(found)
        for state in waiting:
            for successors in interpreter.successors:
                for successor, _ in successors(state):
                    new = symmetry.canonical(successor) if canonical else successor
                    if new not in found:
                        found.add(new)
                        waiting.append(new)
        return found

    assert symmetry.order == 12
    assert sum(map(symmetry.orbit_size, reachable(canonical=True))) == len(reachable(canonical=False)) == 625


def test_one_element_of_each_sort_is_no_symmetry(streams: System) -> None:
    """With one element of each Sort every state is canonical."""
    scope = attrs.evolve(streams.scopes["tiny"], sizes={"Node": 1, "Stream": 1, "Epoch": 1})
    symmetry = Symmetry(Layout(streams, scope))
    assert symmetry.trivial
    assert symmetry.canonical(b"\1\1\1") == b"\1\1\1"
