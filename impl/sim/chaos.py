"""The faults of processes and of their links: pauses, crashes, replacements, partitions."""

from __future__ import annotations

from impl.broker.messages import Stop
from impl.sim.cluster import ControllerCluster
from impl.sim.faults import HEAL, JOIN, PROCESS, TICK_MS
from impl.sim.fleet import Fleet
from impl.sim.network import Network
from impl.sim.process import Process
from impl.sim.queue import Queue
from impl.sim.tape import Fault, Tape, spread

PAUSE_MS, CUT_MS = 20_000, 20_000
"""The longest pause, and the longest time that links are cut; most are far shorter."""
FAST_MS, SLOW_MS = 4_000, 40_000
"""The longest time from a crash to a restart. A slow one is not shorter than a session, which is 9 s."""
FUSE = 40
"""The most inputs from the decision for a crash to the crash. Crashes at random inputs find tasks at every await."""
STOP_CRASHES = 0.5
"""The share of the stops in which the process crashes before it has ended."""
SUCCESSOR_MS = 3_000
"""The longest time from a pause to the start of the successor that replaces the paused process."""
JOIN_MS = 60_000
"""The longest time from the begin of the faults to the start of the broker that joins."""


class Chaos:
    """Decides for each node, every ``TICK_MS``, whether a fault happens to its newest process."""

    def __init__(self, queue: Queue, tape: Tape, fleet: Fleet, cluster: ControllerCluster, network: Network) -> None:
        self._queue, self._tape, self._fleet = queue, tape, fleet
        self._cluster, self._network = cluster, network
        self._places = tuple(PROCESS)

    def begin(self) -> None:
        """Begin to decide about faults."""
        fault = self._tape.site("join", tuple(JOIN)).decide(self._queue.now)
        if fault is not None:
            self._tape.happened(fault)
            self._queue.at(self._queue.now + int(fault.value * JOIN_MS), self._join)
        self._tick()
        self._cluster.tick()

    def _tick(self) -> None:
        for node in sorted(self._fleet.current):
            fault = self._tape.site(f"process/{node}", self._places).decide(self._queue.now)
            if fault is not None:
                self.befall(self._fleet.current[node], fault)
        if not self._tape.is_quiet:
            self._queue.at(self._queue.now + TICK_MS, self._tick)

    def _join(self) -> None:
        """Start a broker that was not there before, unless the faults have ended."""
        if not self._tape.is_quiet:
            self._fleet.start(max(self._fleet.current) + 1)

    def befall(self, process: Process, fault: Fault) -> None:
        """Let a fault of PROCESS happen to a process, or to the links of its node.

        Nothing happens to a process that is dead, paused, or about to crash.
        """
        value, now = fault.value, self._queue.now
        if fault.kind in ("partition", "cut"):
            self._cut(process.node, fault)
        elif not process.alive or process.paused or process.fuse:
            return  # One fault at a time.
        elif fault.kind == "pause":
            self._fleet.pause(process, 100 + int(value**2 * PAUSE_MS))  # The square makes most pauses short.
        elif fault.kind == "replace":
            # The pause ends after the successor has started, so the process lives on beside it.
            successor = 100 + int(spread(value, 0) ** 2 * SUCCESSOR_MS)
            self._fleet.pause(process, successor + 100 + int(value**2 * PAUSE_MS))
            self._queue.at(now + successor, self._replace, process)
        elif fault.kind == "stop":
            if spread(value, 0) < STOP_CRASHES:
                process.fuse = 2 + int(spread(value, 1) * FUSE)
                process.crash_kind, process.down_ms = "crash_fast", FAST_MS
            self._fleet.deliver(process, Stop())
        else:
            fast = fault.kind == "crash_fast"
            process.fuse = 1 + int(spread(value, 0) * FUSE)
            process.kept = spread(value, 1)
            process.crash_kind = fault.kind
            process.down_ms = 200 + int(value**2 * FAST_MS) if fast else 10_000 + int(value**2 * SLOW_MS)
        self._tape.happened(fault)

    def _replace(self, process: Process) -> None:
        """Start the successor of a process that lives on, unless it has one."""
        if self._fleet.current[process.node] is process:
            self._fleet.start(process.node)

    def _cut(self, node: int, fault: Fault) -> None:
        which = spread(fault.value, 0)
        places = ("controller",) if which < 0.4 else ("client",) if which < 0.6 else ("controller", "client")
        directions = "<>" if fault.kind == "partition" else "<" if spread(fault.value, 1) < 0.5 else ">"
        self._network.cut(node, places, directions, self._queue.now + 500 + int(fault.value**2 * CUT_MS))

    def end(self) -> None:
        """End all faults: paused processes go on, links work, and dead nodes start again.

        Some nodes stay dead instead: their living processes die, too. At least two nodes live, so that streams can be
        handed over.
        """
        fleet = self._fleet
        nodes = sorted(fleet.current)
        staying: list[int] = []
        for node in nodes:
            fault = self._tape.site(f"heal/{node}", tuple(HEAL)).decide(self._queue.now)
            if fault is not None and len(staying) + 2 < len(nodes):
                self._tape.happened(fault)
                staying.append(node)
        self._tape.silence()
        self._network.mend()
        for process in fleet.processes:
            process.fuse = 0
            if process.node in staying:
                fleet.bury(process)
            else:
                fleet.resume(process)
        # Last, so that the new processes find working links and no faults.
        for node in nodes:
            fleet.restart(fleet.current[node])
