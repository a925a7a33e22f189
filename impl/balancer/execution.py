"""The execution of a plan: one AlterPartitionReassignments request for each batch, in time (AB-52, AB-53)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from impl.balancer.actions import BalancerAction
from impl.rules import rule

INTERVAL_MS = 5_000
"""The default time between an answer and the next batch."""
LONGEST_MS = 60_000
"""The time after the first batch from which the remaining batches are dropped."""

Reassignments = dict[str, dict[int, list[int]]]
"""By topic and partition, the new replicas."""


def request(actions: Iterable[BalancerAction], is_alive: Callable[[int], bool]) -> Reassignments:
    """The request for a batch (AB-53). Empty if nothing is left of it.

    ``is_alive``: whether a broker is registered and not fenced. An action that would bring a partition to another
    broker is left out. Nobody checks the source. Raises ValueError for a partition that is named twice.
    """
    topics: Reassignments = {}
    for action in actions:
        moves = action.moves()
        if rule("BG-17", not all(is_alive(move.destination) for move in moves)):
            continue
        for move in moves:
            partitions = topics.setdefault(move.partition.topic, {})
            if move.partition.partition in partitions:
                raise ValueError(f"a batch moves {move.partition} twice; merge the actions before")
            partitions[move.partition.partition] = [move.destination]
    return topics


class ExecutionStep(msgspec.Struct, frozen=True):
    """What an execution does next.

    ``send``: send ``batch``. ``wait``: ask again at ``until``, or after the answer if that is None. ``end``: nothing is
    left; ``dropped``: the number of actions that are not executed.
    """

    do: Literal["send", "wait", "end"]
    batch: Sequence[BalancerAction] = ()
    until: int | None = None
    dropped: int = 0


class PlanExecution:
    """The execution of one plan. Its owner asks what to do next, and reports each answer.

    Before each batch except the first, the interval passes. Then the batch is sent if at most 60 s have passed since
    the first one. An error ends the execution; the moves that were made stay.
    """

    def __init__(self, plan: Sequence[Sequence[BalancerAction]], interval_ms: int = INTERVAL_MS) -> None:
        self._batches = list(plan)
        self._interval = interval_ms
        self._sent = 0
        self._began: int | None = None
        self._due = 0
        """The time before which no further batch is sent."""
        self._is_waiting = False
        self._dropped = 0

    def next(self, now: int) -> ExecutionStep:
        """What to do at a time in milliseconds. A step that says ``send`` counts as done."""
        if self._is_waiting:
            return ExecutionStep("wait")
        if self._sent == len(self._batches):
            return ExecutionStep("end", dropped=self._dropped)
        if self._began is None:
            self._began = now
        if now < self._due:
            return ExecutionStep("wait", until=self._due)
        if rule("BG-16", now - self._began > LONGEST_MS):
            self._drop()
            return ExecutionStep("end", dropped=self._dropped)
        self._is_waiting = True
        self._sent += 1
        return ExecutionStep("send", self._batches[self._sent - 1])

    def answered(self, now: int, *, failed: bool = False) -> None:
        """The controller has answered the last batch: the metadata are written, or a partition has failed.

        Raises ValueError if no batch waits for an answer.
        """
        if not self._is_waiting:
            raise ValueError("no batch waits for an answer; report each answer once")
        self._is_waiting = False
        if failed:
            self._drop()
        if rule("BG-16.spacing", self._interval > 0):
            self._due = now + self._interval

    def _drop(self) -> None:
        self._dropped = sum(len(batch) for batch in self._batches[self._sent :])
        del self._batches[self._sent :]
