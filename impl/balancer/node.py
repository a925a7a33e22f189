"""The balancer of one controller: it follows the metadata and the metrics, plans rounds, and executes their plans.

Each controller has one, which keeps its model also while the controller does not lead; only the leader plans (AB-02).
It does no I/O: its driver hands it inputs, and carries its requests to the controller beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from impl import wire
from impl.balancer.actions import BalancerAction
from impl.balancer.batches import batches
from impl.balancer.cluster_model import ClusterModel
from impl.balancer.configuration import BalancerConfiguration
from impl.balancer.execution import PlanExecution, request
from impl.balancer.metrics_record import MetricsRecord
from impl.balancer.resources import TopicPartition
from impl.balancer.rounds import RoundPlan, plan_round
from impl.balancer.schedule import RoundSchedule
from impl.balancer.snapshot import ClusterSnapshot
from impl.balancer.stages import LoadStages
from impl.balancer.taking import take_snapshot
from impl.byte_format import EncodingError
from impl.errors import E
from impl.metadata.image import Image
from impl.metadata.log import MetadataBatch, replay

BalancerOutput = wire.Request | wire.Wake
"""A request to the controller beside the balancer, or the time at which the driver is to call ``wake``."""


class BalancingRound(msgspec.Struct):
    """A round that the leader has begun. ``at``: its time in milliseconds. ``eligible``: the brokers of its average.

    ``moves``: the merged plan. ``sent``: the moves that were sent to the controller. ``dropped``: those that were
    not sent any more (AB-52). ``stages``: the loads on the way to the plan; None if there is none. ``error``: why
    the round ended early, "" if it did not.
    """

    at: int
    eligible: tuple[int, ...] = ()
    moves: tuple[BalancerAction, ...] = ()
    sent: int = 0
    dropped: int = 0
    error: str = ""
    stages: LoadStages | None = None


class BalancerNode:
    """``configuration``: the configuration of now. ``leads``: whether the controller takes itself for the leader now.

    ``is_locked``: whether the circuit breaker of a broker is open, by an image. ``rounds``: those begun so far.
    ``refused``: the number of metrics records that could not be read.
    """

    def __init__(
        self,
        configuration: Callable[[], BalancerConfiguration],
        leads: Callable[[], bool],
        is_locked: Callable[[Image, int], bool],
        now: int,
    ) -> None:
        self.rounds: list[BalancingRound] = []
        self.refused = 0
        self._configuration, self._leads, self._is_locked = configuration, leads, is_locked
        self._image, self._model, self._seen = Image(), ClusterModel(), 0
        self._schedule = RoundSchedule(now, configuration().detect_interval_ms)
        self._execution: PlanExecution | None = None
        self._requests = 0

    # Inputs -----------------------------------------------------------------------------------------------------

    def learn(self, begin: int, found: Sequence[MetadataBatch]) -> None:
        """Apply committed batches, from an index on, to the structure of the model (AB-17). Known ones are left out.

        Raises ValueError if batches are missing.
        """
        if begin > self._seen:
            raise ValueError(f"batches from {begin} on are committed, but the balancer has seen {self._seen}")
        fresh = found[self._seen - begin :]
        replay(fresh, self._image)
        self._seen += len(fresh)
        for batch in fresh:
            for record in batch.records:
                self._model.apply(record)

    def take(self, values: Sequence[bytes]) -> None:
        """Take the records of a poll of the metrics topic into the model.

        A record that cannot be read, such as one of a newer format, is refused alone (D-05).
        """
        for value in values:
            try:
                record = MetricsRecord.decode(value)
            except EncodingError:
                self.refused += 1
                continue
            known = record.topic is not None and record.partition is not None
            partition = TopicPartition(record.topic or "", record.partition or 0) if known else None
            self._model.report(record.broker, record.time_ms, record.values, partition)

    def replied(self, reply: wire.Reply, now: int) -> list[BalancerOutput]:
        """The controller has answered the last request. A partition with an error ends the round (AB-53)."""
        assert self._execution is not None, "a round waits for the answer"
        errors = [each.error.name for each in reply.answers if each.error is not E.NONE]
        rows = [row for each in reply.answers for row in sorted(each.values.get("rows", {}).items())]
        errors += [f"{name}: {error}" for name, error in rows if error != E.NONE.name]
        if errors:
            self.rounds[-1].error = errors[0]
        self._execution.answered(now, failed=bool(errors))
        return self._go_on(now)

    def wake(self, now: int) -> list[BalancerOutput]:
        """Time has passed: go on with the plan under way, or begin a round if one is due."""
        if self._execution is not None:
            return self._go_on(now)
        if self._schedule.is_due(now):
            return self._round(now)
        return self._wait()

    # Rounds -----------------------------------------------------------------------------------------------------

    def _round(self, now: int) -> list[BalancerOutput]:
        configuration = self._configuration()
        try:
            plan = plan_round(lambda: self._snapshot(now), lambda: self._configuration().round, self._leads)
        except ValueError as error:
            # The loop goes on with the next round (AB-54).
            self.rounds.append(BalancingRound(now, error=str(error)))
            plan = None
        else:
            if plan is not None:
                self.rounds.append(BalancingRound(now, _eligible(plan), tuple(plan.moves), stages=plan.stages))
        if plan is None:
            self._schedule.ended(now)
            return self._wait()
        topics = Counter(name.topic for broker in plan.snapshot.brokers.values() for name in broker.partitions)
        parts = batches(plan.moves, topics, configuration.limits)
        self._execution = PlanExecution(parts, configuration.execution_interval_ms)
        return self._go_on(now)

    def _snapshot(self, now: int) -> ClusterSnapshot:
        configuration = self._configuration()
        locked = {broker for broker in self._model.brokers if self._is_locked(self._image, broker)}
        return take_snapshot(
            self._model,
            now,
            configuration.delay_ms,
            locked | configuration.excluded_brokers,
            configuration.excluded_topics,
            safe=configuration.round.safe,
        )

    # Execution --------------------------------------------------------------------------------------------------

    def _go_on(self, now: int) -> list[BalancerOutput]:
        """Do what the plan under way asks for now."""
        assert self._execution is not None, "a plan is under way"
        while True:
            step = self._execution.next(now)
            if step.do == "wait":
                return [] if step.until is None else [wire.Wake(step.until)]
            if step.do == "end":
                self.rounds[-1].dropped = step.dropped
                return self._end(now)
            try:
                topics = request(step.batch, self._is_alive)
            except ValueError as error:
                self.rounds[-1].error = str(error)
                return self._end(now)
            if topics:
                self._requests += 1
                self.rounds[-1].sent += sum(map(len, topics.values()))
                replicas: dict[str, dict[int, tuple[int, ...] | None]] = {
                    name: {partition: tuple(to) for partition, to in rows.items()} for name, rows in topics.items()
                }
                return [wire.Request(0, self._requests, wire.AlterReassignments(replicas))]
            # All destinations are dead, so there is nothing to ask for.
            self._execution.answered(now)

    def _is_alive(self, broker: int) -> bool:
        return self._image.brokers.get(broker, "gone") not in ("fenced", "gone")

    def _end(self, now: int) -> list[BalancerOutput]:
        self._execution = None
        self._schedule.ended(now)
        return self._wait()

    def _wait(self) -> list[BalancerOutput]:
        return [] if self._schedule.due is None else [wire.Wake(self._schedule.due)]


def _eligible(plan: RoundPlan) -> tuple[int, ...]:
    return tuple(broker.id for broker in plan.snapshot.eligible())
