"""A small cluster without faults: one controller, an object store in memory, brokers, and a clock that tests move."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from impl import wire
from impl.broker import messages as m
from impl.broker.node import Broker
from impl.broker.settings import Settings
from impl.controller.node import Controller
from impl.controller.view import Profile
from impl.errors import E
from impl.store.memory import MemoryStore


class World:
    """Brokers whose messages arrive in the order of sending. ``drops``: says which outputs of brokers are lost."""

    def __init__(self, *, fast_close: bool = False, as_built: frozenset[str] = frozenset()) -> None:
        self.settings = Settings(fast_close=fast_close, as_built=as_built)
        self.controller = Controller(Profile(v6=fast_close, as_built=as_built), now=1_000_000)
        self.store = MemoryStore()
        self.brokers: dict[str, Broker] = {}
        self.done: dict[int, m.CommandAnswer] = {}
        self.steps: list[tuple[str, m.StepEvent]] = []
        self.requests: list[tuple[str, wire.Body]] = []
        self.halted: dict[str, str] = {}
        self.drops: Callable[[str, m.Output], bool] = lambda name, output: False
        self.now = 1_000_000
        self._inputs: deque[tuple[str, Any]] = deque()
        self._seen: dict[str, int] = {}
        self._commands = 0

    def start(self, node: int, epoch: int, name: str | None = None) -> str:
        """Start a process of a node, and let it become ready."""
        name = name or f"n{node}.{epoch}"
        self.brokers[name] = Broker(m.Identity(node, epoch), self.settings, self.now)
        self._seen[name] = 0
        self._inputs.append((name, wire.WakeNotice()))
        self.settle()
        return name

    def crash(self, name: str) -> None:
        """Crash a process."""
        self.brokers.pop(name).crash()

    def tell(self, name: str, body: m.CommandBody) -> int:
        """Send a command to a process; it arrives with the next ``settle``."""
        self._commands += 1
        self._inputs.append((name, m.Command(9, self._commands, body)))
        return self._commands

    def ask(self, name: str, body: m.CommandBody, *, wait: int = 2_000) -> m.CommandAnswer:
        """The answer to a command. Fails if it does not come within a time."""
        number = self.tell(name, body)
        self.settle()
        until = self.now + wait
        while number not in self.done and self.now < until:
            self.advance(100)
        return self.done[number]

    def value(self, name: str, body: m.CommandBody) -> dict[str, Any]:
        """The values of an answer without an error."""
        done = self.ask(name, body)
        assert done.error is E.NONE, done.error
        return done.values

    def arrive(self, name: str, body: wire.Body) -> None:
        """Deliver a process's request to the controller late. No task waits for the answer."""
        self._to_controller(name, wire.Request(0, -1, body))

    def advance(self, ms: int) -> None:
        """Move the clock, and run everything that is due."""
        self.now += ms
        self._inputs += [(name, wire.WakeNotice()) for name in self.brokers]
        self._to_controller("", wire.WakeNotice())
        self.settle()

    def settle(self, most: int = 100_000) -> None:
        """Deliver messages until no more are sent, or N inputs."""
        while self._inputs and most:
            most -= 1
            name, event = self._inputs.popleft()
            if name in self.brokers:
                for output in self.brokers[name].handle(event, self.now):
                    self._route(name, output)

    def _route(self, name: str, output: m.Output) -> None:
        if self.drops(name, output):
            return
        match output:
            case wire.Request():
                self.requests.append((name, output.body))
                self._to_controller(name, output)
            case m.StoreRequest(number, operation):
                self._inputs.append((name, m.StoreAnswer(number, self.store.execute(operation))))
            case m.CommandAnswer():
                self.done[output.id] = output
            case m.Halt(reason):
                self.halted[name] = reason
                del self.brokers[name]
            case m.StepEvent():
                self.steps.append((name, output))
            case wire.Wake():
                pass

    def _to_controller(self, name: str, event: Any) -> None:
        outputs = deque(self.controller.handle(event, self.now))
        while outputs:
            output = outputs.popleft()
            match output:
                case wire.QuorumAppend(index, _):
                    outputs += self.controller.handle(wire.CommitNotice(0, index + 1), self.now)
                    self._publish()
                case wire.Reply():
                    self._inputs.append((name, output))
                case wire.DeleteObjects(objects):
                    outputs += self.controller.handle(wire.DeletionNotice(objects), self.now)

    def _publish(self) -> None:
        """Send the committed metadata to all processes."""
        batches = tuple(self.controller.log.batches)
        for name in self.brokers:
            begin, self._seen[name] = self._seen[name], len(batches)
            self._inputs.append((name, wire.LearnedBatches(begin, batches[begin:])))
