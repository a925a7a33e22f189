"""The broker processes: their inputs and outputs, their start and their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from impl.broker import messages
from impl.broker.messages import (
    Command,
    CommandAnswer,
    Halt,
    Identity,
    PeerAnswer,
    PeerRequest,
    Produce,
    StepEvent,
    StoreAnswer,
    StoreRequest,
)
from impl.errors import E
from impl.metadata.log import MetadataBatch
from impl.sim.batch_faults import delivered
from impl.sim.cluster import ControllerCluster
from impl.sim.event_log import EventLog, StoreEffect
from impl.sim.faults import EPOCH, IMAGE
from impl.sim.network import Network
from impl.sim.peers import PeerConnections
from impl.sim.process import Make, Process
from impl.sim.queue import Queue
from impl.sim.store_faults import FaultyStore
from impl.sim.tape import Tape, stream
from impl.sim.zones import ZoneTraffic, first_value
from impl.store.interface import Answer
from impl.tasks import Place
from impl.wire import LearnedBatches, Reply, Request, Wake, WakeNotice

IMAGE_MS, HOLD_MS, COALESCE_MS = 20, 10_000, 1_500
"""The longest time until a broker learns a commit: usually, with ``image_delay``, and with ``image_coalesce``."""
RESTART_MS = 2_000
"""The longest time until a process that has halted gets a successor; a second more is the shortest."""


class Fleet:
    """The processes of a run. A fleet starts them, hands them their inputs, and takes their outputs.

    ``current``: the newest process of each node. ``steps``: the number of inputs that brokers were given. ``crashed``:
    for each await, how many tasks waited there when their process crashed.

    ``done`` is called with each answer to a command, when it is back; ``started`` and ``ended`` with processes. The
    third argument of ``ended`` says whether the clients of the process notice the end at once.
    """

    def __init__(
        self,
        queue: Queue,
        tape: Tape,
        seed: int,
        log: EventLog,
        store: FaultyStore,
        network: Network,
        make: Make,
        *,
        done: Callable[[Process, CommandAnswer], None],
        started: Callable[[Process], None],
        ended: Callable[[Process, bool], None],
        traffic: ZoneTraffic,
    ) -> None:
        self.cluster: ControllerCluster
        self.current: dict[int, Process] = {}
        self.processes: list[Process] = []
        self.steps = 0
        self.crashed: Counter[Place] = Counter()
        self._queue, self._tape, self._log, self._store, self._network = queue, tape, log, store, network
        self._make, self._done, self._started, self._ended = make, done, started, ended
        self._buried: set[int] = set()
        self._weather = stream(seed, "weather of the processes")
        self._traffic = traffic
        self._peers = PeerConnections(queue, network, self.processes, self.current, self.deliver, traffic, log)
        self._routes: dict[type, Callable[[Process, Any], None]] = {
            Request: self._request,
            StoreRequest: self._store_request,
            CommandAnswer: self._answered,
            Wake: self._wake_later,
            Halt: self._halt,
            StepEvent: self._step,
            PeerRequest: self._peers.request,
            PeerAnswer: self._peers.answer,
        }

    # Start and end --------------------------------------------------------------------------------------------

    def start(self, node: int, epoch: int | None = None) -> Process:
        """Start a process of a node. Its epoch is the time, unless a fault makes it equal to the last one, or less."""
        now, before = self._queue.now, self.current.get(node)
        if epoch is None:
            epoch = self._epoch(node, before)
        lives = sum(each.node == node for each in self.processes)
        broker = self._make(Identity(node, epoch), now)
        process = Process(node, epoch, f"b{node}.{lives}", broker, self.cluster.home, now)
        self.processes.append(process)
        self.current[node] = process
        self._log.events.append((now, process.name, "start", {"node": node, "epoch": epoch}))
        self.deliver(process, WakeNotice())
        self._feed(process)
        self._started(process)
        return process

    def _epoch(self, node: int, before: Process | None) -> int:
        now = self._queue.now
        if before is None:
            return now
        highest = max(each.epoch for each in self.processes if each.node == node)
        fault = self._tape.site(f"epoch/{node}", tuple(EPOCH)).decide(now)
        # Two living processes never share an epoch, so an equal one is only for a process that is alone.
        alone = not any(each.alive for each in self.processes if each.node == node)
        if fault is not None and (fault.kind == "epoch_back" or alone):
            self._tape.happened(fault)
            return before.epoch if fault.kind == "epoch_equal" else highest - 1 - int(fault.value * 5_000)
        return max(now, highest + 1)

    def crash(self, process: Process) -> None:
        """End a process where it is, and start its successor later, if it is the newest of its node."""
        places = process.broker.places()
        for task in places:
            self.crashed.update(task)
        awaits = [f"{file}:{line} {function}" for *_, (file, line, function) in places]
        self._log.events.append((self._queue.now, process.name, "crash", {"awaits": awaits}))
        self._end(process, process.down_ms, noticed=process.crash_kind != "crash_slow")

    def _end(self, process: Process, down_ms: int, *, noticed: bool) -> None:
        process.alive = False
        process.inbox.clear()
        process.broker.crash()
        self._peers.ended(process, noticed=noticed)
        self._ended(process, noticed)
        self._queue.at(self._queue.now + down_ms, self.restart, process)

    def restart(self, process: Process) -> None:
        """Start the successor of a process that is dead, unless it has one, or its node stays dead."""
        if self.current[process.node] is process and not process.alive and process.node not in self._buried:
            self.start(process.node)

    def close(self) -> None:
        """End the tasks of all processes, after a run."""
        for process in self.processes:
            process.broker.crash()

    def bury(self, process: Process) -> None:
        """End a process, if it lives; its node starts no process any more."""
        self._buried.add(process.node)
        if process.alive:
            self.crash(process)

    def pause(self, process: Process, ms: int) -> None:
        """Stop a process for a time. What arrives meanwhile waits."""
        process.paused = True
        self._log.events.append((self._queue.now, process.name, "pause", {"ms": ms}))
        self._queue.at(self._queue.now + ms, self.resume, process)

    def resume(self, process: Process) -> None:
        """Go on after a pause with everything that has arrived."""
        if not process.paused or not process.alive:
            return
        self._log.events.append((self._queue.now, process.name, "resume", {}))
        process.paused = False
        inbox, process.inbox = process.inbox, []
        for event in inbox:
            self.deliver(process, event)

    # Inputs ---------------------------------------------------------------------------------------------------

    def deliver(self, process: Process, event: messages.Input) -> None:
        """Give an input to a process; a dead one does not notice."""
        if not process.alive:
            return
        if process.paused:
            process.inbox.append(event)
            return
        self.steps += 1
        if type(event) is StoreAnswer:
            self._log.events.append((self._queue.now, process.name, "stored", {"await": event.id}))
        try:
            outputs = process.broker.handle(event, self._queue.now)
        except Exception as error:
            error.add_note(f"in {process.name} at {self._queue.now} ms, with {type(event).__name__}")
            raise
        self._log.note_missed(self._queue.now, process.name)
        if process.fuse:
            process.fuse -= 1
            if not process.fuse:  # A crash within a step: only the first of its outputs leave the process.
                self._route(process, outputs[: int(len(outputs) * process.kept + 0.5)])
                if process.alive:
                    self.crash(process)
                return
        if outputs:
            self._route(process, outputs)

    def command(self, process: Process, command: Command, refused: Callable[[], None]) -> None:
        """Send a client's command to a process. ``refused`` is called, after a while, if nobody is there."""
        self._network.send(self._network.link(process.node, "<client"), self._command, process, command, refused)

    def tell(self, process: Process, command: Command) -> None:
        """Send a command that follows from the metadata. Like the metadata, all commands arrive, in order."""
        link = self._network.link(process.node, "<controller")
        process.told = max(process.told, link.cut, self._queue.now + 1 + int(self._weather() * IMAGE_MS))
        self._queue.at(process.told, self.deliver, process, command)

    def _command(self, process: Process, command: Command, refused: Callable[[], None]) -> None:
        if not process.alive:
            self._queue.at(self._queue.now + 1, refused)
            return
        if self._traffic.zones and isinstance(command.body, Produce):
            received = {"client": command.to, "partition": command.body.partition, "value": first_value(command.body)}
            self._log.events.append((self._queue.now, process.name, "received", received))
        self.deliver(process, command)

    def learn(self, _: tuple[MetadataBatch, ...]) -> None:
        """Batches are committed: every process learns of them in a while."""
        for process in self.processes:
            if process.alive and not process.feeding:
                self._feed(process)

    def _feed(self, process: Process) -> None:
        """Send the committed batches to a process: all batches that are committed at the time of arrival."""
        process.feeding = True
        delay = int(self._weather() * IMAGE_MS)
        fault = self._tape.site(f"image/{process.node}", tuple(IMAGE)).decide(self._queue.now)
        if fault is not None:
            self._tape.happened(fault)
            longest = HOLD_MS if fault.kind == "image_delay" else COALESCE_MS
            delay += 500 + int(fault.value * longest)
        self._network.send_surely(self._network.link(process.node, "<controller"), delay, self._fed, process)

    def _fed(self, process: Process) -> None:
        process.feeding = False
        batches = self.cluster.committed(process.seen)
        if batches and process.alive:
            begin, process.seen = process.seen, process.seen + len(batches)
            self.deliver(process, LearnedBatches(begin, delivered(self._tape, self._queue.now, process.node, batches)))

    def reply(self, process: Process, reply: Reply) -> None:
        """Send the answer of a controller."""
        self._network.send(self._network.link(process.node, "<controller"), self._reply, process, reply)

    def _reply(self, process: Process, reply: Reply) -> None:
        if reply.answers and reply.answers[0].error is E.NOT_CONTROLLER:
            process.home = self.cluster.home
        self.deliver(process, reply)

    # Outputs --------------------------------------------------------------------------------------------------

    def _route(self, process: Process, outputs: Any) -> None:
        routes = self._routes
        for output in outputs:
            routes[type(output)](process, output)
            if not process.alive:
                return

    def _request(self, process: Process, request: Request) -> None:
        self._log.events.append((self._queue.now, process.name, "request", request))
        if not self._network.loses_report(process.node, request.body):
            link = self._network.link(process.node, ">controller")
            self._network.send(link, self.cluster.arrive, process, process.home, request)

    def _store_request(self, process: Process, request: StoreRequest) -> None:
        self._log.events.append((self._queue.now, process.name, "store", request))

        def answered(answer: Answer) -> None:
            self.deliver(process, StoreAnswer(request.id, answer))

        def taken(answer: Answer) -> None:
            self._log.events.append((self._queue.now, process.name, "effect", StoreEffect(request, answer)))

        self._store.send(process.node, request.operation, answered, taken)

    def _answered(self, process: Process, done: CommandAnswer) -> None:
        if done.to:
            self._network.send(self._network.link(process.node, ">client"), self._done, process, done)
        else:
            self._network.send_surely(self._network.link(process.node, ">controller"), 0, self._done, process, done)

    def _wake_later(self, process: Process, wake: Wake) -> None:
        if process.wake_at == wake.at:
            return
        process.wake_at = wake.at
        self._queue.at(wake.at, self._wake, process, wake.at)

    def _wake(self, process: Process, at: int) -> None:
        if process.wake_at == at and process.alive:
            process.wake_at = -1
            self.deliver(process, WakeNotice())

    def _halt(self, process: Process, halt: Halt) -> None:
        self._log.events.append((self._queue.now, process.name, "halt", {"reason": halt.reason}))
        self._end(process, 1_000 + int(self._weather() * RESTART_MS), noticed=True)

    def _step(self, process: Process, step: StepEvent) -> None:
        self._log.events.append((self._queue.now, process.name, "step", step))
