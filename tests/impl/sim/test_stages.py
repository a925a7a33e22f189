"""The conditions of a heal phase: which one is told if the run does not heal."""

from __future__ import annotations

from functools import partial

import pytest

from impl.sim.queue import Queue
from impl.sim.stages import missing_of

BOUND_MS = 1_000
CLIENTS, SERVES, READS = "clients have not ended", "nobody serves", "nobody reads"


@pytest.mark.parametrize(("late", "missing"), [(SERVES, CLIENTS), (CLIENTS, SERVES)])
def test_the_second_look_waits(late: str, missing: str) -> None:
    """What clients wait for may still come. Clients that end in the second look have not ended in time."""
    queue = Queue()
    holds = {READS: lambda: True, missing: lambda: False, late: lambda: queue.now > BOUND_MS * 1.5}
    stages = [(name, holds[name]) for name in (CLIENTS, SERVES, READS)]
    assert missing_of(stages, queue, queue.run, BOUND_MS) == missing


@pytest.mark.parametrize(
    ("hold", "missing", "asked"),
    [
        ({CLIENTS, SERVES, READS}, "", {CLIENTS, SERVES, READS}),
        ({CLIENTS, SERVES}, READS, {CLIENTS, SERVES, READS}),
        ({CLIENTS, READS}, SERVES, {CLIENTS, SERVES}),
        # Clients wait for what the other conditions say. What they append meanwhile is behind the end of a read.
        ({READS}, SERVES, {CLIENTS, SERVES}),
        ({SERVES, READS}, CLIENTS, {CLIENTS, SERVES}),
    ],
)
def test_the_missing_condition(hold: set[str], missing: str, asked: set[str]) -> None:
    """It is the first that does not hold, but for clients only if no other condition but the reads is missing."""
    seen, queue = set[str](), Queue()

    def holds(name: str) -> bool:
        seen.add(name)
        return name in hold

    stages = [(name, partial(holds, name)) for name in (CLIENTS, SERVES, READS)]
    assert missing_of(stages, queue, queue.run, BOUND_MS) == missing
    assert seen == asked
    assert queue.now <= 2 * BOUND_MS
