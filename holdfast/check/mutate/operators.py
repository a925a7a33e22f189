"""Operator mutants: small faults anywhere in a model, and not only where a label stands.

They are made on the transition system: a comparison that is one off or turned round, a condition that lacks a part, an
assignment that is left out or comes too early, an action of the environment that never happens, a property without its
premise. Each has one change. What survives is no failure: it shows a part of the model that no property looks at, or,
of a property, a premise that nothing needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import attrs

from holdfast.check.mutate.bench import Bench, MutantTrial
from holdfast.check.mutate.limits import MutationLimits
from holdfast.check.mutate.result import OperatorRow, Way
from holdfast.ir.errors import Place, UsageError
from holdfast.ir.expr import TRUE, And, Compare, CompareOp, Expr, Implies, IsNone, Read, children, rebuild, walk
from holdfast.ir.stmt import Assign, Fill, For, If, Require, Stmt, direct_expressions
from holdfast.ir.system import Action, System

PATIENCE = 20_000
"""How many states of each operator mutant are searched; every one is another model, so no kernel serves them."""

TURNED: dict[CompareOp, CompareOp] = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


@attrs.frozen
class Operator:
    """One change: where, what, the model with it, and the action that may differ (None: a property was changed)."""

    at: Place
    where: str
    change: str
    system: System
    action: str | None


def operators(system: System) -> Iterator[Operator]:
    """Every operator mutant of a model, in the order of the source: initial condition, actions, properties."""
    for action in system.actions:
        for at, change, body in _bodies(action.body, system):
            changed = attrs.evolve(action, body=body)
            yield Operator(at, action.name, change, _with_action(system, changed), action.name)
    for name in sorted({name for scope in system.scopes.values() for name in scope.budgets}):
        never = attrs.evolve(system, actions=tuple(each for each in system.actions if each.name != name))
        needed = any(prop.of == name for prop in system.properties)
        if not needed:
            yield Operator(system.action(name).at, name, "never happens", never, None)
    for index, prop in enumerate(system.properties):
        if prop.kind in ("invariant", "step", "lemma"):
            for change, claim in _without_premise(prop.body):
                properties = list(system.properties)
                properties[index] = attrs.evolve(prop, body=claim, trigger=TRUE)
                changed_system = attrs.evolve(system, properties=tuple(properties))
                yield Operator(prop.at, prop.name, change, changed_system, None)


def try_operators(
    system: System,
    bench: Bench,
    limits: MutationLimits,
    keep: Callable[[OperatorRow], None],
    known: Callable[[str, str, int], OperatorRow | None] = lambda where, change, number: None,
) -> None:
    """Try every operator mutant in one scope that is not known yet; each row is handed over as it is established.

    Raises Interruption.
    """
    every = list(operators(system))
    alike: Counter[tuple[str, str]] = Counter()
    for position, each in enumerate(every, start=1):
        number = alike[each.where, each.change]
        alike[each.where, each.change] += 1
        earlier = known(each.where, each.change, number)
        if earlier is not None:
            keep(attrs.evolve(earlier, place=str(each.at)))
            continue
        limits.now = f"operator {position} of {len(every)}, in {each.where}"
        try:
            trial = bench.try_changed(each.system, each.action, PATIENCE)
        except UsageError:
            # The change does not fit the scope: a condition that was never met hides what does not.
            continue
        keep(OperatorRow(str(each.at), each.where, each.change, number, _way(trial), trial.kill))


def _way(trial: MutantTrial) -> Way:
    if trial.kill is not None:
        return "killed"
    if trial.same:
        return "equivalent"
    return "survived" if trial.ended_by is None else "undecided"


def _with_action(system: System, changed: Action) -> System:
    actions = tuple(changed if action.name == changed.name else action for action in system.actions)
    return attrs.evolve(system, actions=actions)


# Statements ---------------------------------------------------------------------------------------------------------

Change = tuple[Place, str, tuple[Stmt, ...]]
"""Where, what, and the body with the change."""


def _bodies(body: tuple[Stmt, ...], system: System) -> Iterator[Change]:
    """The body with one change, in every way."""
    for index, stmt in enumerate(body):
        before, after = body[:index], body[index + 1 :]
        for at, change, replaced in _statements(stmt, system):
            yield at, change, (*before, *replaced, *after)
        if after and _order_matters(stmt, after[0]):
            yield stmt.at, "comes after the next line", (*before, after[0], stmt, *after[1:])


def _statements(stmt: Stmt, system: System) -> Iterator[Change]:
    """What stands in the place of one statement."""
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
    """Whether two writes mean something else the other way round: one reads what the other writes."""
    if not (isinstance(first, Assign | Fill) and isinstance(second, Assign | Fill)):
        return False
    return _reads(second, first.var) or _reads(first, second.var)


def _reads(stmt: Stmt, var: str) -> bool:
    return any(isinstance(part, Read) and part.var == var for outer in direct_expressions(stmt) for part in walk(outer))


# Expressions --------------------------------------------------------------------------------------------------------


def _conditions(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """A condition with one change, in every way."""
    match expr:
        case Compare(op=op):
            yield f"{op} to {TURNED[op]}", attrs.evolve(expr, op=TURNED[op])
        case And(args):
            for index, arg in enumerate(args):
                # A test for None stands before what relies on it.
                if not _tests_none(arg):
                    kept = (*args[:index], *args[index + 1 :])
                    yield f"part {index + 1} of {len(args)} is left out", kept[0] if len(kept) == 1 else And(kept)
    for number, part in enumerate(children(expr)):
        for change, changed in _conditions(part):
            yield change, _with_child(expr, number, changed)


def _with_child(expr: Expr, number: int, changed: Expr) -> Expr:
    """The expression with another part in that place."""
    parts = iter(range(len(children(expr))))
    return rebuild(expr, lambda part: changed if next(parts) == number else part)


def _without_premise(claim: Expr) -> Iterator[tuple[str, Expr]]:
    """A property that claims more: one of its implications holds without the premise."""
    if isinstance(claim, Implies) and not _tests_none(claim.left):
        yield "holds without its premise", claim.right
    for number, part in enumerate(children(claim)):
        for change, changed in _without_premise(part):
            yield change, _with_child(claim, number, changed)


def _tests_none(expr: Expr) -> bool:
    return any(isinstance(part, IsNone) for part in walk(expr))
