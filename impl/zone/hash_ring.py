"""The hash ring by which the proxies of brokers are found (ZR-03)."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable

POINTS = 8
"""The points of a member on the ring."""


def ring_hash(key: str) -> int:
    """The place of a key on the ring: the first four bytes of its MD5 as an unsigned number."""
    return int.from_bytes(hashlib.md5(key.encode(), usedforsecurity=False).digest()[:4], "big")


class HashRing:
    """A ring with these members. Where two points meet, the later member has the place."""

    def __init__(self, members: Iterable[int]) -> None:
        self._at = {ring_hash(f"{member}-{point}"): member for member in members for point in range(POINTS)}
        self._places = sorted(self._at)

    def member(self, broker: int) -> int:
        """The member with the first point at the broker's place or behind it, around the ring."""
        place = bisect_left(self._places, ring_hash(str(broker)))
        return self._at[self._places[place % len(self._places)]]
