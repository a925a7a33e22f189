"""The options of random runs: seed, number of runs, depth, scheduling."""

from __future__ import annotations

import attrs

from holdfast.ir.compile.scopes import MOST_STEPS
from holdfast.ir.errors import UsageError
from holdfast.lower.random_runs.chance import MOST_SEED

MOST_RUNS = 10**15
MOST_CHANGES = 100
FEW = 3_000_000
"""The number of steps up to which quick code does: full code would save less time than LLVM needs for it."""


@attrs.frozen(kw_only=True)
class WalkOptions:
    """The runs to make. Raises UsageError for numbers out of range, and for ``pct_sort`` without ``pct``.

    - ``traces``: number of runs, numbered from 0. ``run``: make only the run with this number.
    - ``depth``: the largest number of steps of a run.
    - ``pct``: the depth D of PCT scheduling (Burckhardt et al. 2010), for bugs that need D ordered steps. Processes
      have priorities, which change at D - 1 points. None: no priorities.
    - ``pct_sort``: the sort whose elements are the processes. None: the sort that most actions have a parameter of.
    - ``swarm``: omit random actions in each run, and draw weights for the others. Without it, each run has all actions
      with equal weights.
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
        _within("--runs", self.traces, 1, MOST_RUNS)
        _within("--depth", self.depth, 1, MOST_STEPS)
        if self.run is not None:
            _within("--run", self.run, 0, MOST_RUNS)
        if self.pct is not None:
            _within("--pct", self.pct, 1, MOST_CHANGES)
        elif self.pct_sort is not None:
            raise UsageError("--pct-sort names the processes that --pct gives priorities; add --pct, such as --pct 3")

    @property
    def are_few(self) -> bool:
        """Whether the runs take so few steps that quick code does."""
        return self.traces * self.depth <= FEW

    @property
    def command_line(self) -> tuple[str, ...]:
        """The command line options for the same runs, without the seed and the number of the run."""
        pct = () if self.pct is None else ("--pct", str(self.pct))
        sort = () if self.pct_sort is None else ("--pct-sort", self.pct_sort)
        swarm = () if self.swarm else ("--no-swarm",)
        return ("--depth", str(self.depth), *pct, *sort, *swarm)


def _within(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"{option} {value}: it is out of range; choose a number from {least} to {most}")
