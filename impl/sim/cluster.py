"""The controllers and their quorum: one leads, commits take time, and a failover may lose the tail of the log."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from impl.controller.node import Controller
from impl.controller.view import Profile
from impl.errors import E
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch
from impl.metadata.quorum import Quorum
from impl.oracles.answers.watch import AnswerWatch, ExpectedReply
from impl.sim.event_log import AppendedBatch, EventLog, ExecutedRequest
from impl.sim.faults import CONTROLLER, TICK_MS
from impl.sim.queue import Queue
from impl.sim.store_faults import FaultyStore
from impl.sim.tape import Fault, Tape, spread, stream
from impl.wire import (
    Body,
    CloseStreams,
    CommitNotice,
    CommitStreamSetObject,
    DeleteObjects,
    DeleteStreams,
    DeletionNotice,
    ElectionNotice,
    GetOpeningStreams,
    Input,
    LearnedBatches,
    OpenStreams,
    Output,
    QuorumAppend,
    Reply,
    Request,
    ResignationNotice,
    TrimStreams,
    Wake,
    WakeNotice,
)

WaitingRequest = tuple[Any, Request, ExecutedRequest, ExpectedReply | None]
"""The process that has sent a request, the request, its event, and the answers that it ought to get."""
GAP_MS, DEAF_MS = 3_000, 4_000
"""The longest time without a leader, and until an old leader hears that it leads no more."""
ANNOUNCE_MS = 50
"""How long the brokers take to learn who leads."""


class Sender(Protocol):
    """A process that sends requests."""

    @property
    def name(self) -> str:
        """Its name in the log."""


class ControllerCluster:
    """The controllers and their quorum.

    ``steps``: the number of inputs of all controllers. ``elections``: how often a controller was elected. ``home``: the
    controller that was elected last. ``refused_at``: the time of the last refusal of a request.

    ``reply`` takes an answer to its process; ``learn`` is called with the batches that were just committed. ``begin``:
    the committed batches with which the metadata log begins.
    """

    def __init__(
        self,
        queue: Queue,
        tape: Tape,
        seed: int,
        log: EventLog,
        store: FaultyStore,
        *,
        profile: Profile,
        controllers: int,
        delay: int,
        object_key: Callable[[int], str],
        reply: Callable[[Any, Reply], None],
        learn: Callable[[tuple[MetadataBatch, ...]], None],
        begin: tuple[MetadataBatch, ...] = (),
    ) -> None:
        self.steps = 0
        self.elections = 0
        self.lost_batches = 0
        self.refused_at = 0
        self.home = 0
        self.quorum = Quorum(delay, begin)
        self.controllers = [Controller(profile, queue.now, leads=False) for _ in range(controllers)]
        self._queue, self._tape, self._log, self._store = queue, tape, log, store
        self._weather = stream(seed, "weather of the controllers")
        self._site = tape.site("controller", tuple(CONTROLLER))
        self._reply, self._learn, self._object_key = reply, learn, object_key
        self._announced = len(begin)
        self._wakes = [-1] * controllers
        self._deliveries = 0
        self._resigns = False
        self.answers = AnswerWatch()
        self._waiting: list[dict[int, WaitingRequest]] = [{} for _ in range(controllers)]
        """Of each controller: the requests without an answer, by the number of their delivery."""
        self._tail: deque[tuple[int, ExecutedRequest | AppendedBatch]] = deque()
        """The events of the leader that a failover may lose, each with the number of batches whose commit keeps it."""
        self._fuse: tuple[int, Fault] | None = None
        """A failover that is decided, and the number of batches after which it happens."""
        self._elect(0)

    @property
    def leader(self) -> Controller | None:
        """The controller that the quorum takes for the leader; None if there is none."""
        return None if self.quorum.leader is None else self.controllers[self.quorum.leader.controller]

    @property
    def pending(self) -> ExecutedRequest | AppendedBatch | None:
        """The first event of the log that a failover may still undo; None if there is none."""
        return self._tail[0][1] if self._tail else None

    def committed(self, begin: int) -> tuple[MetadataBatch, ...]:
        """The committed batches from an index on."""
        return self.quorum.learned(begin)

    # Requests -------------------------------------------------------------------------------------------------

    def arrive(self, process: Sender, home: int, request: Request) -> None:
        """A request of a process arrives at a controller."""
        controller, leader = self.controllers[home], self.quorum.leader
        self._deliveries += 1
        stale = leader is None or leader.controller != home
        executed = ExecutedRequest(process.name, request, stale=stale)
        expected = self.answers.expect(controller, request.body, self._queue.now)
        self._waiting[home][self._deliveries] = process, request, executed, expected
        self._log.events.append((self._queue.now, f"c{home}", "execute", executed))
        executed.lost = controller.term is None
        # The number of the delivery tells two requests apart that have equal ids, such as the copies of one request.
        self._handle(home, Request(self._deliveries, request.id, request.body))
        self.answers.executed(expected, controller)
        executed.post = streams_after(controller.image, request.body)
        if isinstance(request.body, GetOpeningStreams) and (row := controller.image.nodes.get(request.body.node)):
            executed.stored = row.epoch, row.failover
        # An answer that waits for a commit is lost with a stale leader, whose batches are never committed.
        if executed.answers is None and stale:
            executed.lost = True
        elif executed.answers is None:
            self._tail.append((controller.log.end, executed))
        self._burn()

    def _handle(self, index: int, event: Input) -> None:
        self.steps += 1
        outputs = self.controllers[index].handle(event, self._queue.now)
        self._log.note_missed(self._queue.now, f"c{index}")
        for output in outputs:
            self._route(index, output)

    def _route(self, index: int, output: Output) -> None:
        match output:
            case Reply(delivery, number, answers):
                process, request, executed, expected = self._waiting[index].pop(delivery)
                executed.answers = answers
                executed.unknown = self._resigns
                if not self._resigns:
                    self.answers.answered(expected, answers)
                if any(each.error is not E.NONE for each in answers):
                    self.refused_at = self._queue.now
                self._reply(process, Reply(request.to, number, answers))
            case QuorumAppend(at, batch):
                self._append(index, at, batch)
            case Wake(at):
                self._wakes[index] = at
                self._queue.at(at, self._wake, index, at)
            case DeleteObjects(objects):
                keys = tuple(self._object_key(each) for each in objects)
                self.answers.deletes(self.controllers[index], objects, self._queue.now)
                self._store.delete(keys, lambda: self._deleted(index, objects))

    def _wake(self, index: int, at: int) -> None:
        if self._wakes[index] == at:
            controller = self.controllers[index]
            mark = controller.image.mark()
            self._handle(index, WakeNotice())
            self.answers.woken(controller, mark, self._queue.now)
            self._burn()

    def _deleted(self, index: int, objects: tuple[int, ...]) -> None:
        self.answers.deleted(self.controllers[index], objects, self._queue.now)
        self._handle(index, DeletionNotice(objects))

    # Commits --------------------------------------------------------------------------------------------------

    def _append(self, index: int, at: int, batch: MetadataBatch) -> None:
        written = AppendedBatch(at, batch)
        self._log.events.append((self._queue.now, f"c{index}", "batch", written))
        if self.quorum.append(batch.term, at, batch, self._queue.now):
            self._tail.append((at + 1, written))
            self._queue.at(self._queue.now + self.quorum.delay, self._commit)
            if self._fuse is not None:
                self._fuse = self._fuse[0] - 1, self._fuse[1]
        else:
            written.lost = True

    def _commit(self) -> None:
        end = self.quorum.commit_due(self._queue.now)
        self._announce()
        leader = self.quorum.leader
        if leader is not None and end > self.controllers[leader.controller].log.committed:
            self._handle(leader.controller, CommitNotice(leader.term, end))

    def _announce(self) -> None:
        """Tell all processes about batches that are newly committed."""
        end = self.quorum.committed
        while self._tail and self._tail[0][0] <= end:
            self._tail.popleft()
        if end > self._announced:
            batches = self.quorum.learned(self._announced)
            self._announced = end
            self._learn(batches)

    # Failover -------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Decide whether the leader changes."""
        fault = self._site.decide(self._queue.now)
        if fault is not None:
            self.befall(fault)
        if not self._tape.is_quiet:
            self._queue.at(self._queue.now + TICK_MS, self.tick)

    def befall(self, fault: Fault) -> None:
        """Let a fault of CONTROLLER happen: at once, or with ``lost_tail`` after some more batches.

        Nothing happens if nobody leads, if there is no other controller, or if a failover is decided already.
        """
        if self.quorum.leader is None or len(self.controllers) < 2 or self._fuse is not None:
            return
        if fault.kind == "lost_tail":
            self._fuse = 1 + int(fault.value * 10), fault
        else:
            self._fail_over(fault, len(self.quorum.batches) - self.quorum.committed)

    def _fail_over(self, fault: Fault, kept: int) -> None:
        """End the term of the leader, and commit the first ``kept`` pending batches."""
        old = self.quorum.leader
        assert old is not None, "somebody leads"
        self._tape.happened(fault)
        self.lost_batches += len(self.quorum.resign(kept))
        self._announce()
        for _, event in self._tail:  # The announcement has removed the events that were committed.
            event.lost = True
        self._tail.clear()
        now, value = self._queue.now, fault.value
        self._log.events.append((now, f"c{old.controller}", "failover", {"lost": self.lost_batches}))
        new = (old.controller + 1 + int(spread(value, 2) * (len(self.controllers) - 1))) % len(self.controllers)
        self._queue.at(now + int(spread(value, 0) * GAP_MS), self._elect, new)
        self._queue.at(now + int(spread(value, 3) * DEAF_MS), self._resign, old.controller, old.term)

    def _burn(self) -> None:
        """Fail over if the fuse of a failover has burnt down; at least one batch is lost."""
        if self._fuse is None or self._fuse[0] > 0 or self._tape.is_quiet:
            return
        fault, self._fuse = self._fuse[1], None
        pending = len(self.quorum.batches) - self.quorum.committed
        if pending and self.quorum.leader is not None:
            self._fail_over(fault, int(spread(fault.value, 1) * pending))

    def _resign(self, index: int, term: int) -> None:
        """A controller hears that it leads no more. Nobody knows the outcome of the requests that it has to answer."""
        if self.controllers[index].term == term:
            self._resigns = True
            self._handle(index, ResignationNotice(term))
            self._resigns = False

    def _elect(self, index: int) -> None:
        term = self.controllers[index].term
        if term is not None:
            self._resign(index, term)
        leader = self.quorum.elect(index)
        self.home = index
        self.elections += 1
        begin = self.controllers[index].log.end
        self._handle(index, LearnedBatches(begin, self.quorum.learned(begin)))
        self._handle(index, ElectionNotice(leader.term))
        self._log.events.append((self._queue.now, f"c{index}", "elected", {"term": leader.term}))


def streams_after(image: Image, body: Body) -> tuple[tuple[int, Any, Any, Any], ...]:
    """For each stream that a request names: its id, row, newest range and entry after the request."""
    match body:
        case OpenStreams(node, _, items) | CloseStreams(node, _, items) | TrimStreams(node, _, items):
            streams = [each.stream for each in items]
        case DeleteStreams(node, _, named):
            streams = list(named)
        case CommitStreamSetObject(commit):
            node, streams = commit.node, [each.stream for each in commit.ranges]
            streams += [each.stream for each in commit.stream_objects]
        case _:
            return ()
    entries = image.entries.get(node, {})
    return tuple((each, image.streams.get(each), image.current_range(each), entries.get(each)) for each in streams)
