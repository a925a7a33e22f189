"""The elements for which a property fails: the values of its bound variables that decide it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from holdfast.ir.expr import And, Expr, IfElse, Implies, Name, Not, Or, Quantified, Ruled, walk
from holdfast.ir.names import source_name
from holdfast.ir.system import Param, Property
from holdfast.lower.layout import Value
from holdfast.lower.python.interpreter import Args, Interpreter

Choice = Mapping[Param, int]
"""The codes of the parameters and bound variables that have a value so far."""


def where_it_fails(
    machine: Interpreter, prop: Property, old: bytes, state: bytes, args: Args
) -> tuple[tuple[str, Value], ...]:
    """The least elements for which ``prop`` fails in ``state``: a value for each bound variable that matters.

    For ``all(... for n in Node)`` that is the first ``n`` for which it is false. The same holds for an ``all`` within
    it, and for an ``any`` that is true where it ought to be false. An ``any`` without an element has none to name.

    For a property of an action's steps, the arguments that it reads come first; ``old`` is the state before the step,
    and ``args`` are the arguments of the action. Empty if ``prop`` holds, or has no variables.
    """
    search = _Decision(machine, prop, old, state)
    mine = dict(zip(prop.params, _own_arguments(machine, prop, args), strict=True))
    if search.value(prop.body, mine):
        return ()
    codes = {**mine, **dict(search.decisive(prop.body, mine, False))}
    shown = _distinct(codes)
    return tuple((shown[param], machine.layout.decode_value(param.type, code)) for param, code in codes.items())


class _Decision:
    """Finds the elements that decide an expression in one state, or in the step from the state ``old`` to it."""

    def __init__(self, machine: Interpreter, prop: Property, old: bytes, state: bytes) -> None:
        self.machine, self.prop, self.old, self.state = machine, prop, old, state
        self._instances: dict[tuple[int, tuple[Param, ...]], Property] = {}

    def value(self, expr: Expr, chosen: Choice) -> bool:
        """Whether a condition holds."""
        used = {part.name for part in walk(expr) if isinstance(part, Name)}
        params = tuple(param for param in chosen if param.name in used)
        instance = self._instance(expr, params)
        return self.machine.holds_step(instance, self.old, self.state, tuple(chosen[param] for param in params))

    def _instance(self, expr: Expr, params: tuple[Param, ...]) -> Property:
        """The condition as a property with parameters, the same one each time: the machine compiles it once.

        It holds the condition, so the ``id`` stays that of the condition.
        """
        key = (id(expr), params)
        if key not in self._instances:
            self._instances[key] = attrs.evolve(
                self.prop, name=f"{self.prop.name}__where", of=None, params=params, body=expr, premise=expr, goal=None
            )
        return self._instances[key]

    def decisive(self, expr: Expr, chosen: Choice, value: bool) -> Iterator[tuple[Param, int]]:
        """The bound variables, with their codes, by which a condition has this value; the outer ones come first.

        A part is looked at only where the condition itself would evaluate it: after the parts before it.
        """
        match expr:
            case Quantified(kind=kind, body=body):
                if (kind == "any") is value:
                    yield from self._element(expr, body, chosen, value)
            case Not(arg):
                yield from self.decisive(arg, chosen, not value)
            case Ruled(arg=arg):
                yield from self.decisive(arg, chosen, value)
            case And(args):
                yield from self._parts(args, chosen, value, by=False)
            case Or(args):
                yield from self._parts(args, chosen, value, by=True)
            case Implies(left, right):
                yield from self._parts((Not(left), right), chosen, value, by=True)
            case IfElse(test, then, orelse):
                told = self.value(test, chosen)
                yield from self.decisive(test, chosen, told)
                yield from self.decisive(then if told else orelse, chosen, value)

    def _element(self, expr: Quantified, body: Expr, chosen: Choice, value: bool) -> Iterator[tuple[Param, int]]:
        """The first element for which the body has this value, and what decides the body then."""
        variable = Param(expr.var, expr.domain)
        for code in range(self.machine.layout.codes(variable.type)):
            inner = {**chosen, variable: code}
            if self.value(body, inner) is value:
                yield variable, code
                yield from self.decisive(body, inner, value)
                return
        raise AssertionError(f"the engine contradicts itself about {self.prop.name}")

    def _parts(self, args: tuple[Expr, ...], chosen: Choice, value: bool, *, by: bool) -> Iterator[tuple[Param, int]]:
        """What decides a conjunction (``by`` is False) or a disjunction: the first part with that value, or all."""
        if value is by:
            args = (next(arg for arg in args if self.value(arg, chosen) is by),)
        for arg in args:
            yield from self.decisive(arg, chosen, value)


def _own_arguments(machine: Interpreter, prop: Property, args: Args) -> Args:
    """The arguments of the action that the property has as parameters, in the order of its parameters."""
    if prop.of is None:
        return ()
    named = dict(zip((param.name for param in machine.system.action(prop.of).params), args, strict=True))
    return tuple(named[param.name] for param in prop.params)


def _distinct(params: Mapping[Param, int]) -> dict[Param, str]:
    """The names as in the source. Of several variables of one name, the later ones are called ``other n``."""
    shown: dict[Param, str] = {}
    for param in params:
        name = source_name(param.name)
        while name in shown.values():
            name = f"other {name}"
        shown[param] = name
    return shown
