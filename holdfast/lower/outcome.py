"""What becomes of an action that is tried in a state."""

from __future__ import annotations

import attrs

from holdfast.ir.errors import Place


@attrs.frozen
class Taken:
    """The step is possible and leads to ``state``."""

    state: bytes


@attrs.frozen
class Refused:
    """A rule forbids the step: the first ``require`` that failed, and the error that the system answers."""

    label: str
    error: str | None
    at: Place


@attrs.frozen
class Cut:
    """The step leaves the scope: ``bound`` is the Nat or Int whose bound it passes, or ``budget``."""

    bound: str
    at: Place | None = attrs.field(default=None, eq=False)
    """The assignment that went too far; budgets have none."""


Outcome = Taken | Refused | Cut
