"""The outcome of an instance of an action in a state: taken, refused or cut."""

from __future__ import annotations

import attrs

from holdfast.ir.errors import Place


@attrs.frozen
class Taken:
    """The step is possible and leads to ``state``."""

    state: bytes


@attrs.frozen
class Refused:
    """A rule forbids the step: the label and place of the first ``require`` that failed, and the error it answers."""

    label: str
    error: str | None
    at: Place


@attrs.frozen
class Cut:
    """The step leaves the scope. ``bound`` is the Nat or Int whose bound the step exceeds, or ``budget``."""

    bound: str
    at: Place | None = attrs.field(default=None, eq=False)
    """The assignment that exceeds the bound; None for a budget."""


Outcome = Taken | Refused | Cut
