"""Elections that somebody asks for: a source, a target, an operator, a timer (reassignment.md 3, step 5; EL-08)."""

from __future__ import annotations

from impl.controller.registration import NO_LEADER, ElectionKind, acceptable, build, exists, find, target
from impl.controller.view import OperationResult, View
from impl.errors import E
from impl.records import PartitionChange
from impl.rules import require


def elect(view: View, topic: str, partition: int, kind: str = "preferred") -> OperationResult:
    """EL-08. Elect by the present registration: a request names no epoch and no reassignment.

    ``kind``: preferred or unclean.
    """
    require(exists(view.image, topic, partition), "EL-08.unknown", E.UNKNOWN_TOPIC_OR_PARTITION)
    row = find(view.image, topic, partition)
    if kind == "unclean":
        require(row.leader == NO_LEADER, "EL-08.leaderless", E.ELECTION_NOT_NEEDED)
        change = build(row, target(row), acceptable(view), ElectionKind.UNCLEAN)
        require(change is not None, "EL-08.eligible", E.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    else:
        require(row.replicas[:1] != (row.leader,), "EL-08.leader", E.ELECTION_NOT_NEEDED)
        change = build(row, target(row), acceptable(view), ElectionKind.PREFERRED)
        require(change is not None, "EL-08.active", E.PREFERRED_LEADER_NOT_AVAILABLE)
    return OperationResult(() if change is None else (change,))


def balance(view: View) -> OperationResult:
    """EL-10. Elect the first replica wherever another broker leads, or nobody. Only G0 does this, every 300 s."""
    changes: list[PartitionChange] = []
    if view.profile.handshake == "G0" and view.profile.balances:
        for _, row in sorted(view.image.partitions.items()):
            if row.leader != row.replicas[0]:
                change = build(row, target(row), acceptable(view), ElectionKind.PREFERRED)
                # A change that elects nobody is left out.
                changes += [change] if change is not None and change.leader not in (None, NO_LEADER) else []
    return OperationResult(tuple(changes))
