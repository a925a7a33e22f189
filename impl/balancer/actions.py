"""Actions: a partition moves, or two partitions of two brokers change places (AB-31)."""

from __future__ import annotations

from typing import Literal

import msgspec

from impl.balancer.resources import TopicPartition


class BalancerAction(msgspec.Struct, frozen=True):
    """``partition`` moves from ``source`` to ``destination``; in a SWAP, ``other`` comes back from there.

    ``score``: what the judgement gave the action; None for an action that nobody has judged.
    """

    partition: TopicPartition
    source: int
    destination: int
    other: TopicPartition | None = None
    score: float | None = None

    @property
    def kind(self) -> Literal["MOVE", "SWAP"]:
        """MOVE or SWAP."""
        return "MOVE" if self.other is None else "SWAP"

    def moves(self) -> tuple[BalancerAction, ...]:
        """The moves of single partitions that the action consists of, in order."""
        if self.other is None:
            return (self,)
        there = BalancerAction(self.partition, self.source, self.destination, score=self.score)
        return (there, BalancerAction(self.other, self.destination, self.source, score=self.score))

    def inverse(self) -> BalancerAction:
        """The action that takes this one back. For a SWAP, each partition is named on the broker where it lies then."""
        return BalancerAction(self.partition, self.destination, self.source, self.other)
