"""Rules whose lack no run shows since something else decides in their place, and rules that have another label.

A reason is checked against the stored rows: it is an error if something finds the lack of a rule of this list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from impl.bridge.guards.row import GuardRow

INSTEAD: Mapping[str, str] = {
    "ZR-51": "a main uploads each block after some seconds anyway (PL-20), so a read only waits longer; outside "
    "this mix, `snapshot_read` objects to runs whose readers lose records that are not uploaded",
}
"""By label: what decides in the place of a rule."""
PARTNERS: Mapping[str, str] = {
    # A WAL is trimmed before its node reports, so a recovery meets no link that is uploaded and trimmed.
    "M-14": "M-06",
}
"""By label: a rule that decides in its place, and decides no more often then, so that no count names it."""
ELSEWHERE: Mapping[str, str] = {
    "M-07": "it is a delay, `trim_delay_ms` of the settings; a slower reader reads objects (ZR-50)",
    "M-20": "a link is an argument of one append, so no other append can get it",
    "M-21": "the same argument stays with its batch in every wait",
    "M-25": "the rule is ND-11.opening, which refuses to unregister a node with open streams",
}
"""By the id of a rule that no guard has as its label: where the implementation has it."""


def found_all_the_same(rows: Iterable[GuardRow], instead: Mapping[str, str] = INSTEAD) -> list[str]:
    """The rules of the list whose lack something finds."""
    return [row.label for row in rows if row.finder and row.label in instead]
