"""Lets the faults of a schedule happen to a cluster of processes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from impl.real.children import Child
from impl.real.clock import Clock
from impl.real.cluster import CONTROLLER, LocalCluster, Wires
from impl.real.links import LinkTable
from impl.real.schedule import PlannedFault
from impl.real.store_proxy import StoreProxy, StoreWeather

LOOK_S = 0.1
"""The time between two looks for a process that may be killed."""
SLOW_S = 5.0
"""How long after its start the successor of a killed process has a slow link, if it has one."""


class FaultEvent(msgspec.Struct, frozen=True):
    """A fault of a kind has begun at a time in microseconds. ``ms``: how long it lasts; of a kill, until the successor.

    ``text``: what happened, for people.
    """

    at: int
    kind: str
    ms: int
    text: str


class ProxiedWires(Wires):
    """Puts proxies on all links, and before the object store."""

    def __init__(self, links: LinkTable, store: StoreProxy) -> None:
        self._links, self._store = links, store

    async def controller_of(self, node: int, port: Any) -> int:
        """The port of a link of the node to the controller."""
        return await self._links.listen(node, ">controller", "<controller", port)

    async def broker_of(self, node: int, child: Child) -> int:
        """The port of a link from the clients to the process."""
        return await self._links.listen(node, "<client", ">client", lambda: child.port if child.alive else None)

    async def store_of(self, process: str, endpoint: str | None) -> str | None:  # noqa: ARG002 - the proxy knows it
        """The URL of the proxy for the process."""
        return await self._store.listen(process)


class FaultDriver:
    """``happened``: the faults that happened, by kind. ``told``: each of them."""

    def __init__(self, cluster: LocalCluster, links: LinkTable, store: StoreProxy, clock: Clock) -> None:
        self.happened: Counter[str] = Counter()
        self.told: list[FaultEvent] = []
        self._cluster, self._links, self._store, self._clock = cluster, links, store, clock
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, schedule: Sequence[PlannedFault]) -> None:
        """Let all faults begin at their times."""
        begin = self._clock.now()
        for fault in schedule:
            await asyncio.sleep(max(0, begin + fault.at - self._clock.now()) / 1_000)
            task = asyncio.get_running_loop().create_task(self._befall(fault))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """End all faults: stopped processes go on, links work, the store answers."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._links.mend()
        self._store.mend()
        self._cluster.resume_all()

    async def _befall(self, fault: PlannedFault) -> None:
        match fault.kind:
            case "kill" | "kill_long" | "kill_controller":
                await self._kill(fault)
            case "zombie" | "pause" | "pause_controller":
                await self._pause(fault)
            case "cut" | "delay" | "lag":
                await self._link(fault)
            case _:
                self._tell(fault, f"calls to the store meet {fault.detail[0]}")
                until = self._clock.micros() + fault.ms * 1_000
                self._store.weather = StoreWeather(fault.detail[0], fault.share, until)

    async def _kill(self, fault: PlannedFault) -> None:
        """Kill a process, as soon as there is one that may be killed."""
        is_broker = fault.kind != "kill_controller"
        node = self._living(fault.node) if is_broker else CONTROLLER
        while node is None or not self._cluster.is_alive(node):
            await asyncio.sleep(LOOK_S)
            node = self._living(fault.node) if is_broker else CONTROLLER
        child = self._cluster.brokers[node] if is_broker else self._cluster.controller
        assert child is not None, "it lives"
        self._tell(fault, f"kill -9 of {child.name}")
        slow = self._links.direction(node, ">controller")
        slow.delay = fault.share
        await self._cluster.kill(node, fault.ms / 1_000)
        await asyncio.sleep(fault.ms / 1_000 + SLOW_S)
        slow.delay = 0.0

    def _living(self, node: int) -> int | None:
        """The node, or the next one whose process lives and runs; None if there is none, or only one."""
        nodes = sorted(self._cluster.brokers)
        living = [each for each in (*nodes[node - 1 :], *nodes[: node - 1]) if self._cluster.is_alive(each)]
        return living[0] if len(living) > 1 or len(nodes) == 1 else None

    async def _pause(self, fault: PlannedFault) -> None:
        node = CONTROLLER if fault.kind == "pause_controller" else self._living(fault.node)
        child = (
            None if node is None else self._cluster.controller if node == CONTROLLER else self._cluster.brokers[node]
        )
        if node is None or child is None or not self._cluster.is_alive(node):
            return
        self._tell(fault, f"SIGSTOP of {child.name} for {fault.ms} ms")
        self._cluster.pause(child)
        if fault.kind == "zombie":
            await asyncio.sleep(fault.later / 1_000)
            if self._cluster.brokers.get(node) is child:
                # The end of the faults must not leave a process that is half started.
                await asyncio.shield(self._cluster.replace(node))
        await asyncio.sleep(max(0, fault.ms - fault.later) / 1_000)
        self._cluster.resume(child)

    async def _link(self, fault: PlannedFault) -> None:
        nodes = [fault.node] if fault.node else sorted(self._cluster.brokers)
        directions = [self._links.direction(node, name) for node in nodes for name in fault.detail]
        of = f"node {fault.node}" if fault.node else "all nodes"
        self._tell(fault, f"{fault.kind} of {' and '.join(fault.detail)} of {of} for {fault.ms} ms")
        for each in directions:
            if fault.kind == "cut":
                each.cut()
            else:
                each.delay = fault.share
        await asyncio.sleep(fault.ms / 1_000)
        for each in directions:
            each.mend()

    def _tell(self, fault: PlannedFault, text: str) -> None:
        self.happened[fault.kind] += 1
        self.told.append(FaultEvent(self._clock.micros(), fault.kind, fault.ms, text))
