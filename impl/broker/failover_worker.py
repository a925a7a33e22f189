"""Recovers the WAL of a failed process, when the controller has chosen this node as the target (FO-04 to FO-06)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from impl.controller.failover import Failover, contexts
from impl.controller.nodes import has_opening
from impl.metadata.image import Image
from impl.rules import rule
from impl.tasks import FailedError, Tasks, TimedOutError

LONGEST_DELAY_MS = 60_000
FIRST_DELAY_MS = 1_000
AGAIN_MS = 2_000
"""The time after a recovery in which the metadata usually tell that everything is closed."""


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
    # By node and epoch: when a recovery ended.
    done: dict[tuple[int, int], int] = {}
    failures = 0

    def is_over(context: Failover) -> bool:
        """Whether the recovery was made. A process that starts again with an unchanged epoch needs another one, also if
        it started and ended while the first one ran.
        """
        at = done.get((context.node, context.epoch))
        return at is not None and (tasks.now < at + AGAIN_MS or not has_opening(image(), context.node))

    while True:
        assigned = [each for each in contexts(image()) if each.target == node]
        # Forget contexts that are no longer assigned: they may be assigned again.
        keys = {(each.node, each.epoch) for each in assigned}
        done = {key: at for key, at in done.items() if key in keys}
        context = next((each for each in assigned if not is_over(each)), None)
        if context is None:
            failures = 0
            await _look_again(newer, AGAIN_MS if done else None)
            continue
        try:
            await recover(context)
        except FailedError:
            failures += 1
            await _wait(tasks, min(FIRST_DELAY_MS << failures, LONGEST_DELAY_MS), context, image, newer)
        else:
            if rule("FO-04"):
                done[context.node, context.epoch] = tasks.now


async def _look_again(newer: Callable[[int | None], Awaitable[None]], ms: int | None) -> None:
    """Wait for a newer image, or for some milliseconds."""
    try:
        await newer(ms)
    except TimedOutError:
        return


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
