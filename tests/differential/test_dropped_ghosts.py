"""Accepted models do the same with their ghosts and without them.

The models here have short paths by which a value reaches a ghost, or a ghost reaches a real cell. The models of
``generate.py`` are all within the language. Here half of them are not, and the compiler has to tell which.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import attrs
import pytest

from holdfast.ir.compile import compile_model, model
from holdfast.ir.errors import ModelError
from holdfast.ir.system import System
from holdfast.lower.python.interpreter import Interpreter
from tests.differential.comparing import first, pruned_differences
from tests.differential.running import loaded
from tests.differential.vocabulary import HEADER

GHOSTS = ("self.past", "self.when[i]")
"""Ghosts of the types ``Tick`` and ``Tick | None``."""

REAL = ("self.clock", "self.seen[i]")
"""Real cells of the same types."""

VALUES = ("t", "Tick(2)", "Tick(3)", "t + 1", "self.seen[i]", *GHOSTS)
"""The scope has no room for ``Tick(3)``, nor always for ``t + 1``. No real cell may read the last two values."""

WAYS = {
    "as it is": "TARGET = VALUE",
    "by choice": "TARGET = VALUE if self.busy else TARGET",
    "in an Optional local": "x: Tick | None = VALUE\nTARGET = x",
    "out of an Optional local": "x: Tick | None = VALUE\nif x is not None:\n    y: Tick = x\n    TARGET = y",
    "through a parameter": "self.put_CELL(i, VALUE)",
    "through a helper that computes": "x = self.same(VALUE)\nif x is not None:\n    TARGET = x",
    "as a test": "if self.late(VALUE, t):\n    TARGET = Tick(1)",
    "as a test that returns": "if self.late(VALUE, t):\n    return\nTARGET = Tick(1)",
    "as a guard": 'require(self.late(VALUE, t), "GH-01")\nTARGET = Tick(0)',
    "in a loop": "for j in Item:\n    x: Tick | None = VALUE\n    self.when[j] = x",
    "as a fill": "self.when.fill(VALUE)",
}

MODEL = (
    HEADER
    + '''\
class Whole(Model):
    """A clock, and ghosts that note what it showed."""
    clock: Tick
    seen: Map[Item, Tick | None]
    busy: bool
    past: Ghost[Tick]
    when: Ghost[Map[Item, Tick | None]]
    tiny = Scope({Item: 2, Tick: 2})
    @init
    def begin(self) -> None:
        self.clock = Tick(0)
        self.seen.fill(None)
        self.busy = False
        self.past = Tick(0)
        self.when.fill(None)
    def same(self, x: Tick | None) -> Tick | None:
        return x
    def late(self, x: Tick | None, t: Tick) -> bool:
        return x is None or x > t
    def put_past(self, i: Item, x: Tick | None) -> None:
        if x is not None:
            self.past = x
    def put_when(self, i: Item, x: Tick | None) -> None:
        self.when[i] = x
    def put_clock(self, i: Item, x: Tick | None) -> None:
        if x is not None:
            self.clock = x
    def put_seen(self, i: Item, x: Tick | None) -> None:
        self.seen[i] = x
    @action
    def act(self, i: Item, t: Tick) -> None:
BODY
        self.busy = not self.busy
    @action
    def tick(self, i: Item, t: Tick) -> None:
        self.clock = t
        self.seen[i] = t
    @invariant
    def reads(self) -> bool:
        return self.past == Tick(0) or any(self.when[i] is None for i in Item)
    @invariant
    def real(self) -> bool:
        return self.clock != Tick(2)
'''
)


@attrs.frozen
class Case:
    """A value on its way to a cell."""

    target: str
    way: str
    value: str

    @property
    def source(self) -> str:
        """A model with one action that takes the value to the cell."""
        cell = self.target.removeprefix("self.").partition("[")[0]
        lines = WAYS[self.way].replace("CELL", cell).replace("TARGET", self.target).replace("VALUE", self.value)
        return MODEL.replace("BODY", "\n".join(f"        {line}" for line in lines.splitlines()))


CASES = [
    Case(target, way, value)
    for target, way, value in itertools.product((*GHOSTS, *REAL), WAYS, VALUES)
    if (target in GHOSTS or value in GHOSTS) and ("TARGET" in WAYS[way] or "CELL" in WAYS[way] or target == GHOSTS[1])
]


def compiled(case: Case) -> System | None:
    """The system of a case, or None if the compiler refuses it."""
    with loaded(case.source) as cls:
        try:
            return compile_model(cls)
        except ModelError:
            return None


def differences(system: System) -> Iterator[str]:
    """The differences without the ghosts: in a start, a step, a property, or a cut."""
    cuts = []
    for ghosts in (frozenset({"past", "when"}), frozenset[str]()):
        interpreter = Interpreter(system, system.scopes["tiny"], ghosts=ghosts, properties=())
        for start, successors in itertools.product(interpreter.initial(), interpreter.successors):
            successors(start)
        cuts.append(interpreter.statistics.cuts)
    if cuts[0] != cuts[1]:
        yield f"cut with the ghosts {cuts[0]}, without them {cuts[1]}"
    yield from pruned_differences(system, random.Random(1), states=1)


def test_what_is_accepted_does_the_same_without_its_ghosts() -> None:
    """Dropping ghosts changes no step, start or property of an accepted model; many models are accepted."""
    systems = [(case, system) for case in CASES if (system := compiled(case)) is not None]

    assert {case: text for case, system in systems if (text := first(differences(system)))} == {}
    assert 30 < len(systems) < len(CASES) - 30


@pytest.mark.parametrize("way", WAYS)
def test_without_the_checks_each_way_shows_a_difference(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the compiler did not check ghosts, the comparison would notice each path."""
    for check in ("check_ghosts", "check_ghost_literals"):
        monkeypatch.setattr(model, check, lambda *_: None)
    systems = [compiled(case) for case in CASES if case.way == way and case.value in ("t + 1", "self.past")]

    assert any(first(differences(system)) for system in systems if system is not None)
