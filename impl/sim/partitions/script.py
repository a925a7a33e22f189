"""The script of a run with partitions: the operations of clients and operators, made from a seed before the run.

Producers and consumers do one operation after the other. Operators make their requests at fixed times. About half of
the moves are followed within some seconds by another move, a cancel or an election, which so finds the move in any of
its phases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from impl.sim.script import SPAN_MS, ScriptOperation
from impl.sim.tape import stream

MOVES = 8
"""The least number of moves in a script."""
OPERATOR = -1
"""The number of the operators, who are no clients."""
BURST = 0.5
"""The share of the operations that begin as soon as the one before has ended."""
SWAPS = 0.15
"""The share of moves in which all partitions of two brokers change places."""
FOLLOW_MS = 3_000
"""The longest time from a move to the request that follows it; most are far shorter."""


def make(
    seed: int, *, clients: int, partitions: int, operations: int, span_ms: int = SPAN_MS
) -> tuple[ScriptOperation, ...]:
    """A script in the order of times, with ``operations`` operations."""
    draw = stream(seed, "script of partitions")
    moves = min(operations // 2, max(MOVES, operations // 25))
    found = [
        operation
        for number in range(moves)
        for operation in _move(draw, partitions, int((number + draw()) * span_ms / moves))
    ][:operations]
    times = sorted(int(draw() * span_ms) for _ in range(operations - len(found)))
    found += [_operation(draw, clients, partitions, at, number) for number, at in enumerate(times)]
    return tuple(sorted(found, key=lambda each: (each.at, each.client)))


def _operation(draw: Callable[[], float], clients: int, partitions: int, at: int, number: int) -> ScriptOperation:
    client, key, kind, part = int(draw() * clients), int(draw() * partitions), draw(), draw()
    if draw() < BURST:
        at = max(0, at - 2_000)
    if kind < 0.65:
        return ScriptOperation(client, at, "append", key, value=number + 1, count=1 + int(part * 3))
    return ScriptOperation(client, at, "fetch", key, part=0.0 if part < 0.2 else part)


def _move(draw: Callable[[], float], partitions: int, at: int) -> Iterator[ScriptOperation]:
    """A move, and the request that follows it; or a swap."""
    key, hop = int(draw() * partitions), 1 + int(draw() * 2)
    if draw() < SWAPS:
        yield ScriptOperation(OPERATOR, at, "swap", key, hop=hop)
        return
    yield ScriptOperation(OPERATOR, at, "move", key, hop=hop)
    follows, later = draw(), at + 1 + int(draw() ** 3 * FOLLOW_MS)
    if follows < 0.3:
        yield ScriptOperation(OPERATOR, later, "cancel", key)
    elif follows < 0.5:
        yield ScriptOperation(OPERATOR, later, "move", key, hop=1 + int(draw() * 2))
    elif follows < 0.6:
        yield ScriptOperation(OPERATOR, later, "elect", key)
