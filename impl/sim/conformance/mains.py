"""The mains and proxies of a run, as `route_epoch` has them: turns changes into steps of the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from typing import Any

import msgspec

from impl.sim.conformance.route_events import RouteEvent

FIRST = (0, 0, 2)
"""The committed, fenced and current epoch of the controller's first record, as the model counts them."""


class MainState(msgspec.Struct):
    """A main. ``process``: the one that serves, "" for none; ``newest``: the one that has served last.

    ``known``: the fenced epoch that this has learned. ``report``: the epoch that the controller has of the main, 0
    before the first; ``reporter``: the process that has sent it.
    """

    name: str
    process: str = ""
    newest: str = ""
    reporter: str = ""
    known: int = 0
    report: int = 0


class BatchState(msgspec.Struct):
    """A routed batch: its phase, in the model's words, whether its main counts it, and whether it is acknowledged."""

    phase: str = "SENT"
    counted: bool = False
    acked: bool = False


class Mains:
    """``lines``: the steps of the model that the last change has become, with the cells after each.

    ``proxies``: the processes that put records into their channels.
    """

    def __init__(self, proxies: Set[str]) -> None:
        self._proxies = proxies
        self.lines: list[dict[str, Any]] = []
        self._mains: dict[int, MainState] = {}
        self._node_of: dict[str, int] = {}
        """By process: its node."""
        self._steps: dict[str, list[RouteEvent]] = defaultdict(list)
        """By process: what it has done as a main until it serves; then the last record that it has learned."""
        self._served: set[str] = set()
        self._learned: dict[str, tuple[int, int, int]] = {}
        """By process: the committed, fenced and current epoch that it has learned last."""
        self._batches: dict[str, BatchState] = {}
        self._at: dict[int, set[str]] = {}
        """By node: the batches that were sent to it."""
        self._requests: dict[tuple[str, int], list[str]] = {}
        """By process and number of a request: its batches, while the process counts them."""
        self._reports: set[tuple[str, int]] = set()
        """The reports so far: the process and the epoch."""
        self._record: tuple[int, int, int] | None = None

    def take(self, event: RouteEvent) -> None:
        """Turn a change into steps."""
        values = event.values
        if event.source:
            self._node_of[event.source] = event.node
        match event.kind:
            case "exists":
                # In the model all mains serve at the start, and in the log no process has begun.
                self._mains[event.node] = MainState(f"n{event.node}")
                self._at[event.node] = set()
                self._step("crash", m=f"n{event.node}")
                self._step("recover", m=f"n{event.node}")
            case "begin":
                if self._mains[event.node].newest != event.source:
                    self._begin(event.node, event.source)
            case "send_batch":
                self._send(event.source, values)
            case "learn_epochs" | "admit_batches" | "refuse_batches" | "finish_batches":
                if event.kind == "learn_epochs":
                    self._apply_record(event.node, event.source, _counted(values))
                self._serve(event)
            case "link" | "ack" | "upload" | "trim":
                self._move_on(event.kind, event.node, values["batch"])
            case _:
                self._take_from_controller(event)

    # The controller ---------------------------------------------------------------------------------------------

    def _take_from_controller(self, event: RouteEvent) -> None:
        match event.kind:
            case "opening":
                self._on_main("open_streams", event.node, serving=True)
            case "closed":
                self._close(event.node, event.values["sender"])
            case "report":
                self._report(event.node, max(0, event.values["epoch"] + 1), event.values["sender"])
            case "record":
                self._write(_counted(event.values), event.values["free"])

    def _write(self, record: tuple[int, int, int], free: list[int]) -> None:
        committed, fenced, current = record
        before, self._record = self._record or FIRST, record
        if committed != before[0]:
            ahead = [n for n, main in self._mains.items() if main.process and main.report < committed and n in free]
            processes = [self._mains[node].process for node in ahead]
            for node in ahead:
                self._end(node)
            self._step("commit", c=committed, post={"committed": committed})
            for node, process in zip(ahead, processes, strict=True):
                self._begin(node, process)
        for number in range(before[2] + 1, current + 1):
            told = {"fenced": fenced, "current": current} if number == current else {}
            self._step("bump", post=told)

    def _report(self, node: int, epoch: int, sender: str) -> None:
        main = self._mains[node]
        if epoch != main.report:
            # A process itself reports nothing older than before (ZR-63); only a copy of a report may come late.
            is_free = sender != main.reporter or (sender, epoch) in self._reports
            self._reports.add((sender, epoch))
            action = "report_less" if epoch < main.report and is_free else "publish"
            main.report, main.reporter = epoch, sender
            self._step(action, m=main.name, v=epoch, post={"report": {main.name: epoch}})

    def _close(self, node: int, sender: str) -> None:
        """The last stream of a node is closed: by the process that serves, or by a recovery of its WAL.

        A process that recovers its own WAL serves from then on.
        """
        main = self._mains[node]
        if main.process and sender in (main.process, ""):
            self._on_main("close_streams", node, serving=False)
            return
        if main.process:
            self._end(node)
        self._empty(node)
        self._on_main("recover", node, serving=False)
        if self._node_of.get(sender) == node:
            self._begin(node, sender)

    # Processes --------------------------------------------------------------------------------------------------

    def _begin(self, node: int, process: str) -> None:
        """A process begins to serve. What it has done as a main before that has its lines now."""
        main = self._mains[node]
        if main.process:
            self._end(node)
        self._empty(node)
        main.process = main.newest = process
        main.known = 0
        self._on_main("join", node, up=True)
        self._served.add(process)
        steps = self._steps[process]
        self._steps[process] = [each for each in steps if each.kind == "learn_epochs"][-1:]
        for event in steps:
            self._take_as_main(event)

    def _end(self, node: int) -> None:
        main = self._mains[node]
        main.process = ""
        for name in self._at[node]:
            batch = self._batches[name]
            batch.counted = False
            if batch.phase == "ADMITTED":
                batch.phase = "FAILED"
        self._on_main("crash", node, up=False)

    def _empty(self, node: int) -> None:
        for name in self._at[node]:
            if self._batches[name].phase == "UPLOADED":
                self._batches[name].phase = "TRIMMED"

    def _apply_record(self, node: int, process: str, record: tuple[int, int, int]) -> None:
        committed, fenced, current = record
        committed = max(committed, self._learned.get(process, FIRST)[0])
        self._learned[process] = committed, fenced, current
        self._apply(process, committed, current)
        for older, (trimmed, known, epoch) in self._learned.items():
            if older == process:
                break
            if self._node_of[older] == node and trimmed < committed:
                # The newer process trims the channel of the older one, too.
                self._learned[older] = committed, known, epoch
                self._apply(older, committed, epoch)

    def _apply(self, process: str, committed: int, current: int) -> None:
        if process in self._proxies:
            post = {"trimmed_to": {process: committed}, "channel_epoch": {process: current}}
            self._step("apply_record", p=process, c=committed, e=current, post=post)

    def _serve(self, event: RouteEvent) -> None:
        """A process does something as a main. One that another has followed has no lines."""
        if event.source == self._mains[event.node].newest:
            self._take_as_main(event)
            if event.kind == "learn_epochs":
                self._steps[event.source] = [event]
        elif event.source not in self._served:
            self._steps[event.source].append(event)

    def _take_as_main(self, event: RouteEvent) -> None:
        match event.kind:
            case "learn_epochs":
                main, (_, fenced, _) = self._mains[event.node], _counted(event.values)
                if fenced > main.known:
                    main.known = fenced
                    self._on_main("learn", event.node, f=fenced, known=fenced)
            case "finish_batches":
                for name in self._requests.pop((event.source, event.values["request"]), ()):
                    self._finish(name)
            case _:
                self._arrive(event, event.values["batches"], admitted=event.kind == "admit_batches")

    # Batches ----------------------------------------------------------------------------------------------------

    def _send(self, process: str, values: dict[str, Any]) -> None:
        name, epoch, main = values["batch"], max(0, values["epoch"] + 1), self._mains[values["main"]]
        self._batches[name] = BatchState()
        self._at[values["main"]].add(name)
        self._step("send", r=name, p=process, m=main.name, e=epoch, post={"tag": {name: epoch}})

    def _arrive(self, event: RouteEvent, names: list[str], *, admitted: bool) -> None:
        main = self._mains[event.node]
        if main.process != event.source:
            return
        # A fault may cut off the last steps of a process, so a batch may be missing.
        known = [name for name in names if name in self._batches]
        epoch = max(0, event.values["epoch"] + 1)
        for name in known:
            batch = self._batches[name]
            batch.phase, batch.counted = ("ADMITTED", True) if admitted else ("FAILED", False)
            self._step("admit" if admitted else "refuse", r=name, m=main.name, post={"tag": {name: epoch}})
        if admitted:
            self._requests[event.source, event.values["request"]] = known

    def _finish(self, name: str) -> None:
        batch = self._batches[name]
        if not batch.counted:
            return
        batch.counted = False
        if batch.phase == "ADMITTED" and not batch.acked:
            batch.phase = "FAILED"
            self._step("fail", r=name)
        else:
            # The model refuses the ack of a batch whose link is not durable.
            self._step("answer", r=name)

    def _move_on(self, kind: str, node: int, name: str) -> None:
        main, batch = self._mains[node], self._batches.setdefault(name, BatchState())
        if kind == "link":
            self._step("append", r=name, m=main.name)
            self._step("link", r=name)
            batch.phase = "LINKED"
        elif kind == "ack":
            batch.acked = True
        elif kind == "upload":
            self._step("upload", r=name, m=main.name)
            batch.phase = "UPLOADED"
        elif main.process and batch.phase in ("LINKED", "UPLOADED"):
            # A recovery empties the WAL in the step in which it closes the streams.
            self._step("trim_wal", r=name, m=main.name)
            batch.phase = "TRIMMED"

    # Lines ------------------------------------------------------------------------------------------------------

    def _step(self, action: str, **fields: Any) -> None:
        self.lines.append({"action": action, **fields})

    def _on_main(self, action: str, node: int, *, f: int | None = None, **cells: int | bool) -> None:
        name = self._mains[node].name
        args = {"m": name} if f is None else {"m": name, "f": f}
        self._step(action, **args, post={cell: {name: value} for cell, value in cells.items()})


def _counted(values: dict[str, Any]) -> tuple[int, int, int]:
    """The committed, fenced and current epoch as the model counts them: one more, and 0 for all below 0."""
    return max(0, values["committed"] + 1), max(0, values["fenced"] + 1), max(0, values["current"] + 1)
