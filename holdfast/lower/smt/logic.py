"""The questions of a prover about one system: questions for any sizes, and searches for the smallest instances."""

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
from holdfast.lower.smt.unbounded_universe import UnboundedUniverse
from holdfast.lower.smt.universe import NotFirstOrder, Universe

PATIENCE = 20.0
"""The default number of seconds for a question about one size."""

Make = Callable[[Universe], Theory]

Ask = Callable[[Theory], Formulas]


class Logic:
    """The questions about one system. ``ghosts`` names the ghosts to keep.

    ``assumed``: the invariants that a question may assume of a state. ``seconds``: called before each query about one
    size; returns the seconds that Z3 may take for it.
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

        self.universe = UnboundedUniverse(system)
        self.theory = make(self.universe)
        self.smallest = Smallest(system, make, seconds)
        self._printer = Printer(self.universe.definitions)
        self.inexpressible = frozenset(prop.name for prop in assumed if not self._is_expressible(prop))
        """The names of the invariants that cannot be assumed, because no first-order formula expresses them."""

    def _is_expressible(self, prop: Property) -> bool:
        try:
            self.theory.invariant(prop)
        except NotFirstOrder:
            return False
        return True

    def assumable(self, names: Sequence[str]) -> list[str]:
        """Those of the names whose invariants a formula expresses."""
        return [name for name in names if name not in self.inexpressible]

    # Questions ------------------------------------------------------------------------------------------------

    def question(self, ask: Ask) -> SolverQuestion | SolverAnswer:
        """The question whether the formulas can be true in some sizes; an answer ``unknown`` if no formula says it."""
        try:
            formulas = ask(self.theory)
        except NotFirstOrder as error:
            return SolverAnswer("unknown", reason=f"no formula says this: {error}")
        return self._printer.question(formulas.facts, formulas.named)

    def violated(self, due: Obligation, names: Sequence[str], length: int = 1) -> SolverQuestion | SolverAnswer:
        """The question whether a step can violate an obligation if the named invariants hold before it.

        They hold in ``length`` consecutive states, of which the last one takes the step.
        """
        return self.question(lambda theory: theory.violated(due, self.assumable(names), length))

    def reached(self, due: Obligation, depth: int) -> SolverQuestion | SolverAnswer:
        """The question whether an obligation can be violated after ``depth`` steps from an initial state."""
        return self.question(lambda theory: theory.reached(due, depth))

    # Instances ------------------------------------------------------------------------------------------------

    def violation(self, due: Obligation, names: Sequence[str], length: int = 1) -> SmallestModel | NotFound:
        """The smallest violation of an obligation; the named invariants hold in ``length`` consecutive states."""
        return self.smallest.find(lambda theory: theory.violated(due, names, length))

    def violated_in(self, due: Obligation, names: Sequence[str], length: int, largest: int) -> Sizes | NotFound:
        """The first uniform size, up to ``largest``, in which an obligation is violated."""
        return self.smallest.size(lambda theory: theory.violated(due, names, length), largest)

    def run(self, due: Obligation, depth: int) -> StateSequence | NotFound:
        """A run of ``depth`` steps and one more step, which violates the obligation."""
        return self.smallest.path(lambda theory: theory.reached(due, depth), depth)

    def size(self, ask: Ask) -> Sizes | NotFound:
        """The first uniform size in which the formulas can be true."""
        return self.smallest.size(ask)


@attrs.frozen
class Sorts:
    """The names of a system's types by their encoding in a proof: uninterpreted sort, total order, or integers."""

    uninterpreted: tuple[str, ...]
    ordered: tuple[str, ...]
    integers: tuple[str, ...]


def sorts_of(logic: Logic) -> Sorts:
    """The types of a system by their encoding in a proof."""
    system, computed = logic.system, logic.universe.computed
    return Sorts(
        tuple(sort.name for sort in system.sorts),
        tuple(nat.name for nat in system.nats if nat.name not in computed),
        tuple(nat.name for nat in system.nats if nat.name in computed),
    )
