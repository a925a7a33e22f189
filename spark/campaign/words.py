"""The words for the runs of each kind of target, in texts and on the page."""

from __future__ import annotations

import attrs

from holdfast.trace.text import count

NOT_JUDGED, NO_ANSWER, ROUND_LIMIT = "not judged", "no answer", "round limit"
"""The end of a run of a cluster whose history breaks an assumption of the oracles, of a log that is too large, and of a
run of the balancer that neither rests nor circles within the limit of rounds."""

UNANSWERED = f"{NO_ANSWER}: "
"""Begins the signature of a log without an answer in the table ``runs``; the reason follows. No finding has it."""


@attrs.frozen(kw_only=True)
class Words:
    """``run``: what `Config.depth` counts. ``size``: what shrinking makes less, in the plural. ``action``: what is
    counted in runs.

    ``pairs``: two of these in a row. ``states``: what a signature stands for. ``same``: when two runs are one finding.
    """

    run: str
    size: str
    action: str
    pairs: str
    states: str
    same: str

    def sized(self, number: int) -> str:
        """The size of a run."""
        return count(number, self.run) if self.size == f"{self.run}s" else f"{number:,} {self.size}"

    def by(self, action: str) -> str:
        """How a finding was reached, by the ``action`` of its sightings."""
        if self.run in ("operation", "round"):
            return action  # The message of an oracle.
        if self.run == "event":  # The action of an event, or a kind of damage.
            return f"at {action}" if action.isidentifier() else action or "for no event"
        return f"by {action}" if action else "in an initial state"


def rate(number: float) -> str:
    """A number of things per second; two digits of it, if there are fewer than ten."""
    return f"{number:,.0f}" if number >= 10 or not number else f"{number:.2g}"


WORDS = {
    "model": Words(
        run="step",
        size="steps",
        action="action",
        pairs="pairs of actions",
        states="kinds of state",
        same="what they shrink to violates the same property by the same action, where the same predicates hold",
    ),
    "cluster": Words(
        run="operation",
        size="operations and faults",
        action="event",
        pairs="pairs of events",
        states="kinds of image",
        same="what they shrink to violates the same oracle with the same message but for its numbers, after the same "
        "situations",
    ),
    "balancer": Words(
        run="round",
        size="brokers and partitions",
        action="event",
        pairs="pairs of events",
        states="kinds of round",
        same="what they shrink to violates the same property in the same situation",
    ),
    "log": Words(
        run="event",
        size="events",
        action="action",
        pairs="pairs of actions",
        states="kinds of state",
        same="they are damaged alike, or if the same rule refuses the same kind of event",
    ),
}
"""By kind of target."""

DECIDING_RULE = "a rule decides"
"""The situation of the moments in which a rule decided something for the first time in a run."""

MISSING_RULE = "a missing rule"
"""The situation of the moments in which a rule that is switched off would have decided something."""
