"""The decorators that give the methods of a model their roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, overload

from holdfast.ir.marks import MARK, ActionMark, InitMark, PropertyMark, ScopeMark, VariantMark

F = TypeVar("F", bound=Callable[..., Any])
Predicate = TypeVar("Predicate", bound=Callable[..., bool])
Pair = TypeVar("Pair", bound=Callable[..., tuple[bool, bool]])


def _mark(function: F, mark: object) -> F:
    setattr(function, MARK, mark)
    return function


def init(method: F) -> F:
    """An initial condition. Its parameters are nondeterministic choices.

    The initial conditions of a model's parts run before its own, in the reverse of Python's method resolution order.
    """
    return _mark(method, InitMark())


@overload
def action(method: F, /) -> F: ...
@overload
def action(
    *,
    fair: Literal["weak", "strong"] | None = None,
    per: tuple[str, ...] = (),
    idempotent: str | None = None,
    variant: str | None = None,
) -> Callable[[F], F]: ...
def action(
    method: F | None = None,
    /,
    *,
    fair: Literal["weak", "strong"] | None = None,
    per: tuple[str, ...] = (),
    idempotent: str | None = None,
    variant: str | None = None,
) -> F | Callable[[F], F]:
    """An action of the protocol or of its environment.

    ``fair``: weak or strong fairness, for each value of the parameters in ``per``. ``idempotent``: the id of the
    property that repeating the action at once, with equal arguments, succeeds and changes nothing. ``variant``: the
    only variant in which the model has the action; None for every variant.
    """
    mark = ActionMark(fair, per, idempotent, variant)
    return _mark(method, mark) if method is not None else lambda method: _mark(method, mark)


def variant(name: str, *, replaces: str) -> Callable[[F], F]:
    """A method that replaces the action ``replaces`` in the variant ``name``."""
    return lambda method: _mark(method, VariantMark(name, replaces))


def invariant(method: Predicate) -> Predicate:
    """A condition that holds in every state. Its docstring begins with the rule id and one plain sentence."""
    return _mark(method, PropertyMark("invariant"))


def lemma(method: Predicate) -> Predicate:
    """An auxiliary invariant for proofs."""
    return _mark(method, PropertyMark("lemma"))


@overload
def step(method: Predicate, /) -> Predicate: ...
@overload
def step(*, of: str) -> Callable[[Predicate], Predicate]: ...
def step(method: Predicate | None = None, /, *, of: str | None = None) -> Predicate | Callable[[Predicate], Predicate]:
    """A condition on every step. ``method(self, old)`` gets the states after and before the step.

    ``of``: the only action whose steps are checked. The method may then take parameters of that action.
    """
    mark = PropertyMark("step", of)
    return _mark(method, mark) if method is not None else lambda method: _mark(method, mark)


def leads_to(method: Pair) -> Pair:
    """``return premise, goal``: whenever the premise is true, the goal is true then or later.

    It is checked for each combination of values of the method's parameters.
    """
    return _mark(method, PropertyMark("leads_to"))


def always_eventually(method: Predicate) -> Predicate:
    """A condition that is true again and again in every fair run: ``[]<>p``.

    It is checked for each combination of values of the method's parameters.
    """
    return _mark(method, PropertyMark("always_eventually"))


def eventually_always(method: Predicate) -> Predicate:
    """A condition that in every fair run is true from some state on: ``<>[]p``.

    It is checked for each combination of values of the method's parameters.
    """
    return _mark(method, PropertyMark("eventually_always"))


def witness(method: Predicate) -> Predicate:
    """A state that must be reachable, so that the model is not vacuous."""
    return _mark(method, PropertyMark("witness"))


def assume(method: Predicate) -> Predicate:
    """An axiom about the constants."""
    return _mark(method, PropertyMark("assume"))


def final(method: Predicate) -> Predicate:
    """The states in which a run may end. If a model has such a method, any other state without a step is a deadlock."""
    return _mark(method, PropertyMark("final"))


def Scope(  # noqa: N802 - it reads as the declaration of a scope
    sizes: Mapping[type, int],
    *,
    budgets: Mapping[str, int] | None = None,
    given: Mapping[str, object] | None = None,
    depth: int | None = None,
) -> ScopeMark:
    """A finite size for the model, as a class attribute: ``tiny = Scope({Node: 2, Epoch: 3}, budgets={"crash": 1})``.

    ``sizes``: the number of elements of each Sort and the greatest value of each Nat. ``budgets``: how often an action
    may happen in one run. ``given``: the values of the constants that no initial condition sets, in the order of their
    keys: ``{"node_of": (0, 0, 1)}``. ``depth``: the scope is for random runs, of at most so many steps each; nothing
    searches it unless a command names it.
    """
    return ScopeMark(dict(sizes), dict(budgets or {}), dict(given or {}), depth)
