"""The smallest state, or step, of which formulas are true: as codes of a scope, as the other engines know them.

What is found does not depend on what Z3 happens to look at first. Sizes go up together until there is something to
find, and then down again one by one, as far as it stays. Of that size it is the state whose codes come first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs
import z3

from holdfast.ir.system import Scope, System
from holdfast.ir.types import NatType, Scalar
from holdfast.lower.layout import MOST_CODES
from holdfast.lower.smt.cells import CellTerm, cells_of, code_in, codes_of, given_value, is_code
from holdfast.lower.smt.extent import too_large
from holdfast.lower.smt.sized import Sized
from holdfast.lower.smt.solve import checked
from holdfast.lower.smt.state import State
from holdfast.lower.smt.theory import Formulas, Theory
from holdfast.lower.smt.unbounded import largest_key, largest_literals
from holdfast.lower.smt.values import Value

LARGEST = 4
"""How many elements each sort has in the largest size that is tried, and how far each Nat goes."""

Sizes = Mapping[str, int]


@attrs.frozen
class SmallestModel:
    """A state of a scope, and the step from it: ``after`` is None where a state alone was looked for.

    ``before`` is None for an initial state, whose action is ``init``.
    """

    scope: Scope
    before: bytes | None
    action: str
    args: tuple[int, ...]
    after: bytes | None


@attrs.frozen
class StateSequence:
    """States of a scope, one after the other."""

    scope: Scope
    states: tuple[bytes, ...]


@attrs.frozen
class NotFound:
    """Nothing up to the size ``largest``; ``undecided`` are the sizes of which that is not known, with the reasons."""

    largest: int
    undecided: tuple[str, ...]


Ask = Callable[[Theory], Formulas]
"""What is looked for, in a theory of any size."""


class Smallest:
    """Looks for instances of one system; ``make`` gives the theory of a size, ``seconds`` how long Z3 may take now."""

    def __init__(self, system: System, make: Callable[[Sized], Theory], seconds: Callable[[], float]) -> None:
        self.system = system
        self.make = make
        self.seconds = seconds
        self._theories: dict[tuple[tuple[str, int], ...], Theory] = {}
        self._least = {nat.name: max(1, _literal(system, nat)) for nat in system.nats}
        self._least |= {sort.name: 1 for sort in system.sorts}

    def find(self, ask: Ask, largest: int = LARGEST) -> SmallestModel | NotFound:
        """The smallest instance there is."""
        found = self._first(ask, largest)
        return found if isinstance(found, NotFound) else self._reduced(ask, found).least()

    def path(self, ask: Ask, depth: int, largest: int = LARGEST) -> StateSequence | NotFound:
        """The smallest path of so many steps, and one more, the earliest state first."""
        found = self._first(ask, largest)
        return found if isinstance(found, NotFound) else self._reduced(ask, found).path(depth)

    def size(self, ask: Ask, largest: int = LARGEST) -> Sizes | NotFound:
        """The first of the sizes, all going up together, in which there is an instance."""
        found = self._first(ask, largest)
        return found if isinstance(found, NotFound) else found.universe.sizes

    def _first(self, ask: Ask, largest: int) -> Solution | NotFound:
        undecided: list[str] = []
        for size in range(1, largest + 1):
            found = self._look(ask, self.uniform(size))
            if isinstance(found, Solution):
                return found
            if (problem := too_large(self.system, self.uniform(size))) is not None:
                undecided.append(f"{size} and more: {problem}")
                break
            undecided += [] if found is None else [f"{size}: {found}"]
        return NotFound(largest, tuple(undecided))

    def _reduced(self, ask: Ask, found: Solution) -> Solution:
        """A size in which there is an instance, and in which no single one can be smaller."""
        tried: set[tuple[tuple[str, int], ...]] = set()
        before: Solution | None = None
        # With fewer of one sort there may be need for fewer of another.
        while before is not found:
            before = found
            for name, least in self._least.items():
                found = self._reduced_in(ask, found, name, least, tried)
        return found

    def _reduced_in(
        self, ask: Ask, found: Solution, name: str, least: int, tried: set[tuple[tuple[str, int], ...]]
    ) -> Solution:
        """The same with as few as possible of one sort; ``tried`` are sizes in which there is nothing."""
        while found.universe.sizes[name] > least:
            fewer = {**found.universe.sizes, name: found.universe.sizes[name] - 1}
            label = _label(fewer)
            smaller = None if label in tried else self._look(ask, fewer)
            if not isinstance(smaller, Solution):
                tried.add(label)
                break
            found = smaller
        return found

    def uniform(self, size: int) -> Sizes:
        """The size in which every sort has so many elements, and every Nat goes so far."""
        return {name: max(size, least) for name, least in self._least.items()}

    def _look(self, ask: Ask, sizes: Sizes) -> Solution | str | None:
        """What is found of a size; the reason, if it is not decided."""
        problem = too_large(self.system, sizes)
        if problem is not None:
            return problem
        theory = self.theory(sizes)
        formulas = ask(theory)
        solver = z3.SolverFor("QF_BV", ctx=theory.encoding.universe.ctx)
        solver.set(timeout=max(1, int(self.seconds() * 1000)))
        solver.add(*formulas.facts, *formulas.named.values())
        verdict = checked(solver)
        if verdict == z3.unknown:
            return str(solver.reason_unknown())
        return Solution(theory, formulas, solver) if verdict == z3.sat else None

    def theory(self, sizes: Sizes) -> Theory:
        """The theory of a size, written once."""
        label = _label(sizes)
        if label not in self._theories:
            self._theories[label] = self.make(Sized(self.system, sizes))
        return self._theories[label]


class Solution:
    """Something of a size that satisfies formulas."""

    def __init__(self, theory: Theory, formulas: Formulas, solver: z3.Solver) -> None:
        universe = theory.encoding.universe
        assert isinstance(universe, Sized)
        self.universe = universe
        self.theory = theory
        self.encoding = theory.encoding
        self.before = theory.before
        self.step = formulas.step
        self.solver = solver

    def least(self) -> SmallestModel:
        """The instance whose codes come first, cell by cell: constants, the state, the arguments."""
        step = self.step
        starts = step is not None and step.action is self.encoding.system.init
        constants, before = self._cells(self.before, given=True), self._cells(self.before, given=False)
        arguments = [] if step is None else [(param.type, step.arguments[param.name]) for param in step.action.params]
        parts = [(cell.var.value, cell.value) for cell in (*constants, *(() if starts else before))]
        model = self._least_model([*parts, *arguments])

        scope = self._scope(model, constants)
        state = None if starts else _codes(model, before)
        if step is None:
            return SmallestModel(scope, state, "", (), None)
        args = tuple(code_in(model, kind, value) for kind, value in arguments)
        after = _codes(model, self._cells(step.after, given=False))
        return SmallestModel(scope, state, step.action.name, args, after)

    def _scope(self, model: z3.ModelRef, constants: list[CellTerm]) -> Scope:
        return scope_of(self.universe, [code_in(model, cell.var.value, cell.value) for cell in constants], constants)

    def path(self, depth: int) -> StateSequence:
        """The states that lead to this one, and the one after it."""
        constants = self._cells(self.before, given=True)
        numbered = [self._cells(self.theory.state(number), given=False) for number in range(depth, -1, -1)]
        last = [] if self.step is None else [self._cells(self.step.after, given=False)]
        starts = self.step is not None and self.step.action is self.encoding.system.init
        states = last if starts else [*numbered, *last]
        model = self._least_model([(cell.var.value, cell.value) for cells in (constants, *states) for cell in cells])
        return StateSequence(self._scope(model, constants), tuple(_codes(model, cells) for cells in states))

    def _cells(self, state: State, *, given: bool) -> list[CellTerm]:
        return cells_of(self.universe, [var for var in self.encoding.variables if var.given == given], state)

    def _least_model(self, parts: list[tuple[Scalar, Value]]) -> z3.ModelRef:
        model = self.solver.model()
        for kind, value in parts:
            for code in range(codes_of(self.universe, kind)):
                wanted = is_code(self.universe, kind, value, code)
                if code == code_in(model, kind, value):
                    self.solver.add(wanted)
                    break
                if checked(self.solver, wanted) == z3.sat:
                    model = self.solver.model()
                    self.solver.add(wanted)
                    break
        return model


def scope_of(universe: Sized, codes: Sequence[int], constants: Sequence[CellTerm]) -> Scope:
    """The scope of a universe's size in which the given constants have these codes; it has no budgets."""
    given: dict[str, list[bool | int | str | None]] = {}
    for cell, code in zip(constants, codes, strict=True):
        given.setdefault(cell.var.name, []).append(given_value(cell.var.value, code))
    return Scope(
        name="",
        sizes=dict(universe.sizes),
        budgets={},
        given={name: tuple(values) for name, values in given.items()},
        at=universe.system.init.at,
    )


def _literal(system: System, nat: NatType) -> int:
    """The least greatest value of a Nat for which a size is worth a look: its literals exist there.

    What is only compared with a number that no cell can hold means something in small sizes, too.
    """
    every = largest_literals(system).get(nat.name, 0)
    return every if every < MOST_CODES else largest_key(system, nat)


def _label(sizes: Sizes) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(sizes.items()))


def _codes(model: z3.ModelRef, cells: list[CellTerm]) -> bytes:
    return bytes(code_in(model, cell.var.value, cell.value) for cell in cells)
