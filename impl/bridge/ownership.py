"""The pairing of ``models/ownership.py`` with the controller, and its base class, which fast close extends too."""

from __future__ import annotations

from typing import Any, ClassVar

from impl.bridge.differences import Arguments, Cells
from impl.bridge.pairing import Facts, Pairing, number
from impl.bridge.request import OperationRequest, Query
from impl.bridge.streams import (
    UPLOADED,
    epoch_of,
    opened_on,
    stream_queries,
    streams_of_controller,
    streams_of_model,
    upload,
)
from impl.controller.node import Controller
from impl.errors import E
from impl.metadata.image import Image


class ProcessPairing(Pairing):
    """A pairing with requests of processes. Each request carries the node and the node epoch of its process."""

    unstated = ("the node epoch and the failover flag of a node", "which offsets uploaded objects cover")

    def setup(self, cells: Cells) -> tuple[OperationRequest, ...]:
        """All known nodes register. One of them creates the streams; if none is known, the streams are injected."""
        known = [n for n in self.elements("node_epoch") if cells["node_epoch", n]]
        registered = [{"node": number(n), "node_epoch": cells["node_epoch", n]} for n in known]
        streams = [number(s) for s in self.elements("exists")]
        requests = [OperationRequest("openings", each) for each in registered]
        if registered:
            requests += [OperationRequest("create", registered[0]) for _ in streams]
        else:
            closed = {"epoch": -1, "index": -1, "start": 0, "state": "CLOSED"}
            requests += [
                OperationRequest("inject", {"record": "STREAM", "stream": s} | closed, answer=()) for s in streams
            ]
        return tuple(requests)

    def of_model(self, cells: Cells) -> Facts:
        nodes = {
            n: (cells["node_epoch", n], cells["failover_mode", n]) if cells["node_epoch", n] else None
            for n in self.elements("node_epoch")
        }
        return nodes | streams_of_model(cells, self.elements("exists"), self.largest("Offset"))

    def of_controller(self, controller: Controller) -> Facts:
        stored = {n: controller.image.nodes.get(number(n)) for n in self.elements("node_epoch")}
        nodes = {n: None if row is None else (row.epoch, row.failover) for n, row in stored.items()}
        return nodes | streams_of_controller(controller, self.elements("exists"), self.largest("Offset"))

    def queries(self, before: Facts, after: Facts) -> list[Query]:
        return stream_queries(before, after, self.elements("exists"))

    def is_near(self, cells: Cells, args: Arguments) -> bool:
        """Whether the offsets and the epoch of a request are at most slightly beyond those of its stream.

        Requests farther beyond behave in the same way. They would end runs early, because offsets and epochs soon reach
        the bounds of the scope.
        """
        s = args.get("s")
        near = all(args[name] <= cells["end_offset", s] + 1 for name in ("a", "b", "q") if name in args)
        return near and args.get("e", 0) <= cells["epoch", s] + 2

    def request(self, op: str, cells: Cells, args: Arguments, **named: Any) -> tuple[OperationRequest]:
        """An operation that a process asks for, on its stream if the action names one."""
        p = args["p"]
        sender = {"node": number(cells["node_of", p]), "node_epoch": cells["incarnation", p]}
        on = {"stream": number(args["s"])} if "s" in args else {}
        return (OperationRequest(op, sender | on | named),)

    def register(self, cells: Cells, args: Arguments) -> tuple[OperationRequest]:
        """A process, or a failover worker, registers its node epoch."""
        return self.request("openings", cells, args, **({"failover": True} if cells["failover", args["p"]] else {}))

    def commit(self, image: Image, cells: Cells, args: Arguments) -> tuple[OperationRequest, ...]:
        """Commit the offsets [a, b) of one stream."""
        node, epoch = number(cells["node_of", args["p"]]), cells["incarnation", args["p"]]
        held = (number(args["s"]), args["a"], args["b"])
        return upload(image, node, epoch, held, failover=cells["failover", args["p"]])


class OwnershipPairing(ProcessPairing):
    """Any process may send any request at any time, so no request depends on the beliefs of processes.

    The model never creates a stream. So that runs do not end early, a stream is deleted only after its second open.
    """

    name = "ownership"
    removed = ("CL-07.sent",)
    memoryless = True
    left_out = ("reserve", "append", "send_close", "recover")
    sizes: ClassVar = {"Node": 2, "Proc": 4, "Stream": 2, "NodeEpoch": 2, "Epoch": 5, "Offset": 6}
    given: ClassVar = {"node_of": (0, 0, 0, 1), "incarnation": (1, 1, 2, 1), "failover": (False, True, False, False)}
    silent = ("open", "close", "trim", "delete")

    def differs(self, action: str, cells: Cells, args: Arguments) -> bool:  # noqa: ARG002
        """Whether a process hears the answer changes only its beliefs, on which no request here depends."""
        return action != "open" or not args["heard"]

    def applies(self, action: str, cells: Cells, args: Arguments) -> bool:
        match action:
            case "delete":
                return cells["epoch", args["s"]] > 1 or not cells["exists", args["s"]]
            case "open" | "close" | "trim" | "commit":
                return self.is_near(cells, args)
        return True

    def requests(self, image: Image, action: str, cells: Cells, args: Arguments) -> tuple[OperationRequest, ...]:
        match action:
            case "register":
                return self.register(cells, args)
            case "open" | "close":
                return self.request(action, cells, args, epoch=epoch_of(args["e"]))
            case "trim":
                return self.request("trim", cells, args, epoch=epoch_of(args["e"]), to=args["q"])
            case "delete":
                return (OperationRequest("delete", {"stream": number(args["s"])}),)
            case "commit":
                return self.commit(image, cells, args)
        return ()

    def answer(self, action: str, before: Cells, args: Arguments, after: Cells) -> tuple[E, Facts]:
        match action:
            case "register":
                return E.NONE, {"streams": opened_on(after, self.elements("exists"), after["node_of", args["p"]])}
            case "open":
                s = args["s"]
                return E.NONE, {"start": before["start_offset", s], "next": before["end_offset", s]}
            case "commit":
                return E.NONE, UPLOADED
        return E.NONE, {}
