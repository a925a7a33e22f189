"""The pairing of ``models/ownership.py`` with the controller, and its base class, which fast close extends too."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from impl.controller.node import Controller
from impl.controller.streams import close_stream, delete_stream, get_opening_streams, open_stream, trim_stream
from impl.controller.view import OperationResult, Profile
from impl.errors import E
from impl.records import AssignedStreamId, MetadataRecord, NodeWALMetadata, S3Stream, StreamState
from models.ownership import Ownership
from stateful_tests.controller.differences import Arguments, Cells
from stateful_tests.controller.pairing import Answer, Facts, Pairing, answered, number, write
from stateful_tests.controller.streams import (
    epoch_of,
    names,
    opened_on,
    streams_of_controller,
    streams_of_model,
    upload,
)


class Processes(Pairing):
    """A pairing with requests of processes. Each request carries the node and the node epoch of its process."""

    def begin(self, cells: Cells) -> Controller:
        streams = [number(s) for s in names(cells, "exists")]
        records: list[MetadataRecord] = [AssignedStreamId(len(streams) - 1)]
        records += [S3Stream(stream, -1, -1, 0, StreamState.CLOSED) for stream in streams]
        for n in names(cells, "node_epoch"):
            if cells["node_epoch", n]:
                records.append(NodeWALMetadata(number(n), cells["node_epoch", n]))
        controller = Controller(Profile())
        write(controller, *records)
        return controller

    def of_model(self, cells: Cells) -> Facts:
        nodes = {
            n: (cells["node_epoch", n], cells["failover_mode", n]) if cells["node_epoch", n] else None
            for n in names(cells, "node_epoch")
        }
        return nodes | streams_of_model(cells)

    def of_controller(self, controller: Controller) -> Facts:
        stored = {n: controller.image.nodes.get(number(n)) for n in self.elements("node_epoch")}
        nodes = {n: None if row is None else (row.epoch, row.failover) for n, row in stored.items()}
        return nodes | streams_of_controller(controller, self.elements("exists"), self.sizes["Offset"])

    def is_near(self, cells: Cells, args: Arguments) -> bool:
        """Whether the offsets and the epoch of a request are at most slightly beyond those of its stream.

        Requests farther beyond behave in the same way. They would end runs early, because offsets and epochs soon reach
        the bounds of the scope.
        """
        s = args.get("s")
        near = all(args[name] <= cells["end_offset", s] + 1 for name in ("a", "b", "q") if name in args)
        return near and args.get("e", 0) <= cells["epoch", s] + 2

    def run(self, controller: Controller, operation: Any, cells: Cells, args: Arguments, **named: Any) -> Answer:
        """Run an operation for a process, on its stream if it names one."""
        p = args["p"]
        named = {"node": number(cells["node_of", p]), "node_epoch": cells["incarnation", p]} | named
        if "s" in args:
            named["stream"] = number(args["s"])
        outcome: OperationResult = controller.execute(partial(operation, **named))
        return answered(outcome)

    def commit(self, controller: Controller, cells: Cells, args: Arguments) -> Answer:
        """Commit the offsets [a, b) of one stream."""
        node, epoch = number(cells["node_of", args["p"]]), cells["incarnation", args["p"]]
        held = (number(args["s"]), args["a"], args["b"])
        return upload(controller, node, epoch, held, failover=cells["failover", args["p"]])


class OwnershipPairing(Processes):
    """Any process may send any request at any time, so no request depends on the beliefs of processes.

    The model never creates a stream. So that runs do not end early, a stream is deleted only after its second open.
    """

    model = Ownership
    removed = ("CL-07.sent",)
    left_out = ("reserve", "append", "send_close", "recover")
    sizes: ClassVar = {"Node": 2, "Proc": 4, "Stream": 2, "NodeEpoch": 2, "Epoch": 5, "Offset": 6}
    given: ClassVar = {"node_of": (0, 0, 0, 1), "incarnation": (1, 1, 2, 1), "failover": (False, True, False, False)}
    silent = ("open", "close", "trim", "delete")

    def applies(self, action: str, cells: Cells, args: Arguments) -> bool:
        match action:
            case "open":
                # Whether a process hears the answer changes only its beliefs, on which no request here depends.
                return not args["heard"] and self.is_near(cells, args)
            case "delete":
                return cells["epoch", args["s"]] > 1 or not cells["exists", args["s"]]
            case "close" | "trim" | "commit":
                return self.is_near(cells, args)
        return True

    def send(self, controller: Controller, action: str, cells: Cells, args: Arguments) -> Answer | None:
        match action:
            case "register":
                failover = cells["failover", args["p"]]
                return self.run(controller, get_opening_streams, cells, args, failover=failover)
            case "open":
                return self.run(controller, open_stream, cells, args, epoch=epoch_of(args["e"]))
            case "close":
                return self.run(controller, close_stream, cells, args, epoch=epoch_of(args["e"]))
            case "trim":
                return self.run(controller, trim_stream, cells, args, epoch=epoch_of(args["e"]), to=args["q"])
            case "delete":
                return answered(controller.execute(partial(delete_stream, stream=number(args["s"]))))
            case "commit":
                return self.commit(controller, cells, args)
        return None

    def answer(self, action: str, before: Cells, args: Arguments, after: Cells) -> tuple[E, Facts]:
        match action:
            case "register":
                return E.NONE, {"streams": opened_on(after, after["node_of", args["p"]])}
            case "open":
                s = args["s"]
                return E.NONE, {"start": before["start_offset", s], "next": before["end_offset", s]}
        return E.NONE, {}
