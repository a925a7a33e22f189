"""Chooses the scopes of a check if the user names none."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Scope, System

TINY, DEFAULT, LIVE = "tiny", "default", "live"

USUAL = (TINY, DEFAULT)
"""The scopes of a search, in the order in which it takes them."""

UNSEARCHED = (DEFAULT, TINY)
"""The scopes of a random run in a model without a scope for runs. The run uses the first one that the model has."""


def usual_scopes(system: System, name: str | None = None) -> list[Scope]:
    """The scope of that name. Without a name: those of tiny and default that the model has.

    Raises UsageError if there is none.
    """
    if name is not None:
        return [system.scope(name)]
    return _declared(system, USUAL)


def usual_scope(system: System, name: str | None, order: Sequence[str]) -> Scope:
    """The scope of that name. Without a name: the first one in ``order`` that the model has.

    Raises UsageError if there is none.
    """
    return system.scope(name) if name is not None else _declared(system, order)[0]


def scope_of_runs(system: System, name: str | None) -> Scope:
    """The scope of that name. Without a name: the first scope for random runs, else default, else tiny.

    Raises UsageError if there is none.
    """
    if name is None and system.run_scopes:
        return next(iter(system.run_scopes.values()))
    return usual_scope(system, name, UNSEARCHED)


def any_scope(system: System, name: str | None = None) -> Scope:
    """The scope of that name. Without a name: tiny, else default, else the first one of the model.

    Raises UsageError if there is none.
    """
    return usual_scope(system, name, (*USUAL, *system.scopes))


def smallest_scope(system: System, name: str | None = None) -> Scope:
    """The scope of that name. Without a name: tiny, else the first one of the model.

    Raises UsageError if there is none.
    """
    return usual_scope(system, name, (TINY, *system.scopes))


def live_scopes(system: System) -> list[Scope]:
    """The scopes for liveness: ``live`` if the model has it, otherwise those of tiny and default that it has.

    A bound that does not matter for safety may cut a step that fairness demands. An environment that acts without end
    may starve a request that would succeed if the environment paused. A model that needs other bounds for liveness
    declares a scope named ``live``, and states there which actions the environment does not take.
    """
    names = (LIVE,) if LIVE in system.scopes else USUAL
    return [system.scopes[name] for name in names if name in system.scopes]


def _declared(system: System, names: Sequence[str]) -> list[Scope]:
    """The scopes with these names that the model has, in the order of ``names``. Raises UsageError if it has none."""
    found = [system.scopes[each] for each in names if each in system.scopes]
    if found:
        return found
    if not system.scopes:
        raise UsageError(f"{system.name} declares no scope; add tiny = Scope({{...}}) to the class")
    raise UsageError(f"{system.name} has no scope {' or '.join(names)}; choose --scope {' or '.join(system.scopes)}")
