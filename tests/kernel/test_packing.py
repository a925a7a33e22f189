"""Packed states lose nothing and compare like their bytes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.ir.system import Scope, System
from holdfast.lower.kernel.packing import WORD_BITS, Packing
from holdfast.lower.layout import Layout

SIZES = st.fixed_dictionaries(
    {"Node": st.integers(1, 6), "Nest": st.integers(1, 4), "Proc": st.just(1), "Tick": st.integers(1, 9)}
)


def layout_of(gauges: System, sizes: dict[str, int]) -> Layout:
    """A layout with fields of many widths; for most sizes some field straddles two words."""
    tiny = gauges.scopes["tiny"]
    given = {"node_of": (0,), "limit": (1,), "home": (None, None, None)}
    return Layout(gauges, Scope("drawn", sizes, {"drift": 2}, given, tiny.at))


def packings(gauges: System) -> st.SearchStrategy[Packing]:
    """The packings of all layouts that fit."""
    layouts = SIZES.map(lambda sizes: layout_of(gauges, sizes))
    return layouts.filter(lambda layout: layout.bits <= 2 * WORD_BITS).map(Packing)


def states(layout: Layout) -> st.SearchStrategy[bytes]:
    """Any state of a layout."""
    return st.tuples(*(st.integers(0, cell.field.codes - 1) for cell in layout.cells)).map(bytes)


@given(data=st.data())
@settings(max_examples=100)
def test_a_packed_state_is_the_state(gauges: System, data: st.DataObject) -> None:
    """Unpacking gives the state that was packed."""
    packing = data.draw(packings(gauges))
    state = data.draw(states(packing.layout))

    words = packing.pack(state)

    assert packing.unpack(words) == state
    assert len(words) == packing.words
    assert all(0 <= word < 1 << WORD_BITS for word in words), "a word must not be negative: -1 means no state"


@given(data=st.data())
@settings(max_examples=100)
def test_packed_states_compare_as_their_bytes(gauges: System, data: st.DataObject) -> None:
    """Of two states the lesser is also the lesser when packed."""
    packing = data.draw(packings(gauges))
    one, two = data.draw(states(packing.layout)), data.draw(states(packing.layout))

    assert (packing.pack(one) < packing.pack(two)) is (one < two)


@given(data=st.data())
@settings(max_examples=100)
def test_cells_share_no_bits(gauges: System, data: st.DataObject) -> None:
    """Every bit of a word belongs to at most one cell, and each cell has room for all its codes."""
    packing = data.draw(packings(gauges))
    taken = [0] * packing.words
    for slot, cell in zip(packing.slots, packing.layout.cells, strict=True):
        bits = slot.mask << slot.shift
        assert not taken[slot.word] & bits
        assert cell.field.codes <= slot.mask + 1
        assert slot.shift + slot.width <= WORD_BITS
        taken[slot.word] |= bits
