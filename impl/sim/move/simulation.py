"""One move in the simulator: a history, a tail that is not uploaded, and the request to move.

The controller and the brokers are those of ``impl``, with their default settings except one: if the tail comes near
the upload threshold (PL-20), the threshold is raised. So the whole tail is left to the close, which is the worst case.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Literal

import msgspec

from impl import wire
from impl.broker import log_cache
from impl.broker.messages import Command, CommandAnswer, Identity, Produce
from impl.broker.node import Broker
from impl.broker.object_format import object_key
from impl.broker.settings import Settings
from impl.controller.view import Profile
from impl.errors import E
from impl.metadata.log import MetadataBatch
from impl.sim.cluster import ControllerCluster
from impl.sim.event_log import Event, EventLog
from impl.sim.fleet import Fleet
from impl.sim.move.conditions import MIB, Conditions
from impl.sim.move.history import BEGIN_MS as BEGIN_TIMESTAMP
from impl.sim.move.history import PARTITION, SEGMENT_MS, SOURCE, TARGET, TOPIC, StoredHistory
from impl.sim.move.steady_network import SteadyNetwork
from impl.sim.move.steady_store import SteadyStore, StoreTransfer
from impl.sim.move.watch import Moments, Watch
from impl.sim.process import Process
from impl.sim.queue import Queue
from impl.sim.tape import Tape
from impl.sim.zones import ZoneTraffic
from impl.store.interface import Put

BEGIN_MS, FIRST_EPOCH = 100_000, 10_000
SETUP_MS, MOVE_MS = 60_000, 600_000
"""The longest virtual times of the set-up, and of a move."""
BATCH_BYTES, WAVE = MIB, 8
"""The bytes of a batch of the tail, and how many are sent at a time."""
ROOM_BYTES = 64 * MIB
"""The room under the upload threshold besides the tail."""


class MoveVariant(msgspec.Struct, frozen=True):
    """Who asks for the election: the source when it has closed (G0), or the target when it can serve (G1). V6 closes a
    stream before its records are uploaded.
    """

    generation: Literal["G0", "G1"]
    version: Literal["legacy", "V6"]

    @property
    def name(self) -> str:
        """The generation and the version, for people."""
        return f"{self.generation}, {self.version}"


class MoveRun(msgspec.Struct, frozen=True):
    """A move that has ended: its ``moments``, the ``transfers`` of the brokers since the request, and the offset of the
    first batch that the target has appended.
    """

    moments: Moments
    transfers: tuple[StoreTransfer, ...]
    offset: int


class EventSink(list[Event]):
    """Drops events: they would keep every byte of the tail in memory."""

    def append(self, _: Event, /) -> None:
        return


class MoveRequester:
    """Sends the request to move."""

    name = "operator"


class MoveSimulation:
    """All parts of a move. ``tail``: the bytes of values that the source has not uploaded when the move begins."""

    def __init__(self, history: StoredHistory, tail: int, variant: MoveVariant, conditions: Conditions) -> None:
        self.queue = Queue(BEGIN_MS)
        self.moments = Moments()
        tape, log = Tape(0, {}), EventLog()
        log.events = EventSink()
        self.store = SteadyStore(self.queue, tape, conditions)
        for key, value in history.objects.items():
            self.store.memory.execute(Put(key, value))
        self.store.stand_ins |= history.sizes
        self._history, self._tail, self._conditions = history, tail, conditions
        self._settings = _settings(tail, variant)
        self._answers: list[CommandAnswer] = []
        self._sent = 0
        self.fleet = Fleet(
            *(self.queue, tape, 0, log, self.store, SteadyNetwork(self.queue, tape, conditions), self._make),
            done=lambda _, done: self._answers.append(done),
            started=lambda _: None,
            ended=_ended,
            traffic=ZoneTraffic(0),
        )
        self.cluster = ControllerCluster(
            *(self.queue, tape, 0, log, self.store),
            profile=Profile(v6=variant.version == "V6", handshake=variant.generation),
            controllers=1,
            delay=conditions.commit,
            object_key=object_key,
            reply=self._reply,
            learn=self._learn,
            begin=(history.batch,),
        )
        self.fleet.cluster = self.cluster

    def run(self) -> MoveRun:
        """Set the simulation up, move the partition, and append to it at the target."""
        for node in (SOURCE, TARGET):
            self.fleet.start(node, FIRST_EPOCH + node)
        self._set_up()
        self._ask_to_move()
        self._until(lambda: self.moments.serves is not None, MOVE_MS, 1)
        transfers = tuple(self.store.transfers)
        offset = self._produce(TARGET, (b"first of the target",))
        return MoveRun(self.moments, transfers, offset)

    def _set_up(self) -> None:
        """Wait until the source leads, and append the tail."""
        brokers = {SOURCE: "active", TARGET: "active"}
        image = self.cluster.controllers[0].image
        self._until(lambda: image.brokers == brokers and self.moments.led, SETUP_MS)
        left = self._tail
        while left:
            wave: list[int] = []
            while left and len(wave) < WAVE:
                wave.append(min(left, BATCH_BYTES))
                left -= wave[-1]
            self._send(SOURCE, *((bytes(size),) for size in wave))
            self._wait(len(wave))

    def _ask_to_move(self) -> None:
        self.store.limit()
        self.moments.asked = self.queue.now
        request = wire.Request(0, 1, wire.AlterReassignments({TOPIC: {PARTITION: (TARGET,)}}))
        arrives = self.queue.now + self._conditions.message
        self.queue.at(arrives, self.cluster.arrive, MoveRequester(), self.cluster.home, request)

    def _produce(self, node: int, values: tuple[bytes, ...]) -> int:
        """Append a batch at a broker, now, and return its offset."""
        self._send(node, values)
        (done,) = self._wait(1)
        return int(str(done.values["offset"]))

    def _send(self, node: int, *batches: tuple[bytes, ...]) -> None:
        for values in batches:
            self._sent += 1
            timestamp = BEGIN_TIMESTAMP + self._history.segments * SEGMENT_MS + self._sent
            body = Produce(TOPIC, PARTITION, values, timestamp=timestamp)
            self.fleet.deliver(self.fleet.current[node], Command(1, self._sent, body))

    def _wait(self, count: int) -> list[CommandAnswer]:
        """The answers to the batches that were sent. Raises RuntimeError if one was refused."""
        self._until(lambda: len(self._answers) == count, SETUP_MS, 1)
        answers, self._answers = self._answers, []
        for each in answers:
            if each.error is not E.NONE:
                raise RuntimeError(f"a broker refuses an append without any fault: {each.error.name}")
        return answers

    def _until(self, holds: Callable[[], bool], ms: int, step: int = 10) -> None:
        bound = self.queue.now + ms
        while not holds():
            if self.queue.now >= bound:
                raise RuntimeError(f"the move has not ended in {ms} virtual ms, although no fault has happened")
            self.queue.run(self.queue.now + step)

    # What the parts tell ----------------------------------------------------------------------------------------

    def _make(self, identity: Identity, now: int) -> Watch:
        return Watch(Broker(identity, self._settings, now), identity.node, self.moments)

    def _learn(self, batches: tuple[MetadataBatch, ...]) -> None:
        self.moments.committed(batches, self.queue.now)
        self.fleet.learn(batches)

    def _reply(self, process: Process | MoveRequester, reply: wire.Reply) -> None:
        if isinstance(process, Process):
            self.fleet.reply(process, reply)
        elif reply.answers[0].error is not E.NONE:
            raise RuntimeError(f"the controller refuses the move: {reply.answers[0].error.name}")


def run_move(history: StoredHistory, tail: int, variant: MoveVariant, conditions: Conditions) -> MoveRun:
    """Move a partition. The garbage collector rests meanwhile, as in every run of the simulator."""
    collects = gc.isenabled()
    gc.disable()
    simulation = MoveSimulation(history, tail, variant, conditions)
    try:
        return simulation.run()
    finally:
        simulation.fleet.close()
        del simulation
        # Only the collector frees a simulation, since it refers to itself; and it holds the whole tail.
        gc.collect()
        if collects:
            gc.enable()


def _settings(tail: int, variant: MoveVariant) -> Settings:
    limits = log_cache.CacheLimits()
    limits = msgspec.structs.replace(limits, block=max(limits.block, tail + ROOM_BYTES))
    return Settings(fast_close=variant.version == "V6", elects=variant.generation == "G1", cache=limits)


def _ended(process: Process, _: bool) -> None:
    raise RuntimeError(f"the process {process.name} has ended, although no fault has happened")
