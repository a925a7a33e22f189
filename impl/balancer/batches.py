"""The batches into which a plan is cut, so that not too many partitions are closed at once (AB-49 to AB-51)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from impl.balancer.actions import BalancerAction
from impl.rules import rule


class BatchLimits(msgspec.Struct, frozen=True):
    """``concurrency``: the moves of a batch that may touch one broker (K). ``topic_ratio``: the share of a topic's
    partitions that may move in a batch. ``sources``: the brokers from which one broker may get partitions.
    """

    concurrency: int = 50
    topic_ratio: float = 0.5
    sources: int = 10


def batches(
    actions: Iterable[BalancerAction], partitions: Mapping[str, int], limits: BatchLimits
) -> list[list[BalancerAction]]:
    """The actions in batches, in order, in one pass. ``partitions``: by topic, the number of its partitions.

    A new batch starts before an action for which a counter has reached its limit (AB-49). A split clears the counters
    of topics and brokers, but of the sources only those of this destination. So there are more splits than the limits
    need, and no batch is too full (AB-50). With a concurrency of 0, or an unknown topic, the first batch is empty and
    each other one has one action (AB-51).
    """
    found: list[list[BalancerAction]] = []
    batch: list[BalancerAction] = []
    of_topic: Counter[str] = Counter()
    of_broker: Counter[int] = Counter()
    sources: dict[int, set[int]] = {}
    for action in actions:
        topic = action.partition.topic
        share = math.ceil(limits.topic_ratio * partitions.get(topic, 0))
        busiest = max(of_broker[action.source], of_broker[action.destination])
        known = sources.setdefault(action.destination, set())
        if (
            rule("BG-14", of_topic[topic] >= share)
            or rule("BG-15", busiest >= limits.concurrency)
            or rule("BG-15.sources", len(known) >= limits.sources)
        ):
            found.append(batch)
            batch = []
            of_topic.clear()
            of_broker.clear()
            known.clear()
        batch.append(action)
        of_topic[topic] += 1
        of_broker[action.source] += 1
        of_broker[action.destination] += 1
        known.add(action.source)
    return [*found, batch] if batch else found
