"""The phase of a goal: it visits each broker that the goal does not accept, and moves partitions (AB-40 to AB-44)."""

from __future__ import annotations

from impl.balancer.actions import BalancerAction
from impl.balancer.choosing import MoveChooser
from impl.balancer.goals import BalancerGoal
from impl.balancer.snapshot import BrokerLoad, ClusterSnapshot, ReplicaLoad, replica_order
from impl.rules import rule


class Phase:
    """The phase of one goal on a snapshot. ``chooser``: chooses the moves."""

    def __init__(self, snapshot: ClusterSnapshot, goal: BalancerGoal, chooser: MoveChooser) -> None:
        self.snapshot = snapshot
        self.goal = goal
        self.chooser = chooser
        self._orders: dict[int, list[ReplicaLoad]] = {}
        """By broker, the order of its partitions, until they change."""

    def run(self) -> list[BalancerAction]:
        """Apply the actions of the phase to the snapshot, and return them in order.

        AB-40. The brokers to visit are fixed at the start, by id; each is visited at most once.
        """
        resource = self.goal.resource
        eligible = self.snapshot.eligible()
        visited = [broker for broker in eligible if not self._accepts(broker) and broker.trusted[resource]]
        actions: list[BalancerAction] = []
        for broker in visited:
            if not self._accepts(broker):
                actions += self._visit(broker, [each for each in eligible if each is not broker])
        return actions

    def _visit(self, broker: BrokerLoad, others: list[BrokerLoad]) -> list[BalancerAction]:
        load = broker.loads[self.goal.resource]
        trusted = self.snapshot.trust()
        if self.goal.needs_less(load):
            actions, change = self._reduce(broker, others)
        elif self.goal.needs_more(load) and not rule("BG-10", broker.slow):
            actions, change = self._increase(broker, others)
        else:
            return []
        if rule("BG-06", bool(actions) and self.goal.is_trivial(change)):
            self.snapshot.undo(actions, trusted)
            touched = {number: None for action in actions for number in (action.source, action.destination)}
            self._changed(*(self.snapshot.brokers[number] for number in touched))
            return []
        return actions

    def _reduce(self, broker: BrokerLoad, others: list[BrokerLoad]) -> tuple[list[BalancerAction], float]:
        """AB-41. Give partitions away, each to the best destination, until the goal accepts the broker.

        Returns the actions, and the change of the broker's load.
        """
        resource = self.goal.resource
        candidates = [each for each in others if not rule("BG-10", each.slow)]
        candidates.sort(key=self._place)
        actions: list[BalancerAction] = []
        change = 0.0
        order = self._order(broker) if candidates else []
        found = self.chooser.next_push(order, 0, broker, candidates)
        while found is not None:
            place, action = found
            self._apply(action)
            actions.append(action)
            change -= order[place].loads[resource]
            if self._accepts(broker):
                break
            candidates.sort(key=self._place)
            found = self.chooser.next_push(order, place + 1, broker, candidates)
        return actions, change

    def _increase(self, broker: BrokerLoad, others: list[BrokerLoad]) -> tuple[list[BalancerAction], float]:
        """AB-42. Take partitions, from the brokers with the largest loads first, until the goal accepts the broker.

        Returns the actions, and the change of the broker's load.
        """
        resource = self.goal.resource
        actions: list[BalancerAction] = []
        change = 0.0
        for donor in sorted(others, key=lambda each: (-each.loads[resource], each.id)):
            order = self._order(donor)
            found = self.chooser.next_pull(order, 0, donor, broker)
            while found is not None:
                place, action = found
                self._apply(action)
                actions.append(action)
                change += order[place].loads[resource]
                if self._accepts(broker):
                    return actions, change
                found = self.chooser.next_pull(order, place + 1, donor, broker)
        return actions, change

    def _apply(self, action: BalancerAction) -> None:
        self.snapshot.apply(action)
        self._changed(self.snapshot.brokers[action.source], self.snapshot.brokers[action.destination])

    def _changed(self, *brokers: BrokerLoad) -> None:
        self.chooser.changed(*brokers)
        for broker in brokers:
            self._orders.pop(broker.id, None)

    def _order(self, broker: BrokerLoad) -> list[ReplicaLoad]:
        if broker.id not in self._orders:
            self._orders[broker.id] = replica_order(broker, self.goal.resource)
        return self._orders[broker.id]

    def _accepts(self, broker: BrokerLoad) -> bool:
        return self.goal.accepts(broker.loads[self.goal.resource])

    def _place(self, broker: BrokerLoad) -> tuple[float, int]:
        # The order of candidates: the lowest load first, equal loads by id (AB-62).
        return broker.loads[self.goal.resource], broker.id
