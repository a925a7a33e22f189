"""The lines of takeovers: reservations, registrations and resets of WALs.

The line of a reservation stands at its put, with one exception (``_place_of``). Only at the end of the run is it known
which of the puts the models have:

    wal.reserved                 the process has registered after that
    wal.reserved:unregistered    it has not
    wal.reserved:repeated        it tries again, or a second process stands for the same failed one
    wal.reserved.unused          an older process and a newer one overwrite each other's reservation, and this one
                                 gives way; or it has not registered, and the one before it still recovers
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from typing import Any

from impl.broker import reservation
from impl.broker.messages import StepEvent, StoreRequest
from impl.sim.conformance.lines import LineCollector, Processes, Who, identity
from impl.sim.event_log import Event, StoreEffect
from impl.store.interface import Get, List, Operation, Put, PutResult

NEVER = 1 << 60
"""Stands for an event that has not happened."""


class Takeover:
    """A process overwrites the reservation of a WAL with ``data``, at the event ``reserved``.

    Four fields are events. ``registered``: the controller has taken the registration of the process. ``listed``: the
    process has listed the WAL. ``reset``: the WAL is empty again. ``stored``: the first object that the process puts
    into the WAL is stored; from then on the objects of older processes do not count (WL-07).

    ``goes_on``: whether the process has found its reservation once more after its registration, and so replays the WAL.
    """

    def __init__(self, reserved: int, data: bytes, who: Who) -> None:
        self.reserved, self.data, self.who = reserved, data, who
        self.registered, self.listed, self.reset, self.stored = NEVER, NEVER, NEVER, NEVER
        self.goes_on = False

    def is_older(self, other: Takeover) -> bool:
        """Whether it overwrites the reservation of a process that started after its own."""
        return self.reserved > other.reserved and identity(self.who)[1:] < identity(other.who)[1:]

    def is_barred_by(self, other: Takeover) -> bool:
        """Whether the controller has registered a newer process after this one."""
        return self.is_older(other) and self.registered < other.registered < NEVER

    def is_unused(self, others: list[Takeover]) -> bool:
        """Whether an older process overwrites the reservation of a newer one, and this is the one that gives way.

        The older one gives way, unless it goes on, or the newer one gives way to a third that goes on.
        """
        if self.goes_on:
            return False
        newer = [other for other in others if self.is_older(other)]
        return self._yields(others) or any(not each._yields(others) for each in newer)

    def _yields(self, others: list[Takeover]) -> bool:
        """Whether an older process that goes on has overwritten the reservation of this one."""
        return not self.goes_on and any(other.goes_on and other.is_older(self) for other in others)


class Takeovers:
    """Goes through the events of brokers in their order; ``finish`` adds the lines."""

    def __init__(self, lines: LineCollector, processes: Processes) -> None:
        self._lines, self._processes = lines, processes
        self._by_process: dict[tuple[str, int], list[Takeover]] = defaultdict(list)
        """By the name of the process, and the node whose WAL it takes."""
        self._operations: dict[tuple[str, int], Operation] = {}
        """By name, and the number of the await."""
        self._effects: dict[tuple[str, int], int] = {}
        """The events at which operations took effect."""
        self._told: dict[str, tuple[int, int]] = {}
        """By name: the time at which the process was told of its reservation, and the event of that read."""
        self._reads: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
        """By name and node: the reads of the node's reservation, each with the event at which the process was told."""
        self._reservations: dict[int, list[tuple[bytes, int]]] = defaultdict(list)
        """By node: the bytes of its reservation, and the event from which on it has them."""
        self._taking: dict[str, int] = {}
        """By name of a process: the node whose reservation it has overwritten last."""
        self._resets: list[tuple[int, int, str, int]] = []
        """For each reset: its event, the read of the reservation before it, the process and the node."""
        self._barriers: list[tuple[int, str, Who]] = []
        self._stored: dict[int, dict[str, Any]] = {}
        """By the event of a registration: the node at the controller after it."""

    # During the run -------------------------------------------------------------------------------------------------

    def see(self, index: int, event: Event) -> None:
        """Take in an event of a broker."""
        now, name, kind, subject = event
        match subject:
            case StoreRequest(number, operation):
                self._operations[name, number] = operation
                if isinstance(operation, Put) and operation.key.startswith("reservation/"):
                    node, epoch, failover = reservation.decode(operation.data)
                    if failover:
                        self._processes.begin(name, node, epoch)
            case StoreEffect():
                self._effect(index, name, subject)
            case StepEvent("reset_wal", _):
                node = self._taking[name]
                reads = self._reads[name, node]
                self._resets.append((index, reads[-1][1] if reads else index, name, node))
            case dict() if kind == "stored":
                self._tell(index, now, name, subject["await"])

    def register(self, index: int, name: str, who: Who, stored: dict[str, Any]) -> None:
        """The controller has taken a registration. ``stored``: the node at the controller after it."""
        self._barriers.append((index, name, who))
        self._stored[index] = stored

    def read_of(self, index: int, name: str, now: int) -> int:
        """The event behind a step: the read of its reservation, if it was just told of one; else ``index``."""
        told = self._told.get(name)
        return told[1] if told is not None and told[0] == now else index

    def _effect(self, index: int, name: str, effect: StoreEffect) -> None:
        self._effects[name, effect.request.id] = index
        match effect.request.operation:
            case Put(key, data) if isinstance(effect.answer, PutResult) and key.startswith("reservation/"):
                node, epoch, failover = reservation.decode(data)
                self._taking[name] = node
                self._reservations[node].append((data, index))
                who = self._processes.sender(name, node, epoch, failover=failover)
                self._by_process[name, node].append(Takeover(index, data, who))
            case Put(key, _) if isinstance(effect.answer, PutResult) and key.startswith("wal/"):
                taken = self._by_process[name, int(key.split("/")[1])]
                if taken:
                    taken[-1].stored = min(taken[-1].stored, index)
            case List(folder) if folder.startswith("wal/"):
                taken = self._by_process[name, int(folder.split("/")[1])]
                if taken and taken[-1].registered == NEVER:
                    taken[-1].listed = index

    def _tell(self, index: int, now: int, name: str, number: int) -> None:
        """The store has answered. Only steps that follow at once rest on a read of the reservation."""
        self._told.pop(name, None)
        operation = self._operations[name, number]
        if isinstance(operation, Get) and operation.key.startswith("reservation/"):
            read = self._effects.get((name, number))
            if read is not None:
                self._told[name] = now, read
                self._reads[name, int(operation.key.split("/")[1])].append((index, read))

    # After the run --------------------------------------------------------------------------------------------------

    def finish(self, effective: Set[tuple[int, int, bool]]) -> dict[int, list[Takeover]]:
        """Add the lines; returns the takeovers that the models have, by node and in their order.

        ``effective``: the processes of which the controller has taken a commit or a close.
        """
        for index, name, who in self._barriers:
            self._go_on(index, name, who)
        by_node: dict[int, list[Takeover]] = defaultdict(list)
        for (_, node), attempts in self._by_process.items():
            by_node[node] += attempts
        for attempts in by_node.values():
            for each in attempts:
                # A newer process that registers later bars this one (CK-01.expired), whatever this one has found.
                if identity(each.who) not in effective and any(each.is_barred_by(other) for other in attempts):
                    each.goes_on = False
        return defaultdict(list, {node: self._add(by_node[node]) for node in sorted(by_node)})

    def _go_on(self, index: int, name: str, who: Who) -> None:
        """Find out whether a process that has registered goes on."""
        node = who["node"]
        attempts = [each for each in self._by_process[name, node] if each.reserved < index]
        if not attempts or attempts[-1].registered < NEVER:
            self._lines.add(index, "GET_OPENING_STREAMS:repeated", who, stored=self._stored[index])
            return
        taken = attempts[-1]
        taken.registered = index
        read = next((read for told, read in self._reads[name, node] if told > index), NEVER)
        overwritten = (at for data, at in self._reservations[node] if data != taken.data and at > taken.reserved)
        taken.goes_on = read < min(overwritten, default=NEVER)
        following = min(
            (each.reserved for each in self._by_process[name, node] if each.reserved > index), default=NEVER
        )
        resets = (at for told, at, by, of in self._resets if (by, of) == (name, node) and index < told < following)
        taken.reset = next(resets, NEVER)

    def _add(self, attempts: list[Takeover]) -> list[Takeover]:
        """Add the lines of a node."""
        attempts.sort(key=lambda each: each.reserved)
        found = []
        for each in attempts:
            if each.is_unused(attempts):
                self._lines.add(each.reserved, "wal.reserved.unused", each.who)
                if each.registered < NEVER:
                    stored = self._stored[each.registered]
                    self._lines.add(each.registered, "GET_OPENING_STREAMS:unused", each.who, stored=stored)
            elif each.registered == NEVER:
                suffix = ".unused" if _interrupts(each, attempts) else ":unregistered"
                self._lines.add(each.reserved, f"wal.reserved{suffix}", each.who)
            else:
                found.append(each)
        self._add_steps("wal.reserved", [(_place_of(each, attempts), each.who) for each in found])
        self._add_steps("GET_OPENING_STREAMS", [(each.registered, each.who) for each in found])
        self._add_steps("wal.reset", [(each.reset, each.who) for each in found])
        return found

    def _add_steps(self, event: str, steps: list[tuple[int, Who]]) -> None:
        """Add the lines of a step. Two processes may stand for a failed one, under one identity: models see one."""
        seen = set()
        for index, who in sorted(steps, key=lambda each: each[0]):
            if index < NEVER:
                stored: dict[str, Any] = {"stored": self._stored[index]} if index in self._stored else {}
                self._lines.add(index, f"{event}:repeated" if identity(who) in seen else event, who, **stored)
                seen.add(identity(who))

    def is_reserved(self, name: str, index: int) -> bool:
        """Whether the reservation of a process's own node is its own, at an event of the run."""
        node, _ = self._processes.of[name]
        own = [each.data for each in self._by_process[name, node]]
        held = [data for data, at in self._reservations[node] if at <= index]
        return bool(held) and held[-1] in own


def _place_of(taken: Takeover, attempts: list[Takeover]) -> int:
    """The event of the line of a reservation: its put; or its registration, if a process before it still recovers.

    The recovering process closes its streams all the same (RC-05), and in the models a recovering process has the
    reservation. It acks nothing, so the later place makes no difference until the new process has registered.
    """
    return taken.registered if _interrupts(taken, attempts) else taken.reserved


def _interrupts(taken: Takeover, attempts: list[Takeover]) -> bool:
    """Whether a process takes the reservation from one that recovers."""
    before = [each for each in attempts if each.reserved < taken.reserved and each.goes_on]
    return bool(before) and before[-1].reset > taken.reserved
