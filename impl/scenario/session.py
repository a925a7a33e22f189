"""The session of a scenario: one controller, and the preparations that the language makes silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from impl.controller.node import Controller
from impl.controller.view import OperationResult, View
from impl.records import AssignedS3ObjectId, MetadataRecord, ObjectState, PartitionChange, S3Object, Topic
from impl.scenario.balancer_state import BalancerState
from impl.scenario.language import Scenario
from impl.scenario.zone_state import ZoneState

Arguments = dict[str, Any]
Result = dict[str, Any]
Perform = Callable[["ScenarioSession", Arguments], Result]
"""Runs an operation with its arguments, and returns its result."""

SILENT_TTL_MS = 3_600_000
"""The time for which a silently prepared object stays prepared."""

CHANGED = {
    "leader": "leader",
    "isr": "isr",
    "replicas": "replicas",
    "adding": "adding_replicas",
    "removing": "removing_replicas",
    "recovery": "leader_recovery_state",
}
"""The fields of a change record, by their names in the language."""


class ScenarioSession:
    """A controller with the profile and the clock of a scenario, and beside it what the other layers have set up."""

    def __init__(self, scenario: Scenario, as_built: frozenset[str] = frozenset()) -> None:
        profile = replace(scenario.profile, as_built=as_built)
        self.controller = Controller(profile, scenario.clock)
        self.zone = ZoneState()
        self.balancer = BalancerState(safe=profile.balancer == "safe")
        self._absent = scenario.absent
        self._prepared: set[int] = set()

    def run(self, operation: Callable[[View], OperationResult], **refused: Any) -> Result:
        """Run an operation of the controller. ``refused``: the values of results that a refusal does not give."""
        return self.answer(self.controller.execute(operation), **refused)

    def answer(self, outcome: OperationResult, **refused: Any) -> Result:
        """The result of an operation; ``refused`` as in ``run``."""
        return {"error": outcome.error.name, **refused, **outcome.values, **written(outcome.records)}

    def prepared(self, first: int, count: int) -> None:
        """Note that the scenario itself has prepared ``count`` object ids from ``first`` on."""
        self._prepared.update(range(first, first + count))

    def prepare_silently(self, ids: list[int]) -> None:
        """Prepare the ids that were never prepared, except those that the scenario declares absent."""
        now = self.controller.now
        # -1 stands for no object.
        for object_id in sorted(set(ids) - self._prepared - self._absent - {-1}):
            records: list[MetadataRecord] = [S3Object(object_id, 0, ObjectState.PREPARED, now + SILENT_TTL_MS)]
            if object_id > self.controller.image.ids["object"]:
                records.insert(0, AssignedS3ObjectId(object_id))
            self.replay(*records)
            self._prepared.add(object_id)

    def know_topic(self, topic: str) -> None:
        """Make a topic known silently, without partitions, unless it is known already."""
        if topic not in self.controller.image.topics:
            self.replay(Topic(topic))

    def memory(self) -> dict[str, str]:
        """The controller's memory outside the image, as text, by the rule about its loss."""
        controller = self.controller
        timers = "EL-06" if controller.profile.timer == "automq" else "EL-12"
        return {
            "OB-05": repr(vars(controller.object_clock)),
            "ND-30": repr(controller.heartbeats.left),
            timers: repr(vars(controller.timers)),
        }

    def replay(self, *records: MetadataRecord) -> None:
        """Append records as one batch; nothing is checked."""
        self.controller.execute(lambda _: OperationResult(records))


def written(records: tuple[MetadataRecord, ...]) -> Result:
    """The kinds of the records, and the fields that change records write, by partition."""
    changes: dict[str, set[str]] = {}
    for record in records:
        if isinstance(record, PartitionChange):
            fields = {name for name, field in CHANGED.items() if getattr(record, field) is not None}
            changes.setdefault(f"{record.topic}-{record.partition}", set()).update(fields)
    return {"records": [record.KIND for record in records], "changes": changes}
