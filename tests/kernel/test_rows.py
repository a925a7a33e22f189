"""Rows: states with listed pools lose nothing, whether Python or the kernel's text writes them."""

from __future__ import annotations

import random
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.load import load_model
from holdfast.ir.system import Scope, System
from holdfast.lower.kernel.packing import WORD_BITS, Packing
from holdfast.lower.kernel.row_source import RowSource
from holdfast.lower.layout import Layout
from tests.kernel.plain import address, peek, poke
from tests.lower.packed import packed

MODEL = Path(__file__).parents[1] / "lower/models/pools.py"

SIZES = {
    "a pool in one word": {"Node": 3, "Term": 1, "Requests": 2, "Locks": 1},
    "pools over several words": {"Node": 6, "Term": 3, "Requests": 4, "Locks": 3},
    "a pool without members": {"Node": 4, "Term": 1, "Requests": 0, "Locks": 2},
    "a pool that is not listed": {"Node": 2, "Term": 1, "Requests": 3, "Locks": 4},
}
"""Sizes for which the rows have all shapes."""


@pytest.fixture(scope="module")
def pools() -> System:
    """A model with three pools."""
    return compile_model(load_model(str(MODEL)))


def packing_of(pools: System, sizes: dict[str, int]) -> Packing:
    """The packing of a scope of these sizes."""
    return Packing(Layout(pools, Scope("drawn", sizes, {}, {}, pools.scopes["tiny"].at)))


def some_states(pools: System, packing: Packing, count: int = 200) -> list[bytes]:
    """Random states, with few members and with many."""
    chance, layout = random.Random(1), packing.layout
    found = []
    for number in range(count):
        cells = (
            chance.random() < (number % 8 + 1) / 16 if cell.field.codes == 2 else chance.randrange(cell.field.codes)
            for cell in layout.cells
        )
        found.append(packed(pools, layout, map(int, cells)))
    return found


def functions(text: str) -> SimpleNamespace:
    """The functions of a kernel's text, which Python runs."""
    names: dict[str, object] = {"peek": peek, "poke": poke}
    exec(text, names)  # noqa: S102 - the text that is under test
    return SimpleNamespace(**names)


def differences(text: str, packing: Packing, states: list[bytes]) -> int:
    """How many states the text stores or reads otherwise than the packing says."""
    module, found = functions(text), 0
    memory = np.full((3, packing.row_words), -1, np.int64)
    rows = address(memory)
    for state in states:
        words = packing.pack(state)
        module.put(rows, 1, words)
        same = tuple(map(int, memory[1])) == packing.row(state) and module.load(rows, 1) == words
        kept = module.holds(rows, 1, words) and not module.holds(rows, 0, words) and (memory[[0, 2]] == -1).all()
        found += not (same and kept)
    return found


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_a_row_is_the_state(pools: System, sizes: dict[str, int]) -> None:
    """A row gives the state that it was made of, no two states have one row, and no word is negative."""
    packing = packing_of(pools, sizes)
    states = set(some_states(pools, packing))
    rows = {state: packing.row(state) for state in states}

    assert all(packing.state(row) == state for state, row in rows.items())
    assert len(set(rows.values())) == len(states)
    assert all(len(row) == packing.row_words and 0 <= word < 1 << WORD_BITS for row in rows.values() for word in row)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_the_text_agrees(pools: System, sizes: dict[str, int]) -> None:
    """The functions of the kernel store and read the rows of the packing."""
    packing = packing_of(pools, sizes)
    text = "\n".join(RowSource(packing).functions())

    assert differences(text, packing, some_states(pools, packing)) == 0


FAULTS = {
    "another member": (r"\(place (.) (\d+)\)", r"(place \1 \2 + 1)"),
    "another cell": (r"1 << \(member ", "1 << (1 + member "),
    "a member stays": (r"p0 = p0 \^ \(1 << place\)", "p0 = p0"),
    "the second word first": (r"if p0:", "if p0 and not p1:"),
    "a member in the wrong word": (r"member >= (\d+)", r"member > \1"),
    "the highest of half a word": ("if bits >> 32: place = 32", "pass"),
    "a cell beside a pool": (r"\(\(r0 & \d+\)", "((r0 & 0)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_text_is_noticed(pools: System, fault: str) -> None:
    """The comparison notices each of these mistakes."""
    packing = packing_of(pools, SIZES["pools over several words"])
    text = "\n".join(RowSource(packing).functions())
    wrong, number = re.subn(*FAULTS[fault], text)

    assert number
    assert differences(wrong, packing, some_states(pools, packing)) > 0


def test_members_are_counted(pools: System) -> None:
    """The text counts the ones of a word."""
    module = functions("\n".join(RowSource(packing_of(pools, SIZES["a pool in one word"])).functions()))
    chance = random.Random(2)

    assert all(
        module.ones(word) == word.bit_count() for word in (0, 1, (1 << 63) - 1, *map(chance.getrandbits, range(1, 64)))
    )


def test_a_pool_takes_the_bits_of_its_list(pools: System) -> None:
    """The bits of a state count the list, not the cells, where the list is shorter."""
    packing = packing_of(pools, SIZES["pools over several words"])
    bits = {field.name: (field.count, field.bits) for field in packing.layout.fields}

    assert (bits["sent"], bits["held"], bits["down"]) == ((144, 4 * 8), (24, 3 * 5), (6, 6))
    assert (packing.words, packing.row_words) == (3, 1)


def test_a_state_that_is_too_wide_is_refused(pools: System) -> None:
    """A kernel has no room for thousands of cells, however few members a pool has."""
    with pytest.raises(UsageError, match="more than 24 words while it is computed with"):
        packing_of(pools, {"Node": 14, "Term": 7, "Requests": 1, "Locks": 1})
