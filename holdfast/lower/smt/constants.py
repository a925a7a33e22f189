"""Draws values for the constants that a scope gives, such that the author's assumptions hold."""

from __future__ import annotations

import z3

from holdfast.ir.system import Scope
from holdfast.lower.random_runs.chance import Chance
from holdfast.lower.smt.cells import CellTerm, cells_of, codes_of, is_code
from holdfast.lower.smt.instance import scope_of
from holdfast.lower.smt.sized_universe import SizedUniverse
from holdfast.lower.smt.solve import SIZES, add, checked, limit
from holdfast.lower.smt.theory import Theory


def some_scopes(theory: Theory, number: int, seconds: float) -> list[Scope]:
    """Up to ``number`` different scopes of the theory's size; fewer if no more exist or Z3 finds no more.

    ``seconds`` limits each query to Z3. Cells are drawn one after another, each from the values with which the
    assumptions can still hold.
    """
    universe = theory.encoding.universe
    assert isinstance(universe, SizedUniverse)
    variables = [var for var in theory.encoding.variables if var.given]
    constants = cells_of(universe, variables, theory.before)
    solver = z3.SolverFor("QF_BV", ctx=universe.ctx)
    limit(solver, seconds)
    with SIZES:
        add(solver, theory.background)
    found: dict[tuple[int, ...], None] = {}
    # Without constants all scopes of this size are equal, so one draw suffices.
    for run in range(number if constants else 1):
        codes = _drawn(universe, solver, constants, Chance(1, run))
        if codes is not None:
            found[codes] = None
    return [scope_of(universe, codes, constants) for codes in found]


def _drawn(
    universe: SizedUniverse, solver: z3.Solver, constants: list[CellTerm], chance: Chance
) -> tuple[int, ...] | None:
    solver.push()
    codes: list[int] = []
    try:
        if _check(solver) != z3.sat:
            return None
        for cell in constants:
            kind = cell.var.value
            size = codes_of(universe, kind)
            first = chance.below(size)
            # All codes in cyclic order from a random one; the first code that is still possible is taken.
            for code in ((first + more) % size for more in range(size)):
                wanted = is_code(universe, kind, cell.value, code)
                if _check(solver, wanted) == z3.sat:
                    solver.add(wanted)
                    codes.append(code)
                    break
            else:
                # The formulas are satisfiable, so some code is possible: Z3 ran out of time.
                return None
        return tuple(codes)
    finally:
        solver.pop()


def _check(solver: z3.Solver, *assumptions: z3.BoolRef) -> z3.CheckSatResult:
    with SIZES:
        return checked(solver, *assumptions)
