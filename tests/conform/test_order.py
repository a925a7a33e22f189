"""The uses of a Nat that the judge accepts; it refuses all others with name and place."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from holdfast.check.conform.judge.order import Uses, uses
from holdfast.check.conform.judge.window import FullError, Windows
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.lower.layout import Layout

MODEL = '''
from holdfast.lang import Map, Model, Nat, Rel, Scope, action, count, init, require


class Offset(Nat):
    """A number."""


class Small(Model):
    """A model."""

    low: Offset
    high: Offset
    full: Rel[Offset]
    place: Map[Offset, Offset]

    tiny = Scope({{Offset: 3}})

    @init
    def begin(self) -> None:
        """All is 0."""
        self.low = Offset(0)
        self.high = Offset(0)
        self.full.fill(False)
        self.place.fill(Offset(0))

    @action
    def go(self, a: Offset, b: Offset) -> None:
        """It goes on."""
        {body}
'''


def read(tmp_path: Path, body: str) -> tuple[dict[str, tuple[str, ...]], dict[str, frozenset[int]]]:
    """The counted fields and the literals of the action."""
    found = found_uses(tmp_path, body)
    assert not found.plain
    return found.counted, found.literals


def found_uses(tmp_path: Path, body: str) -> Uses:
    """The uses of Nats in the action."""
    path = tmp_path / "small.py"
    path.write_text(MODEL.format(body=textwrap.indent(textwrap.dedent(body).strip(), " " * 8).strip()))
    return uses(compile_model(load_model(str(path))), frozenset())


@pytest.mark.parametrize(
    "body",
    [
        "require(self.low < a and a <= b, 'R-1')",
        "for o in Offset:\n    if a <= o and o < b:\n        self.full[o] = True",
        "require(all(self.full[o] for o in Offset if a <= o and o < b), 'R-1')",
        "require(self.full[a], 'R-1')",
        "self.low = min((o for o in Offset if self.full[o] and a <= o), default=b)",
    ],
)
def test_order_alone_is_taken(tmp_path: Path, body: str) -> None:
    """Comparisons, half-open ranges, and reads at a number from the log are accepted."""
    assert read(tmp_path, body) == ({}, {})


def test_counting_on_and_literals_are_noted(tmp_path: Path) -> None:
    """Counting on and literals are recorded, since the log has to give these numbers."""
    assert read(tmp_path, "require(a > Offset(2), 'R-1')\nself.low = self.low + 1") == (
        {"go": ("low",)},
        {"Offset": frozenset({2})},
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("require(self.low + 1 < a, 'R-1')", "computes with it (+)"),
        ("require(self.low - 1 < a, 'R-1')", "computes with it (-)"),
        ("require(max((o for o in Offset if self.full[o]), default=a) < b, 'R-1')", "takes a max"),
        ("require(all(self.full[o] for o in Offset if o <= a), 'R-1')", "asks for"),
        ("require(all(self.full[o] for o in Offset if o == a), 'R-1')", "asks for"),
        ("require(all(self.full[o] for o in Offset for x in Offset if o < x), 'R-1')", "two of its values"),
        ("require(all(self.full[o] for o in Offset for x in Offset if o < x + 1), 'R-1')", "two of its values"),
        ("require(all(self.full[o] for o in Offset for x in Offset if o < self.place[x]), 'R-1')", "two of its values"),
        ("self.full[a] = True", "single value"),
        ("for o in Offset:\n    self.place[o] = o", "otherwise than as a key"),
    ],
)
def test_more_than_order_is_taken_as_it_is(tmp_path: Path, body: str, problem: str) -> None:
    """A Nat used for more than order cannot have a window and is taken as a plain number; file and line are named."""
    plain = found_uses(tmp_path, body).plain
    assert list(plain) == ["Offset"]
    assert problem in plain["Offset"]
    assert "small.py:" in plain["Offset"]


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("require(a < Offset.last, 'R-1')", ["Offset"]),
        ("require(len(Offset) > 2, 'R-1')", ["Offset"]),
        ("require(max((o for o in Offset if self.full[o]), default=a) < b, 'R-1')", []),
        ("require(Offset.first < a, 'R-1')", []),
    ],
)
def test_the_greatest_value_is_noted(tmp_path: Path, body: str, asked: list[str]) -> None:
    """A model that asks for the greatest value of a Nat is noted, since no log tells it."""
    assert list(found_uses(tmp_path, body).ended) == asked


def test_a_plain_number_that_rises(tmp_path: Path) -> None:
    """A plain number that is counted on is recorded as rising, and not as counted."""
    uses = found_uses(tmp_path, "self.full[a] = True\nself.low = self.low + 1")
    assert (uses.counted, uses.rising) == ({}, frozenset({"Offset"}))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("self.low = self.low + 2", "computes"),
        ("require(self.low + 1 + self.high < a, 'R-1')", "computes"),
        ("require(sum(1 for o in Offset if self.full[o]) < 2, 'R-1')", "takes a"),
        ("require(count(self.full[o] for o in Offset) < 2, 'R-1')", "takes a count"),
        ("require(sum(self.place[o] for o in Offset) < 2, 'R-1')", "takes a"),
    ],
)
def test_sums_are_refused(tmp_path: Path, body: str, problem: str) -> None:
    """Sums are refused with the Nat, the file and the line."""
    with pytest.raises(UsageError) as caught:
        found_uses(tmp_path, body)
    assert problem in str(caught.value)
    assert "small.py:" in str(caught.value)
    assert "Offset" in str(caught.value)


def test_a_value_stays_whose_cells_are_not_those_below(tmp_path: Path) -> None:
    """A number whose cells differ from those below it stays in the window, since a range begins there."""
    path = tmp_path / "small.py"
    path.write_text(MODEL.format(body="self.low = a"))
    system = compile_model(load_model(str(path)))
    layout = Layout(system, system.scope("tiny"), frozenset())
    state = bytearray(layout.blank())
    full = layout.field("full")
    windows = Windows(layout)
    (found,) = windows.refer([("Offset", each) for each in (10, 20, 30)], {bytes(state)})
    state = bytearray(found)
    state[full.offset + 1 : full.offset + 4] = b"\1\1\1"
    (found,) = windows.refer([("Offset", 25)], {bytes(state)})
    assert windows.values["Offset"] == [0, 10, 25, 30]
    assert found[full.offset : full.offset + 4] == b"\0\1\1\1"
    state[full.offset + 2] = 0
    state[full.offset + 3] = 1
    with pytest.raises(FullError):
        windows.refer([("Offset", 27)], {bytes(state)})
