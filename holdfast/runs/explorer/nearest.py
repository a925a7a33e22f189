"""The nearest state, from a given one, in which a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import attrs

from holdfast.lower.python.interpreter import Args, Interpreter

Ended = Literal["found", "exhausted", "budget", "stopped"]

BUDGET = 100_000
"""How many states a search looks at unless it is told another number."""


@attrs.frozen
class Search:
    """How a search ended.

    ``path`` is a shortest run to the state (None: there is none to show), ``states`` how many were looked at, ``depth``
    how many steps away the last of them are. ``ended`` says whether the condition holds somewhere, or nowhere that can
    be reached (``exhausted``), or whether the search gave up.
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
    """Search breadth-first from ``start``, which does not count itself, for a state that is ``wanted``.

    Of several states as near the least counts, and of several steps to a state those of the least state, then action,
    then arguments. The search gives up after ``most`` states, or when ``stop`` says so; it is asked once a state.
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
    """The steps from the start to a state."""
    steps: list[tuple[str, Args]] = []
    state = last
    while (link := came[state]) is not None:
        state, index, args = link
        steps.append((machine.system.actions[index].name, args))
    return tuple(reversed(steps))
