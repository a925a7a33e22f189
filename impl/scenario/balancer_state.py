"""What the operations of the balancer layer have set up: a cluster, goals with their bands, a cluster model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from impl.balancer.bands import Band, band_of
from impl.balancer.cluster_model import ClusterModel
from impl.balancer.goals import RESOURCE_OF, BalancerGoal, GoalSettings, in_order, make_goal
from impl.balancer.safety import exact
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot
from impl.balancer.stages import LoadStages
from impl.metadata.log import MetadataLog
from impl.metadata.snapshot import snapshot

SHIPPED = (GoalSettings("NW_IN"), GoalSettings("NW_OUT"))


@attrs.define
class BalancerState:
    """``given``: the cluster comes from ``cluster``, not from a snapshot. ``unit``: bytes per second of one load.

    ``over``: the brokers that make the average; None for the eligible ones. ``bands``: by goal. A band is computed
    when the goals are configured, or when an operation first needs it, and then it stays. ``fed``: the number of
    batches of the metadata log that the model has seen. ``rounds``: the loads in each round that was planned.
    """

    safe: bool = False
    cluster: ClusterSnapshot = attrs.field(factory=lambda: ClusterSnapshot([]))
    given: bool = False
    unit: float = 1.0
    settings: Sequence[GoalSettings] = SHIPPED
    over: Sequence[int] | None = None
    bands: dict[str, Band] = attrs.field(factory=dict)
    model: ClusterModel = attrs.field(factory=ClusterModel)
    fed: int = 0
    rounds: list[LoadStages] = attrs.field(factory=list)

    def use(self, cluster: ClusterSnapshot) -> None:
        """Take another cluster. Bands are computed anew."""
        self.cluster = cluster
        self.bands.clear()

    def work_on(self) -> ClusterSnapshot:
        """The cluster for planning: in safe mode with exact loads."""
        if self.safe:
            self.cluster = exact(self.cluster)
        return self.cluster

    def broker(self, number: int) -> BrokerLoad:
        """A broker of the cluster. Raises ValueError for an unknown one."""
        if number not in self.cluster.brokers:
            known = ", ".join(map(str, self.cluster.brokers)) or "none"
            raise ValueError(f"the cluster has no broker {number}; known: {known}")
        return self.cluster.brokers[number]

    def goals(self, names: Iterable[str] | None = None) -> tuple[BalancerGoal, ...]:
        """The configured goals in the order of their phases, or those of these names in this order."""
        by_name = {each.goal: make_goal(each, self._band(each)) for each in self.settings}
        if names is None:
            return in_order(by_name.values())
        return tuple(self._known(by_name, name) for name in names)

    def goal(self, name: str) -> BalancerGoal:
        """A configured goal. Raises ValueError for another one."""
        return self.goals([name])[0]

    def feed(self, log: MetadataLog) -> ClusterModel:
        """The model with all that the metadata log holds."""
        if log.begin > self.fed:
            # A controller took over with a snapshot: its records are replayed on top of the model (AB-17).
            for record in snapshot(log.image):
                self.model.apply(record)
            self.fed = log.end
        for batch in log.batches[self.fed - log.begin :]:
            for record in batch.records:
                self.model.apply(record)
        self.fed = log.end
        return self.model

    def _band(self, settings: GoalSettings) -> Band:
        if settings.goal not in self.bands:
            brokers = self.cluster.eligible() if self.over is None else [self.broker(each) for each in self.over]
            loads = [broker.loads[RESOURCE_OF[settings.goal]] for broker in sorted(brokers, key=lambda each: each.id)]
            self.bands[settings.goal] = band_of(loads, settings.deviation)
        return self.bands[settings.goal]

    def _known(self, goals: dict[str, BalancerGoal], name: str) -> BalancerGoal:
        if name not in goals:
            raise ValueError(f"{name} is not configured; name it in goals")
        return goals[name]
