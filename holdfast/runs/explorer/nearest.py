"""The nearest state, from a given one, in which a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import attrs

from holdfast.lower.python.interpreter import Args, Interpreter

Ended = Literal["found", "exhausted", "budget", "stopped"]

BUDGET = 100_000
"""The default for ``most``: the number of states after which a search gives up."""


@attrs.frozen
class Search:
    """How a search ended.

    ``path`` is a shortest run to the state, or None if no state was found. ``states`` is the number of states visited,
    ``depth`` the distance in steps of the last of them. ``ended`` is ``found``, or ``exhausted`` if the condition holds
    in no state that can be reached, or ``budget`` or ``stopped`` if the search gave up.
    """

    path: tuple[tuple[str, Args], ...] | None
    states: int
    depth: int
    ended: Ended


def nearest(
    machine: Interpreter,
    start: bytes,
    wanted: Callable[[bytes], object],
    *,
    most: int = BUDGET,
    stop: Callable[[], bool] = lambda: False,
) -> Search:
    """Search breadth-first from ``start`` for a state that is ``wanted``; ``start`` itself is not tested.

    Of several states at the same distance the least wins. Of several steps to a state, the one from the least state
    wins, then the first action, then the least arguments. The search gives up after ``most`` states, or when ``stop``
    returns True; ``stop`` is called once for each state.
    """
    came: dict[bytes, tuple[bytes, int, Args] | None] = {start: None}
    level, depth = [start], 0
    while level:
        following: list[bytes] = []
        for state in level:
            if stop():
                return Search(None, len(came), depth, "stopped")
            for index, successors in enumerate(machine.successors):
                for new, args in sorted(successors(state), key=lambda found: found[1]):
                    if new not in came:
                        came[new] = (state, index, args)
                        following.append(new)
            # Finish the current state before giving up, so that its successors are complete.
            if len(came) > most:
                break
        depth += bool(following)
        hits = [state for state in following if wanted(state)]
        if hits:
            return Search(_path(machine, came, min(hits)), len(came), depth, "found")
        if len(came) > most:
            return Search(None, len(came), depth, "budget")
        level = sorted(following)
    return Search(None, len(came), depth, "exhausted")


def _path(
    machine: Interpreter, came: dict[bytes, tuple[bytes, int, Args] | None], last: bytes
) -> tuple[tuple[str, Args], ...]:
    """The steps from the start to ``last``, by way of the predecessors in ``came``."""
    steps: list[tuple[str, Args]] = []
    state = last
    while (link := came[state]) is not None:
        state, index, args = link
        steps.append((machine.system.actions[index].name, args))
    return tuple(reversed(steps))
