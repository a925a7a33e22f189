"""Runs of the channel of a proxy: epochs in any order, appends that end together, and trims.

Judged from outside: under which epoch each record was stored, in which order, and whether it can be read afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from impl.sim.tape import Draw, one
from impl.sim.violation import PartViolation
from impl.zone.channel import ChannelEpochs, ChannelRecord

EVENTS, TARGETS = 40, 3
"""The most events of a run, and the number of mains that its records are for."""
NEAR = (-3, -2, -1, 0, 1, 1, 2)
"""How far the epoch of a switch is from the newest one that the channel has heard of."""
LOSS = "I-7"
"""The property that a trim deletes no record of an epoch that is not committed. It weighs more than an order."""


class StoredRecord(msgspec.Struct, frozen=True):
    """A record whose append has ended, as the channel has told it."""

    name: int
    target: int
    epoch: int
    offset: int


class ChannelRun:
    """A channel, and what it was told and has answered so far. ``found``: what it has violated, in order.

    ``newest``: the newest epoch that the channel has heard of. ``committed``: up to which epoch it was trimmed.
    """

    def __init__(self) -> None:
        self.found: list[PartViolation] = []
        self.newest, self.committed = 0, 0
        self._channel = ChannelEpochs()
        self._begun: dict[int, int] = {}
        """By name: the targets of the appends that are under way, in the order of their begin."""
        self._objects: list[list[StoredRecord]] = []
        self._count = 0

    # Calls ------------------------------------------------------------------------------------------------------

    def switch(self, epoch: int) -> None:
        """The proxy hears of an epoch, perhaps of one that is older than the newest."""
        self._channel.switch(epoch)
        self.newest = max(self.newest, epoch)

    def begin(self, target: int) -> None:
        """An append begins. Its record has the next number as its name."""
        self._channel.begin(self._count, target)
        self._begun[self._count] = target
        self._count += 1

    def complete(self, draw: Draw) -> None:
        """Some of the appends that are under way end together, in one object."""
        names = [name for name in self._begun if draw() < 0.6]
        self.end(names)

    def end(self, names: Sequence[int]) -> None:
        """These appends end together, in one object."""
        ended = self._channel.complete(names)
        wanted = sorted(names, key=lambda name: (self._begun[name], name))
        self._judge_order(wanted, ended)
        stored = [_stored(each) for each in ended]
        self._judge_epochs(stored)
        for name in names:
            del self._begun[name]
        if stored:
            self._objects.append(stored)
        self._judge_reads()

    def trim(self, epoch: int) -> None:
        """All epochs up to this one are committed. It is older than the newest one (I-4)."""
        self.committed = max(self.committed, epoch)
        point = self._channel.trim(epoch)
        if point is not None:
            upto = _stored(point).offset
            if any(each.epoch > self.committed for each in self._records() if each.offset <= upto):
                self._violate(LOSS, "the channel trims its WAL beyond a record of an epoch that is not committed")
        self._judge_reads()

    # Judgement --------------------------------------------------------------------------------------------------

    def _judge_order(self, wanted: Sequence[int], ended: Sequence[ChannelRecord]) -> None:
        """Each append is stored once, behind all earlier ones; an object is sorted by target (ZR-16)."""
        offsets = [_stored(each).offset for each in ended]
        behind = max((each.offset for each in self._records()), default=-1)
        if sorted(each.name for each in ended if isinstance(each.name, int)) != sorted(wanted):
            self._violate("ZR-16", "the channel does not store each append once")
        elif [each.name for each in ended] != wanted:
            self._violate("ZR-16", "the channel stores the records of an object in another order than by target")
        elif offsets != sorted(set(offsets)) or min(offsets, default=behind + 1) <= behind:
            self._violate("ZR-16", "the channel gives a record the offset of another one")

    def _judge_epochs(self, stored: Sequence[StoredRecord]) -> None:
        """ZR-20: a record has the newest epoch at the end of its append, so epochs never fall along the offsets."""
        for record in stored:
            if record.epoch < max((each.epoch for each in self._records()), default=0):
                self._violate("ZR-20", "the channel stores a record under an older epoch than the record before it")
            elif record.epoch != self.newest:
                self._violate(
                    "ZR-20", "the channel stores a record under another epoch than the newest it has heard of"
                )

    def _judge_reads(self) -> None:
        """I-7: a record stays until its epoch is committed. ZR-64: an object goes when a trim covers its last record.

        Records of epoch 0 may stay until a trim takes a record behind them (ZR-21).
        """
        covered = max((each.offset for each in self._records() if 0 < each.epoch <= self.committed), default=-1)
        for records in self._objects:
            for record in records:
                there = self._channel.can_read(record.name)
                if not there and record.epoch > self.committed:
                    self._violate(LOSS, "the channel deletes a record of an epoch that is not committed")
                elif there and records[-1].offset <= covered:
                    self._violate("ZR-64", "the channel keeps an object that a trim covers")

    def _records(self) -> list[StoredRecord]:
        return [record for records in self._objects for record in records]

    def _violate(self, label: str, message: str) -> None:
        self.found.append(PartViolation(label, message))

    @property
    def worst(self) -> PartViolation | None:
        """The first loss of a record; without a loss, the first violation; None if there is none."""
        return next((each for each in self.found if each.label == LOSS), self.found[0] if self.found else None)


def _stored(record: ChannelRecord) -> StoredRecord:
    """A record with its epoch and its offset. Each is -1 if the channel does not tell it."""
    epoch = -1 if record.epoch is None else record.epoch
    offset = -1 if record.offset is None else record.offset
    return StoredRecord(int(str(record.name)), record.target, epoch, offset)


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of a channel, and tell the worst thing that it violates; None if nothing."""
    run = ChannelRun()
    for _ in range(int(draw() * EVENTS)):
        kind = draw()
        if kind < 0.25:
            run.switch(max(0, run.newest + one(draw, NEAR)))
        elif kind < 0.6:
            run.begin(int(draw() * TARGETS))
        elif kind < 0.85:
            run.complete(draw)
        else:
            run.trim(run.newest - 1 - int(draw() * 3))
    return run.worst
