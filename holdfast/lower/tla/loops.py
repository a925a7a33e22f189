"""Loops all at once: what a function is after every turn of a loop, at a key.

The turns are independent, so the value at a key comes from the one turn that the key itself names: the loop's variable
stands in every key that the loop writes.
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
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt
from holdfast.ir.system import Var
from holdfast.ir.types import Key
from holdfast.lower.tla.blocks import Contents, Mapped, labelled
from holdfast.lower.tla.bounds import within
from holdfast.lower.tla.expression_text import TlaExpressions


class Surroundings(Protocol):
    """The body around a loop, as it stands before the loop: ``Body`` is it."""

    variables: dict[str, Var]
    writer: TlaExpressions
    contents: dict[str, Contents]
    loose: dict[str, int | None]
    labels: tuple[str, ...]

    def value(self, read: Read) -> Expr: ...


@attrs.frozen
class LoopWrite:
    """A write in a loop: under these conditions, to that cell, for all values of the variables of the loops around."""

    conditions: tuple[Expr, ...]
    keys: tuple[Expr, ...]
    value: Expr
    variables: tuple[str, ...]


class Loop:
    """One loop with all that stands in it; ``body`` knows what the variables hold before it."""

    def __init__(self, body: Surroundings) -> None:
        self.body = body
        self.log: dict[str, list[LoopWrite]] = {}
        """What each variable sees, in order."""
        self.cuts: list[tuple[str, Expr]] = []
        """The variables that values may be too large for, and the conditions that they are not."""
        self.locals: dict[str, Expr] = {}
        self.around: tuple[tuple[str, Key], ...] = ()
        """The loops around the statement at hand."""
        self.conditions: tuple[Expr, ...] = ()
        """The conditions around it."""

    def run(self, stmts: Sequence[Stmt]) -> None:
        """Follow statements."""
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
                case Require() | Fill():
                    raise AssertionError(f"{stmt} in a loop")

    def branch(self, stmt: If) -> None:
        """Both sides, each under its condition."""
        label, test = labelled(stmt.test)
        outer = self.conditions
        outer_labels, self.body.labels = self.body.labels, (*self.body.labels, label) if label else self.body.labels
        resolved = self.resolve(test)
        for holds, side in ((resolved, stmt.then), (negate(resolved), stmt.orelse)):
            if isinstance(resolved, Lit):
                if bool(resolved.value) == (side is stmt.then):
                    self.run(side)
                continue
            self.conditions = (*outer, holds)
            self.run(side)
        self.conditions, self.body.labels = outer, outer_labels

    def assign(self, var: str, keys: tuple[Expr, ...], value: Expr) -> None:
        """Note a write."""
        inside = within(value, self.body.variables[var].value, self.body.loose)
        if inside != TRUE:
            self.cuts.append((var, self.for_all(inside)))
        names = tuple(name for name, _ in self.around)
        self.log.setdefault(var, []).append(LoopWrite(self.conditions, keys, value, names))

    def for_all(self, cond: Expr) -> Expr:
        """The condition for every turn that gets here."""
        premise = conjunction(list(self.conditions))
        found = cond if premise == TRUE else Implies(premise, cond)
        for name, domain in reversed(self.around):
            found = Quantified("all", name, domain, found)
        return found

    # Reading --------------------------------------------------------------------------------------------------

    def resolve(self, expr: Expr) -> Expr:
        """The expression as it is at this place of a turn."""
        match expr:
            case Name(name) if name in self.locals:
                return self.locals[name]
            case Read(var, keys):
                read = attrs.evolve(expr, keys=tuple(map(self.resolve, keys)))
                return self.at(read) if var in self.log else self.body.value(read)
            case _:
                return rebuild(expr, self.resolve)

    def at(self, read: Read) -> Expr:
        """What a variable that the loop writes holds by now at a key."""
        found: Expr | None = self.body.value(read) if read.var in self.body.contents else None
        for turn in self.log.get(read.var, ()):
            found = self.seen(turn, read, found)
        assert found is not None, f"{read.var} is read before it is set"
        return found

    def seen(self, turn: LoopWrite, read: Read, before: Expr | None) -> Expr:
        """What a write leaves at a key, where ``before`` was."""
        still = {name for name, _ in self.around}
        named = {key.name: place for place, key in enumerate(turn.keys) if isinstance(key, Name)}
        names = {name: read.keys[named[name]] for name in turn.variables if name not in still}
        conditions = [substitute(cond, names) for cond in turn.conditions if cond not in self.conditions]
        for mine, theirs in zip(turn.keys, read.keys, strict=True):
            key = substitute(mine, names)
            if key != theirs:
                conditions.append(Compare("==", theirs, key))
        value, cond = substitute(turn.value, names), conjunction(conditions)
        if cond == TRUE or before is None:
            return value
        # What an earlier line has written under the same condition is overwritten.
        while isinstance(before, IfElse) and before.test == cond:
            before = before.orelse
        return IfElse(cond, value, before, read.type)

    def function(self, var: str) -> Mapped:
        """The whole function after the loop."""
        kinds, turns = self.body.variables[var].keys, self.log[var]
        fresh = self.body.writer.fresh(kinds)
        chosen: list[str] = []
        for place, other in enumerate(fresh):
            wanted = self._param(place, turns, other)
            chosen.append(other if wanted in chosen else wanted)
        params = tuple(zip(chosen, kinds, strict=True))
        names = tuple(Name(name, kind) for name, kind in params)
        return Mapped(params, self.at(Read(var, names, self.body.variables[var].value)))

    def _param(self, place: int, turns: Collection[LoopWrite], fresh: str) -> str:
        """The name of a key: the loop variable that stands there, or a new one."""
        keys = (turn.keys[place] for turn in turns if isinstance(turn.keys[place], Name))
        looped = {name for turn in turns for name in turn.variables}
        return next((key.name for key in keys if isinstance(key, Name) and key.name in looped), fresh)
