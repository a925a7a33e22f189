"""The pairing of ``models/replica_reassignment.py``: one partition of a topic whose data is not in streams."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal

import attrs

from impl.controller.node import Controller
from impl.controller.partitions import alter, alter_partition, set_broker
from impl.controller.view import Profile
from impl.errors import E
from impl.records import BrokerRegistration, MetadataRecord, Partition, Topic
from models.replica_reassignment import ReplicaReassignment
from stateful_tests.controller.differences import Arguments, Cells
from stateful_tests.controller.pairing import Answer, Facts, Pairing, answered, write

TOPIC = "kept"
KEY = (TOPIC, 0)
MIN_INSYNC = 2


class ReplicasPairing(Pairing):
    """The leader may admit any broker to the ISR, even one that has not caught up."""

    model = ReplicaReassignment
    removed = ("RA-47.caught_up",)
    sizes: ClassVar = {"Broker": 3}
    decided: ClassVar = dict.fromkeys(("prefer", "expand", "shrink", "fence", "unfence", "reassign", "cancel"), ("x",))
    silent = ("reassign", "prefer")
    cancel: ClassVar[Literal["H", "K"]] = "H"

    def begin(self, cells: Cells) -> Controller:
        replicas = _in_order(cells, "replica", "before")
        records: list[MetadataRecord] = [BrokerRegistration(n, "active") for n in _brokers(cells, "active")]
        records += [Topic(TOPIC), Partition(*KEY, replicas, replicas, cells["leader",])]
        profile = Profile(min_insync=MIN_INSYNC, unclean_election=cells["unclean",], cancel=self.cancel)
        controller = Controller(profile)
        write(controller, *records)
        return controller

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
            "original": original if self.cancel == "H" else None,
            "active": set(_brokers(cells, "active")),
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
        }

    # Requests -------------------------------------------------------------------------------------------------

    def applies(self, action: str, cells: Cells, args: Arguments) -> bool:  # noqa: ARG002
        return action != "expand" or cells["leader",] is not None

    def send(self, controller: Controller, action: str, cells: Cells, args: Arguments) -> Answer | None:
        epoch = controller.image.partitions[KEY].leader_epoch
        answer = self._sent(controller, action, cells, args)
        if answer is None:
            return None
        new = controller.image.partitions[KEY].leader_epoch > epoch
        return attrs.evolve(answer, values={"new epoch": new})

    def _sent(self, controller: Controller, action: str, cells: Cells, args: Arguments) -> Answer | None:
        match action:
            case "reassign":
                return _alter(controller, list(dict.fromkeys((args["a"], args["b"]))))
            case "cancel":
                return _alter(controller, None)
            case "prefer":
                return answered(controller.elect(*KEY))
            case "expand":
                return _alter_partition(controller, cells, {*_brokers(cells, "isr"), args["n"]})
            case "shrink":
                return _alter_partition(controller, cells, {*_brokers(cells, "isr")} - {args["n"]})
            case "fence":
                return answered(controller.execute(partial(set_broker, node=args["n"], state="fenced")))
            case "unfence":
                return answered(controller.execute(partial(set_broker, node=args["n"], state="active")))
        return None

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
        if action == "prefer" and before["leader",] == after["leader",] is not None:
            return E.ELECTION_NOT_NEEDED, values
        if action == "expand" and before["leader",] != after["leader",]:
            return E.NEW_LEADER_ELECTED, values
        return E.NONE, values


class KraftPairing(ReplicasPairing):
    """KRaft as shipped: it stores no original replicas, and a cancel drops the replicas being added (RA-41, CA-21)."""

    variants = ("kraft",)
    cancel = "K"


def _new_epoch(action: str, before: Cells, args: Arguments, after: Cells) -> Facts:
    """RA-45. Whether an action begins a new leader epoch, as a fact; no fact if the model cannot tell.

    The model has no leader epoch, but ends every fetch when one begins. So it can tell only if a broker was fetching.
    """
    fetching = [n for n in _brokers(before, "fetches") if action != "expand" or n != args["n"]]
    return {"new epoch": not any(after["fetches", n] for n in fetching)} if fetching else {}


def _brokers(cells: Cells, cell: str) -> list[int]:
    """The brokers in a relation, sorted."""
    return sorted(key[1] for key, held in cells.items() if key[0] == cell and held)


def _in_order(cells: Cells, members: str, before: str) -> tuple[int, ...]:
    """The members in the order of the relation ``before``: a broker's place is the number of members before it."""
    held = _brokers(cells, members)
    return tuple(sorted(held, key=lambda n: sum(cells[before, m, n] for m in held)))


def _alter(controller: Controller, replicas: list[int] | None) -> Answer:
    outcome = controller.execute(partial(alter, topics={TOPIC: {0: replicas}}))
    return Answer(E[outcome.values["rows"][f"{TOPIC}-0"]], wrote=bool(outcome.records))


def _alter_partition(controller: Controller, cells: Cells, isr: set[int]) -> Answer:
    """Send AlterPartition as the leader; as broker 0 if there is no leader."""
    request = partial(alter_partition, topic=TOPIC, partition=0, broker=cells["leader",] or 0, isr=sorted(isr))
    return answered(controller.execute(request))
