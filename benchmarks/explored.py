"""What any checker answers when it has explored a scope."""

from __future__ import annotations

import attrs


@attrs.frozen
class Explored:
    """A search: all of a scope, unless a limit on states ended it.

    ``depth`` is the number of steps of the longest shortest run. ``seconds`` begin when the checker is ready to
    explore: the start of Java, parsing and compiling are not in them.
    """

    distinct: int
    generated: int
    depth: int
    seconds: float

    @property
    def rate(self) -> float:
        """Distinct states per second."""
        return self.distinct / self.seconds
