"""Situations: what runs of clusters reach now and then, and what tells one kind of failure from another.

A situation concerns a stream, a partition, or the whole cluster. ``situations.py`` says when it is reached.
"""

from __future__ import annotations

CLUSTER = -1
"""The subject of a situation that concerns no stream and no partition."""

OF_STREAMS = (
    "a superseded process acks",
    "a process acks under an old epoch",
    "a fenced broker acks",
    "two processes serve",
    "an open overtakes a close",
    "a process ends during a close",
    "a fast close leaves an entry",
    "a recovery ends",
    "an owner comes back",
    "a trim during a close",
    "a delete while it is served",
    "an open is refused",
    "a close is refused",
    "a commit is refused",
)
OF_PARTITIONS = (
    "a move is cancelled before its close",
    "a move is cancelled during its close",
    "a move is cancelled after its close",
    "an election during an open",
    "two processes open",
    "a process ends during an open",
)
OF_CLUSTERS = (
    "crossed recovery",
    "a failover of a living process",
    "a successor beside its predecessor",
    "an equal or older node epoch",
    "a registration is refused",
    "a paused process is fenced",
    "a put takes effect after the end of its process",
    "a request at an old leader",
    "an unknown outcome of a request",
    "a request is lost in a failover",
)
SITUATIONS = (*OF_STREAMS, *OF_PARTITIONS, *OF_CLUSTERS)
"""All situations, in the order in which reports list them."""


def situations(*, partitions: bool) -> tuple[str, ...]:
    """The situations that a run can reach. ``partitions``: whether it has partitions."""
    return tuple(name for name in SITUATIONS if partitions or name not in OF_PARTITIONS)


TELLING = frozenset(
    (
        "a superseded process acks",
        "a process acks under an old epoch",
        "a fenced broker acks",
        "two processes serve",
        "an open overtakes a close",
    )
)
"""The situations of streams by which failures are told apart: who wrote although another owner was there."""
