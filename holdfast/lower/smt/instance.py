"""Finds the smallest state or step that satisfies formulas, as codes of a scope, which the other engines share.

The result does not depend on the order in which Z3 searches. All sizes grow together until the formulas are
satisfiable. Then one size after another shrinks as long as they stay satisfiable. Among the solutions of the final
sizes, the one with the least codes is taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import attrs
import z3

from holdfast.ir.system import Param, Scope, System
from holdfast.ir.types import MapType, NatType, Scalar
from holdfast.lower.layout import MOST_CODES
from holdfast.lower.smt.cells import CellTerm, cells_of, code_in, codes_of, given_value, is_code
from holdfast.lower.smt.encoding import Transition
from holdfast.lower.smt.extent import too_large
from holdfast.lower.smt.sized_universe import SizedUniverse
from holdfast.lower.smt.solve import SIZES, add, checked, limit, why_unknown
from holdfast.lower.smt.state import State
from holdfast.lower.smt.theory import Formulas, Theory
from holdfast.lower.smt.unbounded_universe import largest_key, largest_literals
from holdfast.lower.smt.values import Value

LARGEST = 4
"""The largest size that is tried: the number of elements of each sort, and the greatest value of each Nat."""

Sizes = Mapping[str, int]


@attrs.frozen
class SmallestModel:
    """A state of a scope and a step from it. ``after`` is None if the formulas describe a state and no step.

    For an initial state ``before`` is None and the action is ``init``. States are codes of the scope's layout.
    """

    scope: Scope
    before: bytes | None
    action: str
    args: tuple[int, ...]
    after: bytes | None


@attrs.frozen
class StateSequence:
    """The states of a run in a scope, the earliest first."""

    scope: Scope
    states: tuple[bytes, ...]


@attrs.frozen
class NotFound:
    """No instance was found up to the size ``largest``.

    ``undecided`` names the sizes that Z3 did not decide, with the reasons; there may be an instance in these.
    """

    largest: int
    undecided: tuple[str, ...]


Ask = Callable[[Theory], Formulas]
"""Makes the formulas of the wanted state or step in the theory of any size."""


class Smallest:
    """Finds the smallest instances for one system.

    ``make``: makes the theory of a sized universe. ``seconds``: called before each query; returns the seconds that Z3
    may take for it.
    """

    def __init__(self, system: System, make: Callable[[SizedUniverse], Theory], seconds: Callable[[], float]) -> None:
        self.system = system
        self.make = make
        self.seconds = seconds
        self._theories: dict[tuple[tuple[str, int], ...], Theory] = {}
        self._too_large: dict[tuple[tuple[str, int], ...], str | None] = {}
        self._least = {nat.name: max(1, _literal(system, nat)) for nat in system.nats}
        self._least |= {sort.name: 1 for sort in system.sorts}

    def find(self, ask: Ask, largest: int = LARGEST) -> SmallestModel | NotFound:
        """The smallest instance up to the size ``largest``."""
        found = self._first(ask, largest)
        return found if isinstance(found, NotFound) else self._reduced(ask, found).least()

    def path(self, ask: Ask, depth: int, largest: int = LARGEST) -> StateSequence | NotFound:
        """The smallest run of ``depth`` steps and the step that ``ask`` describes."""
        found = self._first(ask, largest)
        return found if isinstance(found, NotFound) else self._reduced(ask, found).path(depth)

    def size(self, ask: Ask, largest: int = LARGEST) -> Sizes | NotFound:
        """The sizes of the smallest uniform size that has an instance."""
        found = self._first(ask, largest)
        return found if isinstance(found, NotFound) else found.universe.sizes

    def _first(self, ask: Ask, largest: int) -> Solution | NotFound:
        undecided: list[str] = []
        for size in range(1, largest + 1):
            found = self._look(ask, self.uniform(size))
            if isinstance(found, Solution):
                return found
            # If this size is too large to be written out, so are all larger ones.
            if (problem := self.too_large(self.uniform(size))) is not None:
                undecided.append(f"{size} and more: {problem}")
                break
            undecided += [] if found is None else [f"{size}: {found}"]
        return NotFound(largest, tuple(undecided))

    def _reduced(self, ask: Ask, found: Solution) -> Solution:
        """A solution in minimal sizes: if any single size is reduced by 1, no instance is found."""
        tried: set[tuple[tuple[str, int], ...]] = set()
        before: Solution | None = None
        # After one sort has shrunk, another sort may be able to shrink as well: repeat until no sort shrinks.
        while before is not found:
            before = found
            for name, least in self._least.items():
                found = self._reduced_in(ask, found, name, least, tried)
        return found

    def _reduced_in(
        self, ask: Ask, found: Solution, name: str, least: int, tried: set[tuple[tuple[str, int], ...]]
    ) -> Solution:
        """A solution with the size of ``name`` reduced as far as possible. ``tried``: sizes without a solution; more
        are added.
        """
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
        """The sizes with ``size`` elements of every sort and ``size`` as the greatest value of every Nat.

        A Nat whose literals need more has a larger one.
        """
        return {name: max(size, least) for name, least in self._least.items()}

    def _look(self, ask: Ask, sizes: Sizes) -> Solution | str | None:
        """A solution in these sizes; None if there is none; the reason as a text if that is not decided."""
        problem = self.too_large(sizes)
        if problem is not None:
            return problem
        theory = self.theory(sizes)
        formulas = ask(theory)
        solver = z3.SolverFor("QF_BV", ctx=theory.encoding.universe.ctx)
        limit(solver, self.seconds())
        with SIZES:
            add(solver, (*formulas.facts, *formulas.named.values()))
            verdict = checked(solver)
        if verdict == z3.unknown:
            return why_unknown(solver)
        return Solution(theory, formulas, solver) if verdict == z3.sat else None

    def too_large(self, sizes: Sizes) -> str | None:
        """The reason why no universe of these sizes is built, or None. The first call looks at the whole system."""
        label = _label(sizes)
        if label not in self._too_large:
            self._too_large[label] = too_large(self.system, sizes)
        return self._too_large[label]

    def theory(self, sizes: Sizes) -> Theory:
        """The theory of these sizes, made at the first call."""
        label = _label(sizes)
        if label not in self._theories:
            self._theories[label] = self.make(SizedUniverse(self.system, sizes))
        return self._theories[label]


class Solution:
    """A solver that has just found its formulas satisfiable in the universe of one size."""

    def __init__(self, theory: Theory, formulas: Formulas, solver: z3.Solver) -> None:
        universe = theory.encoding.universe
        assert isinstance(universe, SizedUniverse)
        self.universe = universe
        self.theory = theory
        self.encoding = theory.encoding
        self.before = theory.before
        self.step = formulas.step
        self.solver = solver

    def least(self) -> SmallestModel:
        """The instance with the least codes: first of the constants, then of the state, then of the arguments."""
        step = self.step
        starts = step is not None and step.action is self.encoding.system.init
        constants, before = self._cells(self.before, given=True), self._cells(self.before, given=False)
        arguments = [] if step is None else [self._digits(step, param) for param in step.action.params]
        parts = [(cell.var.value, cell.value) for cell in (*constants, *(() if starts else before))]
        model = self._least_model([*parts, *(digit for digits in arguments for digit in digits)])

        scope = self._scope(model, constants)
        state = None if starts else _codes(model, before)
        if step is None:
            return SmallestModel(scope, state, "", (), None)
        args = tuple(self._code(model, digits) for digits in arguments)
        after = _codes(model, self._cells(step.after, given=False))
        return SmallestModel(scope, state, step.action.name, args, after)

    def _digits(self, step: Transition, param: Param) -> list[tuple[Scalar, Value]]:
        """The parts of an argument's code: one, or one for each cell of a whole map, the lowest first."""
        if not isinstance(param.type, MapType):
            return [(param.type, step.arguments[param.name])]
        ranges = [range(self.universe.codes(key)) for key in param.type.keys]
        indices = itertools.product(*ranges)
        read = step.maps[param.name]
        return [(param.type.value, read(self.universe.place(param.type.keys, index))) for index in indices]

    def _code(self, model: z3.ModelRef, digits: list[tuple[Scalar, Value]]) -> int:
        """The code of an argument."""
        code = 0
        for kind, value in reversed(digits):
            code = code * codes_of(self.universe, kind) + code_in(model, kind, value)
        return code

    def _scope(self, model: z3.ModelRef, constants: list[CellTerm]) -> Scope:
        return scope_of(self.universe, [code_in(model, cell.var.value, cell.value) for cell in constants], constants)

    def path(self, depth: int) -> StateSequence:
        """The run with the least codes: ``depth`` states before the step, the state that it starts in, and its result.

        For an initial state the run is that state alone.
        """
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
        """The model in which the values have the least codes, in lexicographic order. Fixes one value after another.

        Invariant of the loop: ``model`` satisfies all formulas, among them the codes fixed so far.
        """
        model = self.solver.model()
        for kind, value in parts:
            for code in range(codes_of(self.universe, kind)):
                wanted = is_code(self.universe, kind, value, code)
                # The current model has this code, so it is possible: no query is needed.
                if code == code_in(model, kind, value):
                    self.solver.add(wanted)
                    break
                with SIZES:
                    found = checked(self.solver, wanted)
                if found == z3.sat:
                    model = self.solver.model()
                    self.solver.add(wanted)
                    break
        return model


def scope_of(universe: SizedUniverse, codes: Sequence[int], constants: Sequence[CellTerm]) -> Scope:
    """The scope, without budgets, that has the sizes of a universe and these codes for the given constants."""
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
    """The smallest bound of a Nat that is worth trying: with it, all literals of the Nat exist.

    A literal that no cell can hold can only be compared, which makes sense with a small bound too. Then only the
    literals count that are keys.
    """
    every = largest_literals(system).get(nat.name, 0)
    return every if every < MOST_CODES else largest_key(system, nat)


def _label(sizes: Sizes) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(sizes.items()))


def _codes(model: z3.ModelRef, cells: list[CellTerm]) -> bytes:
    return bytes(code_in(model, cell.var.value, cell.value) for cell in cells)
