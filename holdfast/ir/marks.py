"""The marks that ``holdfast.lang`` leaves on a model's methods and types. The compiler reads them.

Marks are plain data, so the compiler does not import the language's runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

MARK = "__holdfast__"
"""The attribute that holds a mark.

On a method it is a ``*Mark`` object. On a class or function of the language it is the name of its role, such as "sort".
"""


@attrs.frozen
class InitMark:
    """An initial condition."""


@attrs.frozen
class ActionMark:
    """An action. ``variant``: the only variant in which the model has the action, or None."""

    fair: Literal["weak", "strong"] | None = None
    per: tuple[str, ...] = ()
    idempotent: str | None = None
    variant: str | None = None


@attrs.frozen
class PropertyMark:
    """A property. ``of``: the action whose steps a step property judges; None for all actions."""

    kind: Literal[
        "invariant", "step", "leads_to", "always_eventually", "eventually_always", "witness", "lemma", "assume", "final"
    ]
    of: str | None = None


@attrs.frozen
class VariantMark:
    """A method that replaces the action ``replaces`` in the variant ``name``."""

    name: str
    replaces: str


@attrs.frozen
class ScopeMark:
    """A scope as the author wrote it: types to sizes, actions to budgets, constants to values; a depth, or None."""

    sizes: Mapping[type, int]
    budgets: Mapping[str, int]
    given: Mapping[str, object]
    depth: object = None


setattr(ScopeMark, MARK, "scope")


@attrs.frozen
class OutcomeMark:
    """The declared outcome of one mutant: see ``holdfast.lang.outcomes``.

    ``names``: the rule that is removed together with it (redundant) or the property that kills it (liveness).
    """

    kind: Literal["equivalent", "redundant", "liveness", "missing", "sound"]
    # These are objects, because the compiler checks their types: a wrong one becomes a ModelError with its place.
    reason: object
    names: object = None


@attrs.frozen
class OutcomesMark:
    """The declared outcomes as the author wrote them: a mapping from mutants to ``OutcomeMark``."""

    declared: object  # checked by the compiler too


setattr(OutcomesMark, MARK, "outcomes")
