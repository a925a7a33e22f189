"""From properties to Python functions of a state ``s``, the state ``o`` before the step, and the arguments ``args``."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ir.expr import Expr
from holdfast.ir.system import Action, Param, Property
from holdfast.lower.python.expression_text import PythonExpressions
from holdfast.lower.python.terms import Term


def parameters(prop: Property, of: Action | None) -> list[tuple[Param, int]]:
    """The parameters of a property, each with its position among the arguments.

    A step property of an action gets the arguments of that action, and picks its parameters by name. For other
    properties, ``of`` is None.
    """
    if of is None:
        return [(param, position) for position, param in enumerate(prop.params)]
    positions = {param.name: position for position, param in enumerate(of.params)}
    return [(param, positions[param.name]) for param in prop.params]


def predicate(writer: PythonExpressions, name: str, body: Expr, params: Sequence[tuple[Param, int]]) -> str:
    """The text of a function that returns whether ``body`` holds, as True or False."""
    cond = condition(writer, body, params)
    value = str(bool(cond.lo)) if cond.constant else f"True if {cond.text} else False"
    return f"def {name}(s, o, args):\n    return {value}\n"


def first_failing(name: str, conditions: Sequence[Term | None]) -> str:
    """The text of a function that returns the index of the first condition that fails, or -1. A condition of None
    holds.
    """
    lines = [f"def {name}(s, o=None, args=()):"]
    for index, cond in enumerate(conditions):
        if cond is not None and not (cond.constant and cond.lo):
            lines.append(f"    if not {cond.text}: return {index}")
    return "\n".join([*lines, "    return -1", ""])


def condition(writer: PythonExpressions, body: Expr, params: Sequence[tuple[Param, int]]) -> Term:
    """A property's body as a term over ``s``, ``o`` and ``args``."""
    for param, position in params:
        writer.parameter(param, f"args[{position}]")
    return writer.expr(body)
