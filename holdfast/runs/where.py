"""For which elements a property fails, where its form tells."""

from __future__ import annotations

import itertools

import attrs

from holdfast.ir.expr import Expr, Quantified
from holdfast.ir.system import Param, Property
from holdfast.lower.layout import Value
from holdfast.lower.python.interpreter import Args, Interpreter


def where_it_fails(
    machine: Interpreter, prop: Property, old: bytes, state: bytes, args: Args
) -> tuple[tuple[str, Value], ...]:
    """The least elements, of those an outermost ``all`` runs over, for which the property fails in ``state``.

    For a property of an action's steps, the action's arguments that it speaks of come first: ``old`` and ``args`` are
    the state before the step and the arguments of the action. Empty where the property does not begin with ``all``.
    """
    mine = _own_arguments(machine, prop, args)
    variables, body = _outermost(prop.body)
    instance = attrs.evolve(
        prop, name=f"{prop.name}__where", of=None, params=(*prop.params, *variables), body=body, trigger=body
    )
    for values in itertools.product(*(range(machine.layout.codes(var.type)) for var in variables)):
        if not machine.holds_step(instance, old, state, (*mine, *values)):
            decoded = zip(instance.params, (*mine, *values), strict=True)
            return tuple((param.name, machine.layout.decode_value(param.type, code)) for param, code in decoded)
    return ()


def _own_arguments(machine: Interpreter, prop: Property, args: Args) -> Args:
    """The arguments of the action that the property takes, in the order in which it takes them."""
    if prop.of is None:
        return ()
    named = dict(zip((param.name for param in machine.system.action(prop.of).params), args, strict=True))
    return tuple(named[param.name] for param in prop.params)


def _outermost(body: Expr) -> tuple[list[Param], Expr]:
    """The variables of each outermost ``all``, and what it says of them."""
    variables: list[Param] = []
    while isinstance(body, Quantified) and body.kind == "all":
        variables.append(Param(body.var, body.domain))
        body = body.body
    return variables, body
