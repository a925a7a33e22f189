"""The elements for which a property fails, if the form of the property tells them."""

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
    """The least elements, among those over which the outermost ``all`` ranges, for which ``prop`` fails in ``state``.

    For a property of an action's steps, the arguments that it reads come first; ``old`` is the state before the step,
    and ``args`` are the arguments of the action. Empty if the property does not begin with ``all``.
    """
    mine = _own_arguments(machine, prop, args)
    variables, body = _outermost(prop.body)
    instance = attrs.evolve(
        prop, name=f"{prop.name}__where", of=None, params=(*prop.params, *variables), body=body, premise=body
    )
    for values in itertools.product(*(range(machine.layout.codes(var.type)) for var in variables)):
        if not machine.holds_step(instance, old, state, (*mine, *values)):
            decoded = zip(instance.params, (*mine, *values), strict=True)
            return tuple((param.name, machine.layout.decode_value(param.type, code)) for param, code in decoded)
    return ()


def _own_arguments(machine: Interpreter, prop: Property, args: Args) -> Args:
    """The arguments of the action that the property has as parameters, in the order of its parameters."""
    if prop.of is None:
        return ()
    named = dict(zip((param.name for param in machine.system.action(prop.of).params), args, strict=True))
    return tuple(named[param.name] for param in prop.params)


def _outermost(body: Expr) -> tuple[list[Param], Expr]:
    """The variables of the nested outermost ``all``, and the body inside them."""
    variables: list[Param] = []
    while isinstance(body, Quantified) and body.kind == "all":
        variables.append(Param(body.var, body.domain))
        body = body.body
    return variables, body
