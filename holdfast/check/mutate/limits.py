"""The limits that all trials of one command share."""

from __future__ import annotations

import os
from collections.abc import Callable

import attrs

from holdfast.check.budget import INTERRUPTED, Budget, Meter, Progress


class Interruption(Exception):
    """The time is up, or the user pressed Ctrl-C. The text says which."""


class MutationLimits:
    """The time of the whole command, the limits of each search, the number of cores, and the progress callback."""

    def __init__(
        self, budget: Budget, *, cores: int | None = None, progress: Callable[[Progress], None] | None = None
    ) -> None:
        self.budget = budget
        self.cores = cores or os.cpu_count() or 1
        self.progress = progress
        self.now = ""
        """A text that says what is being tried now, for the progress display."""
        self._whole = Meter(Budget())

    def meter(self, states: int | None = None) -> Meter:
        """A meter for one search, with the rest of the time. ``states`` is its limit if the budget sets none.

        Raises Interruption if no time is left.
        """
        seconds = self.budget.seconds
        if seconds is not None:
            seconds -= self._whole.seconds
            if seconds <= 0:
                raise Interruption(self.budget.out_of_time)
        states = states if self.budget.states is None else self.budget.states
        return Meter(attrs.evolve(self.budget, seconds=seconds, states=states), self.progress)

    def check(self, ended_by: str | None) -> None:
        """Raise Interruption if ``ended_by``, which ended a search, ends the whole command: time, or Ctrl-C."""
        if ended_by == INTERRUPTED:
            raise Interruption(INTERRUPTED)
        if ended_by is not None and ended_by.startswith("time"):
            raise Interruption(self.budget.out_of_time)
