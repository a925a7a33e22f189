"""Windows compared with plain cells for every number, after random writes."""

from __future__ import annotations

import random
from functools import cache

import pytest

from holdfast.check.conform.judge.window import FullError, Windows
from holdfast.ir.compile import compile_model
from holdfast.ir.system import Scope
from holdfast.lower.layout import Layout
from tests.differential.running import loaded

MODEL = '''
from holdfast.lang import *


class Offset(Nat):
    """A number."""


class Cells(Model):
    """Cells that hold numbers, and cells keyed by them."""

    low: Offset
    last: Offset | None
    full: Rel[Offset]
    pair: Rel[Offset, Offset]

    tiny = Scope({Offset: 3})

    @init
    def begin(self) -> None:
        """All is empty."""
        self.low = Offset(0)
        self.last = None
        self.full.fill(False)
        self.pair.fill(False)
'''

MOST = 12
"""The greatest number."""


@cache
def layout(room: int) -> Layout:
    """A layout whose windows have room for N values."""
    with loaded(MODEL) as found:
        system = compile_model(found)
    return Layout(system, Scope("window", {"Offset": room - 1}, {}, {}, system.init.at), frozenset())


class Plain:
    """Plain cells, one for every number."""

    def __init__(self) -> None:
        self.low = 0
        self.last: int | None = None
        self.full = [False] * (MOST + 1)
        self.pair = [[False] * (MOST + 1) for _ in range(MOST + 1)]


def meaning(windows: Windows, state: bytes, room: int) -> Plain:
    """The plain cells of a state: a cell keyed by a number covers all numbers up to the next one in the window."""
    values = windows.values["Offset"]
    found = Plain()
    low, last, full, pair = (layout(room).field(name) for name in ("low", "last", "full", "pair"))
    found.low = values[state[low.offset]]
    found.last = values[state[last.offset] - 1] if state[last.offset] else None
    place = [max(code for code, value in enumerate(values) if value <= number) for number in range(MOST + 1)]
    found.full = [bool(state[full.offset + place[number]]) for number in range(MOST + 1)]
    found.pair = [
        [
            bool(state[pair.offset + place[one] * pair.strides[0] + place[two] * pair.strides[1]])
            for two in range(MOST + 1)
        ]
        for one in range(MOST + 1)
    ]
    return found


def write(chance: random.Random, windows: Windows, state: bytes, plain: Plain, room: int) -> bytes:
    """Write some cells in both, after the window has accepted two numbers."""
    one, two = sorted(chance.sample(range(MOST + 1), 2))
    (state,) = windows.refer([("Offset", one), ("Offset", two)], {state})
    codes = windows.code("Offset", one), windows.code("Offset", two)
    assert codes[0] is not None
    assert codes[1] is not None
    changed = bytearray(state)
    value = bool(chance.randrange(2))
    field = layout(room).field(chance.choice(("low", "last", "full", "full", "pair")))
    match field.name:
        case "low":
            changed[field.offset], plain.low = codes[0], one
        case "last":
            plain.last = one if value else None
            changed[field.offset] = codes[0] + 1 if value else 0
        case "full":
            plain.full[one:two] = [value] * (two - one)
            changed[field.offset + codes[0] : field.offset + codes[1]] = bytes([value] * (codes[1] - codes[0]))
        case _:
            for number in range(one, two):
                plain.pair[number][two:] = [value] * (MOST + 1 - two)
            for code in range(codes[0], codes[1]):
                row = field.offset + code * field.strides[0]
                changed[row + codes[1] : row + room] = bytes([value] * (room - codes[1]))
    return bytes(changed)


@pytest.mark.parametrize("room", [4, 5, 7, 20])
def test_a_state_stands_for_all_numbers(room: int) -> None:
    """The state represents all plain cells, whatever numbers the window accepts and forgets."""
    forgotten = 0
    for seed in range(40):
        chance = random.Random(seed)
        windows, state, plain = Windows(layout(room)), layout(room).blank(), Plain()
        for _ in range(25):
            try:
                state = write(chance, windows, state, plain, room)
            except FullError:
                break
            assert vars(meaning(windows, state, room)) == vars(plain), (seed, windows.values)
        forgotten += len(windows.values["Offset"]) == room
        assert windows.values["Offset"] == sorted(set(windows.values["Offset"]))
        assert len(windows.values["Offset"]) <= room
    assert forgotten > 10 or room == 20


def test_a_number_that_some_state_needs_stays() -> None:
    """A value is forgotten only if no state holds it and no state has other cells there than below."""
    windows, room = Windows(layout(4)), layout(4)
    (state,) = windows.refer([("Offset", 3), ("Offset", 6), ("Offset", 9)], {room.blank()})
    place = room.field("full").offset + 2
    told = bytearray(state)
    told[place] = told[place + 1] = 1
    held = bytearray(state)
    held[room.field("last").offset] = 1 + 1
    one, two = windows.refer([("Offset", 10)], {bytes(told), bytes(held)})
    assert windows.values["Offset"] == [0, 3, 6, 10]
    assert {meaning(windows, each, 4).last for each in (one, two)} == {None, 3}
    with pytest.raises(FullError) as caught:
        windows.refer([("Offset", 10), ("Offset", 12)], {one, two})
    assert caught.value.needed == 5
