"""In which scopes liveness is decided where nobody names one.

A bound that never matters to safety may cut what has to happen some time, and an environment that never tires may
starve what a quieter one lets through. A model that needs other bounds for liveness declares a scope named ``live``,
and says there what the environment does not do.
"""

from __future__ import annotations

from holdfast.ir.system import Scope, System

LIVE = "live"
USUAL = ("tiny", "default")


def live_scopes(system: System) -> list[Scope]:
    """The scope ``live`` if there is one, and otherwise tiny and default, as far as the model has them."""
    names = (LIVE,) if LIVE in system.scopes else USUAL
    return [system.scopes[name] for name in names if name in system.scopes]
