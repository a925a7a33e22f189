"""The pairing of ``models/reassignment.py``: one elastic partition.

The model has no node epochs: a restart voids the requests of the process before it. In the controller, each restart
registers the next node epoch, and each request carries the newest one. The model has no time either: where its timer
may fire, eleven seconds pass.
"""

from __future__ import annotations

from typing import ClassVar

from impl.bridge.differences import Arguments, Cells
from impl.bridge.pairing import Facts, Pairing, number
from impl.bridge.request import OperationRequest, Query
from impl.bridge.streams import (
    UPLOADED,
    opened_on,
    stream_queries,
    streams_of_controller,
    streams_of_model,
    upload,
)
from impl.controller.node import Controller
from impl.controller.registration import label
from impl.controller.timers import DELAY_MS, WHEEL_TICK_MS
from impl.errors import E
from impl.metadata.image import Image

TOPIC = "moved"
KEY = (TOPIC, 0)
PARTITION = {"topic": TOPIC, "partition": 0}

RESULTS = {
    "replicas": "replicas",
    "isr": "isr",
    "leader": "leader",
    "leader epoch": "leader_epoch",
    "origin": "original",
    "marker": "marker",
}
"""By fact about the partition: the key of the query's result."""


class ReassignmentPairing(Pairing):
    """Brokers follow the protocol. Moves, elections and crashes may happen at any time."""

    name = "reassignment"
    removed = ("RA-18",)
    sizes: ClassVar = {"Node": 3, "Stream": 2, "Epoch": 12, "Offset": 2}
    decided: ClassVar = {"crash": ("x",), "isolate": ("x",), "request_election": ("t",)}
    unstated = ("the timer", "whether a broker is active", "the failover flag", "which offsets uploaded objects cover")
    closing = (("timer_fires", (False,)),) * 2
    """A timer that runs fires. If it elects nobody it fires again (EL-12)."""
    silent = ("reassign", "open", "close", "late_open", "late_close", "request_election", "ask_election")

    def setup(self, cells: Cells) -> tuple[OperationRequest, ...]:
        """Brokers are active and have registered. The first replica has opened the streams under its leader epoch."""
        nodes = [number(n) for n in self.elements("active")]
        first, epoch = number(cells["replica",]), cells["leader_epoch",]
        sender = {"node": first, "node_epoch": 1}
        topic = {"topic": TOPIC, "partitions": [[first]], "elastic": True}
        streams = [number(s) for s in self.elements("exists")]
        return (
            *(OperationRequest("broker", {"node": n, "state": "active"}) for n in nodes),
            *(OperationRequest("openings", {"node": n, "node_epoch": 1}) for n in nodes),
            OperationRequest("create_topic", topic),
            # No operation creates a partition with a leader epoch above 0.
            OperationRequest("inject", {"record": "PARTITION", **PARTITION, "leader_epoch": epoch}, answer=()),
            *(OperationRequest("create", sender | PARTITION) for _ in streams),
            *(OperationRequest("open", sender | {"stream": s, "epoch": epoch}) for s in streams),
        )

    # Facts ----------------------------------------------------------------------------------------------------

    def of_model(self, cells: Cells) -> Facts:
        replica, leader = cells["replica",], cells["leader",]
        return {
            "replicas": (number(replica),),
            "isr": (number(replica),),
            "leader": -1 if leader is None else number(leader),
            "leader epoch": cells["leader_epoch",],
            "adding, removing": ((), ()),
            "timer": cells["timer",],
            "active": {n: cells["active", n] for n in self.elements("active")},
            "failover": {n: cells["failover_mode", n] for n in self.elements("active")},
            **streams_of_model(cells, self.elements("exists"), self.largest("Offset")),
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
            "timer": KEY in controller.timers.armed,
            "active": {n: image.brokers[number(n)] == "active" for n in brokers},
            "failover": {n: image.nodes[number(n)].failover for n in brokers},
            **streams_of_controller(controller, self.elements("exists"), self.largest("Offset")),
        }

    def queries(self, before: Facts, after: Facts) -> list[Query]:
        found = stream_queries(before, after, self.elements("exists"))
        if any(before[fact] != after[fact] for fact in after if fact in RESULTS):
            told = {result: after[fact] for fact, result in RESULTS.items() if fact in after}
            found.insert(0, (OperationRequest("partition", PARTITION, answer=()), told))
        return found

    # Requests -------------------------------------------------------------------------------------------------

    def requests(self, image: Image, action: str, cells: Cells, args: Arguments) -> tuple[OperationRequest, ...]:
        match action:
            case "reassign":
                return (altered([number(args["t"])]),)
            case "request_election" | "ask_election":
                return (OperationRequest("elect", PARTITION),)
            case "timer_fires":
                # So long that an armed timer fires in any case, and so short that it does not fire twice.
                return (OperationRequest("tick", {"advance_ms": DELAY_MS + WHEEL_TICK_MS}, answer=()),)
            case "change_controller":
                return (OperationRequest("controller_failover", {}, answer=()),)
            case "crash" | "isolate":
                return (OperationRequest("broker", {"node": number(args["n"]), "state": "fenced"}),)
            case "heal" | "join":
                return (OperationRequest("broker", {"node": number(args["n"]), "state": "active"}),)
        return self._of_streams(image, action, cells, args)

    def _of_streams(self, image: Image, action: str, cells: Cells, args: Arguments) -> tuple[OperationRequest, ...]:
        """The requests of brokers and workers."""
        if "n" not in args:
            return ()
        n, node = args["n"], number(args["n"])
        epoch = image.nodes[node].epoch
        sender = {"node": node, "node_epoch": epoch}
        match action:
            case "restart":
                return (OperationRequest("openings", sender | {"node_epoch": epoch + 1}),)
            case "fail_over":
                return (OperationRequest("openings", sender | {"failover": True}),)
            case "open" | "open_unheard" | "late_open":
                on = {"stream": number(args["s"]), "epoch": cells["tried", n]}
                return (OperationRequest("open", sender | on),)
            case "close" | "late_close":
                on = {"stream": number(args["s"]), "epoch": cells["close_sent", n, args["s"]]}
                return (OperationRequest("close", sender | on),)
            case "commit":
                return upload(image, node, epoch, (number(args["s"]), args["a"], args["b"]), failover=False)
            case "recover":
                return _recover(image, cells, args)
        return ()

    # Answers --------------------------------------------------------------------------------------------------

    def refusal(self, action: str, cells: Cells, args: Arguments, label: str, error: str | None) -> E | None:
        """A refusal by RA-03 is answered with success. So is the passing of time if no timer is armed (EL-12)."""
        if label == "RA-03" or (label == "EL-12.armed" and not args["earlier"]):
            return E.NONE
        return super().refusal(action, cells, args, label, error)

    def answer(self, action: str, before: Cells, args: Arguments, after: Cells) -> tuple[E, Facts]:  # noqa: ARG002
        match action:
            case "request_election" | "ask_election":
                return _election(before), {}
            case "timer_fires":
                return E.NONE, {"fired": [label(*KEY)] if before["timer",] else []}
            case "commit":
                return E.NONE, UPLOADED
            case "restart" | "fail_over":
                return E.NONE, {"streams": opened_on(before, self.elements("exists"), args["n"])}
            case "open" | "open_unheard" | "late_open":
                s = args["s"]
                return E.NONE, {"start": before["start_offset", s], "next": before["end_offset", s]}
        return E.NONE, {}


def _election(cells: Cells) -> E:
    """EL-08. The answer to an election. In the model, an election that elects nobody is a step without effect."""
    if cells["leader",] is not None:
        return E.ELECTION_NOT_NEEDED
    return E.NONE if cells["active", cells["replica",]] else E.PREFERRED_LEADER_NOT_AVAILABLE


def altered(replicas: list[int] | None) -> OperationRequest:
    """A request for these replicas; for the cancel of the move in progress if it is None."""
    return OperationRequest("alter", {"topics": {TOPIC: {0: replicas}}}, answer=("rows", label(*KEY)))


def _recover(image: Image, cells: Cells, args: Arguments) -> tuple[OperationRequest, ...]:
    """Upload the WAL's offsets beyond the stream's end, then close the stream as its owner would."""
    n, s = args["n"], args["s"]
    node, stream, epoch = number(n), number(s), image.nodes[number(n)].epoch
    start, end = cells["replay_from", s], cells["wal", n, s]
    close = OperationRequest("close", {"node": node, "node_epoch": epoch, "stream": stream, "epoch": cells["epoch", s]})
    if end <= start:
        return (close,)
    return (*upload(image, node, epoch, (stream, start, end), failover=cells["failover_mode", n]), close)
