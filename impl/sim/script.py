"""The script of a run: the operations of its clients, made from the seed before the run.

A script does not depend on the course of the run, so a run can be shrunk by deleting operations. If an operation needs
an offset, it names a share of the offsets that its client knows when it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from impl.sim.tape import stream

SPAN_MS = 90_000
"""The time from the first operation to the last, if clients do not have to wait."""
MOVES = 8
"""The least number of moves in a script."""
BURST = 0.5
"""The share of the operations that begin as soon as the one before has ended."""

HOPS = (0, 1, 1, 1, 2, 2, 2)
"""The hops of moves, drawn evenly: one move in seven goes away and back."""

F = Literal["append", "fetch", "trim", "move", "create", "destroy", "swap", "cancel", "elect"]


class ScriptOperation(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An operation of a client on the stream or partition with the number ``key``, not before ``at`` milliseconds.

    ``value``: the value that an append writes, unique in the script; ``count``: the number of its records. ``part``:
    the share of the known offsets at which a fetch begins, or which a trim drops. ``hop``: a move goes to the active
    broker ``hop`` places behind the owner, and with 0 away and back. Operators do moves, swaps, cancels and elections;
    their client is -1.
    """

    client: int
    at: int
    f: F
    key: int
    value: int = 0
    count: int = 1
    part: float = 0.0
    hop: int = 1


def make(
    seed: int, *, clients: int, streams: int, operations: int, span_ms: int = SPAN_MS
) -> tuple[ScriptOperation, ...]:
    """A script in the order of times, with ``operations`` operations. Streams 0 to ``streams`` - 1 exist before it."""
    draw = stream(seed, "script")
    moves = min(operations, max(MOVES, operations // 50))
    times = sorted(int(draw() * span_ms) for _ in range(operations - moves))
    lives = _Lives(streams)
    found = [_operation(draw, lives, clients, at, number) for number, at in enumerate(times)]
    for number in range(moves):
        at = int((number + draw()) * span_ms / moves)
        found.append(ScriptOperation(-1, at, "move", int(draw() * streams), hop=HOPS[int(draw() * len(HOPS))]))
    return tuple(sorted(found, key=lambda each: (each.at, each.client)))


class _Lives:
    """The streams that exist while the script is made: created ones may be destroyed, the first ones never are."""

    def __init__(self, streams: int) -> None:
        self.first = streams
        self.next = streams
        self.living = list(range(streams))


def _operation(draw: Callable[[], float], lives: _Lives, clients: int, at: int, number: int) -> ScriptOperation:
    client = int(draw() * clients)
    kind, part = draw(), draw()
    key = lives.living[int(draw() * len(lives.living))]
    if draw() < BURST:
        at = max(0, at - 2_000)  # Overdue when the operation before it ends.
    if kind < 0.60:
        return ScriptOperation(client, at, "append", key, value=number + 1, count=1 + int(part * 3))
    if kind < 0.90:
        return ScriptOperation(client, at, "fetch", key, part=0.0 if part < 0.3 else part)
    if kind < 0.97:
        return ScriptOperation(client, at, "trim", key, part=part * part)
    if kind < 0.985 or len(lives.living) == lives.first:
        lives.living.append(lives.next)
        lives.next += 1
        return ScriptOperation(client, at, "create", lives.next - 1)
    return ScriptOperation(
        client, at, "destroy", lives.living.pop(lives.first + int(part * (len(lives.living) - lives.first)))
    )


def unique_values(script: Sequence[ScriptOperation]) -> bool:
    """Whether no two appends write the same value."""
    values = [each.value for each in script if each.f == "append"]
    return len(values) == len(set(values))
