"""Random recoveries of one WAL, one after the other or at once (FO-06, RC-02 to RC-05, WL-10).

A process has died and left its WAL. Some of its records are committed already, some belong to streams of other nodes,
some follow a gap, and some lie above the end of a sealed stream. The acknowledged records of the node's streams have to
be committed, each once and in its place, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl import wire
from impl.broker.calls import Calls
from impl.broker.log_cache import CacheLimits
from impl.broker.messages import Identity
from impl.broker.object_writer import ObjectWriter
from impl.broker.recovery import REFUSED, Recovery
from impl.broker.wal import Wal
from impl.metadata.image import Image
from impl.sim.part_cases.handle_world import has_failed
from impl.sim.part_cases.late_store import LateStore
from impl.sim.part_cases.left_wal import left_objects, left_streams
from impl.sim.part_cases.recovery_controller import NODE, RecoveryController
from impl.sim.tape import Draw, one
from impl.sim.violation import JudgedRun, PartViolation
from impl.store.bucket import Bucket
from impl.store.interface import Operation, Put
from impl.tasks import Gate, Tasks

EPOCH = 5
"""The epoch of the process that has died."""
STEPS, LAST_ROUNDS, PROCESSES = 100, 400, 5
"""The most steps of a run, rounds of the last recovery, and processes before it."""
RESERVATION = f"reservation/{NODE}"


class RecoveringProcess:
    """A process that recovers the WAL. ``name``: its epoch, and whether it is a failover worker.

    ``sent``: the store operations that have not arrived, by number. ``requests``: those to the controller. ``is_late``:
    the metadata that it knew at its begin have a newer process. ``is_over``: its recovery has ended without an error.
    """

    def __init__(self, draw: Draw, name: tuple[int, bool], controller: RecoveryController, known: int) -> None:
        self.name = name
        self.tasks = tasks = Tasks()
        self.calls = Calls(tasks)
        self.sent: dict[int, Operation] = {}
        self.requests: list[wire.Request] = []
        self.is_alive, self.is_over, self.is_late = True, False, False
        self._image, self._controller, self._known = Image(), controller, 0
        self._newer: Gate[None] = Gate(tasks)
        identity = Identity(NODE, *name)
        bucket = Bucket(tasks, lambda number, operation: (number, operation))
        limits = CacheLimits(block=one(draw, (1, 4_000, 1 << 20)), streams=one(draw, (2, 100)))
        self._recovery = Recovery(
            *(tasks, self.calls, identity, Wal(tasks, bucket, NODE, name[0], failover=name[1])),
            ObjectWriter(tasks, bucket, self.calls, identity, one(draw, (1, 1 << 20)), REFUSED),
            *(lambda: self._image, self._wait_newer, limits),
        )
        self.learn(known)
        self._main = tasks.start(self._recovery.run())

    async def _wait_newer(self) -> None:
        await self._newer.wait()

    def learn(self, known: int) -> None:
        """Learn the metadata up to a place of the log."""
        if known > self._known:
            for record in self._controller.log[self._known : known]:
                self._image.apply(record)
            self._known = known
            newer, self._newer = self._newer, Gate(self.tasks)
            newer.open(None)

    def run(self, ms: int = 0) -> None:
        """Let the tasks work, after some time."""
        for output in self.tasks.run(self.tasks.now + ms):
            self._emitted(output)
        if self._main.happened:
            self.is_over = not has_failed(self._main)
            self.is_alive = False

    def _emitted(self, output: Any) -> None:
        if isinstance(output, wire.Request):
            self.requests.append(output)
        elif isinstance(output, tuple):
            self.sent[output[0]] = output[1]

    def wait(self) -> None:
        """Let the time of the next delay come."""
        if self.tasks.due is not None:
            self.run(max(0, self.tasks.due - self.tasks.now))

    def crash(self) -> list[Operation]:
        """End the process. Returns the store operations that may still arrive."""
        self.is_alive = False
        self.tasks.crash()
        return list(self.sent.values())


class RecoveryRun(JudgedRun):
    """The WAL that is left, and the processes that recover it. ``found``: the first violation."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._store = LateStore(draw)
        self._streams = left_streams(draw)
        for put in left_objects(draw, self._streams, EPOCH):
            self._store.objects.execute(put)
        self._controller = RecoveryController(self._store.objects, self._streams, EPOCH)
        self._processes: list[RecoveringProcess] = []

    # What happens -----------------------------------------------------------------------------------------------

    def play(self) -> None:
        """Make random steps until one violates something. Then a last recovery runs, and nothing disturbs it."""
        self._begin((EPOCH, True) if self._draw() < 0.3 else (EPOCH + 1, False))
        for _ in range(10 + int(self._draw() * STEPS)):
            one(self._draw, _STEPS)(self)
            if self._is_violated():
                return
        for process in self._processes:
            process.crash()
        self._store.heal()
        self._begin((1 + max(each.name[0] for each in self._processes), False))
        last = self._processes[-1]
        for _ in range(LAST_ROUNDS):
            if not last.is_alive or self._is_violated():
                break
            self._advance(last)
        if not last.is_over:
            self.violate("LV-01", "a recovery does not end, though nothing disturbs it")
        if any(each.end < each.durable for each in self._streams.values()):
            self.violate("INV-02", "acknowledged records are not committed when the recovery has ended")
        if any(each.kind == "open" for each in self._streams.values()):
            self.violate("RC-05", "a stream is still open when the recovery has ended")
        self._is_violated()

    def _is_violated(self) -> bool:
        self.found = self.found or self._controller.found
        return self.found is not None

    def _begin(self, name: tuple[int, bool]) -> None:
        log = self._controller.log
        known = len(log) if self._draw() < 0.7 else 3 + int(self._draw() * (len(log) - 2))
        process = RecoveringProcess(self._draw, name, self._controller, known)
        registered = [each.name[0] for each in self._processes if each.is_over and not each.name[1]]
        process.is_late = known == len(log) and any(each > name[0] for each in registered)
        self._processes.append(process)
        process.run()

    def _begin_next(self) -> None:
        """Begin another process: the next one, or one that was begun before and comes late."""
        if len(self._processes) >= PROCESSES:
            return None
        newest = max(each.name[0] for each in self._processes)
        if self._draw() < 0.7:
            return self._begin((newest + 1, False))
        name = (EPOCH + int(self._draw() * (newest - EPOCH)), True)
        if all(each.name != name for each in self._processes):
            self._begin(name)
        return None

    def _process(self) -> RecoveringProcess | None:
        alive = [each for each in self._processes if each.is_alive]
        return one(self._draw, alive) if alive else None

    def _advance(self, process: RecoveringProcess) -> None:
        """What a process has sent first arrives; it learns the metadata, or its time goes on."""
        if process.sent:
            self._deliver(process, min(process.sent))
        elif process.requests:
            self._execute(process, process.requests.pop(0), answers=True)
        else:
            process.learn(len(self._controller.log))
            process.run()
            if process.is_alive and not process.sent and not process.requests:
                process.wait()

    def _deliver(self, process: RecoveringProcess, number: int) -> None:
        operation = process.sent.pop(number)
        if process.is_late and isinstance(operation, Put) and operation.key == RESERVATION:
            self.violate("WL-10", "a process takes the WAL from a newer one of which the registry tells")
        was_over = process.is_over
        process.tasks.answer(number, self._store.deliver(operation))
        process.run()
        self._register(process, was_over)

    def _execute(self, process: RecoveringProcess, request: wire.Request, *, answers: bool) -> None:
        answer = self._controller.execute(request.body, process.name)
        was_over = process.is_over
        if answers and process.is_alive:
            process.calls.replied(wire.Reply(0, request.id, (answer,)))
            process.run()
        self._register(process, was_over)

    def _register(self, process: RecoveringProcess, was_over: bool) -> None:
        """ND-10. A process registers when it has recovered the WAL. A worker does not."""
        if process.is_over and not was_over and not process.name[1]:
            self._controller.register(process.name[0])

    def _settle(self) -> None:
        process = self._process()
        for _ in range(15):
            if process is not None and process.is_alive:
                self._advance(process)

    def _deliver_any(self) -> None:
        process = self._process()
        if process is not None and process.sent:
            self._deliver(process, one(self._draw, sorted(process.sent)))

    def _execute_any(self) -> None:
        """A request arrives. Its process may be dead, its answer may get lost, and it may arrive once more."""
        senders = [each for each in self._processes if each.requests]
        if senders:
            process = one(self._draw, senders)
            place = int(self._draw() * len(process.requests))
            request = process.requests[place] if self._draw() < 0.1 else process.requests.pop(place)
            self._execute(process, request, answers=self._draw() < 0.9)

    def _learn(self) -> None:
        process = self._process()
        if process is not None:
            process.learn(len(self._controller.log))
            process.run()

    def _wait(self) -> None:
        process = self._process()
        if process is not None:
            process.wait()

    def _arrive_late(self) -> None:
        self._store.arrive_late()

    def _crash(self) -> None:
        process = self._process()
        if process is not None:
            self._store.late += process.crash()


_STEPS: tuple[Callable[[RecoveryRun], None], ...] = (
    *(RecoveryRun._deliver_any,) * 6, *(RecoveryRun._execute_any,) * 4, *(RecoveryRun._settle,) * 4,
    *(RecoveryRun._learn,) * 2, RecoveryRun._wait, *(RecoveryRun._begin_next,) * 2, RecoveryRun._arrive_late,
    RecoveryRun._crash,
)  # fmt: skip
"""The steps of a run, each as often as it counts in the draw."""


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of recoveries, and tell what it violates; None if nothing."""
    run = RecoveryRun(draw)
    run.play()
    return run.found
