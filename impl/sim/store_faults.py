"""The object store of a run: each operation arrives, takes effect and is answered at times of its own.

An operation that was sent goes on without its sender: it takes effect after a crash, too.
"""

from __future__ import annotations

from collections.abc import Callable

from impl.sim.faults import DELETION, LISTING, RACE, READ, STALL, STORE
from impl.sim.queue import Queue
from impl.sim.tape import Fault, Site, Tape, spread, stream
from impl.store.interface import Answer, Delete, Get, List, ObjectStore, Operation, Put, Unsure
from impl.store.memory import MemoryStore

Answered = Callable[[Answer], None]
"""Takes an answer: when it is back at the sender, or when the operation takes effect."""
SLOWEST_MS = 8
"""The longest way to the store, or back, without a fault."""
TIMEOUT_MS = 5_000
"""The longest time until the sender learns that the outcome is unknown."""
SLOW_MS, OLD_MS, RACE_MS, THROTTLE_MS, LATE_MS, STALL_MS = 3_000, 3_000, 2_000, 3_000, 15_000, 12_000
"""The longest delays of faults: of an effect, of the answer to a list, of a put in a race; the longest throttling;
the longest time from the sender's timeout to a late effect; the longest stall.
"""
READ_MS = 20_000
"""The longest time until the answer to a slow read. A producer waits longer for its append (ZR-31)."""


def _nobody(_: Answer) -> None:
    """Drop the answer to an operation whose sender has given up."""


def _nobody_looks(_: tuple[str, ...]) -> None:
    return


class FaultyStore:
    """A store behind faults. ``operations``: the number of operations sent. ``deleted`` is called after each deletion
    of a node with its keys.

    ``behind``: the store, which takes its effect at once; None for ``memory``, a store of its own.
    """

    def __init__(self, queue: Queue, tape: Tape, seed: int, behind: ObjectStore | None = None) -> None:
        self.memory = MemoryStore()
        self._behind: ObjectStore = self.memory if behind is None else behind
        self.operations = 0
        self._queue, self._tape = queue, tape
        self._weather = stream(seed, "weather of the store")
        self._sites: dict[int, tuple[Site, ...]] = {}
        self._stalls: dict[int, int] = {}
        """By node: the end of its stall. Puts that the node sends before take effect then."""
        self._throttled = 0
        self.deleted: Callable[[tuple[str, ...]], None] = _nobody_looks

    def send(self, node: int, operation: Operation, answered: Answered, taken: Answered = _nobody) -> None:
        """Send an operation.

        ``answered`` is called once, when the answer is back; with Unsure if the outcome is unknown. ``taken`` is called
        when the operation takes effect, if it ever does.
        """
        self.operations += 1
        now = self._queue.now
        fault = self._decide(node, operation, now)
        there = 1 + int(self._weather() * SLOWEST_MS)
        if fault is not None:
            self._tape.happened(fault)
            self._send_with(fault, node, operation, answered, taken, now + there)
        elif type(operation) is Put and now < self._stalls.get(node, 0):
            self._queue.at(self._stalls[node] + there, self._take_effect, operation, answered, taken, 0)
        elif now < self._throttled:
            self._queue.at(now + there, answered, Unsure("slow down"))
        else:
            self._queue.at(now + there, self._take_effect, operation, answered, taken, 0)

    def _decide(self, node: int, operation: Operation, now: int) -> Fault | None:
        sites = self._sites.get(node)
        if sites is None:
            kinds = {"store": STORE, "list": LISTING, "race": RACE, "stall": STALL, "read": READ}
            sites = self._sites[node] = tuple(
                self._tape.site(f"{name}/{node}", tuple(each)) for name, each in kinds.items()
            )
        fault = sites[0].decide(now)
        if type(operation) is List:
            fault = sites[1].decide(now) or fault
        elif type(operation) is Put:
            fault = sites[3].decide(now) or sites[2].decide(now) or fault
        elif type(operation) is Get:
            fault = sites[4].decide(now) or fault
        # A read has no effect that could come late.
        if fault is not None and fault.kind == "store_late" and not isinstance(operation, Put | Delete):
            return None
        return fault

    def _send_with(
        self, fault: Fault, node: int, operation: Operation, answered: Answered, taken: Answered, there: int
    ) -> None:
        at, value = self._queue.at, fault.value
        timeout = there + 200 + int(value * TIMEOUT_MS)
        match fault.kind:
            case "store_slow":
                at(there + int(value * SLOW_MS), self._take_effect, operation, answered, taken, 0)
            case "store_stall":
                self._stalls[node] = there + int(value * STALL_MS)
                at(self._stalls[node], self._take_effect, operation, answered, taken, 0)
            case "store_race":
                at(there + int(value * RACE_MS), self._take_effect, operation, answered, taken, 0)
            case "store_old_list":
                at(there, self._take_effect, operation, answered, taken, int(value * OLD_MS))
            case "read_slow":
                at(there, self._take_effect, operation, answered, taken, int(value * READ_MS))
            case "store_error":
                at(there, answered, Unsure("internal error"))
            case "store_throttle":
                self._throttled = there + 200 + int(value * THROTTLE_MS)
                at(there, answered, Unsure("slow down"))
            case "store_timeout_before":
                at(timeout, answered, Unsure("timeout"))
            case "store_timeout_after":
                at(there, self._take_effect, operation, _nobody, taken, 0)
                at(timeout, answered, Unsure("timeout"))
            case _:
                at(timeout, answered, Unsure("timeout"))
                at(timeout + 1 + int(spread(value, 0) * LATE_MS), self._take_effect, operation, _nobody, taken, 0)

    def _take_effect(self, operation: Operation, answered: Answered, taken: Answered, delay: int) -> None:
        answer = self._behind.execute(operation)
        taken(answer)
        if type(operation) is Delete:
            self.deleted(operation.keys)
        if answered is not _nobody:
            self._queue.at(self._queue.now + 1 + int(self._weather() * SLOWEST_MS) + delay, answered, answer)

    def delete(self, keys: tuple[str, ...], done: Callable[[], None]) -> None:
        """Delete objects for the controller; ``done`` is called when they are gone. Only DELETION happens to it."""
        fault = self._tape.site("deletion", tuple(DELETION)).decide(self._queue.now)
        late = 0
        if fault is not None:
            self._tape.happened(fault)
            late = int(fault.value * SLOW_MS)
        self._queue.at(self._queue.now + SLOWEST_MS + late, self._delete, keys, done)

    def _delete(self, keys: tuple[str, ...], done: Callable[[], None]) -> None:
        self._behind.execute(Delete(keys))
        done()
