"""``all`` and ``any`` of a model look at every element while its methods run, and are Python's own otherwise."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.ir.load import load_model
from holdfast.lang.sorts import Cut

MODEL = '''\
"""A row of cells, read one further."""

from __future__ import annotations

from holdfast.lang import Model, Nat, Rel, Scope, action, init, invariant, require


class Place(Nat): ...


class Row(Model):
    """A row."""

    taken: Rel[Place]

    tiny = Scope({Place: 1})

    @init
    def begin(self) -> None:
        self.taken.fill(False)

    @action
    def look(self) -> None:
        require(not all(self.taken[p + 1] for p in Place), "RO-01")

    @invariant
    def free(self) -> bool:
        """RO-02. Some place is free."""
        return any(not self.taken[p + 1] for p in Place)


def outside() -> bool:
    """Python's own: ends at the first element."""
    return all(1 // (1 - p) > 1 for p in (0, 1))
'''


def test_a_later_element_cuts(tmp_path: Path) -> None:
    """The first cell decides, and the key of the second lies beyond its bound: the step is cut, the property false."""
    path = tmp_path / "row.py"
    path.write_text(MODEL)
    row: Any = load_model(str(path))
    state = row.at("tiny").start()
    with pytest.raises(Cut, match="Place"):
        state.take("look")
    assert state.holds("free") is False


def test_names_are_those_of_python_afterwards(tmp_path: Path) -> None:
    """Also after a method that ends with an error, and within the same module."""
    path = tmp_path / "row.py"
    path.write_text(MODEL)
    row: Any = load_model(str(path))
    with pytest.raises(Cut):
        row.at("tiny").start().take("look")
    module = sys.modules[row.__module__]
    assert not {"all", "any"} & vars(module).keys()
    assert module.outside() is False
