"""What a model allows for one call in one state: the states afterwards, or the answer of a refusal."""

from __future__ import annotations

from functools import cache

import attrs

from impl.errors import E


@attrs.frozen
class ModelChoice:
    """The result of one call (an action with its sender's arguments) in one state of a model.

    ``states``: the states that the model allows afterwards, one for each possible decision of the controller; empty if
    the call is refused or disabled. ``error``: the answer to a refused request; None if the call is no request here.
    """

    states: tuple[bytes, ...]
    error: E | None

    def kind(self, state: bytes) -> str:
        """``step``, ``repeat`` for a step that changes nothing, ``refusal``, or ``none``."""
        if self.states:
            return "repeat" if all(each == state for each in self.states) else "step"
        return "none" if self.error is None else "refusal"


@cache
def refused(error: E | None) -> ModelChoice:
    """The choice of a call that is refused; of one that is no request here if the error is None."""
    # Most calls are refused in most states. One object for each error saves a third of the time that choices take.
    return ModelChoice((), error)
