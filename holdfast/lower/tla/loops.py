"""Translates a loop as a whole: the value, at each key, of a function after all turns of the loop.

A turn is one iteration. The variable of the loop is in every key that the loop writes. So the turns are independent,
and the value at a key comes from the one turn whose element is in that key.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import attrs

from holdfast.ir.expr import (
    TRUE,
    Compare,
    Expr,
    IfElse,
    Implies,
    Lit,
    Name,
    Quantified,
    Read,
    conjunction,
    negate,
    rebuild,
    substitute,
)
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt, Within
from holdfast.ir.system import Var
from holdfast.ir.types import Key, Scalar
from holdfast.lower.tla.blocks import Contents, MappedFunction, labelled
from holdfast.lower.tla.bounds import within
from holdfast.lower.tla.expression_text import TlaExpressions


class Surroundings(Protocol):
    """The interface of the body around a loop; ``Body`` implements it. Its values are those before the loop."""

    variables: dict[str, Var]
    writer: TlaExpressions
    contents: dict[str, Contents]
    loose: dict[str, int | None]
    labels: tuple[str, ...]

    def value(self, read: Read) -> Expr: ...


@attrs.frozen
class LoopWrite:
    """A write in a loop: if all conditions hold, the cell at ``keys`` gets ``value``.

    ``variables``: the variables of the enclosing loops. The write happens for all their elements.
    """

    conditions: tuple[Expr, ...]
    keys: tuple[Expr, ...]
    value: Expr
    variables: tuple[str, ...]


class Loop:
    """Executes one loop symbolically, with the loops in it; ``body`` has the values of the variables before it."""

    def __init__(self, body: Surroundings) -> None:
        self.body = body
        self.log: dict[str, list[LoopWrite]] = {}
        """The writes to each variable, in order."""
        self.cuts: list[tuple[Scalar, Expr]] = []
        """The types outside of which a value may be, each with the condition that the value is inside."""
        self.locals: dict[str, Expr] = {}
        self.around: tuple[tuple[str, Key], ...] = ()
        """The variables and domains of the loops around the current statement."""
        self.conditions: tuple[Expr, ...] = ()
        """The conditions around the current statement."""

    def run(self, stmts: Sequence[Stmt]) -> None:
        """Execute statements in order."""
        for stmt in stmts:
            match stmt:
                case For(var, domain, inner):
                    outer, self.around = self.around, (*self.around, (var, domain))
                    self.run(inner)
                    self.around = outer
                case If():
                    self.branch(stmt)
                case Let(name, value):
                    self.locals[name] = self.resolve(value)
                case Assign(var, keys, value):
                    self.assign(var, tuple(map(self.resolve, keys)), self.resolve(value))
                case Within(value, kind):
                    self.cut(kind, self.resolve(value))
                case Require() | Fill():
                    raise AssertionError(f"{stmt} in a loop")

    def branch(self, stmt: If) -> None:
        """Both sides, each under its condition."""
        label, test = labelled(stmt.test)
        outer = self.conditions
        outer_labels, self.body.labels = self.body.labels, (*self.body.labels, label) if label else self.body.labels
        resolved = self.resolve(test)
        for holds, side in ((resolved, stmt.then), (negate(resolved), stmt.orelse)):
            # A constant test, such as the label of an effect: only one side exists, and it needs no condition.
            if isinstance(resolved, Lit):
                if bool(resolved.value) == (side is stmt.then):
                    self.run(side)
                continue
            self.conditions = (*outer, holds)
            self.run(side)
        self.conditions, self.body.labels = outer, outer_labels

    def assign(self, var: str, keys: tuple[Expr, ...], value: Expr) -> None:
        """Record a write, and the bound that may cut it."""
        self.cut(self.body.variables[var].value, value)
        names = tuple(name for name, _ in self.around)
        self.log.setdefault(var, []).append(LoopWrite(self.conditions, keys, value, names))

    def cut(self, kind: Scalar, value: Expr) -> None:
        """Record the bound that may cut the step."""
        inside = within(value, kind, self.body.loose)
        if inside != TRUE:
            self.cuts.append((kind, self.for_all(inside)))

    def for_all(self, cond: Expr) -> Expr:
        """The formula that the condition holds in every turn that reaches the current statement."""
        premise = conjunction(list(self.conditions))
        found = cond if premise == TRUE else Implies(premise, cond)
        for name, domain in reversed(self.around):
            found = Quantified("all", name, domain, found)
        return found

    # Reading --------------------------------------------------------------------------------------------------

    def resolve(self, expr: Expr) -> Expr:
        """The expression over the values before the loop: locals and written cells are replaced by their values."""
        match expr:
            case Name(name) if name in self.locals:
                return self.locals[name]
            case Read(var, keys):
                read = attrs.evolve(expr, keys=tuple(map(self.resolve, keys)))
                return self.at(read) if var in self.log else self.body.value(read)
            case _:
                return rebuild(expr, self.resolve)

    def at(self, read: Read) -> Expr:
        """The current value, at a key, of a variable that the loop writes."""
        found: Expr | None = self.body.value(read) if read.var in self.body.contents else None
        for turn in self.log.get(read.var, ()):
            found = self.seen(turn, read, found)
        assert found is not None, f"{read.var} is read before it is set"
        return found

    def seen(self, turn: LoopWrite, read: Read, before: Expr | None) -> Expr:
        """The value at the key of ``read`` after a write; ``before`` is the value before the write."""
        # The variable of a loop that is still around means the same in the write and in the read. The variable of a
        # loop that has ended is replaced by the part of the read's key that selects its turn.
        still = {name for name, _ in self.around}
        named = {key.name: place for place, key in enumerate(turn.keys) if isinstance(key, Name)}
        names = {name: read.keys[named[name]] for name in turn.variables if name not in still}
        # The conditions around the current statement hold at the read, so they are left out.
        conditions = [substitute(cond, names) for cond in turn.conditions if cond not in self.conditions]
        for mine, theirs in zip(turn.keys, read.keys, strict=True):
            key = substitute(mine, names)
            if key != theirs:
                conditions.append(Compare("==", theirs, key))
        value, cond = substitute(turn.value, names), conjunction(conditions)
        if cond == TRUE or before is None:
            return value
        # This write replaces an earlier one under the same condition.
        while isinstance(before, IfElse) and before.test == cond:
            before = before.orelse
        return IfElse(cond, value, before, read.type)

    def function(self, var: str) -> MappedFunction:
        """The whole function after the loop."""
        kinds, turns = self.body.variables[var].keys, self.log[var]
        fresh = self.body.writer.fresh(kinds)
        chosen: list[str] = []
        for place, other in enumerate(fresh):
            wanted = self._param(place, turns, other)
            # Two keys must not share a bound variable.
            chosen.append(other if wanted in chosen else wanted)
        params = tuple(zip(chosen, kinds, strict=True))
        names = tuple(Name(name, kind) for name, kind in params)
        return MappedFunction(params, self.at(Read(var, names, self.body.variables[var].value)))

    def _param(self, place: int, turns: Collection[LoopWrite], fresh: str) -> str:
        """The name of a key's bound variable: the loop variable at this place of the written keys, or a new one."""
        keys = (turn.keys[place] for turn in turns if isinstance(turn.keys[place], Name))
        looped = {name for turn in turns for name in turn.variables}
        return next((key.name for key in keys if isinstance(key, Name) and key.name in looped), fresh)
