"""Rules in whose place another one decides without being counted more often, and rules that have another label."""

from __future__ import annotations

from collections.abc import Mapping

PARTNERS: Mapping[str, str] = {
    # A WAL is trimmed before its node reports, so a recovery meets no link that is uploaded and trimmed.
    "M-14": "M-06",
    # Without an original list nothing is kept, which CA-22 refuses, too.
    "CA-04": "CA-22.replicas",
    # A controller refuses an open while the node still has to commit a seal of the stream, and the broker asks again.
    "CL-01": "ST-15",
}
"""By label: a rule that decides in its place, and decides no more often then, so that no count names it."""
ELSEWHERE: Mapping[str, str] = {
    "M-07": "it is a delay, `trim_delay_ms` of the settings; a slower reader reads objects (ZR-50)",
    "M-20": "a link is an argument of one append, so no other append can get it",
    "M-21": "the same argument stays with its batch in every wait",
    "M-25": "the rule is ND-11.opening, which refuses to unregister a node with open streams",
}
"""By the id of a rule that no guard has as its label: where the implementation has it."""
