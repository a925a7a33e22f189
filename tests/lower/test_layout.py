"""The layout: the meaning of each byte of a state."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.system import Scope, System
from holdfast.ir.types import BOOL, EnumType, IntType, NatType, OptionalType, SortType
from holdfast.lower.layout import Layout
from holdfast.lower.scope_limits import refuse_choices


@pytest.fixture
def layout(gauges: System) -> Layout:
    """The layout of the gauges in scope tiny."""
    return Layout(gauges, gauges.scopes["tiny"])


def resized(system: System, **sizes: int) -> Scope:
    """The tiny scope of a system with other sizes."""
    scope = system.scopes["tiny"]
    return attrs.evolve(scope, sizes={**scope.sizes, **sizes})


def test_cells_stand_in_the_order_of_the_model(streams: System) -> None:
    """Variables in the order of the source, their cells by key, and readable names."""
    layout = Layout(streams, streams.scopes["default"])
    assert [cell.name for cell in layout.cells] == [
        "opened[s1]", "opened[s2]", "owner[s1]", "owner[s2]", "epoch[s1]", "epoch[s2]",
    ]  # fmt: skip
    assert layout.width == 6


def test_two_keys_run_row_by_row(layout: Layout) -> None:
    """The last key of a map varies fastest."""
    names = [cell.name for cell in layout.cells if cell.field.name == "near"]
    assert names == ["near[node1, nest1]", "near[node1, nest2]", "near[node2, nest1]", "near[node2, nest2]"]


def test_budgets_come_last_and_given_constants_are_no_cells(layout: Layout) -> None:
    """Budgets are hidden cells after the variables, full at the start. Given constants have no cell."""
    assert [(field.name, field.codes) for field in layout.fields if field.hidden] == [
        ("budget(drift)", 3),
        ("budget(pulse)", 2),
    ]
    assert not {"node_of", "limit", "home"} & {field.name for field in layout.fields}
    assert layout.given == {"node_of": (0, 1, 1), "limit": (1,), "home": (1, 0, 2)}
    assert layout.blank()[-2:] == bytes([2, 1])
    assert layout.budget("drift") == layout.width - 2
    assert layout.budget("look") is None


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (BOOL, [False, True]),
        (EnumType("Mode", ("IDLE", "BUSY")), ["IDLE", "BUSY"]),
        (SortType("Proc"), ["proc1", "proc2", "proc3"]),
        (NatType("Tick"), [0, 1, 2]),
        (IntType("Gap", -2, 1), [-2, -1, 0, 1]),
        (OptionalType(SortType("Nest")), [None, "nest1", "nest2"]),
        (OptionalType(IntType("Gap", -1, 0)), [None, -1, 0]),
        (OptionalType(BOOL), [None, False, True]),
    ],
)
def test_codes_of_each_type(layout: Layout, kind: SortType, values: list[object]) -> None:
    """The codes count the values of a type from 0, None first."""
    assert [layout.decode_value(kind, code) for code in range(layout.codes(kind))] == values
    assert [layout.encode_value(kind, value) for value in values] == list(range(len(values)))


@given(data=st.data())
def test_decoding_is_undone_by_encoding(gauges: System, data: st.DataObject) -> None:
    """A decoded state encodes to the same bytes."""
    layout = Layout(gauges, gauges.scopes["default"])
    state = bytes(data.draw(st.integers(0, cell.field.codes - 1)) for cell in layout.cells)
    assert layout.encode(layout.decode(state)) == state


@given(data=st.data())
def test_arguments_are_decoded_by_name(gauges: System, data: st.DataObject) -> None:
    """Decoded arguments encode to the same codes."""
    layout = Layout(gauges, gauges.scopes["default"])
    for action in gauges.actions:
        args = tuple(data.draw(st.integers(0, layout.codes(param.type) - 1)) for param in action.params)
        values = layout.decode_args(action, args)
        assert list(values) == [param.name for param in action.params]
        assert layout.encode_args(action, values) == args


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"opened[s1]": True, "owner[s1]": None}, r"epoch\[s1\] is missing"),
        ({"opened[s1]": True, "owner[s1]": None, "epoch[s1]": 0, "size": 0}, "size is not a cell"),
        (
            {"opened[s1]": True, "owner[s1]": None, "epoch[s1]": 4},
            "4 is not a value of Epoch in scope tiny; use 0 to 3",
        ),
        ({"opened[s1]": 1, "owner[s1]": None, "epoch[s1]": 0}, "1 is not a value of bool"),
        ({"opened[s1]": True, "owner[s1]": "n3", "epoch[s1]": 0}, "'n3' is not a value of Node.*use one of n1, n2"),
    ],
)
def test_a_wrong_state_is_refused(streams: System, values: dict[str, bool | int | str | None], message: str) -> None:
    """A cell that is missing, unknown or out of range is named with its value and the remedy."""
    with pytest.raises(UsageError, match=message):
        Layout(streams, streams.scopes["tiny"]).encode(values)


def test_sorts_with_one_letter_go_by_their_names(layout: Layout, streams: System) -> None:
    """Elements are called by the Sort's prefix, and where two Sorts share it, by the Sort's whole name."""
    assert Layout(streams, streams.scopes["tiny"]).elements == {"Node": ("n1", "n2"), "Stream": ("s1",)}
    assert layout.elements["Node"] == ("node1", "node2")
    assert layout.elements["Nest"] == ("nest1", "nest2")
    assert layout.elements["Proc"] == ("proc1", "proc2", "proc3")


PREFIXES = """
from holdfast.lang import Model, Rel, Scope, Sort, init

class Broker(Sort, prefix="b"): ...
class Bucket(Sort, prefix="b1"): ...

class M(Model):
    up: Rel[Broker, Bucket]
    tiny = Scope({Broker: 9, Bucket: 2})
    wide = Scope({Broker: 11, Bucket: 1})
    @init
    def begin(self) -> None:
        self.up.fill(False)
"""


def test_two_elements_of_one_name_are_refused(tmp_path: Path) -> None:
    """Two elements must not have one name: with prefixes b and b1, the eleventh and the first would both be b11."""
    path = tmp_path / "prefixes.py"
    path.write_text(PREFIXES)
    system = compile_model(load_model(str(path)))
    assert Layout(system, system.scopes["tiny"]).elements["Bucket"] == ("b11", "b12")
    with pytest.raises(UsageError, match=r"wide: .* Broker and one of Bucket are both called b11; give .* prefix"):
        Layout(system, system.scopes["wide"])


def test_bits_are_what_the_codes_need(streams: System) -> None:
    """A cell is as wide as its number of codes needs, and the widest fields come first."""
    layout = Layout(streams, streams.scopes["default"])
    assert layout.bits == 2 * 1 + 2 * 2 + 2 * 3
    assert layout.widest(2) == [("epoch", 6), ("owner", 4)]


def test_dropped_ghosts_take_no_room(gauges: System) -> None:
    """A dropped ghost has no cell. All other variables keep theirs."""
    layout = Layout(gauges, gauges.scopes["tiny"], frozenset({"heard"}))
    assert layout.dropped == {"echoes"}
    assert "heard" in {field.name for field in layout.fields}
    assert "echoes" not in {field.name for field in layout.fields}


def test_too_many_values_for_a_byte_are_refused(streams: System) -> None:
    """A type with more than 255 values is refused with the field and the remedy."""
    assert Layout(streams, resized(streams, Epoch=254)).field("epoch").codes == 255
    with pytest.raises(UsageError, match=r"epoch holds Epoch, which has 256 values.*smaller scope"):
        Layout(streams, resized(streams, Epoch=255))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"node_of": (0, 1)}, "gives 2 values for node_of, which has 3 cells"),
        ({"node_of": (0, 1, 2)}, "write elements of Node as 0 to 1"),
        ({"node_of": (0, 1, -1)}, "write elements of Node as 0 to 1"),
        ({"limit": (7,)}, "use 0 to 2"),
        ({"node_of": None}, "gives no value for node_of"),
    ],
)
def test_wrong_given_constants_are_refused(gauges: System, given: dict[str, object], message: str) -> None:
    """A scope must give a constant one value a cell, each within its type."""
    scope = gauges.scopes["tiny"]
    wrong = {name: values for name, values in {**scope.given, **given}.items() if values is not None}
    with pytest.raises(UsageError, match=message):
        Layout(gauges, attrs.evolve(scope, given=wrong))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"Stream": 70_000}, "sort Stream has 70000 elements, and the limit is 65,536"),
        ({"Node": 10**30}, "sort Node has 1000000000000000000000000000000 elements"),
        ({"Epoch": 10**30}, "parameter e of open has 1000000000000000000000000000001 values"),
    ],
)
def test_sizes_that_nobody_could_list_are_refused(streams: System, sizes: dict[str, int], message: str) -> None:
    """A type with more values than memory holds is refused before anything is allocated for each value."""
    with pytest.raises(UsageError, match=message):
        Layout(streams, resized(streams, **sizes))


def test_more_cells_than_anybody_could_list_are_refused(gauges: System) -> None:
    """A map over several keys is counted as the product of their sizes."""
    with pytest.raises(UsageError, match=r"\w+ has 90000 cells, and the limit is 65,536"):
        Layout(gauges, resized(gauges, Node=300, Nest=300))


def test_more_arguments_than_an_engine_can_go_through_are_refused(streams: System) -> None:
    """The parameters of an action are counted together: an engine tries all choices before it looks at its budget."""
    layout = Layout(streams, resized(streams, Stream=20_000, Node=2, Epoch=10))
    with pytest.raises(UsageError, match="parameters of open have 440000 choices together, and the limit is 262,144"):
        refuse_choices(streams.actions, layout.scope, layout.codes)


def test_a_given_number_of_a_large_type_is_coded_at_once(gauges: System) -> None:
    """A given constant may have a large type: its code is computed, not looked up."""
    assert Layout(gauges, gauges.scopes["tiny"]).encode_value(IntType("Big", 0, 2**70), 2**69) == 2**69
