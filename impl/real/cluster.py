"""A cluster of processes on this machine: one controller, and a broker for each node, on one bucket.

A process that ends gets a successor after a while. All nodes are on the loopback interface.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from impl.real.children import Child, Children
from impl.real.clock import Clock
from impl.real.event_file import EventFile
from impl.real.problems import ClusterError
from impl.real.starts import FAILED, HALTED, SHUT_DOWN, BrokerStart, ClusterRules, ControllerStart

RESTART_S = 0.5
"""The time from the end of a process to the start of its successor, unless a fault says another."""
AGAIN_S = 5.0
"""The time between two attempts to start a process that cannot start."""
CONTROLLER = 0
"""Stands for the node of the controller."""


class Wires:
    """How processes reach each other: here directly. A subclass puts proxies in between."""

    async def controller_of(self, node: int, port: Callable[[], int | None]) -> int:  # noqa: ARG002 - proxies need it
        """The port at which a broker of a node finds the controller. ``port``: that of the controller now."""
        found = port()
        assert found is not None, "the controller was started first"
        return found

    async def broker_of(self, node: int, child: Child) -> int:  # noqa: ARG002 - as above
        """The port at which clients find a broker."""
        return child.port

    async def store_of(self, process: str, endpoint: str | None) -> str | None:  # noqa: ARG002 - as above
        """The endpoint of the object store for a process."""
        return endpoint


def _nothing() -> None:
    """Nobody has to know."""


def _nobody(_: str) -> None:
    """Nobody has to read it."""


class LocalCluster:
    """``folder``: for the logs. ``endpoint`` and ``bucket``: the object store.

    ``metadata``: the file of the metadata log, if it is not in that folder. ``changed`` is called after each start of a
    process. ``name``: precedes the names of the processes, if two clusters share a folder. ``fault``: the first error
    of a node that no rule describes, "" for none. ``problem``: the newest problem that the user can solve, "" for none;
    ``tell`` is called with it. ``epochs``: the newest epoch of each node.
    """

    def __init__(
        self,
        folder: Path,
        children: Children,
        clock: Clock,
        *,
        endpoint: str | None,
        bucket: str,
        rules: ClusterRules,
        name: str = "",
        wires: Wires | None = None,
        epochs: Mapping[int, int] | None = None,
        metadata: Path | None = None,
        changed: Callable[[], None] = _nothing,
        tell: Callable[[str], None] = _nobody,
    ) -> None:
        self.folder, self.children, self.clock, self.rules = folder, children, clock, rules
        self.fault = self.problem = ""
        self.controller: Child | None = None
        self.brokers: dict[int, Child] = {}
        """By node: its newest process."""
        self.epochs: dict[int, int] = dict(epochs or {})
        self._endpoint, self._bucket, self._name = endpoint, bucket, name
        self._metadata = folder / "metadata.log" if metadata is None else metadata
        self._changed, self._tell = changed, tell
        self._wires = Wires() if wires is None else wires
        self._events = EventFile(folder / f"{name}driver.events", f"{name}driver")
        self._ports: dict[str, int] = {}
        """By name of a broker: the port for clients."""
        self._lives: dict[int, int] = {}
        self._own: list[Child] = []
        self._down: dict[int, float] = {}
        """By node: the time until its next start, in seconds, if a fault has chosen it."""
        self._stopping = False
        self._watches: set[asyncio.Task[Any]] = set()
        self._controller_port = 0

    # Start ----------------------------------------------------------------------------------------------------------

    async def start(self, brokers: int) -> None:
        """Start the controller and the brokers. Raises ClusterError."""
        await self._start_controller()
        await asyncio.gather(*(self.start_broker(node) for node in range(1, brokers + 1)))

    async def _start_controller(self) -> None:
        name = self._next_name(CONTROLLER)
        start = ControllerStart(
            name=name,
            **await self._common(name),
            metadata=str(self._metadata),
            port=self._controller_port,
        )
        self.controller = await self.children.start(start)
        # Its successors listen on the same port, so that whoever knows it finds them.
        self._controller_port = self.controller.port
        self._watch(CONTROLLER, self.controller, self._start_controller)
        self._changed()

    async def start_broker(self, node: int) -> None:
        """Start the next process of a node. An older one that lives goes on beside it. Raises ClusterError."""
        name = self._next_name(node)
        epoch = self.epochs[node] = max(self.clock.now(), self.epochs.get(node, 0) + 1)
        start = BrokerStart(
            name=name,
            **await self._common(name),
            node=node,
            epoch=epoch,
            controller=await self._wires.controller_of(node, lambda: self._controller_port),
        )
        child = await self.children.start(start)
        self._ports[name] = await self._wires.broker_of(node, child)
        self.brokers[node] = child
        self._watch(node, child, lambda: self.start_broker(node))
        self._changed()

    async def replace(self, node: int) -> None:
        """Start the next process of a node beside the one that is there. If it cannot start, that is a problem."""
        try:
            await self.start_broker(node)
        except ClusterError as error:
            self._complain(str(error))

    async def _common(self, name: str) -> dict[str, Any]:
        return {
            "driver": os.getpid(),
            "clock": self.clock.base,
            "events": str(self.folder / f"{name}.events"),
            "endpoint": await self._wires.store_of(name, self._endpoint),
            "bucket": self._bucket,
            "rules": self.rules,
        }

    def _next_name(self, node: int) -> str:
        number = self._lives[node] = self._lives.get(node, -1) + 1
        return f"{self._name}{'c' if node == CONTROLLER else f'b{node}'}.{number}"

    # Places ---------------------------------------------------------------------------------------------------------

    def controller_port(self) -> int | None:
        """The port of the controller."""
        return self._controller_port or None

    def broker_place(self, node: int) -> tuple[str, int] | None:
        """The newest process of a node, and its port for clients; None if there is none."""
        child = self.brokers.get(node)
        return None if child is None or child.name not in self._ports else (child.name, self._ports[child.name])

    def is_alive(self, node: int) -> bool:
        """Whether the newest process of a node lives, and is not stopped."""
        child = self._newest(node)
        return child is not None and child.alive and not child.stopped

    # Ends -----------------------------------------------------------------------------------------------------------

    def _watch(self, node: int, child: Child, successor: Callable[[], Awaitable[None]]) -> None:
        self._own.append(child)
        task = asyncio.get_running_loop().create_task(self._follow(node, child, successor))
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)

    async def _follow(self, node: int, child: Child, successor: Callable[[], Awaitable[None]]) -> None:
        """Wait for the end of a process, and start its successor, if it is the newest of its node."""
        code = await child.end()
        if code not in (SHUT_DOWN, HALTED):
            # The process is gone, so all of its own events are earlier.
            self._note("crash", child, awaits=[])
            if code == FAILED:
                self._complain(child.complaint())
            elif code > 0:
                self.fault = self.fault or f"{child.name} ends with code {code}: {child.complaint()}"
        down = self._down.pop(node, RESTART_S) if self._newest(node) is child else 0.0
        while self._newest(node) is child and not self._stopping:
            await asyncio.sleep(down)
            try:
                if self._newest(node) is child:
                    await successor()
            except ClusterError as error:
                self._complain(str(error))
                down = AGAIN_S

    def _note(self, kind: str, child: Child, **fields: Any) -> None:
        """Write an event of a process down. If that fails, it is a problem: the log lacks the event."""
        try:
            self._events.note(self.clock.micros(), kind, child.name, **fields)
        except ClusterError as error:
            self._complain(str(error))

    def _complain(self, problem: str) -> None:
        """Report a problem that the user can solve, such as a full disk; each text once."""
        if problem != self.problem:
            self.problem = problem
            self._tell(problem)

    def _newest(self, node: int) -> Child | None:
        return self.controller if node == CONTROLLER else self.brokers.get(node)

    async def kill(self, node: int, down_s: float) -> bool:
        """End the newest process of a node with SIGKILL. ``down_s``: the time until its successor starts.

        False if it has ended already.
        """
        child = self._newest(node)
        if child is None or not child.alive:
            return False
        self._down[node] = down_s
        await self.children.kill(child)
        return True

    def pause(self, child: Child) -> None:
        """Stop a process where it is."""
        self.children.send(child, signal.SIGSTOP)
        self._note("pause", child, ms=0)

    def resume(self, child: Child) -> None:
        """Let a stopped process go on."""
        if child.alive and child.stopped:
            self._note("resume", child)
            self.children.send(child, signal.SIGCONT)

    def resume_all(self) -> None:
        """Let all stopped processes go on."""
        for child in self.children.all:
            self.resume(child)

    async def stop(self, wait_s: float) -> list[str]:
        """Shut the brokers down in order, one after the other, and then the controller (PT-06).

        Each broker has ``wait_s`` seconds. Returns the names of those that did not end in time, and were killed.
        """
        self._stopping = True
        late: list[str] = []
        for _, child in sorted(self.brokers.items()):
            self.children.send(child, signal.SIGTERM)
            try:
                await asyncio.wait_for(child.end(), wait_s)
            except TimeoutError:
                late.append(child.name)
                await self.children.kill(child)
        await self.kill_all()
        return late

    async def kill_all(self) -> None:
        """End all processes of the cluster with SIGKILL; none gets a successor."""
        self._stopping = True
        for watch in tuple(self._watches):
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        for child in self._own:
            if child.alive:
                await self.children.kill(child)
                self._note("crash", child, awaits=[])
