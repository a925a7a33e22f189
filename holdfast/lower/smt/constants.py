"""Values for the constants that a scope gives: some that satisfy what the author assumes of them."""

from __future__ import annotations

import z3

from holdfast.ir.system import Scope
from holdfast.lower.random_runs.chance import Chance
from holdfast.lower.smt.cells import CellTerm, cells_of, codes_of, is_code
from holdfast.lower.smt.instance import scope_of
from holdfast.lower.smt.sized import Sized
from holdfast.lower.smt.solve import checked
from holdfast.lower.smt.theory import Theory


def some_scopes(theory: Theory, number: int, seconds: float) -> list[Scope]:
    """Up to ``number`` different scopes of a theory's size; fewer if there are not more, or Z3 does not find them.

    The values are drawn, cell by cell, from those with which the assumptions can still be true.
    """
    universe = theory.encoding.universe
    assert isinstance(universe, Sized)
    variables = [var for var in theory.encoding.variables if var.given]
    constants = cells_of(universe, variables, theory.before)
    solver = z3.SolverFor("QF_BV", ctx=universe.ctx)
    solver.set(timeout=max(1, int(seconds * 1000)))
    solver.add(*theory.background)
    found: dict[tuple[int, ...], None] = {}
    for run in range(number if constants else 1):
        codes = _drawn(universe, solver, constants, Chance(1, run))
        if codes is not None:
            found[codes] = None
    return [scope_of(universe, codes, constants) for codes in found]


def _drawn(universe: Sized, solver: z3.Solver, constants: list[CellTerm], chance: Chance) -> tuple[int, ...] | None:
    solver.push()
    codes: list[int] = []
    try:
        if checked(solver) != z3.sat:
            return None
        for cell in constants:
            kind = cell.var.value
            size = codes_of(universe, kind)
            first = chance.below(size)
            for code in ((first + more) % size for more in range(size)):
                wanted = is_code(universe, kind, cell.value, code)
                if checked(solver, wanted) == z3.sat:
                    solver.add(wanted)
                    codes.append(code)
                    break
            else:
                return None
        return tuple(codes)
    finally:
        solver.pop()
