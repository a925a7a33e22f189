"""Collects the rules of a system from its actions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import attrs

from holdfast.ir.expr import TRUE, Ruled, walk
from holdfast.ir.stmt import Require, Stmt, direct_expressions, statements
from holdfast.ir.system import Action, Rule


def labelled_rules(init: Action, actions: tuple[Action, ...]) -> Iterable[Rule]:
    """The rules of a system, in the order of their first use."""
    found: dict[str, Rule] = {}
    for action in (init, *actions):
        for stmt in statements(action.body):
            for rule in _rules_in(stmt):
                known = found.get(rule.label, rule)
                served = known.actions if action.name in known.actions else (*known.actions, action.name)
                found[rule.label] = attrs.evolve(known, actions=served)
    return found.values()


def _rules_in(stmt: Stmt) -> Iterable[Rule]:
    """The rules in the statement itself, not in statements nested in it; ``labelled_rules`` adds their actions."""
    if isinstance(stmt, Require):
        yield Rule(stmt.label, "require", stmt.error, stmt.at, ())
    for expr in itertools.chain.from_iterable(walk(outer) for outer in direct_expressions(stmt)):
        if isinstance(expr, Ruled):
            yield Rule(expr.label, "effect" if expr.arg == TRUE else "condition", None, stmt.at, ())
