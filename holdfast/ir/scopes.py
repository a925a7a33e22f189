"""The scopes of a check where the user names none."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Scope, System

TINY, DEFAULT, LIVE = "tiny", "default", "live"

USUAL = (TINY, DEFAULT)
"""The scopes of a search, in the order in which it takes them."""

WALKED = (DEFAULT, TINY)
"""The scopes of random runs: the first that the model has."""


def usual_scopes(system: System, name: str | None = None) -> list[Scope]:
    """The scope of that name, or else tiny and default, as far as the model has them.

    Raises UsageError if there is none.
    """
    if name is not None:
        return [system.scope(name)]
    return _declared(system, USUAL)


def usual_scope(system: System, name: str | None, order: Sequence[str]) -> Scope:
    """The scope of that name, or else the first of ``order`` that the model has. Raises UsageError if there is none."""
    return system.scope(name) if name is not None else _declared(system, order)[0]


def any_scope(system: System, name: str | None = None) -> Scope:
    """The scope of that name, or else tiny, default, or the first of all. Raises UsageError if there is none."""
    return usual_scope(system, name, (*USUAL, *system.scopes))


def smallest_scope(system: System, name: str | None = None) -> Scope:
    """The scope of that name, or else tiny, or the first of all. Raises UsageError if there is none."""
    return usual_scope(system, name, (TINY, *system.scopes))


def live_scopes(system: System) -> list[Scope]:
    """The scopes in which liveness is decided: ``live``, or else tiny and default, as far as the model has them.

    A bound that never matters to safety may cut a step that fairness owes, and an environment that never tires may
    starve a request that a quieter one lets through. A model that needs other bounds for liveness declares a scope
    named ``live``, and says there what the environment does not do.
    """
    names = (LIVE,) if LIVE in system.scopes else USUAL
    return [system.scopes[name] for name in names if name in system.scopes]


def _declared(system: System, names: Sequence[str]) -> list[Scope]:
    found = [system.scopes[each] for each in names if each in system.scopes]
    if found:
        return found
    if not system.scopes:
        raise UsageError(f"{system.name} declares no scope; add tiny = Scope({{...}}) to the class")
    raise UsageError(f"{system.name} has no scope {' or '.join(names)}; choose --scope {' or '.join(system.scopes)}")
