"""The election timers of elastic partitions, in the memory of a controller (reassignment.md 4).

By default a timer carries the leader epoch under which it was armed, outlives an election that fails, and is armed
again by the next controller (EL-12, EL-13). ``timer: automq`` is EL-01 to EL-06 as built. In G1 nothing is armed
(EL-07).

A wheel runs the timers. When one is due, the wheel asks the controller for an election (EL-03). The controller
elects at its next wake; until then nothing cancels the election. The wheel of AutoMQ asks at once, so that its election
comes 10 to 11 seconds after the arming (EL-02). Here it comes up to a second later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from impl.controller.elections import elect
from impl.controller.registration import NO_LEADER, find, label
from impl.controller.view import OperationResult, Profile, View
from impl.metadata.image import Image
from impl.records import BrokerRegistration, MetadataRecord, Partition, PartitionChange
from impl.rules import rule

DELAY_MS = 10_000
WHEEL_TICK_MS = 1_000
"""EL-01, EL-02. Timers fire on ticks of the wheel, so that a delay is up to one tick longer."""

Key = tuple[str, int]
"""A topic and a partition."""
Operation = Callable[[View], OperationResult]


class Timer(msgspec.Struct, frozen=True):
    """A timer that fires once, and the leader epoch under which it was armed. ``number`` counts all timers."""

    deadline: int
    number: int
    key: Key
    leader_epoch: int


class Timers:
    """The running timers, and the newest timer of each partition. As built, older timers of a partition run, too."""

    def __init__(self, profile: Profile = Profile()) -> None:  # noqa: B008 - Profile is immutable
        self.profile = profile
        self._wheel: list[Timer] = []
        self._armed: dict[Key, Timer] = {}
        self._waiting: list[Timer] = []
        """The timers that the wheel has fired, in this order. The controller has not yet looked at them."""
        self._count = 0

    @property
    def armed(self) -> dict[Key, Timer]:
        """The newest timer of each partition that has one."""
        return dict(self._armed)

    # Arming and disarming -------------------------------------------------------------------------------------

    def observe(self, records: Iterable[MetadataRecord], image: Image, now: int) -> None:
        """Arm and disarm timers by the records of one operation, before these are committed (RA-07).

        ``image``: the image after the records.
        """
        records = tuple(records)
        of_broker = any(isinstance(record, BrokerRegistration) for record in records)
        for record in records:
            if isinstance(record, Partition | PartitionChange):
                key = (record.topic, record.partition)
                if image.topics.get(record.topic, False):
                    self._observe(key, image, now, of_broker=of_broker or isinstance(record, Partition))

    def _observe(self, key: Key, image: Image, now: int, *, of_broker: bool) -> None:
        """Arm or disarm the timer of a partition that has changed.

        As built, starts and evictions arm it (EL-01), and fencing does not. By default every change arms it that leaves
        the partition without a leader (EL-12). ``of_broker``: the change follows from the state of a broker, or creates
        the partition.
        """
        if rule("EL-07", self.profile.handshake == "G1"):
            return
        row = find(image, *key)
        leaderless = row.leader == NO_LEADER
        if self.profile.timer == "automq":
            if rule("EL-01", leaderless and not of_broker):
                self._arm(key, row.leader_epoch, now)
            return
        timer = self._armed.get(key)
        current = timer is not None and timer.leader_epoch == row.leader_epoch
        if rule("EL-13", not (leaderless and current)):
            self._disarm(key)
        if rule("EL-12.leaderless", leaderless and not current):
            self._arm(key, row.leader_epoch, now)

    def requested(self, topic: str, partition: int) -> None:
        """Note that a request or a timer asks for an election, whatever the answer. As built, it disarms (EL-04)."""
        if rule("EL-04", self._fires_once()):
            self._disarm((topic, partition))

    def forget(self) -> None:
        """EL-06. The controller resigns or dies; its timers are gone."""
        self._wheel.clear()
        self._armed.clear()
        self._waiting.clear()

    def restore(self, image: Image, now: int) -> None:
        """EL-12. Another controller arms a timer for each elastic partition that nobody leads."""
        if self.profile.handshake == "G1":
            return
        lost = self.profile.timer == "automq" or "EL-06" in self.profile.as_built
        for key, row in sorted(image.partitions.items()):
            if image.topics.get(row.topic, False) and row.leader == NO_LEADER and rule("EL-12.restore", not lost):
                self._arm(key, row.leader_epoch, now)

    def _arm(self, key: Key, leader_epoch: int, now: int) -> None:
        """EL-05. Arm a timer. As built, an older timer of the partition goes on in the wheel."""
        if not rule("EL-05", self.profile.timer == "automq" and key in self._armed):
            self._disarm(key)
        self._count += 1
        ticks = -(-(now + DELAY_MS) // WHEEL_TICK_MS)  # Rounded up.
        timer = Timer(ticks * WHEEL_TICK_MS, self._count, key, leader_epoch)
        self._wheel.append(timer)
        self._armed[key] = timer

    def _disarm(self, key: Key) -> None:
        timer = self._armed.pop(key, None)
        if timer is not None:
            self._wheel.remove(timer)

    def _fires_once(self) -> bool:
        """EL-03, EL-04. Whether a timer is gone after one election, even if that elects nobody."""
        return self.profile.timer == "automq" or "EL-03" in self.profile.as_built

    # Firing ---------------------------------------------------------------------------------------------------

    def expire(self, now: int) -> None:
        """EL-03. The wheel fires the timers that are due, in the order of their deadlines."""
        due = [timer for timer in self._wheel if timer.deadline <= now]
        for timer in sorted(due, key=lambda timer: (timer.deadline, timer.number)):
            self._waiting.append(self._take(timer))

    def due(self, now: int) -> list[Timer]:
        """The timers that have fired, in their order. They wait no longer."""
        self.expire(now)
        fired, self._waiting = self._waiting, []
        return fired

    def _take(self, timer: Timer) -> Timer:
        self._wheel.remove(timer)
        self._armed.pop(timer.key, None)  # As built, this may be the entry of a newer timer.
        return timer

    def is_void(self, timer: Timer, image: Image) -> bool:
        """EL-12. A timer that has fired elects nobody if the leader epoch under which it was armed has passed."""
        row = find(image, *timer.key)
        passed = row.leader != NO_LEADER or row.leader_epoch != timer.leader_epoch
        return rule("EL-12.tag", self.profile.timer == "epoch" and passed)

    def settle(self, timer: Timer, image: Image, now: int) -> None:
        """Arm a timer again if its election has elected nobody (EL-12). As built it stays gone (EL-03)."""
        row = find(image, *timer.key)
        waits = row.leader == NO_LEADER and row.leader_epoch == timer.leader_epoch
        if rule("EL-12.again", waits and not self._fires_once()):
            self._arm(timer.key, timer.leader_epoch, now)

    def run(
        self, execute: Callable[[Operation], OperationResult], view: Callable[[], View]
    ) -> list[tuple[str, OperationResult]]:
        """Look at the timers that have fired, each as one event. Returns their partitions and elections, in order.

        ``execute`` runs an operation and lets ``observe`` see its records. ``view`` returns the present view.
        """
        elected = []
        for timer in self.due(view().now):
            if self.is_void(timer, view().image):
                continue
            topic, partition = timer.key
            self.requested(topic, partition)
            elected.append((label(*timer.key), execute(partial(elect, topic=topic, partition=partition))))
            self.settle(timer, view().image, view().now)
        return elected
