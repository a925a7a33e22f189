"""The least that has to happen in a run: without faults and records, nothing is lost, and that shows nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

SEND_S = 2
"""In this number of seconds, all producers together need an acknowledged send. They make some each second."""


def least_kills(scheduled: int, kill_every: float) -> int:
    """The least number of kills, if ``scheduled`` were to happen, one every ``kill_every`` seconds; 0 for none.

    Half of them suffice: a kill waits while only one broker lives, so the last ones may come too late.
    """
    return max(1, -(-scheduled // 2)) if kill_every else 0


def least_sends(partitions: int, seconds: int) -> int:
    """The least number of acknowledged sends of all producers, one of which writes to each partition."""
    return max(partitions, seconds // SEND_S)


def shortfalls(
    *, kills: int, scheduled: int, kill_every: float, sends: Counter[int], partitions: int, seconds: int
) -> Iterator[str]:
    """What is missing in a run, a line for each. ``sends``: by partition, the number of acknowledged sends."""
    needed = least_kills(scheduled, kill_every)
    if kills < needed:
        yield (
            f"{kills} times kill -9, and at least {needed} are needed with --kill-every {kill_every:g}; "
            "lengthen --seconds, or give --kill-every 0"
        )
    silent = [number for number in range(partitions) if not sends[number]]
    if silent:
        yield f"no acknowledged send to {_named(silent)}; lengthen --seconds, or lower --partitions"
    needed = least_sends(partitions, seconds)
    if not silent and sends.total() < needed:
        yield (
            f"{sends.total()} acknowledged sends, and at least {needed} are needed in {seconds} s to {partitions} "
            "partitions; lower --batch, or use a faster machine"
        )


def _named(partitions: list[int]) -> str:
    return f"partition{'s' if len(partitions) > 1 else ''} {', '.join(map(str, partitions))}"
