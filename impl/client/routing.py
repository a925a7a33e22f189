"""Requests to the leader of a partition: find it, ask it, and ask again until the outcome is final."""

from __future__ import annotations

from typing import Any

import msgspec

from impl.broker.messages import CommandAnswer, Consume, FindLeaders, Produce
from impl.client.history import Ending
from impl.client.leaders import Key
from impl.client.messages import NoLeader, Result, is_unknown, name
from impl.client.node import ClientNode
from impl.errors import E

FIND_MS = 5_000
"""How long a client waits for a broker's answer about leaders before it asks the next broker."""


class RequestOutcome(msgspec.Struct, frozen=True):
    """The outcome of an operation. ``node``: the broker that was asked last, None if none was. ``error``: its error.

    ``values``: the values of the answer if the operation succeeded, else empty.
    """

    kind: Ending
    node: int | None
    error: str
    values: dict[str, Any]


async def ask_until(
    client: ClientNode,
    body: Produce | Consume,
    *,
    until: int,
    retry_ms: int,
    repeats_unknown: bool,
    final: frozenset[E],
) -> RequestOutcome:
    """Send a request to the leader of its partition, and repeat it until the outcome is final.

    ``until``: no attempt but the first one begins after this time. ``retry_ms``: the wait before the next attempt, left
    out if a refusal names a newer leader. ``repeats_unknown``: whether an attempt that may have had an effect is
    repeated. ``final``: refusals that end the operation.

    The outcome is ``info`` if any attempt may have had an effect: a later refusal says nothing about that attempt.
    """
    unknown = False
    while True:
        node, result = await _ask_leader(client, body)
        if isinstance(result, CommandAnswer) and result.error is E.NONE:
            return RequestOutcome("ok", node, result.error.name, result.values)
        unknown |= is_unknown(result)
        ends = isinstance(result, CommandAnswer) and result.error in final
        if ends or (unknown and not repeats_unknown) or client.now >= until:
            return RequestOutcome("info" if unknown else "fail", node, name(result), {})
        if client.leaders.leader((body.topic, body.partition)) is None:
            await client.sleep(retry_ms)


async def _ask_leader(client: ClientNode, body: Produce | Consume) -> tuple[int | None, Result]:
    """Make one attempt. Returns the broker that was asked, if any, and its result."""
    key = body.topic, body.partition
    node = client.leaders.leader(key)
    if node is None:
        node = await _find_leader(client, key)
    if node is None:
        return None, NoLeader()
    result = await client.ask(node, body)
    if not isinstance(result, CommandAnswer):
        client.leaders.forget(key, node)
    elif result.error is not E.NONE:
        client.leaders.refused(key, node, result.values)
    return node, result


async def _find_leader(client: ClientNode, key: Key) -> int | None:
    """Ask the brokers, one after the other, until a leader is known. None if no broker names a leader."""
    topic, _ = key
    for _ in client.brokers:
        result = await client.ask(client.next_broker(), FindLeaders(topic), min(FIND_MS, client.timeout_ms))
        if isinstance(result, CommandAnswer) and result.error is E.NONE:
            for partition, (leader, epoch) in sorted(result.values["leaders"].items()):
                client.leaders.learn((topic, partition), leader, epoch)
        found = client.leaders.leader(key)
        if found is not None:
            return found
    return None
