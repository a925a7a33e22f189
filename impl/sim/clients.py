"""The clients of a run: each does the operations of its script, one after the other, and keeps the history.

A client asks the process that it knows as the owner of a stream. It learns the newest owner only after a failure, so
that it may go on with an old process that lives on. After a definite failure the client repeats the operation for a
while. It gives up an operation of unknown outcome, and goes on under a new name, since the operation may still take
effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.broker.messages import Append, Command, CommandAnswer, CommandBody, Create, Destroy, Fetch, Trim
from impl.client.history import Ending, F, History
from impl.errors import E
from impl.sim.catalog import Catalog, KnownStream
from impl.sim.director import Director
from impl.sim.fleet import Fleet
from impl.sim.process import Process
from impl.sim.queue import Queue
from impl.sim.script import ScriptOperation

TIMEOUT_MS = 30_000
"""How long a client waits for an answer. Longer than most pauses, so that paused processes may still answer."""
PATIENCE_MS = 4_000
"""How long a client tries an operation again after definite failures."""
RETRY_MS = 150
LONGEST = 200
"""The bytes of the longest batches."""

NAMES: dict[str, F] = {
    "append": "send",
    "fetch": "poll",
    "trim": "trim",
    "create": "create",
    "destroy": "destroy",
}
"""The names of the script's operations in the history."""


def payload(value: int) -> bytes:
    """The bytes of a batch with a value: its digits, and spaces, so that batches differ in size."""
    return (b"%d" % value).ljust(8 + abs(value) * 37 % LONGEST)


class StreamClient:
    """A client with its operations. ``ended``: whether it has done all of them."""

    def __init__(
        self,
        number: int,
        operations: list[ScriptOperation],
        queue: Queue,
        fleet: Fleet,
        catalog: Catalog,
        director: Director,
        history: History,
        *,
        begin: int,
        phase: str | None = None,
    ) -> None:
        self.number = number
        self.ended = False
        self.failed = 0
        """The number of its operations that have not succeeded."""
        self._operations, self._next = operations, 0
        self._queue, self._fleet, self._catalog = queue, fleet, catalog
        self._director, self._history = director, history
        self._begin, self._phase = begin, phase
        self._lives = 0
        self._command = 0
        """The number of the newest attempt."""
        self._waits: Callable[[CommandAnswer], None] | None = None
        self._asked: Process | None = None
        self._known: dict[int, Process] = {}
        """By key: the process that the client takes for the owner."""
        self._index = 0
        self._started = 0
        self._body: CommandBody = Create()

    @property
    def name(self) -> str:
        """The name in the history, a new one after each operation of unknown outcome."""
        return f"client.{self.number}.{self._lives}"

    def give(self, operation: ScriptOperation) -> None:
        """Take one more operation, behind all others."""
        self._operations.append(operation)
        if self.ended:
            self.ended = False
            self.begin()

    def begin(self) -> None:
        """Begin with the next operation at its time; it begins at once if that has passed."""
        if self._next == len(self._operations):
            self.ended = True
            return
        operation = self._operations[self._next]
        self._next += 1
        self._queue.at(self._begin + operation.at, self._start, operation)

    # One operation ----------------------------------------------------------------------------------------------

    def _start(self, operation: ScriptOperation) -> None:
        entry = self._catalog.entry(operation.key)
        if operation.f != "create" and (entry.stream < 0 or entry.doomed):
            self.begin()  # There is no stream for this operation: skip it.
            return
        now = self._queue.now
        body, value, offset = self._make(operation, entry)
        name = NAMES[operation.f]
        self._index = self._history.invoke(
            self.name,
            name,
            operation.key,
            value,
            now,
            offset=offset,
            count=operation.count if operation.f == "append" else 0,
            phase=self._phase,
        )
        self._started = now
        self._body = body
        self._attempt(operation)

    def _make(self, operation: ScriptOperation, entry: KnownStream) -> tuple[CommandBody, Any, int | None]:
        """The command of an operation, and the value and the offset of its begin in the history."""
        known = entry.start + int(operation.part * (max(entry.end, entry.start) - entry.start))
        match operation.f:
            case "append":
                return Append(entry.stream, operation.count, payload(operation.value)), operation.value, None
            case "fetch":
                return Fetch(entry.stream, known), None, known
            case "trim":
                entry.start = known  # At once: the trim may take effect although its answer is lost.
                return Trim(entry.stream, known), known, known
            case "destroy":
                entry.doomed = True
                self._director.release(operation.key)
                return Destroy(entry.stream), None, None
            case _:
                return Create(), None, None

    def _attempt(self, operation: ScriptOperation) -> None:
        self._command += 1
        process = self._target(operation)
        if process is None:
            self._retry(operation, E.NOT_LEADER_OR_FOLLOWER)
            return
        self._asked = process
        number = self._command
        self._waits = lambda done: self._answered(operation, process, done)
        self._queue.at(self._queue.now + TIMEOUT_MS, self._timeout, number)
        refused: Callable[[], None] = lambda: self._refused(operation, number)  # noqa: E731
        self._fleet.command(process, Command(self.number, number, self._body), refused)

    def _target(self, operation: ScriptOperation) -> Process | None:
        """The process to ask; None if the client knows of none."""
        if operation.f == "create":
            nodes = self._director.active()
            return self._fleet.current[nodes[self.number % len(nodes)]] if nodes else None
        known = self._known.get(operation.key)
        if known is None:
            known = self._catalog.entry(operation.key).owner
            if known is not None:
                self._known[operation.key] = known
        return known

    # Its end ----------------------------------------------------------------------------------------------------

    def receive(self, done: CommandAnswer) -> None:
        """Take an answer. Only the first answer to the newest attempt counts."""
        if self._waits is not None and done.id == self._command:
            waits, self._waits = self._waits, None
            waits(done)

    def _answered(self, operation: ScriptOperation, process: Process, done: CommandAnswer) -> None:
        if done.error is E.NONE:
            self._succeed(operation, process, done.values)
        elif done.error is E.REQUEST_TIMED_OUT:
            self._give_up(done.error.name)
        else:
            self._retry(operation, done.error)

    def _succeed(self, operation: ScriptOperation, process: Process, values: dict[str, Any]) -> None:
        entry, now = self._catalog.entry(operation.key), self._queue.now
        value, offset = None, None
        if operation.f == "append":
            offset = values["offset"]
            entry.acks += 1
            entry.end = max(entry.end, offset + operation.count)
        elif operation.f == "fetch":
            value = [(base, count, int(data)) for base, count, data in values["batches"]]
            offset = values["confirm"]
            entry.end = max(entry.end, offset)
        elif operation.f == "create":
            value = entry.stream = values["stream"]
            self._director.adopt(operation.key, process.node)
        self._complete("ok", now, value=value, offset=offset, broker=process.name)

    def _retry(self, operation: ScriptOperation, error: E) -> None:
        """After a definite failure: try again with the newest owner, for at most ``PATIENCE_MS``."""
        self._known.pop(operation.key, None)
        doomed = operation.f != "destroy" and self._catalog.entry(operation.key).doomed
        if not doomed and self._queue.now - self._started < PATIENCE_MS:
            self._queue.at(self._queue.now + RETRY_MS, self._attempt, operation)
        elif operation.f == "trim":
            # The broker repeats a trim until the controller answers. The refusal may answer a repetition, and the first
            # request may have taken effect.
            self._give_up(error.name)
        else:
            self.failed += 1
            self._complete("fail", self._queue.now, error=error.name)

    def _refused(self, operation: ScriptOperation, number: int) -> None:
        if self._waits is not None and number == self._command:
            self._waits = None
            self._retry(operation, E.NOT_LEADER_OR_FOLLOWER)

    def _timeout(self, number: int) -> None:
        if self._waits is not None and number == self._command:
            self._give_up("timeout")

    def reset(self, process: Process) -> None:
        """A process has ended, and its connections break: an operation that waits for it has an unknown outcome."""
        if self._waits is not None and self._asked is process:
            self._queue.at(self._queue.now + 1, self._timeout, self._command)

    def _give_up(self, error: str) -> None:
        """End an operation of unknown outcome."""
        self._waits = None
        self._known.clear()
        self.failed += 1
        self._complete("info", self._queue.now, error=error)
        self._lives += 1

    def _complete(self, outcome: Ending, now: int, **fields: Any) -> None:
        self._history.complete(self._index, outcome, now, **fields)
        if outcome == "info":
            self._queue.at(now, self.begin)
        else:
            self.begin()
