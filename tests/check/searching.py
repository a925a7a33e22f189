"""A counter that a bound stops, which the tests of the search run on, and the names of what a search found."""

from __future__ import annotations

from holdfast.trace.trace import Trace

COUNTER = """
    n: N
    tiny = Scope({N: 4})
    @init
    def zero(self) -> None:
        self.n = N(0)
    @action
    def up(self) -> None:
        self.n = self.n + 1
"""


def names(traces: tuple[Trace, ...]) -> list[str]:
    """The names of the claims that the runs show."""
    return [trace.claim.name for trace in traces]
