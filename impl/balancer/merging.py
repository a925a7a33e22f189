"""The merge of a round's actions into one move for each partition (AB-48)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from impl.balancer.actions import BalancerAction
from impl.balancer.resources import TopicPartition
from impl.rules import rule


class UnmatchedMovesError(ValueError):
    """Two moves of a partition do not follow on from each other, so the round is aborted."""


def merge(actions: Iterable[BalancerAction]) -> list[BalancerAction]:
    """The merged actions (AB-48). Raises UnmatchedMovesError.

    A SWAP counts as two moves. The moves of a partition become one, at the place of the first. A partition that ends
    where it began does not move.
    """
    merged: list[BalancerAction] = []
    places: dict[TopicPartition, int] = {}
    for move in (move for action in actions for move in action.moves()):
        place = places.setdefault(move.partition, len(merged))
        if place == len(merged):
            merged.append(move)
            continue
        before = merged[place]
        if before.destination != move.source:
            raise UnmatchedMovesError(
                f"{move.partition} moves to {before.destination} and then from {move.source}; "
                f"let each move begin where the last one ended"
            )
        if rule("BG-13"):
            merged[place] = replace(before, destination=move.destination)
        else:
            places[move.partition] = len(merged)
            merged.append(move)
    return [move for move in merged if not rule("BG-13.still", move.source == move.destination)]
