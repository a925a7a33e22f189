"""The lines for the brokers' view of their streams: opens that a broker hears of, and closes that it sends."""

from __future__ import annotations

from impl import wire
from impl.broker.messages import StepEvent
from impl.items import CloseItem
from impl.sim.conformance.lines import BEFORE, LineCollector, Processes, Who, identity
from impl.sim.conformance.requests import Requests
from impl.sim.event_log import Event


class Closes:
    """Goes through the events of brokers in their order; ``finish`` adds the lines that wait for the end of the run."""

    def __init__(self, lines: LineCollector, processes: Processes, requests: Requests) -> None:
        self._lines, self._processes, self._requests = lines, processes, requests
        self._heard: set[tuple[str, int, int]] = set()
        self._sent: set[tuple[str, int, int, int]] = set()
        self._recoveries: list[tuple[int, Who, CloseItem]] = []
        self._serving: set[str] = set()
        """The processes that have recovered the WAL of the process before them."""

    def see(self, index: int, event: Event) -> None:
        """Take in an event of a broker."""
        _, name, _, subject = event
        match subject:
            case StepEvent("hear", values):
                self._hear(index, name, values["stream"], values["epoch"], values["next"])
            case StepEvent("send_close", values):
                self._sent.add((name, self._processes.of[name][0], values["stream"], values["epoch"]))
                self._send(index, name, values["stream"], values["epoch"])
            case wire.Request(_, _, wire.RegisterNode()):
                self._serving.add(name)
            case wire.Request(_, _, wire.CloseStreams(node, epoch, items)):
                who = self._processes.sender(name, node, epoch)
                for each in items:
                    if (name, node, each.stream, each.epoch) not in self._sent:
                        self._sent.add((name, node, each.stream, each.epoch))
                        self._close(index, name, who, each)

    def finish(self) -> None:
        """Add the lines of recoveries. The first line of a close stands for the request that came in time.

        Further lines of that close stand for refused requests, and so do all lines of a close that came too late. A
        late recovery finds the WAL emptied by the next one, and tries to close streams that it has not uploaded.
        """
        for index, who, item in self._recoveries:
            closing = identity(who), item.stream, item.epoch
            suffix = ""
            if closing in self._requests.unused_ends:
                suffix = ":unused"
            elif closing not in self._requests.recovered:
                suffix = ":refused"
            self._requests.recovered.discard(closing)
            self._lines.add(index, f"recovery.closing{suffix}", who, stream=item.stream, streamEpoch=item.epoch)

    def _close(self, index: int, name: str, who: Who, item: CloseItem) -> None:
        """Add the line of a close that is sent for the first time, and not by a handle."""
        if who["failover"] or name not in self._serving:
            self._requests.recoveries.add((identity(who), item.stream, item.epoch))
            self._recoveries.append((index, who, item))
        elif (name, item.stream, item.epoch) in self._requests.opened:
            # The answer to its open was lost. The metadata tell the process now that the open was taken.
            if (name, item.stream, item.epoch) not in self._heard:
                end = self._requests.opened[name, item.stream, item.epoch]
                self._hear(index, name, item.stream, item.epoch, end)
            self._send(index, name, item.stream, item.epoch)

    def _hear(self, index: int, name: str, stream: int, epoch: int, offset: int) -> None:
        """Add the line for a process that hears that its open was taken.

        In the models a halted process hears nothing (PL-04), so the line stands right before the halt. The process has
        no append in flight under that open, so the halt fails the same appends.
        """
        self._heard.add((name, stream, epoch))
        who = self._processes.own(name)
        halted = self._requests.failed.get(name)
        if (name, stream, epoch) in self._requests.unused:
            self._lines.add(index, "stream.opened:unused", who, stream=stream, streamEpoch=epoch, next=offset)
        elif halted is not None:
            self._lines.add(halted, "stream.opened", who, place=BEFORE, stream=stream, streamEpoch=epoch, next=offset)
        else:
            self._lines.add(index, "stream.opened", who, stream=stream, streamEpoch=epoch, next=offset)

    def _send(self, index: int, name: str, stream: int, epoch: int) -> None:
        who = self._processes.own(name)
        self._requests.closing.add((identity(who), stream, epoch))
        event = "stream.closing"
        if stream in self._requests.deleted:
            event = "stream.closing.gone"
        elif (name, stream, epoch) in self._requests.unused:
            event = "stream.closing:unused"
        self._lines.add(index, event, who, stream=stream, streamEpoch=epoch)
