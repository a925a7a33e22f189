"""What a client knows of the leaders of partitions.

A client learns a leader from any broker, and from the refusal of a broker that leads no more (the idea of KIP-951).
Brokers learn of a new leader at different times. Each leader has a larger leader epoch than the one before, so a client
that keeps the largest one believes no broker that is behind.
"""

from __future__ import annotations

from typing import Any

Key = tuple[str, int]
"""A partition: its topic and its number."""
NOBODY = -1


class Leaders:
    """The newest known leader epoch of each partition, and its leader."""

    def __init__(self) -> None:
        self._epochs: dict[Key, int] = {}
        self._leaders: dict[Key, int] = {}

    def leader(self, key: Key) -> int | None:
        """The node that leads a partition; None if nobody leads it, or if the client does not know."""
        return self._leaders.get(key)

    def learn(self, key: Key, leader: int, epoch: int) -> bool:
        """A broker says who leads, NOBODY if no node does. Returns whether the leader epoch is a new one.

        An epoch that is older than the known one is ignored.
        """
        known = self._epochs.get(key, -1)
        if epoch < known:
            return False
        self._epochs[key] = epoch
        if leader == NOBODY:
            self._leaders.pop(key, None)
        else:
            self._leaders[key] = leader
        return epoch > known

    def refused(self, key: Key, leader: int, hint: dict[str, Any]) -> None:
        """The node that the client took for the leader does not serve. ``hint``: the values of its refusal."""
        if "leader" not in hint or not self.learn(key, hint["leader"], hint["leader_epoch"]):
            self.forget(key, leader)

    def forget(self, key: Key, leader: int) -> None:
        """Ask again before the next request, unless another node is known as the leader by now.

        The leader epoch is kept: an older one is still ignored.
        """
        if self._leaders.get(key) == leader:
            del self._leaders[key]
