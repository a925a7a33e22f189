"""Translates the methods that state properties to properties of the transition system."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from holdfast.ir.compile.context import Context, Env, MapValue, Meaning
from holdfast.ir.compile.expressions import Expressions
from holdfast.ir.compile.helpers import check_returns, parameters, value_body
from holdfast.ir.compile.key_bounds import where_defined
from holdfast.ir.compile.premises import premise_of
from holdfast.ir.compile.records import check_distinct, parameter
from holdfast.ir.compile.results import reads_computed_key
from holdfast.ir.compile.simplify import simplify
from holdfast.ir.compile.source import Member
from holdfast.ir.expr import TRUE, Expr, Ruled, walk
from holdfast.ir.marks import PropertyMark
from holdfast.ir.system import LIVENESS, Action, Param, Property
from holdfast.ir.types import BOOL

RULE_IDS = re.compile(r"[A-Z][A-Z0-9]*-\d+[a-z]?(?:, [A-Z][A-Z0-9]*-\d+[a-z]?)*(?=[.: ])")
"""The rule ids at the start of a docstring: ``INV-01.`` or ``INV-01, INV-02:``."""


def compile_property(member: Member, context: Context, actions: tuple[Action, ...]) -> Property:
    """The property that a marked method states."""
    mark = member.mark
    assert isinstance(mark, PropertyMark)
    expressions = Expressions(context)
    args, states = _states(member, mark)
    params: list[Param] = []
    names: dict[str, Meaning] = {}
    for arg in args:
        made, names[arg.arg] = parameter(expressions, arg, member.module)
        if mark.of is None and isinstance(names[arg.arg], MapValue):
            remedy = "take single values, or judge the steps of an action that takes the map: @step(of=...)"
            member.module.refuse(arg, "a property cannot range over whole maps", remedy, f"def {member.name}")
        params += made
        for param in made:
            expressions.fresh(param.name)  # reserves the name
    check_distinct(params, member.node, member.module, f"def {member.name}")
    if mark.of is not None:
        _check_of(member, mark.of, params, actions)
    check_returns(member, "tuple[bool, bool]" if mark.kind == "leads_to" else "bool")
    env = Env(member.module, states, names, frozenset(), (member.name,))
    if mark.kind == "leads_to":
        body, goal = _pair(member, expressions, env)
    else:
        body, goal = value_body(expressions, member.node.body, env, member.node), None
        if body.type != BOOL:
            member.module.refuse(member.node, f"it returns {body.type}", "return a condition", f"def {member.name}")
        if mark.kind in LIVENESS:
            body, goal = TRUE, body
    # Before ``simplify``, which may remove a rule in a branch of another variant.
    _check_no_rules(member, [body] if goal is None else [body, goal])
    body = simplify(body)
    if mark.kind == "leads_to":
        _check_keys(member, [body, *([] if goal is None else [goal])])
    premise: Expr = TRUE  # the other kinds, such as a witness or an axiom, are never vacuous
    if mark.kind in ("invariant", "step", "lemma"):
        premise = premise_of(body)
    elif mark.kind == "leads_to":
        premise = body
    found = RULE_IDS.match(member.doc)
    return Property(
        name=member.name,
        kind=mark.kind,
        ids=tuple(found.group().split(", ")) if found else (),
        doc=member.doc,
        params=tuple(params),
        body=where_defined(body, context.keys),
        premise=premise,
        at=member.module.place(member.node),
        goal=None if goal is None else where_defined(simplify(goal), context.keys),
        of=mark.of,
    )


def _states(member: Member, mark: PropertyMark) -> tuple[list[ast.arg], dict[str, bool]]:
    """The parameters of a property other than states, and its states by name: True for the old state."""
    args = parameters(member)
    states = {member.node.args.args[0].arg: False}
    if mark.kind == "step":
        if not args or args[0].arg != "old":
            member.module.refuse(
                member.node,
                "a step property compares two states",
                "take `old` first: def f(self, old: Self)",
                f"def {member.name}",
            )
        states["old"] = True
        args = args[1:]
    elif any(arg.arg == "old" for arg in args):
        member.module.refuse(
            member.node, "only a step property sees the old state", "make it a @step", f"def {member.name}"
        )
    if args and mark.kind not in LIVENESS and not (mark.kind == "step" and mark.of):
        article = "an" if mark.kind[0] in "aeiou" else "a"
        member.module.refuse(
            args[0],
            f"{article} {mark.kind} has no parameters",
            "quantify: all(... for x in Sort)",
            f"def {member.name}",
        )
    return args, states


def _check_of(member: Member, of: str, params: Sequence[Param], actions: tuple[Action, ...]) -> None:
    """Refuse an unknown action ``of``, and a parameter that the action does not have."""
    action = next((action for action in actions if action.name == of), None)
    if action is None:
        names = ", ".join(action.name for action in actions) or "none"
        member.module.refuse(member.node, f"there is no action {of}", f"the model has: {names}", f"def {member.name}")
    for param in params:
        if param not in action.params:
            shown = ", ".join(f"{known.name}: {known.type}" for known in action.params)
            member.module.refuse(
                member.node,
                f"{of} has no parameter {param.name}: {param.type}",
                f"it has ({shown})",
                f"def {member.name}",
            )


def _pair(member: Member, expressions: Expressions, env: Env) -> tuple[Expr, Expr]:
    """The premise and the goal of a leads_to property."""
    match [stmt for stmt in member.node.body if not _is_docstring(stmt)]:
        case [ast.Return(value=ast.Tuple(elts=[premise, goal]))]:
            return expressions.condition(premise, env), expressions.condition(goal, env)
    return member.module.refuse(
        member.node,
        "a leads_to property returns a premise and a goal",
        "write `return premise, goal`",
        f"def {member.name}",
    )


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _check_keys(member: Member, claims: Sequence[Expr]) -> None:
    """Refuse a computed key in a leads_to: where the key has no cell, a false premise would demand nothing."""
    if any(reads_computed_key(claim, {}) for claim in claims):
        member.module.refuse(
            member.node,
            "a leads_to property computes a key",
            "take a parameter, and compare it with the result in the premise",
            f"def {member.name}",
        )


def _check_no_rules(member: Member, claims: Sequence[Expr]) -> None:
    """Refuse a property that contains a rule: removing the rule must not change the meaning of the property."""
    for part in (part for claim in claims for part in walk(claim)):
        if isinstance(part, Ruled):
            member.module.refuse(
                member.node,
                f"it reads the rule {part.label}, so it would say something else without it",
                "say what must hold in terms of the state",
                f"def {member.name}",
            )
