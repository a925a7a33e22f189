"""The pairing of ``models/cancellation.py``, which includes ``models/reassignment.py``: one elastic partition.

The model has no node epochs: a restart voids the requests of the process before it. In the controller, each restart
registers the next node epoch, and each request carries the newest one. The model has no time either. If its timer may
fire, the controller's clock moves to the deadline of the timer; otherwise eleven seconds pass and no timer fires.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from impl.controller.node import Controller
from impl.controller.partitions import alter, set_broker
from impl.controller.streams import close_stream, get_opening_streams, open_stream, partition_tags
from impl.controller.timers import DELAY_MS, WHEEL_TICK_MS
from impl.controller.view import Profile
from impl.errors import E
from impl.records import (
    AssignedStreamId,
    BrokerRegistration,
    MetadataRecord,
    NodeWALMetadata,
    Partition,
    Range,
    S3Stream,
    StreamState,
    Topic,
)
from models.cancellation import Cancellation
from stateful_tests.controller.differences import Arguments, Cells
from stateful_tests.controller.pairing import Answer, Facts, Pairing, answered, number, write
from stateful_tests.controller.streams import (
    names,
    opened_on,
    streams_of_controller,
    streams_of_model,
    upload,
)

TOPIC = "moved"
KEY = (TOPIC, 0)


class CancellationPairing(Pairing):
    """Brokers follow the protocol. Moves, cancels, elections and crashes may happen at any time."""

    model = Cancellation
    removed = ("RA-18",)
    sizes: ClassVar = {"Node": 3, "Stream": 2, "Epoch": 12, "Offset": 2}
    decided: ClassVar = {"cancel": ("direct",), "crash": ("x",), "isolate": ("x",), "request_election": ("t",)}
    silent = ("reassign", "open", "close", "late_open", "late_close", "request_election", "ask_election")

    def begin(self, cells: Cells) -> Controller:
        first, epoch = number(cells["replica",]), cells["leader_epoch",]
        records: list[MetadataRecord] = [BrokerRegistration(number(n), "active") for n in self.elements("active")]
        records += [NodeWALMetadata(number(n), 1) for n in self.elements("active")]
        records += [Topic(TOPIC, elastic=True), Partition(*KEY, (first,), (first,), first, epoch)]
        streams = [number(s) for s in self.elements("exists")]
        records.append(AssignedStreamId(len(streams) - 1))
        for stream in streams:
            records.append(S3Stream(stream, epoch, 0, 0, StreamState.OPENED, partition_tags(*KEY)))
            records.append(Range(stream, epoch, 0, 0, 0, first))
        controller = Controller(Profile())
        write(controller, *records)
        return controller

    # Facts ----------------------------------------------------------------------------------------------------

    def of_model(self, cells: Cells) -> Facts:
        replica, leader = cells["replica",], cells["leader",]
        moves = cells["moved_under",] == cells["leader_epoch",] and cells["origin",] != replica
        return {
            "replicas": (number(replica),),
            "isr": (number(replica),),
            "leader": -1 if leader is None else number(leader),
            "leader epoch": cells["leader_epoch",],
            "adding, removing": ((), ()),
            "origin": (number(cells["origin",]),) if moves else None,
            "marker": cells["leader_epoch",] if moves else None,
            "timer": cells["timer",],
            "active": {n: cells["active", n] for n in names(cells, "active")},
            "failover": {n: cells["failover_mode", n] for n in names(cells, "active")},
            **streams_of_model(cells),
        }

    def of_controller(self, controller: Controller) -> Facts:
        row, image = controller.image.partitions[KEY], controller.image
        brokers = self.elements("active")
        return {
            "replicas": row.replicas,
            "isr": row.isr,
            "leader": row.leader,
            "leader epoch": row.leader_epoch,
            "adding, removing": (row.adding_replicas, row.removing_replicas),
            "origin": row.original,
            "marker": row.marker,
            "timer": KEY in controller.timers.armed,
            "active": {n: image.brokers[number(n)] == "active" for n in brokers},
            "failover": {n: image.nodes[number(n)].failover for n in brokers},
            **streams_of_controller(controller, self.elements("exists"), self.sizes["Offset"]),
        }

    # Requests -------------------------------------------------------------------------------------------------

    def send(self, controller: Controller, action: str, cells: Cells, args: Arguments) -> Answer | None:
        match action:
            case "reassign":
                return _alter(controller, [number(args["t"])])
            case "cancel":
                return _alter(controller, None)
            case "request_election" | "ask_election":
                return answered(controller.elect(*KEY))
            case "timer_fires":
                return _wait(controller)
            case "change_controller":
                controller.fail_over()
                return Answer(E.NONE)
            case "crash" | "isolate":
                return _set_broker(controller, args["n"], "fenced")
            case "heal" | "join":
                return _set_broker(controller, args["n"], "active")
        return self._of_streams(controller, action, cells, args)

    def _of_streams(self, controller: Controller, action: str, cells: Cells, args: Arguments) -> Answer | None:
        """The requests of brokers and workers."""
        if "n" not in args:
            return None
        node, stream = number(args["n"]), number(args["s"]) if "s" in args else 0
        epoch = controller.image.nodes[node].epoch
        match action:
            case "restart":
                return answered(controller.execute(partial(get_opening_streams, node=node, node_epoch=epoch + 1)))
            case "fail_over":
                register = partial(get_opening_streams, node=node, node_epoch=epoch, failover=True)
                return answered(controller.execute(register))
            case "open" | "open_unheard" | "late_open":
                tried = cells["tried", args["n"]]
                request = partial(open_stream, node=node, node_epoch=epoch, stream=stream, epoch=tried)
                return answered(controller.execute(request))
            case "close" | "late_close":
                return _close(controller, node, stream, cells["close_sent", args["n"], args["s"]])
            case "commit":
                return upload(controller, node, epoch, (stream, args["a"], args["b"]))
            case "recover":
                return _recover(controller, cells, args)
        return None

    # Answers --------------------------------------------------------------------------------------------------

    def refusal(self, action: str, cells: Cells, args: Arguments, label: str, error: str | None) -> E | None:
        """A refusal by RA-03 is answered with success. So is the passing of time if no timer is armed (EL-12)."""
        if label == "RA-03" or (label == "EL-12.armed" and not args["earlier"]):
            return E.NONE
        return super().refusal(action, cells, args, label, error)

    def answer(self, action: str, before: Cells, args: Arguments, after: Cells) -> tuple[E, Facts]:  # noqa: ARG002
        match action:
            case "request_election" | "ask_election" | "timer_fires":
                return _election(before), {}
            case "restart" | "fail_over":
                return E.NONE, {"streams": opened_on(before, args["n"])}
            case "open" | "open_unheard" | "late_open":
                s = args["s"]
                return E.NONE, {"start": before["start_offset", s], "next": before["end_offset", s]}
        return E.NONE, {}


def _election(cells: Cells) -> E:
    """EL-08. The answer to an election. In the model, an election that elects nobody is a step without effect."""
    if cells["leader",] is not None:
        return E.ELECTION_NOT_NEEDED
    return E.NONE if cells["active", cells["replica",]] else E.PREFERRED_LEADER_NOT_AVAILABLE


def _alter(controller: Controller, replicas: list[int] | None) -> Answer:
    outcome = controller.execute(partial(alter, topics={TOPIC: {0: replicas}}))
    return Answer(E[outcome.values["rows"][f"{TOPIC}-0"]], wrote=bool(outcome.records))


def _wait(controller: Controller) -> Answer:
    """Wait until the armed timer fires; if none is armed, wait longer than any timer would take."""
    timer = controller.timers.armed.get(KEY)
    fired = controller.tick(DELAY_MS + WHEEL_TICK_MS if timer is None else timer.deadline - controller.now)
    if timer is None:
        return Answer(E.NONE, wrote=bool(fired))
    return answered(fired[0][1])


def _set_broker(controller: Controller, n: str, state: str) -> Answer:
    return answered(controller.execute(partial(set_broker, node=number(n), state=state)))


def _close(controller: Controller, node: int, stream: int, epoch: int) -> Answer:
    request = partial(
        close_stream, node=node, node_epoch=controller.image.nodes[node].epoch, stream=stream, epoch=epoch
    )
    return answered(controller.execute(request))


def _recover(controller: Controller, cells: Cells, args: Arguments) -> Answer:
    """Upload the WAL's offsets beyond the stream's end, then close the stream as its owner would."""
    n, s = args["n"], args["s"]
    node, stream = number(n), number(s)
    start, end = cells["replay_from", s], cells["wal", n, s]
    if end > start:
        epoch, failover = controller.image.nodes[node].epoch, cells["failover_mode", n]
        uploaded = upload(controller, node, epoch, (stream, start, end), failover=failover)
        if uploaded.error is not E.NONE:
            return uploaded
    return _close(controller, node, stream, cells["epoch", s])
