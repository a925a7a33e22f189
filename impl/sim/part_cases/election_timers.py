"""Runs of the election timers of a controller: moves, requests for elections, states of brokers, failovers, and time.

Judged by which elections the timers ask for, and by what these elect. ``expected_elections`` says when one is due.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from impl.controller.elections import balance
from impl.controller.node import Controller
from impl.controller.partitions import alter, create_topic, drain, set_broker
from impl.controller.view import OperationResult, Profile
from impl.errors import E
from impl.sim.part_cases.expected_elections import BuiltTimers, PartitionRow, RecommendedTimers, Rows
from impl.sim.tape import Draw, one
from impl.sim.violation import PartViolation

EVENTS, BROKERS, PARTITIONS = 60, 3, 2
"""The most events of a run, and the numbers of brokers and of elastic partitions."""
STEPS_MS = (300, 999, 1_000, 2_000, 4_000, 5_000, 9_999, 10_000, 11_000, 30_000)
"""How far the clock goes on between two looks."""
START_MS = 1_000_000
ELASTIC, LISTS = "e", "k"
"""A topic whose partitions have timers, and one with lists of replicas, whose partition has none."""


class TimerRun:
    """A controller, and the elections that are expected of its timers."""

    def __init__(self, profile: Profile, start: int) -> None:
        self._profile = profile
        self._controller = Controller(profile, start)
        self._expected = RecommendedTimers() if profile.timer == "epoch" else BuiltTimers()
        for broker in range(BROKERS):
            self._controller.execute(partial(set_broker, node=broker, state="active"))
        homes = [[number % BROKERS] for number in range(PARTITIONS)]
        self._controller.execute(partial(create_topic, topic=ELASTIC, partitions=homes, elastic=True))
        self._controller.execute(partial(create_topic, topic=LISTS, partitions=[[0, 1]]))
        self._changed()

    # Events -----------------------------------------------------------------------------------------------------

    def move(self, partition: int, broker: int | None) -> None:
        """An operator moves a partition to a broker, or cancels its move."""
        replicas = None if broker is None else [broker]
        self._controller.execute(partial(alter, topics={ELASTIC: {partition: replicas}}))
        self._started()

    def elect(self, partition: int, kind: str) -> None:
        """Somebody asks for an election, perhaps of a partition that does not exist."""
        self._expected.asked(f"{ELASTIC}-{partition}")
        self._controller.elect(ELASTIC, partition, kind)
        self._changed()

    def set_broker(self, broker: int, state: str) -> None:
        """A broker has a new state."""
        self._controller.execute(partial(set_broker, node=broker, state=state))
        self._changed()

    def drain(self, broker: int) -> None:
        """A broker in controlled shutdown is relieved of its partitions."""
        self._controller.execute(partial(drain, node=broker))
        self._started()

    def balance(self) -> None:
        """The controller elects the first replicas of all partitions (EL-10). No request asks for that."""
        self._controller.execute(balance)
        self._changed()

    def fail_over(self) -> None:
        """Another controller leads."""
        self._controller.fail_over()
        self._expected.failed_over(self._controller.now)

    def wait(self, ms: int) -> None:
        """The clock goes on, and the controller does not look."""
        self._controller.advance(ms)
        self._expected.waited(self._controller.now)

    def look(self, ms: int) -> PartViolation | None:
        """The clock goes on, and the controller looks at its timers."""
        before, active = self._rows(), self._active()
        fired = self._controller.tick(ms)
        now = self._controller.now
        due = self._expected.due(now) if self._profile.handshake == "G0" else {}
        count = Counter(name for name, _ in fired)
        found = self._superfluous(before, due, fired) or self._missing(due, count)
        found = found or _wrong_outcome(before, active, fired, self._rows())
        self._expected.fired(count, now)
        self._changed()
        return found or self._goes_on()

    # Judgement --------------------------------------------------------------------------------------------------

    def _superfluous(
        self, before: Rows, due: dict[str, int], fired: list[tuple[str, OperationResult]]
    ) -> PartViolation | None:
        """What an election violates that nothing demands."""
        left = Counter(due)
        for name, _ in fired:
            left[name] -= 1
            if left[name] >= 0:
                continue
            if self._profile.handshake == "G1":
                return PartViolation("EL-07", "a timer fires, though the target itself asks for its election")
            if self._profile.timer == "automq":
                return PartViolation("EL-04", "a timer fires that was cancelled, or that nobody has armed")
            if before[name].leader == -1:
                return PartViolation("EL-12", "a timer asks for an election before the wait of its partition ends")
            return PartViolation("EL-12", "a timer of an earlier leader epoch asks for an election")
        return None

    def _goes_on(self) -> PartViolation | None:
        """What a timer violates that is armed although its partition has a leader."""
        rows, armed = self._rows(), self._controller.timers.armed
        if self._profile.timer == "epoch" and any(rows[f"{topic}-{number}"].leader != -1 for topic, number in armed):
            return PartViolation("EL-13", "a timer goes on after its partition has got a leader")
        return None

    def _missing(self, due: dict[str, int], count: Counter[str]) -> PartViolation | None:
        """What the lack of an election violates that is due."""
        for name, wanted in due.items():
            if count[name] < wanted:
                if name in self._expected.replaced:
                    return PartViolation("EL-05", "the timer of an earlier start does not fire")
                label = "EL-12" if self._profile.timer == "epoch" else "EL-01"
                return PartViolation(label, "a partition waits for a leader, and no timer asks for its election")
        return None

    def _changed(self) -> None:
        self._expected.changed(self._rows(), self._controller.now)

    def _started(self) -> None:
        self._expected.started(self._rows(), self._controller.now)

    def _rows(self) -> Rows:
        image = self._controller.image
        return {
            f"{topic}-{number}": PartitionRow(row.leader, row.leader_epoch, row.replicas[0], image.topics[topic])
            for (topic, number), row in sorted(image.partitions.items())
        }

    def _active(self) -> frozenset[int]:
        return frozenset(broker for broker, state in self._controller.image.brokers.items() if state == "active")


def _wrong_outcome(
    before: Rows, active: frozenset[int], fired: list[tuple[str, OperationResult]], after: Rows
) -> PartViolation | None:
    """EL-08: an election elects the replica if that is active, and nobody otherwise. Only one of two elects it."""
    leaders = {name: row.leader for name, row in before.items()}
    for name, outcome in fired:
        target = before[name].target
        error = E.PREFERRED_LEADER_NOT_AVAILABLE
        if leaders[name] == target:
            error = E.ELECTION_NOT_NEEDED
        elif target in active:
            error, leaders[name] = E.NONE, target
        if outcome.error is not error or bool(outcome.records) != (error is E.NONE):
            return PartViolation("EL-08", "the election of a timer has another outcome than the replica's state says")
    if any(row.leader != leaders[name] for name, row in after.items()):
        return PartViolation("EL-08", "after a look another broker leads than the elections say")
    return None


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of the timers, and tell the first thing that an election violates; None if nothing."""
    built = draw() < 0.5
    profile = Profile(
        timer="automq" if built else "epoch",
        cancel="K" if built else "H",
        handshake="G1" if draw() < 0.1 else "G0",
    )
    run = TimerRun(profile, START_MS + int(draw() * 1_000))
    for _ in range(int(draw() * EVENTS)):
        kind = draw()
        if kind < 0.3:
            found = run.look(one(draw, STEPS_MS))
            if found is not None:
                return found
        elif kind < 0.4:
            run.wait(one(draw, STEPS_MS))
        else:
            _event(draw, run)
    return run.look(STEPS_MS[-1])


def _event(draw: Draw, run: TimerRun) -> None:
    kind, partition, broker = draw(), int(draw() * PARTITIONS), int(draw() * BROKERS)
    if kind < 0.4:
        run.move(partition, broker)
    elif kind < 0.45:
        run.move(partition, None)
    elif kind < 0.6:
        run.elect(int(draw() * (PARTITIONS + 1)), one(draw, ("preferred", "preferred", "unclean")))
    elif kind < 0.85:
        run.set_broker(broker, one(draw, ("active", "active", "fenced", "shutting_down")))
    elif kind < 0.9:
        run.drain(broker)
    elif kind < 0.93:
        run.balance()
    else:
        run.fail_over()
