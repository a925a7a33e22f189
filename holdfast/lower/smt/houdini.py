"""Which of many clauses are enough for an obligation, and which are kept by every step: asked of one size.

A clause is a set of literals that never hold together, whatever elements the names stand for. What Z3 finds against
one clause is held against all others at once: a state is a picture of which literals hold, for each choice of elements.

Houdini: all clauses are assumed at first. Whichever some step breaks is dropped, and with less to assume the others
are tried again, until nothing breaks. What is left is the largest inductive set of them. Flanagan, Leino: Houdini, an
Annotation Assistant for ESC/Java (FME 2001).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import z3

from holdfast.ir.expr import Expr
from holdfast.ir.system import Param
from holdfast.ir.types import EnumType, NatType, SortType
from holdfast.lower.smt.formulas import Bindings
from holdfast.lower.smt.sized import Sized
from holdfast.lower.smt.solve import checked
from holdfast.lower.smt.state import State
from holdfast.lower.smt.theory import Formulas, Obligation, Theory
from holdfast.lower.smt.values import Value, conjunction, negation

Clause = frozenset[int]
"""The numbers of its literals: twice the number of an atom, and one more for its opposite."""

Table = list[list[z3.BoolRef]]
"""For each choice of elements, the atoms as formulas."""


class Clauses:
    """Clauses over some atoms, in the theory of one size; ``used`` are the literals that they are made of.

    ``seconds`` says, each time anew, how long Z3 may take for a question.
    """

    def __init__(
        self,
        theory: Theory,
        atoms: Sequence[Expr],
        names: Sequence[Param],
        seconds: Callable[[], float],
        used: Clause,
    ) -> None:
        assert isinstance(theory.encoding.universe, Sized)
        self.theory = theory
        self.universe = theory.encoding.universe
        self.atoms = atoms
        self.names = names
        self.seconds = seconds
        self.before = self._table(theory.before, used)

    def enough(self, due: Obligation, assumed: Sequence[str], clauses: Sequence[Clause]) -> list[Clause]:
        """The clauses each of which, assumed alone, meets the obligation."""
        solver = self._solver(self.theory.violated(due, assumed))
        found: list[Clause] = []
        left = list(clauses)
        while left:
            clause, *left = left
            if self._check(solver, self._formula(clause, self.before)) == z3.unsat:
                found.append(clause)
            elif self._has_model(solver):
                pictures = self._pictures(solver.model(), self.before)
                left = [other for other in left if _is_broken(other, pictures)]
        return found

    def kept(self, assumed: Sequence[str], clauses: Sequence[Clause]) -> list[Clause]:
        """The largest set of the clauses that holds at the start and that every step keeps."""
        used = frozenset().union(*clauses)
        start = self._table(self.theory.start.after, used)
        left = self._unbroken(self._solver(self.theory.starts()), start, list(clauses))
        rounds = [
            (self._solver(self.theory.possible(action, assumed)), self._table(self.theory.step(action).after, used))
            for action in self.theory.encoding.system.actions
        ]
        formulas = {clause: self._formula(clause, self.before) for clause in left}
        before: list[Clause] = []
        # With less to assume, what was kept may be broken in the next round.
        while len(before) != len(left):
            before = left
            for solver, after in rounds:
                left = self._unbroken(solver, after, left, formulas)
        return left

    def _unbroken(
        self, solver: z3.Solver, after: Table, clauses: list[Clause], assumed: dict[Clause, z3.BoolRef] | None = None
    ) -> list[Clause]:
        """The clauses that hold after the step, if all of them that are left are assumed before it."""
        left, checked = clauses, set[Clause]()
        while waiting := [clause for clause in left if clause not in checked]:
            checked.add(waiting[0])
            on = [] if assumed is None else [assumed[clause] for clause in left]
            if self._check(solver, negation(self._formula(waiting[0], after)), *on) == z3.unsat:
                continue
            pictures = self._pictures(solver.model(), after) if self._has_model(solver) else []
            left = [clause for clause in left if clause != waiting[0] and not _is_broken(clause, pictures)]
        return left

    # Formulas -------------------------------------------------------------------------------------------------

    def _solver(self, formulas: Formulas) -> z3.Solver:
        solver = z3.SolverFor("QF_BV", ctx=self.universe.ctx)
        solver.add(*formulas.facts, *formulas.named.values())
        return solver

    def _check(self, solver: z3.Solver, *assumptions: z3.BoolRef) -> z3.CheckSatResult:
        solver.set(timeout=max(1, int(self.seconds() * 1000)))
        return checked(solver, *assumptions)

    def _has_model(self, solver: z3.Solver) -> bool:
        return not solver.reason_unknown() or solver.reason_unknown() == "unknown"

    def _choices(self) -> Iterator[dict[str, Value]]:
        """Every choice of elements for the names."""
        kinds = [param.type for param in self.names]
        listed = [self.universe.elements(kind) for kind in kinds if isinstance(kind, SortType | NatType | EnumType)]
        for chosen in itertools.product(*listed):
            yield dict(zip((param.name for param in self.names), chosen, strict=True))

    def _table(self, state: State, used: Clause) -> Table:
        """The atoms in a state; those that no clause needs are not worth their formulas."""
        expressions, false = self.theory.encoding.expressions, self.universe.false
        needed = {index // 2 for index in used}
        return [
            [
                expressions.formula(atom, Bindings(dict(names), state)) if index in needed else false
                for index, atom in enumerate(self.atoms)
            ]
            for names in self._choices()
        ]

    def _formula(self, clause: Clause, table: Table) -> z3.BoolRef:
        """That the literals never hold together."""
        ctx = self.universe.ctx
        parts = {
            part.get_id(): part
            for row in table
            for part in [negation(conjunction([_literal(row, index) for index in sorted(clause)], ctx))]
        }
        return conjunction(list(parts.values()), ctx)

    def _pictures(self, model: z3.ModelRef, table: Table) -> list[list[bool]]:
        """Which atoms hold in a model, for each choice of elements."""
        return [[z3.is_true(model.eval(atom, model_completion=True)) for atom in row] for row in table]


def _literal(row: Sequence[z3.BoolRef], index: int) -> z3.BoolRef:
    return negation(row[index // 2]) if index % 2 else row[index // 2]


def _is_broken(clause: Clause, pictures: Sequence[Sequence[bool]]) -> bool:
    """Whether the literals hold together for some choice."""
    return any(all(row[index // 2] != bool(index % 2) for index in clause) for row in pictures)
