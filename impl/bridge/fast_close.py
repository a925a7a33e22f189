"""The pairing of ``models/fast_close.py`` with the controller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from impl.bridge.differences import Arguments, Cells
from impl.bridge.ownership import ProcessPairing
from impl.bridge.pairing import Facts, number
from impl.bridge.request import OperationRequest, Query
from impl.bridge.streams import UPLOADED, epoch_of, opened_on
from impl.controller.node import Controller
from impl.errors import E
from impl.metadata.image import Image


class FastClosePairing(ProcessPairing):
    """Any process may open, trim, close and commit at any time. A close names the end of all appended offsets (AM-01).

    The failover flag does not prevent a close, as in streams.md 3 (ST-31, AM-11). Without the variant, the model is
    stricter.
    """

    name = "fast_close"
    variants = ("close_at_next", "late_close")
    removed = (
        *("CL-01", "CL-06", "CL-07.sent", "FO-06", "FO-08"),
        *("ND-03.end", "PL-03", "PL-03.upload", "PL-20", "WL-05"),
    )
    left_out = ("put", "fail", "send_close", "trim_wal", "reserve", "reset_wal")
    sizes: ClassVar = {"Node": 2, "Proc": 4, "Stream": 2, "NodeEpoch": 2, "Epoch": 5, "Offset": 6}
    given: ClassVar = {"node_of": (0, 0, 0, 1), "incarnation": (1, 1, 2, 1), "failover": (False, True, False, False)}
    silent = ("open", "close", "trim")

    def applies(self, action: str, cells: Cells, args: Arguments) -> bool:
        match action:
            case "append":
                return bool(args["b"] <= cells["next_offset", args["p"], args["s"]] + 2)
            case "trim":
                return self.is_near(cells, args)
            case "commit":
                return self.is_near(cells, args) and not self._moves_entry_back(cells, args)
        return True

    def _moves_entry_back(self, cells: Cells, args: Arguments) -> bool:
        """AM-06. Whether a commit would move an entry below the start of its range.

        A commit whose range ends before it starts can do that. The next getOpeningStreams is then answered with an
        error (ND-03). The model does not keep the start of an entry's range, so such commits are not tried.
        """
        return bool(args["b"] < min(args["a"], cells["entry_from", cells["node_of", args["p"]], args["s"]]))

    def of_model(self, cells: Cells) -> Facts:
        entries = {}
        for n in self.elements("node_epoch"):
            for s in self.elements("exists"):
                entry = cells["entry_from", n, s], cells["entry_to", n, s]
                entries[f"entry of {n} on {s}"] = None if entry == (0, 0) else entry
        ends = {f"end of the range of {s}": cells["range_end", s] for s in self.elements("exists")}
        return super().of_model(cells) | entries | ends

    def of_controller(self, controller: Controller) -> Facts:
        entries = {}
        for n in self.elements("node_epoch"):
            for s in self.elements("exists"):
                row = controller.image.entries.get(number(n), {}).get(number(s))
                entries[f"entry of {n} on {s}"] = None if row is None else (row.start, row.to)
        ends = {}
        for s in self.elements("exists"):
            current = controller.image.current_range(number(s))
            ends[f"end of the range of {s}"] = 0 if current is None else current.end
        return super().of_controller(controller) | entries | ends

    def queries(self, before: Facts, after: Facts) -> list[Query]:
        found = super().queries(before, after)
        for n in self.elements("node_epoch"):
            for s in self.elements("exists"):
                fact = f"entry of {n} on {s}"
                if before[fact] != after[fact]:
                    entry = after[fact]
                    told = {"none": True} if entry is None else {"from": entry[0], "to": entry[1]}
                    query = OperationRequest("entry", {"node": number(n), "stream": number(s)}, answer=())
                    found.append((query, told))
        return found

    def requests(self, image: Image, action: str, cells: Cells, args: Arguments) -> tuple[OperationRequest, ...]:
        match action:
            case "register":
                return self.register(cells, args)
            case "open":
                return self.request("open", cells, args, epoch=cells["epoch", args["s"]] + 1)
            case "close":
                end = "next_offset" if "close_at_next" in self.machine.system.chosen else "confirm_offset"
                sealed = cells[end, args["p"], args["s"]]
                return self.request("close", cells, args, epoch=_held(cells, args), end=sealed)
            case "end_recovery":
                return self.request("close", cells, args, epoch=_held(cells, args))
            case "trim":
                return self.request("trim", cells, args, epoch=_held(cells, args), to=args["q"])
            case "commit":
                return self.commit(image, cells, args)
        return ()

    def refusal(self, action: str, cells: Cells, args: Arguments, label: str, error: str | None) -> E | None:
        """ST-31. Without the variant ``late_close`` the model is stricter than the controller."""
        return (
            None if (action, label) == ("close", "CK-01.flag") else super().refusal(action, cells, args, label, error)
        )

    def answer(self, action: str, before: Cells, args: Arguments, after: Cells) -> tuple[E, Facts]:
        match action:
            case "register":
                n, streams = after["node_of", args["p"]], self.elements("exists")
                rows = opened_on(after, streams, n) + _entries(after, streams, n)
                return E.NONE, {"streams": sorted(rows, key=lambda row: row["stream"])}
            case "open":
                s = args["s"]
                return E.NONE, {"start": before["start_offset", s], "next": before["end_offset", s]}
            case "commit":
                return E.NONE, UPLOADED
        return E.NONE, {}


def _held(cells: Cells, args: Arguments) -> int:
    """The epoch under which a process has opened, or recovers, a stream."""
    return epoch_of(cells["handle", args["p"], args["s"]])


def _entries(cells: Cells, streams: Iterable[str], node: str) -> list[dict[str, int]]:
    """ND-03. The rows of a node's active entries: each ends at the offset from which the node still has to commit."""
    rows = []
    for s in streams:
        start = max(cells["entry_from", node, s], cells["start_offset", s])
        if start < cells["entry_to", node, s]:
            epoch = cells["entry_epoch", node, s]
            rows.append({"stream": number(s), "epoch": epoch, "start": cells["start_offset", s], "end": start})
    return rows
