"""Which random runs to make: a seed, how many, and how deep."""

from __future__ import annotations

import attrs

from holdfast.ir.errors import UsageError
from holdfast.lower.random_runs.chance import MOST_SEED

MOST_RUNS = 10**15
MOST_STEPS = 1_000_000
"""How many steps a run may have. A run is never stopped in its midst, so that Ctrl-C waits for its end."""
MOST_CHANGES = 100


@attrs.frozen(kw_only=True)
class WalkOptions:
    """Which runs to make: ``traces`` of them, numbered from 0, or that of number ``run`` alone.

    Each has at most ``depth`` steps. ``pct`` asks for priorities, with so many ordered steps in mind (the depth of
    PCT); the processes are the elements of the sort ``pct_sort``, or of that which most actions have a parameter of.
    Without ``swarm`` each run has all actions, and all weigh the same. Raises UsageError for numbers out of range.
    """

    seed: int = 0
    traces: int = 100_000
    depth: int = 50
    run: int | None = None
    pct: int | None = None
    pct_sort: str | None = None
    swarm: bool = True

    def __attrs_post_init__(self) -> None:
        _within("--seed", self.seed, 0, MOST_SEED)
        _within("--traces", self.traces, 1, MOST_RUNS)
        _within("--depth", self.depth, 1, MOST_STEPS)
        if self.run is not None:
            _within("--run", self.run, 0, MOST_RUNS)
        if self.pct is not None:
            _within("--pct", self.pct, 1, MOST_CHANGES)
        elif self.pct_sort is not None:
            raise UsageError("--pct-sort names the processes that --pct gives priorities; add --pct, such as --pct 3")

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the command line that make the same runs, but for the seed and the run's number."""
        pct = () if self.pct is None else ("--pct", str(self.pct))
        sort = () if self.pct_sort is None else ("--pct-sort", self.pct_sort)
        swarm = () if self.swarm else ("--no-swarm",)
        return ("--depth", str(self.depth), *pct, *sort, *swarm)


def _within(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"{option} {value}: choose a number from {least} to {most}")
