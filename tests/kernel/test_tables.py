"""The kernel's tables of states, run by Python: what is put into a table is found there, around its end too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.lower.kernel import build
from holdfast.lower.kernel.kernel import Kernel
from holdfast.lower.python.interpreter import Interpreter
from tests.kernel.plain import Address, address
from tests.kernel.writing import SEARCHED, written

HASH = "return h ^ (h >> np.uint64(29))"
PLACES = {"scattered": HASH, "in the first slot": "return np.uint64(0)", "in the last slot": "return ~np.uint64(0)"}
"""Hashes, by where they say that states belong."""


@pytest.fixture(params=PLACES)
def module(request: pytest.FixtureRequest, uncompiled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The functions of a kernel, with each of the hashes."""
    del uncompiled
    true_text = build.kernel_text

    def text(functions: str, driver: str) -> str:
        found = true_text(functions, driver)
        assert HASH in found
        return found.replace(HASH, PLACES[request.param])

    monkeypatch.setattr(build, "kernel_text", text)
    system = written(tmp_path, SEARCHED["states of two words"])
    return Kernel(Interpreter(system, system.scopes["tiny"]), None).module


def rows(module: Any, *numbers: int) -> Address:
    """A row for each number, in which all words are that number."""
    return address(np.repeat(np.array(numbers, np.int64)[:, None], module.WORDS, axis=1))


def numbers(module: Any, at: Address, count: int) -> list[int]:
    """The numbers of the first rows."""
    return [int(at.words[row * module.WORDS]) for row in range(count)]


def empty(module: Any, size: int) -> Address:
    """An empty table."""
    table = rows(module, *range(size))
    module.rehash(table, 0, table, size)
    return table


def test_a_row_is_stored_once(module: Any) -> None:
    """A table takes each new row, in the order of the buffer; a row that it holds is found again."""
    table, states = empty(module, 7), rows(module, *[0] * 7)
    assert module.insert_rows(rows(module, 5, 3, 5, 8), 4, table, 7, states, 0) == 3
    assert module.insert_rows(rows(module, 8, 3, 1, 5), 4, table, 7, states, 3) == 4
    assert numbers(module, states, 4) == [5, 3, 8, 1]


def test_a_larger_table_holds_the_same_rows(module: Any) -> None:
    """After the table was built anew in another size, all rows are still found."""
    states = rows(module, 5, 3, 8, 1, *[0] * 9)
    for size in (5, 8, 13):
        table = empty(module, size)
        module.rehash(states, 4, table, size)
        assert module.insert_rows(rows(module, 1, 8, 3, 5), 4, table, size, states, 4) == 4
        assert module.insert_rows(rows(module, 9), 1, table, size, states, 4) == 5
        assert numbers(module, states, 5) == [5, 3, 8, 1, 9]


def test_a_row_that_is_struck_off_is_gone(module: Any) -> None:
    """Rows are gathered once each; those struck off are not among the remaining, and the others still are."""
    table, left = empty(module, 6), rows(module, *[0] * 6)
    module.gather(rows(module, 4, 2, 4, 7, 9), 5, table, 6)
    module.strike(rows(module, 2, 6, 9), 3, table, 6)
    count = module.remaining(table, 6, left)
    assert sorted(numbers(module, left, count)) == [4, 7]


def test_rows_behind_a_struck_off_one_are_found(module: Any) -> None:
    """In a table that is nearly full, the slot of a struck off row does not hide the rows behind it."""
    every = [4, 2, 7, 9, 11, 3]
    for gone in every:
        table, left = empty(module, 8), rows(module, *[0] * 8)
        module.gather(rows(module, *every), len(every), table, 8)
        module.strike(rows(module, gone), 1, table, 8)
        others = [each for each in every if each != gone]
        module.gather(rows(module, *others), len(others), table, 8)
        assert sorted(numbers(module, left, module.remaining(table, 8, left))) == sorted(others)


def test_every_slot_serves(module: Any) -> None:
    """A row goes into the first free slot from its own one on; behind the last slot the first one follows."""
    table, size = empty(module, 4), 4
    taken: set[int] = set()
    for number in range(3):
        row = module.load(rows(module, number), 0)
        begin = int(module.slot_of(row, size))
        place = module.place_of(row, table, size)
        assert place == next(slot % size for slot in range(begin, begin + size) if slot % size not in taken)
        module.put(table, place, row)
        taken.add(int(place))
