"""Removes rules from a system, for ``--without`` and for mutation."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from holdfast.ir.errors import UsageError
from holdfast.ir.expr import FALSE, Expr, Ruled, rebuild
from holdfast.ir.similar_names import did_you_mean
from holdfast.ir.stmt import Assign, Fill, For, If, Let, Require, Stmt, Within
from holdfast.ir.system import Action, System


def remove_rules(system: System, wanted: Sequence[str]) -> System:
    """The system without some rules. ``LABEL`` removes a rule everywhere, ``LABEL@action`` in one action.

    A ``require`` is dropped; a labelled condition or effect becomes False. ``System.rules`` still lists the removed
    rules. A label may be written without its dash, as in some papers (M11 for M-11). Raises UsageError for an unknown
    rule, and for an action that does not contain the rule.
    """
    wanted = [_named(system, text) for text in wanted]
    changed = {action.name: _without(action, wanted) for action in (system.init, *system.actions)}
    return attrs.evolve(
        system,
        init=changed[system.init.name],
        actions=tuple(changed[action.name] for action in system.actions),
        removed=tuple(dict.fromkeys((*system.removed, *wanted))),
    )


def _named(system: System, text: str) -> str:
    """The rule as the model writes it, with its dash. Raises UsageError as ``remove_rules`` does."""
    label, at, action = text.partition("@")
    labels = [rule.label for rule in system.rules if rule.has_label]
    # A dash is added only if this gives exactly one label of the model.
    undashed = [known for known in labels if known.replace("-", "") == label]
    if label not in labels and len(set(undashed)) == 1:
        label = undashed[0]
    if label not in labels:
        hint = did_you_mean(label, labels, f"it has: {', '.join(labels) or 'none'}", cutoff=0.5)
        raise UsageError(f"{system.name} has no rule {label!r}; {hint}")
    served = system.rule(label).actions
    if "@" in text and action not in served:
        raise UsageError(f"rule {label} does not stand in an action {action!r}; it serves: {', '.join(served)}")
    return f"{label}{at}{action}"


def _without(action: Action, wanted: Sequence[str]) -> Action:
    labels = {
        label for label, _, where in (text.partition("@") for text in wanted) if not where or where == action.name
    }
    return attrs.evolve(action, body=_body(action.body, labels)) if labels else action


def _body(body: tuple[Stmt, ...], labels: set[str]) -> tuple[Stmt, ...]:
    """The body without the rules of these labels. A removed branch stays, with the test False."""
    kept: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Require():
                if stmt.label not in labels:
                    kept.append(attrs.evolve(stmt, cond=_expr(stmt.cond, labels)))
            case Assign():
                keys = tuple(_expr(key, labels) for key in stmt.keys)
                kept.append(attrs.evolve(stmt, keys=keys, value=_expr(stmt.value, labels)))
            case Fill() | Let() | Within():
                kept.append(attrs.evolve(stmt, value=_expr(stmt.value, labels)))
            case If():
                then, orelse = _body(stmt.then, labels), _body(stmt.orelse, labels)
                kept.append(attrs.evolve(stmt, test=_expr(stmt.test, labels), then=then, orelse=orelse))
            case For():
                kept.append(attrs.evolve(stmt, body=_body(stmt.body, labels)))
    return tuple(kept)


def _expr(expr: Expr, labels: set[str]) -> Expr:
    if isinstance(expr, Ruled) and expr.label in labels:
        return FALSE
    return rebuild(expr, lambda part: _expr(part, labels))
