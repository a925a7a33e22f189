"""What the decorators of ``holdfast.lang`` leave on a model's methods and types for the compiler to read.

The marks are plain data, so the compiler needs nothing of the language's runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

MARK = "__holdfast__"
"""The attribute that holds a mark: a ``*Mark`` of a method, or the role of a class or function of the language."""


@attrs.frozen
class InitMark:
    """An initial condition."""


@attrs.frozen
class ActionMark:
    """An action. ``variant``: the variant that it belongs to, if the model has it in that variant alone."""

    fair: Literal["weak", "strong"] | None = None
    per: tuple[str, ...] = ()
    idempotent: str | None = None
    variant: str | None = None


@attrs.frozen
class PropertyMark:
    """A property."""

    kind: Literal["invariant", "step", "leads_to", "witness", "lemma", "assume", "final"]
    of: str | None = None


@attrs.frozen
class VariantMark:
    """A method that stands in for an action when the variant is chosen."""

    name: str
    replaces: str


@attrs.frozen
class ScopeMark:
    """A scope as the author wrote it: types to sizes, actions to budgets, constants to values."""

    sizes: Mapping[type, int]
    budgets: Mapping[str, int]
    given: Mapping[str, object]


setattr(ScopeMark, MARK, "scope")


@attrs.frozen
class OutcomeMark:
    """What the author says becomes of one mutant: see ``holdfast.lang.outcomes``.

    ``names`` is the rule that is removed with it (redundant) or the property that kills it (liveness).
    """

    kind: Literal["equivalent", "redundant", "liveness", "missing", "sound"]
    reason: object
    names: object = None


@attrs.frozen
class OutcomesMark:
    """The declared outcomes as the author wrote them: mutants to ``OutcomeMark``."""

    declared: object


setattr(OutcomesMark, MARK, "outcomes")
