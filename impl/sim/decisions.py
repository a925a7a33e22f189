"""When each rule first decides something in a run."""

from __future__ import annotations

from impl.rules import decided
from impl.sim.event_log import EventLog


class DecisionLog(EventLog):
    """The event log of a run, which also notes when each rule first refused a request or decided a branch.

    ``first_decided``: the virtual time by rule, in the order of time. The log itself has no event for it.
    ``rules.decided`` must be empty when the run begins.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first_decided: dict[str, int] = {}

    def note_missed(self, now: int, source: str) -> None:
        """Log the switched-off rules as other logs do, and note the rules that have decided for the first time."""
        super().note_missed(now, source)
        # Two lengths are compared after each step. A Counter has its labels in the order of their first decision.
        if len(decided) > len(self.first_decided):
            for label in list(decided)[len(self.first_decided) :]:
                self.first_decided[label] = now
