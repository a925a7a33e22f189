"""The rules that decide nothing in any run of a simulated cluster, each with the reason.

They decide something in runs of parts. Each reason is checked against the runs of the default mix: it is an error if a
rule of this list decides something there, if a rule that is not listed does not, or if a rule decides nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from impl.bridge.guards.row import GuardRow

REASONS: Mapping[str, str] = {
    "CA-04": "each start stores the origin (CA-27, CA-41); only metadata of another version lack it",
    "CA-22.replicas": "no request leaves a partition with none but added replicas; only metadata of another version do",
    "CP-01.sanity": "a compaction checks its own output, and writes all that it has read",
    "CS-27": "the record that opens a stream comes with a range of the stream",
    "ND-03.listed": "no stream is opened on a node that still has to commit a seal of it (ST-15)",
    "ND-03.many": "the ranges of a stream do not overlap, so one of them at most has the start of a seal",
    "ND-03.none": "a fast close writes the range and its seal together, and a trim moves both (ST-44.lift)",
    "PL-13.gap": "only lost data leave a gap, and the other rules exclude a loss",
    "RA-08.cap": "a request of that size needs more than 50,000 partitions",
    "RA-47.recovery": "no broker sends a recovery state in its requests",
    "WL-06.newest": "the object that says what is trimmed is newer than all that is trimmed",
    "ZR-57.fenced": "a main reports only fenced epochs (ZR-59), of records that are committed and so never lost",
}
"""By label: why no run reaches the rule."""


OF_BALANCER = "BG-"
"""How the labels of the balancer begin, which no broker of the default mix has."""


def wrongly_listed(rows: Iterable[GuardRow], reasons: Mapping[str, str] = REASONS) -> list[str]:
    """The rules of the list that decided something in the mix."""
    return [row.label for row in rows if row.decided and not row.idle and row.label in reasons]


def undecided(rows: Iterable[GuardRow], reasons: Mapping[str, str] = REASONS) -> list[str]:
    """The rules that are in error: they decided nothing in any run, or nothing in the mix without a reason in the list.

    The mix has no balancer. Its rules need to decide something only in runs of parts.
    """
    return [
        row.label
        for row in rows
        if not row.decided or (row.idle and row.label not in reasons and not row.label.startswith(OF_BALANCER))
    ]
