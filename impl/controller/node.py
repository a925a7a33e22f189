"""The controller: it handles one event after the other, each as operations on the image (streams.md 2).

``execute`` runs one operation under a quorum that commits at once. ``handle`` is the whole node, with requests, commits
that come later, and changes of leader. Neither waits, reads a clock or draws a number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from impl.controller.elections import balance, elect
from impl.controller.failover import scan
from impl.controller.heartbeats import Heartbeats
from impl.controller.nodes import scale_in_cleanup
from impl.controller.objects import ObjectClock
from impl.controller.partitions import move_back, set_broker
from impl.controller.requests import Event, Operation, events_of, items_of
from impl.controller.routes import tick_routes
from impl.controller.timers import Timers
from impl.controller.view import OperationResult, Profile, View
from impl.errors import E
from impl.metadata import snapshot
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, MetadataLog
from impl.records import BrokerRegistration, MetadataRecord
from impl.rules import RefusedError, rule
from impl.wire import (
    CommitNotice,
    DeleteObjects,
    DeletionNotice,
    ElectionNotice,
    ElectLeader,
    Heartbeat,
    Input,
    ItemAnswer,
    LearnedBatches,
    OpenStreams,
    Output,
    QuorumAppend,
    Reply,
    Request,
    ResignationNotice,
    SetBroker,
    Wake,
    WakeNotice,
)

PERIOD_MS = 1_000
"""The period of the object clock, of the failover scan, and of the looks at timers that have fired (streams.md 14)."""
RARE_MS: dict[Operation, int] = {scale_in_cleanup: 1_800_000, balance: 300_000}
"""The periods of the scale-in cleanup (ND-40) and of the preferred-leader balancing (EL-10)."""


class Controller:
    """A controller. It leads from the start, in term 0, unless ``leads`` is False."""

    def __init__(self, profile: Profile = Profile(), now: int = 0, *, leads: bool = True) -> None:  # noqa: B008 - frozen
        self.profile = profile
        self.now = now
        self.term: int | None = 0 if leads else None
        """The term in which it leads; None while it does not."""
        self.log = MetadataLog()
        self.timers = Timers(profile)
        self.object_clock = ObjectClock(now)
        self.heartbeats = Heartbeats(now)
        """Memory, as ``timers`` and ``object_clock`` are: no record holds it."""
        self._target = -1
        """The target of the newest failover (FO-02). Memory."""
        self._rare = {operation: now + period for operation, period in RARE_MS.items()}
        self._waiting: deque[tuple[int, Reply]] = deque()
        """The answers that wait for the commit of the batches below an index, ascending (EX-01, EX-02)."""

    @property
    def image(self) -> Image:
        """The image after the newest batch, pending ones included."""
        return self.log.image

    @property
    def view(self) -> View:
        """The input of an operation now."""
        return View(self.log.image, self.profile, self.now)

    # One operation under a quorum that commits at once --------------------------------------------------------

    def execute(self, operation: Operation) -> OperationResult:
        """Run one operation as one event; its records are committed at once."""
        outcome = _run(operation, self.view)
        if outcome.records:
            self.log.commit(self._append(outcome.records).index + 1)
        return outcome

    def open(self, operation: Operation, stream: int) -> OperationResult:
        """Run an open of a stream. If a lock refuses it, move the stream's partition back to its owner (ST-16)."""
        outcome = self.execute(operation)
        if rule("ST-16.back", outcome.error is E.NODE_LOCKED):
            self.execute(partial(move_back, stream=stream))
        return outcome

    def elect(self, topic: str, partition: int, kind: str = "preferred") -> OperationResult:
        """Run the election that a request asks for. Whatever its answer, the request may disarm the timer (EL-04)."""
        self.timers.requested(topic, partition)
        return self.execute(partial(elect, topic=topic, partition=partition, kind=kind))

    def advance(self, ms: int) -> None:
        """Move the clock. The elections of timers that become due wait for the next tick."""
        self.now += ms
        self.timers.expire(self.now)

    def tick(self, ms: int) -> list[tuple[str, OperationResult]]:
        """Move the clock, then fire the timers that are due. Returns their partitions and elections, in order."""
        self.advance(ms)
        return self._fire(self.execute)

    def fail_over(self) -> None:
        """Another controller takes over. It has the log; the memory beside it is lost (EL-06) or restored (EL-12).
        As built, the successor has loaded a snapshot, which lacks the failover flags (AM-02).
        """
        if "AM-02" in self.profile.as_built:
            records = snapshot.snapshot(self.image, self.profile.as_built)
            self.log = MetadataLog(snapshot.load(records), self.log.end)
        self.timers.forget()
        self._activate()

    # The whole node -------------------------------------------------------------------------------------------

    def handle(self, event: Input, now: int) -> list[Output]:
        """Handle an input at a time in milliseconds, which never goes back. Returns the outputs, in order."""
        self.now = max(self.now, now)
        self.timers.expire(self.now)
        match event:
            case Request():
                return self._request(event)
            case CommitNotice(term, end):
                return self._committed(end) if term == self.term else []
            case LearnedBatches(begin, batches):
                return self._learn(begin, batches)
            case ElectionNotice(term):
                return self._lead(term)
            case ResignationNotice(term):
                return self._resign() if self.term is not None and term >= self.term else []
            case WakeNotice():
                return self._wake()
            case DeletionNotice(objects):
                return self._deleted(objects) if self.term is not None else []

    def _request(self, request: Request) -> list[Output]:
        """EX-04 to EX-06. All answers leave in one reply, when the last of them may leave (EX-01, EX-02)."""
        if rule("EX-04", self.term is None):
            answers = (ItemAnswer(E.NOT_CONTROLLER),) * items_of(request.body)
            return [Reply(request.to, request.id, answers)]
        if isinstance(request.body, Heartbeat):
            self.heartbeats.heard(request.body.node, self.image, self.now)
        if isinstance(request.body, ElectLeader):
            self.timers.requested(request.body.topic, request.body.partition)
        outputs: list[Output] = []
        outcomes = [outcome for event in events_of(request.body) for outcome in self._event(event, outputs)]
        if isinstance(request.body, OpenStreams):
            self._send_back(request.body, outcomes, outputs)
        if isinstance(request.body, SetBroker) and request.body.state == "fenced":
            self._scan(outputs)
        reply = Reply(request.to, request.id, tuple(ItemAnswer(each.error, each.values) for each in outcomes))
        written = any(each.records for each in outcomes)
        # An answer without records waits too: it may show pending state, which a roll-back would take back.
        pending = self.log.committed < self.log.end
        if rule("EX-01", written) or rule("EX-02", pending and not written):
            self._waiting.append((self.log.end, reply))
        else:
            outputs.append(reply)
        return outputs

    def _event(self, event: Event, outputs: list[Output]) -> list[OperationResult]:
        """Run the operations of an event on one state; the records of all are one batch (EX-05)."""
        view = self.view
        outcomes = [_run(operation, view) for operation in event]
        records = tuple(record for outcome in outcomes for record in outcome.records)
        if records:
            outputs.append(self._append(records))
        return outcomes

    def _send_back(self, opens: OpenStreams, outcomes: list[OperationResult], outputs: list[Output]) -> None:
        """ST-16. Where a lock refused the open of a stream, move the stream's partition back to the owner."""
        for item, outcome in zip(opens.items, outcomes, strict=True):
            if rule("ST-16.back", outcome.error is E.NODE_LOCKED):
                self._alone(outputs, partial(move_back, stream=item.stream))

    def _append(self, records: tuple[MetadataRecord, ...]) -> QuorumAppend:
        batch = MetadataBatch(records, self.term or 0, self.now)
        index = self.log.append(batch) - 1
        self.timers.observe(records, self.image, self.now)
        for record in records:
            if isinstance(record, BrokerRegistration):
                self.heartbeats.observe(record, self.image, self.now)
        return QuorumAppend(index, batch)

    def _committed(self, end: int) -> list[Output]:
        self.log.commit(end)
        replies: list[Output] = []
        while self._waiting and self._waiting[0][0] <= self.log.committed:
            replies.append(self._waiting.popleft()[1])
        return replies

    # Changes of leader ----------------------------------------------------------------------------------------

    def _learn(self, begin: int, batches: tuple[MetadataBatch, ...]) -> list[Output]:
        """Apply the committed batches of another controller. Raises ValueError if batches are missing in between.
        A controller that leads ignores them: it has to hear first that it leads no more.
        """
        if self.term is not None:
            return []
        if begin > self.log.end:
            raise ValueError(f"batches from {begin} on are committed, but the log ends at {self.log.end}")
        for batch in batches[self.log.end - begin :]:
            self.log.commit(self.log.append(batch))
        return []

    def _lead(self, term: int) -> list[Output]:
        if self.term is None:
            self.timers.due(self.now)  # Those that fired while it did not lead are dropped (EL-06).
        outputs = self._resign()
        self.term = term
        if self.profile.timer == "epoch":
            self.timers.forget()  # As built, timers of an earlier lead go on (EL-06).
        self._activate()
        return [*outputs, Wake(self.now + PERIOD_MS)]

    def _activate(self) -> None:
        """Begin to lead, with the memory of a new controller."""
        self.timers.restore(self.image, self.now)
        self.object_clock.forget(self.now)
        self.heartbeats.forget(self.now)
        self._target = -1
        self._rare = {operation: self.now + period for operation, period in RARE_MS.items()}

    def _resign(self) -> list[Output]:
        """EX-03. Take pending batches back. Nobody learns their answers: the requests fail with NOT_CONTROLLER."""
        self.term = None
        if rule("EX-03", self.log.committed < self.log.end):
            self.log.roll_back()
        answer = ItemAnswer(E.NOT_CONTROLLER)
        refused: list[Output] = [Reply(each.to, each.id, (answer,) * len(each.answers)) for _, each in self._waiting]
        self._waiting.clear()
        return refused

    # Time -----------------------------------------------------------------------------------------------------

    def _wake(self) -> list[Output]:
        """Do the periodic work. A controller that does not lead drops the timers that fire (EL-06)."""
        outputs: list[Output] = []
        if self.term is None:
            self.timers.due(self.now)
        else:
            self._fire(partial(self._alone, outputs))
            outputs += self._check_objects(outputs)
            for broker in self.heartbeats.silent(self.image, self.now):
                self._alone(outputs, partial(set_broker, node=broker, state="fenced"))
            # After the fencing, so that a failover for a broker that was just fenced may begin at once.
            self._scan(outputs)
            if self.profile.routes:
                self._alone(outputs, partial(tick_routes, left=self.heartbeats.left))
            for operation in [each for each, due in self._rare.items() if self.now >= due]:
                self._alone(outputs, operation)
                self._rare[operation] = self.now + RARE_MS[operation]
        return [*outputs, Wake(self.now + PERIOD_MS)]

    def _scan(self, outputs: list[Output]) -> None:
        """FO-01. Look for a failover to begin: every second, and at once when a broker is fenced."""
        found = self._alone(outputs, partial(scan, after=self._target, left=self.heartbeats.left))
        self._target = found.values.get("target", self._target)

    def _alone(self, outputs: list[Output], operation: Operation) -> OperationResult:
        """Run an operation that no client has asked for, as an event of its own."""
        return self._event((operation,), outputs)[0]

    def _fire(self, execute: Callable[[Operation], OperationResult]) -> list[tuple[str, OperationResult]]:
        """Fire the timers that are due, each as one event."""
        return self.timers.run(execute, lambda: self.view)

    def _check_objects(self, outputs: list[Output]) -> list[Output]:
        """OB-04, OB-05. Begin a round of deletion. Until it has ended, further checks do nothing."""
        before = self.object_clock.in_flight
        self._alone(outputs, partial(self.object_clock.check, hold_deletes=True))
        doomed = self.object_clock.in_flight
        return [DeleteObjects(doomed)] if doomed and not before else []

    def _deleted(self, objects: tuple[int, ...]) -> list[Output]:
        """OB-05. Remove the objects from the metadata that the store has deleted."""
        outputs: list[Output] = []
        self._alone(outputs, partial(self.object_clock.end, deleted=objects))
        return outputs


def _run(operation: Operation, view: View) -> OperationResult:
    """The outcome of an operation; a refusal is an outcome with its error and without records."""
    try:
        return operation(view)
    except RefusedError as refused:
        return OperationResult(error=refused.error)
