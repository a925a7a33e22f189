"""All that a prover asks of one system: questions without a size, and the smallest instances of what it looks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from holdfast.ir.system import Property, System
from holdfast.lower.smt.bodies import BodyFormulas
from holdfast.lower.smt.encoding import Encoding
from holdfast.lower.smt.formulas import FormulaWriter
from holdfast.lower.smt.instance import NotFound, Sizes, Smallest, SmallestModel, StateSequence
from holdfast.lower.smt.solve import Printer, SolverAnswer, SolverQuestion
from holdfast.lower.smt.theory import Formulas, Obligation, Theory
from holdfast.lower.smt.unbounded import Unbounded
from holdfast.lower.smt.universe import NotFirstOrder, Universe

PATIENCE = 20.0
"""Seconds for a question about one size, if nobody says how many."""

Make = Callable[[Universe], Theory]

Ask = Callable[[Theory], Formulas]


class Logic:
    """One system with the ghosts to keep, and the invariants that may be assumed of any state.

    ``seconds`` says, each time anew, how long Z3 may take for a question about one size.
    """

    def __init__(
        self,
        system: System,
        ghosts: frozenset[str],
        assumed: Sequence[Property],
        *,
        expressions: type[FormulaWriter] = FormulaWriter,
        bodies: type[BodyFormulas] = BodyFormulas,
        seconds: Callable[[], float] = lambda: PATIENCE,
    ) -> None:
        self.system = system
        self.ghosts = ghosts
        self.assumed = tuple(assumed)

        def make(universe: Universe) -> Theory:
            return Theory(Encoding(universe, ghosts, expressions=expressions, bodies=bodies), assumed)

        self.universe = Unbounded(system)
        self.theory = make(self.universe)
        self.smallest = Smallest(system, make, seconds)
        self._printer = Printer(self.universe.definitions)
        self.inexpressible = frozenset(prop.name for prop in assumed if not self._is_expressible(prop))
        """What cannot be assumed, because no formula says it."""

    def _is_expressible(self, prop: Property) -> bool:
        try:
            self.theory.invariant(prop)
        except NotFirstOrder:
            return False
        return True

    def assumable(self, names: Sequence[str]) -> list[str]:
        """The names of what a formula can say."""
        return [name for name in names if name not in self.inexpressible]

    # Questions ------------------------------------------------------------------------------------------------

    def question(self, ask: Ask) -> SolverQuestion | SolverAnswer:
        """Whether something is possible for any sizes; an answer right away, where no formula says it."""
        try:
            formulas = ask(self.theory)
        except NotFirstOrder as error:
            return SolverAnswer("unknown", reason=f"no formula says this: {error}")
        return self._printer.question(formulas.facts, formulas.named)

    def violated(self, due: Obligation, names: Sequence[str], length: int = 1) -> SolverQuestion | SolverAnswer:
        """Whether an obligation can be violated where what is named holds, in so many states in a row."""
        return self.question(lambda theory: theory.violated(due, self.assumable(names), length))

    def reached(self, due: Obligation, depth: int) -> SolverQuestion | SolverAnswer:
        """Whether an obligation is violated after so many steps from an initial state."""
        return self.question(lambda theory: theory.reached(due, depth))

    # Instances ------------------------------------------------------------------------------------------------

    def violation(self, due: Obligation, names: Sequence[str], length: int = 1) -> SmallestModel | NotFound:
        """The smallest violation of an obligation, after so many states in which what is named holds."""
        return self.smallest.find(lambda theory: theory.violated(due, names, length))

    def violated_in(self, due: Obligation, names: Sequence[str], length: int, largest: int) -> Sizes | NotFound:
        """The first size, up to the largest, in which there is a violation."""
        return self.smallest.size(lambda theory: theory.violated(due, names, length), largest)

    def run(self, due: Obligation, depth: int) -> StateSequence | NotFound:
        """A run of so many steps, and the one that violates an obligation."""
        return self.smallest.path(lambda theory: theory.reached(due, depth), depth)

    def size(self, ask: Ask) -> Sizes | NotFound:
        """The first size in which something is possible."""
        return self.smallest.size(ask)


@attrs.frozen
class Sorts:
    """How a proof sees the types of a system, by name."""

    uninterpreted: tuple[str, ...]
    ordered: tuple[str, ...]
    integers: tuple[str, ...]


def sorts_of(logic: Logic) -> Sorts:
    """How a proof sees the types of a system."""
    system, computed = logic.system, logic.universe.computed
    return Sorts(
        tuple(sort.name for sort in system.sorts),
        tuple(nat.name for nat in system.nats if nat.name not in computed),
        tuple(nat.name for nat in system.nats if nat.name in computed),
    )
