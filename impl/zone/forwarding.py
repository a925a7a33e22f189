"""What a proxy sends to a main, and what it tells its producers of the answer (ZR-23, ZR-24, ZR-27)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from impl.errors import E
from impl.rules import rule

RETRY = E.LEADER_NOT_AVAILABLE.name
"""The error with which a producer asks for the metadata again, and sends once more."""


def requests(epochs: Sequence[int]) -> list[tuple[int, int]]:
    """The requests for the items of one batch: the epoch and the number of items of each, by ascending epoch (ZR-23).

    ``epochs``: of the items, in order.
    """
    return sorted(Counter(epochs).items())


def producer_errors(items: int, error: str, answers: Sequence[str], *, lost: bool) -> list[str]:
    """The error of each item. ``error``: of the whole answer. ``lost``: there is no answer (ZR-27)."""
    if lost:
        return [RETRY] * items
    if rule("M-24", error == E.UNKNOWN_SERVER_ERROR.name):
        # A fenced epoch comes back as this error, which would be fatal to a producer.
        return [RETRY] * items
    if error != E.NONE.name:
        return [error] * items
    return [*answers[:items], *[RETRY] * (items - len(answers))]
