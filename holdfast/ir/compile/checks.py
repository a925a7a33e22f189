"""Checks of a system beyond its types: independent loop iterations, silent ghosts, a complete initial condition."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from holdfast.ir.compile.loop_remedies import of_same_cell, of_shift
from holdfast.ir.compile.results import is_computed, is_loose_key, locals_of, reads_computed_key, results
from holdfast.ir.errors import ModelError, Place
from holdfast.ir.expr import Arithmetic, Expr, Lit, Name, Read, walk
from holdfast.ir.names import source_name
from holdfast.ir.stmt import (
    Assign,
    Fill,
    For,
    If,
    Let,
    Require,
    Stmt,
    Within,
    direct_expressions,
    expressions,
    statements,
)
from holdfast.ir.system import Action, Property, Scope, Var
from holdfast.ir.types import Key, NatType


def _refuse(at: Place, construct: str, problem: str, remedy: str) -> NoReturn:
    raise ModelError(at, construct, problem, remedy)


def _cell(var: str, keys: Sequence[Expr]) -> str:
    """A cell as a message shows it; a key that is more than a name is shown as ``...``."""
    shown = ", ".join(source_name(key.name) if isinstance(key, Name) else "..." for key in keys)
    field, dot, part = source_name(var).partition(".")  # the part of a record that the field holds
    return f"self.{field}[{shown}]{dot}{part}" if keys else f"self.{source_name(var)}"


def _field(var: str) -> str:
    """The field that has a variable."""
    return source_name(var).partition(".")[0]


# Loops --------------------------------------------------------------------------------------------------------


def check_loops(body: tuple[Stmt, ...]) -> None:
    """Refuse a loop in which one iteration can see another.

    If a loop writes a map, then all reads and writes of this map in the loop must have the loop's variable at the same
    position of the key. Then different iterations touch different cells. A read may also look ahead, at the cell of a
    later element such as ``i + 1``: its iteration comes later, so the cell still has the value from before the loop,
    as it has if all iterations run at once.
    """
    for stmt in statements(body):
        if isinstance(stmt, For):
            _check_loop(stmt)


def _check_loop(loop: For) -> None:
    # A loop contains no ``Fill``: the compiler refuses it.
    writes = [stmt for stmt in statements(loop.body) if isinstance(stmt, Assign)]
    for write in writes:
        # ``at``: the key positions at which all accesses so far have the loop's variable.
        at = {place for place, key in enumerate(write.keys) if _is(key, loop.var)}
        if not at:
            name = _loop_name(loop, write.keys)
            _refuse(
                write.at,
                f"{_cell(write.var, write.keys)} = ...",
                f"every iteration of the loop over {name} writes the same cell, so their order matters",
                of_same_cell(loop, write, name),
            )
        for keys, place in _touched(loop.body, write.var):
            same = {index for index, key in enumerate(keys) if _is(key, loop.var) or _is_ahead(key, loop.var)}
            at &= same
            if not at:
                name = _loop_name(loop, keys)
                _refuse(
                    place,
                    _cell(write.var, keys),
                    f"an iteration of the loop over {name} can see what another one wrote",
                    of_shift(loop, _field(write.var), keys, name),
                )


def _loop_name(loop: For, keys: Sequence[Expr]) -> str:
    """The loop's variable; with the line of the loop if a key has another variable of this name."""
    name = source_name(loop.var)
    twins = [key for key in keys if isinstance(key, Name) and key.name != loop.var and source_name(key.name) == name]
    return f"{name} (of line {loop.at.line})" if twins else name


def _is(key: Expr, name: str) -> bool:
    return isinstance(key, Name) and key.name == name


def _is_ahead(key: Expr, name: str) -> bool:
    """Whether a key is the loop's variable and a constant above 0."""
    match key:
        case Arithmetic("+", (Name(name=found), Lit(value=int(value)))):
            return found == name and value > 0
    return False


def _touched(body: tuple[Stmt, ...], var: str) -> Iterable[tuple[tuple[Expr, ...], Place]]:
    """The keys and the place of each write and each read of a variable."""
    for stmt in statements(body):
        if isinstance(stmt, Assign) and stmt.var == var:
            yield stmt.keys, stmt.at
        for outer in direct_expressions(stmt):
            for expr in walk(outer):
                if isinstance(expr, Read) and expr.var == var:
                    yield expr.keys, stmt.at


# Ghosts -------------------------------------------------------------------------------------------------------


def check_ghosts(action: Action, variables: Mapping[str, Var]) -> None:
    """Refuse an action in which a ghost influences a guard or a variable that is no ghost, or could cut a step."""
    _Ghosts(variables, action).visit(action.body, under=None)


class _Ghosts:
    """Follows ghosts through locals and branches to writes and guards."""

    def __init__(self, variables: Mapping[str, Var], action: Action) -> None:
        self.variables = variables
        self.locals = locals_of(action.body)
        self.tainted: dict[str, str] = {}  # the ghost on which a local depends; its name is unique in the action

    def visit(self, body: tuple[Stmt, ...], under: str | None) -> None:
        """Check a body. ``under``: a ghost that decides whether the body runs, or None."""
        for stmt in body:
            source = under or next(filter(None, map(self._ghost_in, direct_expressions(stmt))), None)
            match stmt:
                case Let(name=name):
                    if source:
                        self.tainted[name] = source
                case Require():
                    if source:
                        _refuse(
                            stmt.at,
                            f'require(..., "{stmt.label}")',
                            f"a guard depends on the ghost {source}",
                            "ghosts record history for properties: guard with real state",
                        )
                case Within():
                    if source:
                        _refuse(
                            stmt.at,
                            "a computed key",
                            f"it depends on the ghost {source}, and a ghost must not cut a step",
                            "compute it from real state",
                        )
                case Assign() | Fill():
                    self._write(stmt, source)
                case If(then=then, orelse=orelse):
                    self.visit(then, source)
                    self.visit(orelse, source)
                case For(body=inner):
                    self.visit(inner, under)

    def _ghost_in(self, expr: Expr) -> str | None:
        """The first ghost that the expression reads, itself or through a local; None if there is none."""
        for part in walk(expr):
            if isinstance(part, Read) and self.variables[part.var].ghost:
                return part.var
            if isinstance(part, Name) and part.name in self.tainted:
                return self.tainted[part.name]
        return None

    def _write(self, stmt: Assign | Fill, source: str | None) -> None:
        if not self.variables[stmt.var].ghost:
            if source:
                _refuse(
                    stmt.at,
                    f"{_cell(stmt.var, ())} = ...",
                    f"{_field(stmt.var)} would depend on the ghost {_field(source)}",
                    f"declare {_field(stmt.var)} as Ghost[...], or compute it from real state",
                )
        elif is_computed(stmt.value, self.locals):
            _refuse(
                stmt.at,
                f"{_cell(stmt.var, ())} = ...",
                "a computed number may go beyond its bound, and a ghost must not cut a step",
                "record a relation instead of a counter",
            )
        elif any(reads_computed_key(part, self.locals) for part in direct_expressions(stmt)) or (
            isinstance(stmt, Assign) and any(is_loose_key(key, self.locals) for key in stmt.keys)
        ):
            _refuse(
                stmt.at,
                f"{_cell(stmt.var, ())} = ...",
                "a computed key may go beyond its bound, and a ghost must not cut a step",
                "take a parameter and compare it with the key",
            )


def check_ghost_literals(action: Action, variables: Mapping[str, Var], scopes: Iterable[Scope]) -> None:
    """Refuse a literal that is written to a ghost and exceeds its bound in a scope: the write would cut the step."""
    locals_ = locals_of(action.body)
    for stmt in statements(action.body):
        if isinstance(stmt, Assign | Fill) and variables[stmt.var].ghost:
            for value in results(stmt.value, locals_):
                # Only the bound of a Nat depends on the scope; ``folds.literal`` has checked the literals of an Int.
                if isinstance(value, Lit) and isinstance(value.type, NatType) and isinstance(value.value, int):
                    for scope in scopes:
                        if value.value > scope.sizes[value.type.name]:
                            _refuse(
                                stmt.at,
                                f"{_cell(stmt.var, ())} = ...",
                                f"{value.type}({value.value}) lies beyond the bound of scope {scope.name}, "
                                "and a ghost must not cut a step",
                                f"give the scope a larger {value.type}",
                            )


# The initial condition ----------------------------------------------------------------------------------------


def check_initial(init: Action, variables: Mapping[str, Var], written: set[str]) -> None:
    """Refuse a variable that the initial condition does not set completely, or reads before it is set.

    ``written``: the variables that actions write.
    """
    covered: set[str] = set()
    # Reversed, so that the first write of a variable gives its place.
    touched = {stmt.var: stmt.at for stmt in reversed(list(statements(init.body))) if isinstance(stmt, Assign | Fill)}
    _cover(init.body, variables, covered, {}, touched)
    for var in variables.values():
        if var.name in covered:
            continue
        if var.name in touched:
            _refuse(
                touched[var.name],
                _cell(var.name, ()),
                "the initial condition does not set all cells of this variable",
                f"set all of them first: self.{_field(var.name)}.fill(...), or a loop over each of its keys",
            )
        if var.name in written:
            _refuse(
                var.at,
                source_name(var.name),
                "no initial condition sets this variable",
                "set it in an @init method, or take it out of the actions and give it in the scopes",
            )


def _cover(
    body: tuple[Stmt, ...],
    variables: Mapping[str, Var],
    covered: set[str],
    loops: Mapping[str, Key],
    touched: Mapping[str, Place],
) -> None:
    """Add to ``covered`` the variables that a body sets in every cell, and refuse a read of one not yet covered.

    ``loops``: the domain of each enclosing loop variable. ``touched``: the variables that the initial condition writes.
    """
    for stmt in body:
        for outer in direct_expressions(stmt):
            for part in walk(outer):
                if isinstance(part, Read) and part.var in touched and part.var not in covered:
                    _refuse(
                        stmt.at,
                        _cell(part.var, part.keys),
                        "the initial condition reads it before it is set",
                        "set it first; initial conditions of base classes run first, the last base first",
                    )
        match stmt:
            case Fill(var=var):
                covered.add(var)
            case Assign(var=var, keys=keys):
                # Every cell is set if the keys are different loop variables that run over the whole key types.
                names = [key.name for key in keys if isinstance(key, Name)]
                distinct = len(set(names)) == len(keys)
                if distinct and all(loops.get(n) == kind for n, kind in zip(names, variables[var].keys, strict=True)):
                    covered.add(var)
            case If(then=then, orelse=orelse):
                left, right = set(covered), set(covered)
                _cover(then, variables, left, loops, touched)
                _cover(orelse, variables, right, loops, touched)
                # This holds in a loop too: each iteration takes one of the branches, and both set its cell.
                covered |= left & right
            case For(var=name, domain=domain, body=inner):
                _cover(inner, variables, covered, {**loops, name: domain}, touched)


# Assumptions and used variables -------------------------------------------------------------------------------


def check_assumption(name: str, body: Expr, at: Place, variables: Mapping[str, Var]) -> None:
    """Refuse an axiom that reads a variable which is not constant."""
    for part in walk(body):
        if isinstance(part, Read) and not variables[part.var].constant:
            _refuse(
                at,
                name,
                f"an assumption reads {part.var}, which actions change",
                "an assumption may read constants only",
            )


def used_variables(actions: Iterable[Action], properties: Iterable[Property]) -> set[str]:
    """The variables that some action or property reads or writes."""
    actions = tuple(actions)
    read = itertools.chain.from_iterable(expressions(action.body) for action in actions)
    stated = (walk(expr) for prop in properties for expr in (prop.body, prop.goal) if expr is not None)
    parts = itertools.chain(read, itertools.chain.from_iterable(stated))
    return written_variables(actions) | {part.var for part in parts if isinstance(part, Read)}


def written_variables(actions: Iterable[Action]) -> set[str]:
    """The variables that some action writes."""
    return {stmt.var for action in actions for stmt in statements(action.body) if isinstance(stmt, Assign | Fill)}
