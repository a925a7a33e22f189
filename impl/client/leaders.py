"""The leaders of partitions, as far as a client knows them.

A client learns a leader from any broker, and from the refusal of a broker that leads no more (the idea of KIP-951).
Brokers learn of a new leader at different times. Each leader has a larger leader epoch than the leader before it, so a
client that keeps the largest epoch ignores brokers that are behind.
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
        """The node that leads a partition; None if it has no leader, or if the client knows none."""
        return self._leaders.get(key)

    def learn(self, key: Key, leader: int, epoch: int) -> bool:
        """Learn from a broker which node leads a partition, or NOBODY. Returns whether the leader epoch is new.

        An epoch that is older than the known epoch is ignored.
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
        """Learn that ``leader`` does not serve the partition. ``hint``: the values of its refusal."""
        if "leader" not in hint or not self.learn(key, hint["leader"], hint["leader_epoch"]):
            self.forget(key, leader)

    def forget(self, key: Key, leader: int) -> None:
        """Forget that ``leader`` leads, unless the client has learnt of another leader since. It then has to ask again.

        The leader epoch is kept, so an older epoch is still ignored.
        """
        if self._leaders.get(key) == leader:
            del self._leaders[key]
