"""The pairing of ``models/replica_reassignment.py``: one partition of a topic whose data is not in streams."""

from __future__ import annotations

from itertools import count, takewhile
from typing import ClassVar

import attrs

from impl.bridge.differences import Arguments, Cells
from impl.bridge.pairing import Facts, Pairing
from impl.bridge.request import ControllerAnswer, OperationRequest, Query
from impl.controller.node import Controller
from impl.controller.registration import label
from impl.controller.view import Profile
from impl.errors import E
from impl.metadata.image import Image
from impl.scenario.session import ScenarioSession

TOPIC = "kept"
KEY = (TOPIC, 0)
PARTITION = {"topic": TOPIC, "partition": 0}
MIN_INSYNC = 2


class ReplicasPairing(Pairing):
    """The leader may admit any broker to the ISR, even one that has not caught up."""

    name = "replica_reassignment"
    removed = ("RA-47.caught_up",)
    memoryless = True
    sizes: ClassVar = {"Broker": 3}
    decided: ClassVar = dict.fromkeys(("prefer", "expand", "shrink", "fence", "unfence", "reassign", "cancel"), ("x",))
    unstated = ("whether a broker is active", "whether the partition is RECOVERING (CA-25)")
    silent = ("reassign", "prefer")

    def setup(self, cells: Cells) -> tuple[OperationRequest, ...]:
        replicas = list(_in_order(cells, "replica", "before"))
        config = {"min_insync": MIN_INSYNC, "unclean_election": cells["unclean",]}
        return (
            *(OperationRequest("broker", {"node": n, "state": "active"}) for n in _brokers(cells, "active")),
            OperationRequest("config", config, answer=()),
            OperationRequest("create_topic", {"topic": TOPIC, "partitions": [replicas]}),
        )

    # Facts ----------------------------------------------------------------------------------------------------

    def of_model(self, cells: Cells) -> Facts:
        leader = cells["leader",]
        original = _in_order(cells, "original", "original_before") or None
        return {
            "replicas": _in_order(cells, "replica", "before"),
            "isr": set(_brokers(cells, "isr")),
            "leader": -1 if leader is None else leader,
            "adding": tuple(_brokers(cells, "adding")),
            "removing": tuple(_brokers(cells, "removing")),
            "original": original if self.profile.cancel == "H" else None,
            "active": set(_brokers(cells, "active")),
            "unclean": cells["unclean",],
        }

    def of_controller(self, controller: Controller) -> Facts:
        row = controller.image.partitions[KEY]
        return {
            "replicas": row.replicas,
            "isr": set(row.isr),
            "leader": row.leader,
            "adding": row.adding_replicas,
            "removing": row.removing_replicas,
            "original": row.original,
            "active": {broker for broker, state in controller.image.brokers.items() if state == "active"},
            "unclean": controller.profile.unclean_election,
        }

    def queries(self, before: Facts, after: Facts) -> list[Query]:
        names = ("replicas", "isr", "leader", "adding", "removing", "original")
        if all(before[name] == after[name] for name in names):
            return []
        return [(OperationRequest("partition", PARTITION, answer=()), {name: after[name] for name in names})]

    # Requests -------------------------------------------------------------------------------------------------

    def differs(self, action: str, cells: Cells, args: Arguments) -> bool:  # noqa: ARG002
        """Without a leader nobody sends an AlterPartition that adds a broker."""
        return action != "expand" or cells["leader",] is not None

    def send(self, session: ScenarioSession, action: str, cells: Cells, args: Arguments) -> ControllerAnswer | None:
        """As for any pairing; the value ``new epoch`` tells whether the leader epoch has risen."""
        epoch = session.controller.image.partitions[KEY].leader_epoch
        answer = super().send(session, action, cells, args)
        if answer is None:
            return None
        new = session.controller.image.partitions[KEY].leader_epoch > epoch
        return attrs.evolve(answer, values={**answer.values, "new epoch": new})

    def requests(self, image: Image, action: str, cells: Cells, args: Arguments) -> tuple[OperationRequest, ...]:  # noqa: ARG002
        match action:
            case "reassign":
                return (_alter(list(dict.fromkeys((args["a"], args["b"])))),)
            case "cancel":
                return (_alter(None),)
            case "prefer":
                return (OperationRequest("elect", PARTITION),)
            case "expand":
                return (_alter_partition(cells, {*_brokers(cells, "isr"), args["n"]}),)
            case "shrink":
                return (_alter_partition(cells, {*_brokers(cells, "isr")} - {args["n"]}),)
            case "fence":
                return (OperationRequest("broker", {"node": args["n"], "state": "fenced"}),)
            case "unfence":
                return (OperationRequest("broker", {"node": args["n"], "state": "active"}),)
        return ()

    # Answers --------------------------------------------------------------------------------------------------

    def refusal(self, action: str, cells: Cells, args: Arguments, label: str, error: str | None) -> E | None:
        """EL-08. If the first replica may not lead, an election is answered with 80; in the model it is disabled."""
        if action == "prefer":
            first = _in_order(cells, "replica", "before")[0]
            may_lead = cells["isr", first] and cells["active", first]
            return None if may_lead else E.PREFERRED_LEADER_NOT_AVAILABLE
        return super().refusal(action, cells, args, label, error)

    def answer(self, action: str, before: Cells, args: Arguments, after: Cells) -> tuple[E, Facts]:
        """EL-08: if the first replica leads already, an election is answered with ELECTION_NOT_NEEDED. RA-46: if a
        request costs its sender the lead, the answer is NEW_LEADER_ELECTED.
        """
        values = _new_epoch(action, before, args, after)
        # An election that completes a reassignment which is due keeps the leader, and is answered with success.
        if action == "prefer" and before["leader",] == _in_order(before, "replica", "before")[0]:
            return E.ELECTION_NOT_NEEDED, values
        if action == "expand" and before["leader",] != after["leader",]:
            return E.NEW_LEADER_ELECTED, values
        return E.NONE, values


class KraftPairing(ReplicasPairing):
    """KRaft as shipped: it stores no original replicas, and a cancel drops the replicas being added (RA-41, CA-21)."""

    variants = ("kraft",)
    profile = Profile(cancel="K")


def _new_epoch(action: str, before: Cells, args: Arguments, after: Cells) -> Facts:
    """RA-45. Whether an action begins a new leader epoch, as a fact; no fact if the model cannot tell.

    The model has no leader epoch, but ends every fetch when one begins. So it can tell only if a broker was fetching.
    """
    fetching = [n for n in _brokers(before, "fetches") if action != "expand" or n != args["n"]]
    return {"new epoch": not any(after["fetches", n] for n in fetching)} if fetching else {}


def _brokers(cells: Cells, cell: str) -> list[int]:
    """The brokers in a relation, sorted."""
    # Brokers have the numbers from 0 on. The cells of a state are many, and this is called often.
    return [n for n in takewhile(lambda n: (cell, n) in cells, count()) if cells[cell, n]]


def _in_order(cells: Cells, members: str, before: str) -> tuple[int, ...]:
    """The members in the order of the relation ``before``: a broker's place is the number of members before it."""
    held = _brokers(cells, members)
    return tuple(sorted(held, key=lambda n: sum(cells[before, m, n] for m in held)))


def _alter(replicas: list[int] | None) -> OperationRequest:
    return OperationRequest("alter", {"topics": {TOPIC: {0: replicas}}}, answer=("rows", label(*KEY)))


def _alter_partition(cells: Cells, isr: set[int]) -> OperationRequest:
    """AlterPartition by the leader; by broker 0 if there is no leader."""
    return OperationRequest("isr", {**PARTITION, "broker": cells["leader",] or 0, "isr": sorted(isr)})
