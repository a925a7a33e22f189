"""The result of exploring a scope, the same for every checker."""

from __future__ import annotations

import attrs


@attrs.frozen
class ScopeSearch:
    """A search of a whole scope, unless a limit on states ended it.

    ``depth``: the largest number of steps on a shortest run to a state. ``seconds``: the time of exploring, without the
    start of Java, parsing and compiling.
    """

    distinct: int
    generated: int
    depth: int
    seconds: float

    @property
    def rate(self) -> float:
        """Distinct states per second."""
        return self.distinct / self.seconds
