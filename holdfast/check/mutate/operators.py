"""Operator mutants: small faults anywhere in a model, not only at labelled rules.

Each mutant makes one change to the transition system:

- a comparison is off by one or reversed;
- a condition lacks a part;
- an assignment is left out or comes one line later;
- an action of the environment never happens;
- a property lacks its premise.

A surviving mutant is no failure. It points to a part of the model that no property depends on, or to a premise that a
property does not need.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from holdfast.ir.compile.key_bounds import keys_of, pools_of, with_bounds, without_bounds
from holdfast.ir.errors import Place
from holdfast.ir.expr import TRUE, And, Compare, CompareOp, Expr, Implies, IsNone, Read, children, rebuild, walk
from holdfast.ir.stmt import Assign, Fill, For, If, Require, Stmt, direct_expressions
from holdfast.ir.system import Action, System

TURNED: dict[CompareOp, CompareOp] = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
"""The replacement of each comparison operator."""


@attrs.frozen
class Operator:
    """An operator mutant: where it changes what, the changed model, and the changed action.

    ``action`` is None if no action's steps change: a property lacks its premise, or an action never happens.
    """

    at: Place
    where: str
    change: str
    system: System
    action: str | None


def operators(system: System) -> Iterator[Operator]:
    """Every operator mutant of a model: changes in actions, then actions that never happen, then changed properties."""
    keys, pools = keys_of(system.variables), pools_of(system.variables)
    for action in system.actions:
        for at, change, body in _bodies(without_bounds(action.body), system):
            # A changed condition is another one under which keys are computed.
            changed = with_bounds(attrs.evolve(action, body=body), keys, pools)
            yield Operator(at, action.name, change, _with_action(system, changed), action.name)
    for name in sorted({name for scope in system.scopes.values() for name in scope.budgets}):
        never = attrs.evolve(system, actions=tuple(each for each in system.actions if each.name != name))
        # A step property of this action would refer to an action that does not exist.
        needed = any(prop.of == name for prop in system.properties)
        if not needed:
            yield Operator(system.action(name).at, name, "never happens", never, None)
    for index, prop in enumerate(system.properties):
        if prop.kind in ("invariant", "step", "lemma"):
            for change, claim in _without_premise(prop.body):
                properties = list(system.properties)
                # The premise under which the property counts as evaluated is gone too.
                properties[index] = attrs.evolve(prop, body=claim, premise=TRUE)
                changed_system = attrs.evolve(system, properties=tuple(properties))
                yield Operator(prop.at, prop.name, change, changed_system, None)


def _with_action(system: System, changed: Action) -> System:
    actions = tuple(changed if action.name == changed.name else action for action in system.actions)
    return attrs.evolve(system, actions=actions)


# Statements ---------------------------------------------------------------------------------------------------------

Change = tuple[Place, str, tuple[Stmt, ...]]
"""The place of a change, the change in words, and the changed body."""


def _bodies(body: tuple[Stmt, ...], system: System) -> Iterator[Change]:
    """All ways to make one change in a body."""
    for index, stmt in enumerate(body):
        before, after = body[:index], body[index + 1 :]
        for at, change, replaced in _statements(stmt, system):
            yield at, change, (*before, *replaced, *after)
        if after and _order_matters(stmt, after[0]):
            yield stmt.at, "comes after the next line", (*before, after[0], stmt, *after[1:])


def _statements(stmt: Stmt, system: System) -> Iterator[Change]:
    """All ways to change one statement: the statements that replace it."""
    match stmt:
        case Require(cond=cond, label=label):
            for change, expr in _conditions(cond):
                yield stmt.at, f"{label}: {change}", (attrs.evolve(stmt, cond=expr),)
        case Assign(var=var) | Fill(var=var):
            if not system.var(var).ghost:
                yield stmt.at, f"{var} is not written", ()
        case If(test=test, then=then, orelse=orelse):
            for change, expr in _conditions(test):
                yield stmt.at, change, (attrs.evolve(stmt, test=expr),)
            for at, change, inner in _bodies(then, system):
                yield at, change, (attrs.evolve(stmt, then=inner),)
            for at, change, inner in _bodies(orelse, system):
                yield at, change, (attrs.evolve(stmt, orelse=inner),)
        case For(body=body):
            for at, change, inner in _bodies(body, system):
                yield at, change, (attrs.evolve(stmt, body=inner),)


def _order_matters(first: Stmt, second: Stmt) -> bool:
    """Whether the order of two writes matters: one reads the variable that the other writes."""
    if not (isinstance(first, Assign | Fill) and isinstance(second, Assign | Fill)):
        return False
    return _reads(second, first.var) or _reads(first, second.var)


def _reads(stmt: Stmt, var: str) -> bool:
    return any(isinstance(part, Read) and part.var == var for outer in direct_expressions(stmt) for part in walk(outer))


# Expressions --------------------------------------------------------------------------------------------------------


def _conditions(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """All ways to make one change in a condition."""
    match expr:
        case Compare(op=op):
            yield f"{op} to {TURNED[op]}", attrs.evolve(expr, op=TURNED[op])
        case And(args):
            for index, arg in enumerate(args):
                # Later parts rely on a test for None, so it must stay.
                if not _tests_none(arg):
                    kept = (*args[:index], *args[index + 1 :])
                    yield f"part {index + 1} of {len(args)} is left out", kept[0] if len(kept) == 1 else And(kept)
    for number, part in enumerate(children(expr)):
        for change, changed in _conditions(part):
            yield change, _with_child(expr, number, changed)


def _with_child(expr: Expr, number: int, changed: Expr) -> Expr:
    """The expression with its child of this number replaced."""
    parts = iter(range(len(children(expr))))
    return rebuild(expr, lambda part: changed if next(parts) == number else part)


def _without_premise(claim: Expr) -> Iterator[tuple[str, Expr]]:
    """All ways to make a property claim more: one of its implications loses its premise."""
    if isinstance(claim, Implies) and not _tests_none(claim.left):
        yield "holds without its premise", claim.right
    for number, part in enumerate(children(claim)):
        for change, changed in _without_premise(part):
            yield change, _with_child(claim, number, changed)


def _tests_none(expr: Expr) -> bool:
    return any(isinstance(part, IsNone) for part in walk(expr))
