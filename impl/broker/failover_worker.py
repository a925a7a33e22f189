"""Recovers the WAL of a failed process, when the controller has chosen this node as the target (FO-04 to FO-06)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from impl.controller.failover import Failover, contexts
from impl.metadata.image import Image
from impl.rules import rule
from impl.tasks import FailedError, Tasks, TimedOutError

LONGEST_DELAY_MS = 60_000
FIRST_DELAY_MS = 1_000


async def fail_over(
    tasks: Tasks,
    node: int,
    image: Callable[[], Image],
    newer: Callable[[int | None], Awaitable[None]],
    recover: Callable[[Failover], Awaitable[None]],
) -> None:
    """Recover the WALs that the metadata assigns to ``node``, one at a time, for ever.

    ``newer``: waits for a newer image; raises TimedOutError after the given number of milliseconds. ``recover``: runs
    one recovery.
    """
    done: set[tuple[int, int]] = set()
    failures = 0
    while True:
        assigned = [each for each in contexts(image()) if each.target == node]
        # Forget contexts that are no longer assigned: a process that starts again with an unchanged epoch may be
        # assigned again.
        done &= {(each.node, each.epoch) for each in assigned}
        context = next((each for each in assigned if (each.node, each.epoch) not in done), None)
        if context is None:
            failures = 0
            await newer(None)
            continue
        try:
            await recover(context)
        except FailedError:
            failures += 1
            await _wait(tasks, min(FIRST_DELAY_MS << failures, LONGEST_DELAY_MS), context, image, newer)
        else:
            if rule("FO-04"):
                done.add((context.node, context.epoch))


async def _wait(
    tasks: Tasks,
    ms: int,
    context: Failover,
    image: Callable[[], Image],
    newer: Callable[[int | None], Awaitable[None]],
) -> None:
    """Wait before the next attempt, unless the context is no longer assigned."""
    until = tasks.now + ms
    while tasks.now < until and context in contexts(image()):
        try:
            await newer(until - tasks.now)
        except TimedOutError:
            return
