"""Selects, in a universe of one size, the clauses that suffice for an obligation, and the clauses that are inductive.

A clause is a set of literals that never hold together, whatever elements the names stand for. A state that refutes one
clause is tested against all others at once. For this test the state is reduced to a *picture* for each choice of
elements: the list of the atoms that hold.

Houdini: at first all clauses are assumed. A clause that some step breaks is dropped. The others are then tried again
with fewer assumptions, until no step breaks any. The remaining clauses are the largest inductive set. Flanagan, Leino:
Houdini, an Annotation Assistant for ESC/Java (FME 2001).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import z3

from holdfast.ir.expr import Expr
from holdfast.ir.system import Param
from holdfast.ir.types import IntType, MapType
from holdfast.lower.smt.bindings import Bindings
from holdfast.lower.smt.sized_universe import SizedUniverse
from holdfast.lower.smt.solve import SIZES, add, checked, limit
from holdfast.lower.smt.state import State
from holdfast.lower.smt.theory import Formulas, Obligation, Theory
from holdfast.lower.smt.values import Value, conjunction, negation

Clause = frozenset[int]
"""The numbers of the clause's literals: 2 i for atom i, and 2 i + 1 for its negation."""

Table = list[list[z3.BoolRef]]
"""One row for each choice of elements for the names; a row has the formula of each atom."""


class Clauses:
    """Decides about clauses over ``atoms`` in the theory of one size.

    ``names``: the variables of the atoms. ``used``: the literals that occur in any clause. ``seconds``: called before
    each query; returns the seconds that Z3 may take for it.
    """

    def __init__(
        self,
        theory: Theory,
        atoms: Sequence[Expr],
        names: Sequence[Param],
        seconds: Callable[[], float],
        used: Clause,
    ) -> None:
        assert isinstance(theory.encoding.universe, SizedUniverse)
        self.theory = theory
        self.universe = theory.encoding.universe
        self.atoms = atoms
        self.names = names
        self.seconds = seconds
        self.before = self._table(theory.before, used)

    def enough(self, due: Obligation, assumed: Sequence[str], clauses: Sequence[Clause]) -> list[Clause]:
        """The clauses that suffice alone: with any one of them assumed, the obligation is met."""
        solver = self._solver(self.theory.violated(due, assumed))
        found: list[Clause] = []
        left = list(clauses)
        while left:
            clause, *left = left
            if self._check(solver, self._formula(clause, self.before)) == z3.unsat:
                found.append(clause)
            elif self._has_model(solver):
                # In this state the obligation is violated. A clause that holds there does not suffice either.
                pictures = self._pictures(solver.model(), self.before)
                left = [other for other in left if _is_broken(other, pictures)]
        return found

    def kept(self, assumed: Sequence[str], clauses: Sequence[Clause]) -> list[Clause]:
        """The largest subset of the clauses that holds initially and that every step preserves."""
        used = frozenset().union(*clauses)
        start = self._table(self.theory.start.after, used)
        left = self._unbroken(self._solver(self.theory.starts()), start, list(clauses))
        rounds = [
            (self._solver(self.theory.possible(action, assumed)), self._table(self.theory.step(action).after, used))
            for action in self.theory.encoding.system.actions
        ]
        formulas = {clause: self._formula(clause, self.before) for clause in left}
        before: list[Clause] = []
        # Each dropped clause weakens the assumptions, so a step may now break a clause that it preserved before.
        while len(before) != len(left):
            before = left
            for solver, after in rounds:
                left = self._unbroken(solver, after, left, formulas)
        return left

    def _unbroken(
        self, solver: z3.Solver, after: Table, clauses: list[Clause], assumed: dict[Clause, z3.BoolRef] | None = None
    ) -> list[Clause]:
        """The clauses that hold after the step, if all of them are assumed before it (``assumed`` None: none is).

        Clauses are dropped one after another, and only the remaining ones are assumed. A clause that Z3 does not decide
        in time is dropped, which is sound: it merely is not suggested.
        """
        left, checked = clauses, set[Clause]()
        while waiting := [clause for clause in left if clause not in checked]:
            checked.add(waiting[0])
            # A clause that was checked stays checked although others are dropped later: the caller repeats the round.
            on = [] if assumed is None else [assumed[clause] for clause in left]
            if self._check(solver, negation(self._formula(waiting[0], after)), *on) == z3.unsat:
                continue
            pictures = self._pictures(solver.model(), after) if self._has_model(solver) else []
            left = [clause for clause in left if clause != waiting[0] and not _is_broken(clause, pictures)]
        return left

    # Formulas -------------------------------------------------------------------------------------------------

    def _solver(self, formulas: Formulas) -> z3.Solver:
        solver = z3.SolverFor("QF_BV", ctx=self.universe.ctx)
        with SIZES:
            add(solver, (*formulas.facts, *formulas.named.values()))
        return solver

    def _check(self, solver: z3.Solver, *assumptions: z3.BoolRef) -> z3.CheckSatResult:
        limit(solver, self.seconds())
        with SIZES:
            return checked(solver, *assumptions)

    def _has_model(self, solver: z3.Solver) -> bool:
        """Whether the last check found a model; to be asked after an answer other than ``unsat``."""
        return not solver.reason_unknown() or solver.reason_unknown() == "unknown"

    def _choices(self) -> Iterator[dict[str, Value]]:
        """Every choice of elements for the names."""
        kinds = [param.type for param in self.names]
        listed = [self.universe.elements(kind) for kind in kinds if not isinstance(kind, IntType | MapType)]
        for chosen in itertools.product(*listed):
            yield dict(zip((param.name for param in self.names), chosen, strict=True))

    def _table(self, state: State, used: Clause) -> Table:
        """The formulas of the atoms in a state. An atom that no clause uses is False, to save its formula."""
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
        """The formula that the clause's literals hold together for no choice of elements."""
        ctx = self.universe.ctx
        # By term id, because different choices often give the same formula.
        parts = {
            part.get_id(): part
            for row in table
            for part in [negation(conjunction([_literal(row, index) for index in sorted(clause)], ctx))]
        }
        return conjunction(list(parts.values()), ctx)

    def _pictures(self, model: z3.ModelRef, table: Table) -> list[list[bool]]:
        """For each choice of elements, whether each atom holds in the model."""
        return [[z3.is_true(model.eval(atom, model_completion=True)) for atom in row] for row in table]


def _literal(row: Sequence[z3.BoolRef], index: int) -> z3.BoolRef:
    return negation(row[index // 2]) if index % 2 else row[index // 2]


def _is_broken(clause: Clause, pictures: Sequence[Sequence[bool]]) -> bool:
    """Whether the clause's literals hold together for some choice of elements, so that the clause is false."""
    return any(all(row[index // 2] != bool(index % 2) for index in clause) for row in pictures)
