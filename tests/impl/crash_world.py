"""Brokers, one controller that commits at once, and an object store: everything arrives in the order of its sending.

Beyond ``broker_world``, a test can hold messages back and send them on later, pause a process, and crash one after any
of its inputs, with or without what it sends then. Time is virtual.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from impl import wire
from impl.broker import log_cache, wal
from impl.broker import messages as m
from impl.broker.node import Broker
from impl.broker.object_format import object_key
from impl.broker.settings import Settings
from impl.controller.node import PERIOD_MS, Controller
from impl.controller.nodes import stored_registration
from impl.controller.view import Profile
from impl.errors import E
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch
from impl.store.interface import Delete
from impl.store.memory import MemoryStore

START = 1_000_000
"""The time at which a world begins, in milliseconds."""
MINUTE = 60_000
FAST = wal.WalLimits(linger_ms=10)
SMALL = log_cache.CacheLimits(block=3 * (log_cache.OVERHEAD + 8), capacity=1 << 20)
"""Blocks of three records of eight bytes."""
VERSIONS = pytest.mark.parametrize("v6", [False, True], ids=["legacy", "V6"])
"""A test runs in both versions of the protocol."""


class Flight(msgspec.Struct):
    """A message under way, to or from a process."""

    process: Process
    message: Any
    to_process: bool


class Process:
    """A process of a node, and the answers to its commands by number."""

    def __init__(self, world: World, identity: m.Identity, settings: Settings) -> None:
        self.world, self.identity = world, identity
        self.broker = Broker(identity, settings, world.now)
        self.place = len(world.processes)
        self.alive = True
        self.paused = False
        self.halted = ""
        self.wake: int | None = None
        self.inputs = 0
        self.crashes_at: int | None = None
        """The number of inputs after which the process crashes."""
        self.sends_last = True
        """Whether the outputs of the input before the crash leave the process."""
        self.done: dict[int, m.CommandAnswer] = {}
        self.steps: list[m.StepEvent] = []
        self._commands = 0

    def send(self, body: m.CommandBody) -> int:
        """Give the process a command, and return its number."""
        self._commands += 1
        self.world.flights.append(Flight(self, m.Command(0, self._commands, body), to_process=True))
        return self._commands

    def ask(self, body: m.CommandBody) -> m.CommandAnswer:
        """Give the process a command, and run the world until it is answered."""
        number = self.send(body)
        self.world.run(lambda: number in self.done)
        return self.done[number]

    def take(self, event: m.Input) -> None:
        """Let the process handle an input."""
        if not self.alive:
            return
        self.inputs += 1
        outputs = self.broker.handle(event, self.world.now)
        crashes = self.inputs == self.crashes_at
        for output in outputs:
            if not crashes or self.sends_last:
                self._emit(output)
        if crashes:
            self.crash()

    def crash(self) -> None:
        """Crash the process. Its sent messages are still under way."""
        self.alive = False
        self.broker.crash()

    def acks(self, stream: int) -> list[tuple[int, int]]:
        """The base and count of each acknowledged batch of a stream, in the order of acks."""
        steps = [step.values for step in self.steps if step.action == "ack" and step.values["stream"] == stream]
        return [(values["base"], values["count"]) for values in steps]

    def _emit(self, output: m.Output) -> None:
        match output:
            case wire.Request() | m.StoreRequest():
                self.world.flights.append(Flight(self, output, to_process=False))
            case m.CommandAnswer():
                self.done[output.id] = output
            case wire.Wake(at):
                self.wake = at
            case m.Halt(reason):
                self.alive, self.halted = False, reason
            case m.StepEvent():
                self.steps.append(output)


class World:
    """A controller, brokers and a store. ``holds``: whether a message is held back. ``held``: the held messages."""

    def __init__(self, *, v6: bool = True, **settings: Any) -> None:
        chosen: dict[str, Any] = {"wal": FAST, "cache": SMALL, "fast_close": v6, **settings}
        self.settings = Settings(**chosen)
        self.now = START
        profile = Profile(v6=v6, handshake="G1" if self.settings.elects else "G0")
        self.controller = Controller(profile, now=START)
        self.store = MemoryStore()
        self.processes: list[Process] = []
        self.flights: deque[Flight] = deque()
        self.held: list[Flight] = []
        self.holds: Callable[[Flight], bool] = lambda _: False
        self.batches: list[MetadataBatch] = []
        self._tick = START + PERIOD_MS

    @property
    def image(self) -> Image:
        """The controller's metadata."""
        return self.controller.image

    def begin(self, node: int, *, epoch: int | None = None) -> Process:
        """Start a process of a node. Its epoch is the time, unless another one is given (ID-03)."""
        process = Process(self, m.Identity(node, self.now if epoch is None else epoch), self.settings)
        self.processes.append(process)
        self._send(process, wire.LearnedBatches(0, tuple(self.batches)))
        return process

    def serving(self, *nodes: int) -> list[Process]:
        """Start a process of each node, and run until the controller has unfenced all of them."""
        found = [self.begin(node) for node in nodes]
        self.run(lambda: all(self.image.brokers.get(node) == "active" for node in nodes))
        return found

    def run(self, until: Callable[[], bool], ms: int = 5 * MINUTE) -> None:
        """Deliver messages and let time pass until a condition holds. Raises AssertionError after a time limit."""
        limit = self.now + ms
        while not until():
            assert self.now <= limit, f"nothing has come of it in {ms} ms"
            self._step()

    def rest(self, ms: int = 1_000) -> None:
        """Let a time pass."""
        until = self.now + ms
        while self.flights or self._next_time() <= until:
            self._step()
        self.now = until

    def release(self) -> None:
        """Deliver the held messages, and hold none any more."""
        self.holds = lambda _: False
        self.flights.extendleft(reversed(self.held))
        self.held = []

    def resume(self, process: Process) -> None:
        """Resume a paused process with the inputs that have arrived meanwhile."""
        process.paused = False
        mine = [flight for flight in self.held if flight.process is process and flight.to_process]
        self.held = [flight for flight in self.held if not (flight.process is process and flight.to_process)]
        self.flights.extendleft(reversed(mine))

    def control(self, event: wire.Input) -> None:
        """Let the controller handle an input. Its records are committed at once, and published to all processes."""
        outputs = deque(self.controller.handle(event, self.now))
        begin = len(self.batches)
        while outputs:
            match outputs.popleft():
                case wire.QuorumAppend(index, batch):
                    self.batches.append(batch)
                    outputs.extend(self.controller.handle(wire.CommitNotice(0, index + 1), self.now))
                case wire.Reply() as reply:
                    self._send(self.processes[reply.to], reply)
                case wire.DeleteObjects(objects):
                    self.store.execute(Delete(tuple(object_key(each) for each in objects)))
                    outputs.extend(self.controller.handle(wire.DeletionNotice(objects), self.now))
        if len(self.batches) > begin:
            for process in self.processes:
                self._send(process, wire.LearnedBatches(begin, tuple(self.batches[begin:])))

    def _step(self) -> None:
        if self.flights:
            self._deliver(self.flights.popleft())
            return
        self.now = max(self.now, self._next_time())
        for process in self.processes:
            if _is_awake(process) and process.wake is not None and process.wake <= self.now:
                process.wake = None
                process.take(wire.WakeNotice())
        if self._tick <= self.now:
            self._tick += PERIOD_MS
            self.control(wire.WakeNotice())

    def _next_time(self) -> int:
        wakes = [each.wake for each in self.processes if _is_awake(each) and each.wake is not None]
        return min([self._tick, *wakes])

    def _deliver(self, flight: Flight) -> None:
        process, message = flight.process, flight.message
        if self.holds(flight) or (flight.to_process and process.paused):
            self.held.append(flight)
        elif flight.to_process:
            process.take(message)
        elif isinstance(message, wire.Request):
            self.control(msgspec.structs.replace(message, to=process.place))
        else:
            self._send(process, m.StoreAnswer(message.id, self.store.execute(message.operation)))

    def _send(self, process: Process, message: Any) -> None:
        if process.alive:
            self.flights.append(Flight(process, message, to_process=True))


def _is_awake(process: Process) -> bool:
    return process.alive and not process.paused


# What tests do with a world ---------------------------------------------------------------------------------------


def opened(process: Process, epoch: int = 0) -> int:
    """A new stream that a process has opened."""
    done = process.ask(m.Create())
    assert done.error is E.NONE
    stream: int = done.values["stream"]
    assert process.ask(m.Open(stream, epoch)).error is E.NONE
    return stream


def successor(world: World, node: int) -> Process:
    """Start the next process of a node, and run until it has recovered and serves."""
    process = world.begin(node)

    def serves() -> bool:
        row = stored_registration(world.image, node)
        return row is not None and row.epoch == process.identity.epoch and world.image.brokers.get(node) == "active"

    world.run(serves)
    return process


def payload(number: int) -> bytes:
    """Eight bytes that contain the number of a batch."""
    return b"%08d" % number


def append(process: Process, stream: int, number: int, count: int = 1) -> m.CommandAnswer:
    """Append a batch, and wait for the answer."""
    return process.ask(m.Append(stream, count, payload(number)))


def contents(process: Process, stream: int, begin: int = 0) -> list[tuple[int, int, bytes]]:
    """All batches of a stream from an offset on, as a process reads them, without gap and overlap."""
    done = process.ask(m.Fetch(stream, begin))
    assert done.error is E.NONE, done
    batches: list[tuple[int, int, bytes]] = done.values["batches"]
    place = batches[0][0] if batches else begin
    assert place <= begin
    for base, count, _ in batches:
        assert base == place, f"a batch begins at {base}, and the one before it ends at {place}"
        place = base + count
    assert place == max(done.values["confirm"], begin)
    return batches


def numbers(batches: list[tuple[int, int, bytes]]) -> list[int]:
    """The numbers in the payloads of batches."""
    return [int(data) for _, _, data in batches]


def is_request(flight: Flight, kind: type) -> bool:
    """Whether a message is a request of a kind."""
    return isinstance(flight.message, wire.Request) and isinstance(flight.message.body, kind)
