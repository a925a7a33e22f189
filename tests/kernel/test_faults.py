"""A test of the tests: faults planted in the generator of the kernel, each of which the tests must notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from holdfast.check.result import to_json
from holdfast.check.search.engine import search
from holdfast.ir.expr import Read
from holdfast.ir.stmt import Fill
from holdfast.ir.system import Action, System
from holdfast.ir.types import OptionalType
from holdfast.lower.kernel import build, source
from holdfast.lower.kernel import kernel as kernels
from holdfast.lower.kernel.emit import KernelEmitter
from holdfast.lower.kernel.instance_ends import GatherRows
from holdfast.lower.kernel.packing import Packing, Slot
from holdfast.lower.kernel.source import KernelSource
from holdfast.lower.layout import Field
from holdfast.lower.python.terms import FALSE, Term, add, literal
from tests.kernel.comparing import Engines, differences
from tests.kernel.writing import SEARCHED, written

Plant = Callable[[pytest.MonkeyPatch], None]
Planter = Callable[[type], Plant]


def in_place_of(module: object, name: str) -> Planter:
    """A planter that replaces the class of this name by the faulty class."""
    return lambda cls: lambda monkeypatch: monkeypatch.setattr(module, name, cls)


def in_text(*changes: tuple[str, str]) -> Plant:
    """A planter that changes the kernel's text: pairs of the right text and the faulty text."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        true_text = build.kernel_text

        def text(functions: str, driver: str) -> str:
            found = true_text(functions, driver)
            for right, wrong in changes:
                found = found.replace(right, wrong)
            return found

        monkeypatch.setattr(build, "kernel_text", text)

    return plant


POOR_HASH = ("return h ^ (h >> np.uint64(29))", "return (h ^ (h >> np.uint64(29))) & np.uint64(0xFF80000000000000)")
"""A hash that maps states to few places. It is no fault; it exposes faults that otherwise need a full table."""

FAULTS: dict[str, Plant] = {}
emitter, writer, gather, packing = (
    in_place_of(source, "KernelEmitter"),
    in_place_of(kernels, "KernelSource"),
    in_place_of(source, "GatherRows"),
    in_place_of(kernels, "Packing"),
)


def fault(planter: Planter) -> Callable[[type], type]:
    """Register a class as a fault, with its docstring as the name."""

    def note(cls: type) -> type:
        assert cls.__doc__ is not None
        FAULTS[cls.__doc__] = planter(cls)
        return cls

    return note


@fault(packing)
class Overlap(Packing):
    """A cell begins one bit too low."""

    def _slots(self, widths: Sequence[int]) -> tuple[Slot, ...]:
        slots = super()._slots(widths)
        moved = [Slot(slot.word, max(slot.shift - (place == 1), 0), slot.width) for place, slot in enumerate(slots)]
        return tuple(moved)


@fault(emitter)
class NarrowRead(KernelEmitter):
    """A read loses the highest bit of a cell."""

    def read(self, node: Read) -> Term:
        found = super().read(node)
        return Term(found.text.replace("& 3)", "& 1)"), found.lo, found.hi)


@fault(emitter)
class ReadsBefore(KernelEmitter):
    """Later statements do not see earlier writes."""

    def read(self, node: Read) -> Term:
        state, self.state = self.state, "s"
        found = super().read(node)
        self.state = state
        return found


@fault(emitter)
class LostCopy(KernelEmitter):
    """The copy is made anew before each field that is filled, so earlier writes are lost."""

    def fill(self, stmt: Fill) -> bool:
        self.line(f"{self.words('t')} = {self.words('s')}")
        return super().fill(stmt)


@fault(emitter)
class HalfFill(KernelEmitter):
    """A fill leaves the last cell."""

    def fill(self, stmt: Fill) -> bool:
        start = len(self.lines)
        goes_on = super().fill(stmt)
        if self.layout.field(stmt.var).count > 1 and len(self.lines) > start:
            self.lines.pop()
        return goes_on


@fault(emitter)
class StrictOrder(KernelEmitter):
    """``>`` for ``>=``."""

    def compare(self, op: str, left: Term, right: Term) -> Term:
        return super().compare(">" if op == ">=" else op, left, right)


@fault(emitter)
class OptionalOffset(KernelEmitter):
    """An Optional's value is stored without the one that sets it apart from None."""

    def wrap(self, value: Term, optional: OptionalType) -> Term:
        return add(super().wrap(value, optional), literal(-1))


@fault(emitter)
class UnchargedBudget(KernelEmitter):
    """A budget is checked and never charged."""

    def complete(self, action: Action) -> None:
        super().complete(action)
        self.lines = [line for line in self.lines if "-= " not in line]


@fault(emitter)
class NotCleared(KernelEmitter):
    """A write does not clear what the cell held."""

    def store(self, offset: int, index: Term, code: Term) -> None:
        start = len(self.lines)
        super().store(offset, index, code)
        if code != FALSE:
            self.lines[start:] = [line.replace(" & ~", " | 0 & ~").replace(" & 9", " | 0 & 9") for line in
                                  self.lines[start:]]  # fmt: skip


@fault(emitter)
class StaleWord(KernelEmitter):
    """In a field that straddles two words, what lies in the second is read from the first."""

    def read(self, node: Read) -> Term:
        found = super().read(node)
        return Term(found.text.replace("s1 ", "s0 ").replace("t1 ", "t0 "), found.lo, found.hi)


@fault(emitter)
class OldIsNew(KernelEmitter):
    """A step property reads the new state as the old one."""

    def read(self, node: Read) -> Term:
        return super().read(Read(node.var, node.keys, node.type))


@fault(writer)
class CanonicalByHalf(KernelSource):
    """A renaming takes one cell from the wrong place."""

    def _moved(self, moves: list[tuple[int, bytes | None]]) -> list[str]:
        return super()._moved([*moves[:-1], moves[0]])


@fault(writer)
class NoProperty(KernelSource):
    """The last step property is left out where steps are judged."""

    def _step_masks(self, action: Action | None, part: str) -> str:
        whole, self.steps = self.steps, self.steps[:-1]
        found = super()._step_masks(action, part)
        self.steps = whole
        return found


@fault(emitter)
class RoomForOneMore(KernelEmitter):
    """A pool may have one member more than its bound."""

    def members(self, pool: Field) -> str:
        return f"{super().members(pool)} - 1"


@fault(writer)
class GhostsLast(KernelSource):
    """A repetition that changes only a ghost counts as a difference."""

    def lasting(self) -> list[int]:
        return [-1] * self.packing.words


@fault(writer)
class AllStuttering(KernelSource):
    """Every step counts as one that changes nothing that a step property reads."""

    @property
    def _read_by_steps(self) -> set[str]:
        return set()


@fault(gather)
class NoCut(GatherRows):
    """A cut is counted, and the step is taken all the same."""

    def cut(self, *args: object) -> list[str]:
        return super().cut(*args)[:1]


FAULTS |= {
    "A state goes to another partition than the store's own.": in_text(
        ("part = np.int64(h >> np.uint64(64 - PARTITION_BITS))", "part = np.int64(h & np.uint64(255))")
    ),
    "States of one orbit go to different partitions.": in_text(
        ("t = canonical(t)\n                    h = hashed(t)\n", "t = canonical(t)\n")
    ),
    "A state whose place is taken counts as known.": in_text(
        POOR_HASH, ("while peek(table_at, slot * ROW_WORDS) != -1 and not holds(table_at, slot, s):", "while False:")
    ),
    "Of two states that differ in the second word, one is lost.": in_text(
        POOR_HASH, (" and peek(rows, i * 2 + 1) == r[1]", "")
    ),
    "The least violation is the greatest.": in_text(("less = rank[place] < known", "less = rank[place] > known")),
    "A state that a bound cuts off is a deadlock.": in_text(("if total_cuts(notes) != cuts_before:", "if False:")),
    "An invariant that says something is still waited for.": in_text(("silent & ~premises(s, silent)", "silent")),
    "Nobody looks at the steps of an action that writes what a step property reads.": in_text(
        ("look_at_steps(s, k0, k, rows, notes)", "look_at_steps(s, k, k, rows, notes)")
    ),
    "A step that changes nothing violates no step property.": in_text(
        ("look_at_stuttering(s, k, rows, notes)", "look_at_stuttering(s, 0, rows, notes)")
    ),
    "Of the rows of a state, the first is lost.": in_text(("for j in range(k):", "for j in range(1, k):")),
}
"""The faults of the kernel: a sentence for each, and a function that plants it."""


def seen(gauges: System, locks: System, folder: Path) -> list[str]:
    """The differences that this folder's tests would notice: first on states, then on searches."""
    small = [written(folder, body) for body in SEARCHED.values()]
    for system in (gauges, *small):
        found = differences(Engines(system, system.scopes["tiny"]), states=8, seed=3)
        if found:
            return found
    for system in (locks, *small):
        scope = system.scopes["tiny"]
        for keep_going in (False, True):
            wanted, other = (
                to_json(search(system, scope, engine=engine, keep_going=keep_going, cores=1)) | {"timing": None}
                for engine in ("interpreter", "kernel")
            )
            if wanted != other:
                return [f"the searches of {system.name}"]
    return []


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_caught(
    sentence: str, gauges: System, locks: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a planted fault, states or searches differ, or the kernel fails."""
    FAULTS[sentence](monkeypatch)
    assert seen(gauges, locks, tmp_path)


@pytest.mark.usefixtures("uncompiled")
def test_without_a_fault_nothing_differs(gauges: System, locks: System, tmp_path: Path) -> None:
    """The same comparison finds nothing in the unchanged kernel."""
    assert seen(gauges, locks, tmp_path) == []


@pytest.mark.usefixtures("uncompiled")
def test_a_poor_hash_changes_nothing(
    gauges: System, locks: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States with the same hash are stored at other places, and are found there."""
    in_text(POOR_HASH)(monkeypatch)
    assert seen(gauges, locks, tmp_path) == []
