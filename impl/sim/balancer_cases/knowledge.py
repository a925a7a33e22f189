"""Random histories of what a controller hears of brokers and loads, and what the snapshot at the end has to be.

The model takes one event after another and forgets the rest. The expectation looks back at the whole history instead:
which broker has a partition at the end, since when, and which reports of that time count (AB-13 to AB-19, AB-57).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from impl.balancer.cluster_model import ClusterModel
from impl.balancer.resources import Loads, TopicPartition
from impl.balancer.snapshot import ClusterSnapshot
from impl.balancer.taking import take_snapshot
from impl.records import BrokerRegistration, Partition, Topic
from impl.sim.tape import Draw, one
from impl.sim.violation import PartViolation

BROKERS, PARTITIONS, EVENTS = 4, 4, 40
"""The numbers of brokers and partitions, and the most events of a history."""
DELAY_MS, STEP_MS, LATE_MS = 60_000, 10_000, 40_000
"""The tolerated delay of a sample, the longest time between two events, and the most that a report is late."""
BYTES_IN, BYTES_OUT, SIZE, APPEND, PENDING_APPEND, PENDING_FETCH, VERSION = range(7)
NEEDED = {0: (), 1: (APPEND, PENDING_APPEND, PENDING_FETCH, VERSION), 2: (APPEND, VERSION)}
"""By metric version: what a complete sample of a broker has (AB-09)."""
SLOW_MS = 10_000.0


class RegistrationEvent(msgspec.Struct, frozen=True):
    """A broker has a new state."""

    broker: int
    state: Literal["active", "fenced", "gone"]


class PlacementEvent(msgspec.Struct, frozen=True):
    """A partition is led by a broker; -1 for none."""

    partition: int
    broker: int


class ReportEvent(msgspec.Struct, frozen=True):
    """A broker has reported itself, or a partition. ``time``: by its clock, in milliseconds."""

    broker: int
    time: int
    values: dict[int, float]
    partition: int | None = None


Event = RegistrationEvent | PlacementEvent | ReportEvent


class KnowledgeCase(msgspec.Struct, frozen=True):
    """A history, the time of the snapshot in milliseconds, and the brokers that it leaves out."""

    events: tuple[Event, ...]
    now: int
    excluded: frozenset[int]


class ExpectedBroker(msgspec.Struct, frozen=True):
    """A broker of the snapshot: whether it is out of date or slow, and the loads of its partitions."""

    stale: bool
    slow: bool
    loads: dict[TopicPartition, Loads]


def draw_knowledge(draw: Draw) -> KnowledgeCase:
    """A random history. All brokers register first, so that most events mean something."""
    events: list[Event] = [RegistrationEvent(broker, "active") for broker in range(BROKERS)]
    events += [PlacementEvent(partition, int(draw() * BROKERS)) for partition in range(PARTITIONS)]
    place = {each.partition: each.broker for each in events if isinstance(each, PlacementEvent)}
    now = 1_000_000
    for _ in range(int(draw() * EVENTS)):
        now += int(draw() * STEP_MS)
        kind = draw()
        if kind < 0.08:
            events.append(RegistrationEvent(int(draw() * BROKERS), one(draw, ("active", "active", "fenced", "gone"))))
        elif kind < 0.2:
            partition = int(draw() * PARTITIONS)
            place[partition] = int(draw() * (BROKERS + 1)) - 1
            events.append(PlacementEvent(partition, place[partition]))
        else:
            events.append(_report(draw, now, place))
    excluded = frozenset(broker for broker in range(BROKERS) if draw() < 0.1)
    return KnowledgeCase(tuple(events), now, excluded)


def _report(draw: Draw, now: int, place: Mapping[int, int]) -> ReportEvent:
    late = int(draw() * LATE_MS) if draw() < 0.3 else 0
    if draw() < 0.4:
        values = {APPEND: 1.0, PENDING_APPEND: one(draw, (1.0, 1.0, 2 * SLOW_MS)), PENDING_FETCH: 1.0,
                  VERSION: one(draw, (0.0, 1.0, 1.0, 2.0, 9.0))}  # fmt: skip
        return ReportEvent(int(draw() * BROKERS), now - late, _some(draw, values))
    partition = int(draw() * PARTITIONS)
    sender = place[partition] if draw() < 0.8 else int(draw() * BROKERS)
    values = {BYTES_IN: float(int(draw() * 100)), BYTES_OUT: float(int(draw() * 100)), SIZE: 1.0}
    return ReportEvent(sender, now - late, _some(draw, values), partition)


def _some(draw: Draw, values: Mapping[int, float]) -> dict[int, float]:
    """The values, at times without one of them."""
    missing = one(draw, tuple(values)) if draw() < 0.1 else None
    return {metric: value for metric, value in values.items() if metric != missing}


# The model ----------------------------------------------------------------------------------------------------------


def known(case: KnowledgeCase) -> ClusterSnapshot:
    """The snapshot that the model of the cluster gives after the history."""
    model = ClusterModel()
    model.apply(Topic("t"))
    for event in case.events:
        match event:
            case RegistrationEvent(broker, state):
                model.apply(BrokerRegistration(broker, state))
            case PlacementEvent(partition, broker):
                model.apply(Partition("t", partition, (broker,), (broker,), broker))
            case ReportEvent(broker, time, values, partition):
                name = None if partition is None else TopicPartition("t", partition)
                model.report(broker, time, values, name)
    return take_snapshot(model, case.now, DELAY_MS, case.excluded)


# The expectation ----------------------------------------------------------------------------------------------------


def expected(case: KnowledgeCase) -> dict[int, ExpectedBroker]:
    """The brokers of the snapshot by id, from the whole history."""
    found = {}
    for broker in range(BROKERS):
        states = [
            (at, each.state)
            for at, each in enumerate(case.events)
            if isinstance(each, RegistrationEvent) and each.broker == broker
        ]
        if not states or states[-1][1] != "active" or broker in case.excluded:
            continue
        begun = next(at for at, state in states if not any(then >= at and gone == "gone" for then, gone in states))
        found[broker] = _expected(case, broker, begun)
    return found


def _expected(case: KnowledgeCase, broker: int, begun: int) -> ExpectedBroker:
    """A broker that has been registered since the event ``begun``."""
    since = {each: at for each in range(PARTITIONS) if (at := _since(case.events, each, broker)) is not None}
    counted = {each: _fresh(list(_reports(case.events, broker, each, at))) for each, at in since.items()}
    own = _fresh(list(_of_broker(case.events, broker, begun)))
    version = int(_latest(own, VERSION) or 0)
    outdated = [_outdated(reports, (BYTES_IN, BYTES_OUT, SIZE), case.now) for reports in counted.values()]
    pending = [_latest(own, metric) or 0.0 for metric in (PENDING_APPEND, PENDING_FETCH)]
    return ExpectedBroker(
        stale=_outdated(own, NEEDED[version], case.now) or any(outdated),
        slow=version > 0 and max(pending) > SLOW_MS,
        loads={
            TopicPartition("t", each): (_latest(reports, BYTES_IN) or 0.0, _latest(reports, BYTES_OUT) or 0.0)
            for each, reports in counted.items()
        },
    )


def _since(events: Sequence[Event], partition: int, broker: int) -> int | None:
    """The event that has placed a partition on a broker, where it is still; None if it is elsewhere (AB-15)."""
    registered, place, at = set[int](), -1, None
    for number, event in enumerate(events):
        match event:
            case RegistrationEvent(other, "gone"):
                registered.discard(other)
                place = -1 if place == other else place
            case RegistrationEvent(other, _):
                registered.add(other)
            case PlacementEvent(number_of_partition, target) if number_of_partition == partition:
                if target != place and (target in registered or target < 0):
                    place, at = target, number
    return at if place == broker else None


def _reports(events: Sequence[Event], broker: int, partition: int, since: int) -> Iterator[ReportEvent]:
    """The reports of a partition by the broker that has it (AB-13)."""
    for event in events[since:]:
        if isinstance(event, ReportEvent) and (event.broker, event.partition) == (broker, partition):
            yield event


def _of_broker(events: Sequence[Event], broker: int, begun: int) -> Iterator[ReportEvent]:
    """The reports of a broker, and those of its partitions as long as it has no metric version (AB-13)."""
    before: list[ReportEvent] = []
    for number, event in enumerate(events):
        if number < begun or not isinstance(event, ReportEvent) or event.broker != broker:
            continue
        if event.partition is not None:
            has = _since(events[:number], event.partition, broker) is not None
            if has and not _latest(_fresh(before), VERSION):
                before.append(ReportEvent(broker, event.time, {}))
        elif event.values.get(VERSION, 0) in NEEDED:
            before.append(event)
    yield from before


def _fresh(reports: Sequence[ReportEvent]) -> list[ReportEvent]:
    """The reports that are not older than one before them (AB-14)."""
    return [each for at, each in enumerate(reports) if all(each.time >= before.time for before in reports[:at])]


def _latest(fresh: Sequence[ReportEvent], metric: int) -> float | None:
    return next((each.values[metric] for each in reversed(fresh) if metric in each.values), None)


def _outdated(fresh: Sequence[ReportEvent], needed: Sequence[int], now: int) -> bool:
    """Whether the last report is too old, or something is missing (AB-19)."""
    if not fresh or fresh[-1].time < now - DELAY_MS:
        return True
    return any(_latest(fresh, metric) is None for metric in needed)


def judged(case: KnowledgeCase) -> PartViolation | None:
    """What the snapshot after a history violates; None if it is as expected."""
    snapshot, wanted = known(case), expected(case)
    if set(snapshot.brokers) != set(wanted):
        return PartViolation("AB-18", "an inactive or excluded broker is in the snapshot, or another one is not")
    for broker, each in wanted.items():
        found = snapshot.brokers[broker]
        loads = {name: part.loads for name, part in found.partitions.items()}
        if loads.keys() != each.loads.keys():
            return PartViolation("AB-15", "a partition is not on its broker")
        if loads != each.loads:
            return PartViolation("AB-14", "the load of a partition is not that of the reports that count")
        if tuple(found.loads) != tuple(map(sum, zip(*each.loads.values(), strict=True))) and each.loads:
            return PartViolation("AB-20", "the load of a broker is not that of its partitions")
        if found.stale != each.stale:
            return PartViolation("AB-19", "a broker is out of date and counts as fresh, or the other way round")
        if found.slow != each.slow:
            return PartViolation("AB-57", "a slow broker counts as fast, or the other way round")
    return None
