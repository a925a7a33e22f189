"""Calls to the controller, repeated until the answer is final.

A request may be lost, and so may its answer. So a call is sent again after a time without an answer, and the controller
may get it twice (EX-07). After an error that may pass the call is repeated; other errors are raised.
"""

from __future__ import annotations

from collections.abc import Callable

from impl import wire
from impl.errors import E
from impl.tasks import FailedError, Gate, Tasks, TimedOutError

TIMEOUT_MS = 60_000
FIRST_DELAY_MS, LONGEST_DELAY_MS = 500, 10_000

NODE_ERRORS = frozenset({E.NODE_EPOCH_EXPIRED, E.NODE_FENCED, E.NODE_EPOCH_NOT_EXIST})
"""Errors that mean: the controller accepts only another process of the node, or a failover worker."""

_OBJECT_ERRORS = {E.OBJECT_NOT_EXIST, E.COMPACTED_OBJECTS_NOT_FOUND}
_THROWN: dict[type, frozenset[E]] = {
    wire.GetOpeningStreams: frozenset({E.NODE_EPOCH_EXPIRED, E.NODE_FENCED}),
    wire.CreateStreams: NODE_ERRORS,
    wire.OpenStreams: NODE_ERRORS | {E.STREAM_FENCED, E.STREAM_NOT_EXIST, E.STREAM_INNER_ERROR, E.NODE_LOCKED},
    wire.TrimStreams: NODE_ERRORS
    | {E.STREAM_NOT_EXIST, E.STREAM_FENCED, E.STREAM_NOT_OPENED, E.OFFSET_NOT_MATCHED, E.STREAM_INNER_ERROR},
    wire.CloseStreams: NODE_ERRORS | {E.STREAM_NOT_EXIST, E.STREAM_INNER_ERROR, E.STREAM_FENCED},
    wire.DeleteStreams: NODE_ERRORS | {E.STREAM_NOT_EXIST, E.STREAM_FENCED, E.STREAM_INNER_ERROR},
    wire.CommitStreamSetObject: NODE_ERRORS | _OBJECT_ERRORS,
    wire.CommitStreamObject: NODE_ERRORS
    | {E.OBJECT_NOT_EXIST, E.OBJECT_NOT_COMMITED, E.COMPACTED_OBJECTS_NOT_FOUND, E.STREAM_NOT_EXIST, E.STREAM_FENCED},
    wire.RegisterNode: frozenset({E.NODE_EPOCH_EXPIRED}),
    wire.ReportRouteEpoch: frozenset({E.NODE_EPOCH_EXPIRED}),
    wire.RenewEpoch: NODE_ERRORS | {E.UNKNOWN_TOPIC_OR_PARTITION},
}
"""By request: the errors that are raised. After any other error the request is repeated, without a limit."""


class ControllerError(FailedError):
    """The controller refuses a call, and the call is not repeated. ``error``: the refusal."""

    def __init__(self, error: E) -> None:
        super().__init__(error.name)
        self.error = error


def _always() -> bool:
    return True


class Calls:
    """The requests of one process to the controller: each is repeated until its answer has no error."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._numbers = 0
        self._waiting: dict[int, Gate[wire.ItemAnswer]] = {}

    async def call(
        self,
        body: wire.Body,
        wanted: Callable[[], bool] = _always,
        *,
        thrown: frozenset[E] = frozenset(),
        timeout_ms: int = TIMEOUT_MS,
    ) -> wire.ItemAnswer:
        """Repeat a request until its answer has no error, and return that answer. The request has at most one item.

        ``wanted``: called before each repetition after an error; if it returns False, that error is raised.
        ``thrown``: further errors that are raised at once. ``timeout_ms``: after this time without an answer, the
        request is sent again. Raises ControllerError.
        """
        thrown |= _THROWN.get(type(body), frozenset())
        delay = FIRST_DELAY_MS
        while True:
            answer = await self._answer(body, timeout_ms)
            if answer.error is E.NONE:
                return answer
            if answer.error in thrown:
                raise ControllerError(answer.error)
            await self._tasks.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY_MS)
            if not wanted():
                raise ControllerError(answer.error)

    async def _answer(self, body: wire.Body, timeout_ms: int) -> wire.ItemAnswer:
        while True:
            # Each attempt has its own id, so that a late answer to an earlier attempt is ignored.
            self._numbers += 1
            number = self._numbers
            gate = self._waiting[number] = Gate[wire.ItemAnswer](self._tasks)
            self._tasks.outputs.append(wire.Request(0, number, body))
            try:
                return await gate.wait(timeout_ms)
            except TimedOutError:
                del self._waiting[number]

    def replied(self, reply: wire.Reply) -> None:
        """Take an answer. A late answer to a request that was sent again is ignored: the repetition gets one too."""
        gate = self._waiting.pop(reply.id, None)
        if gate is not None:
            gate.open(reply.answers[0])
