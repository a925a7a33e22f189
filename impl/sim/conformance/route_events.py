"""What the log of route epochs is made of: the steps of brokers, and the controller's changes to epochs and streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from impl import wire
from impl.broker.messages import StepEvent
from impl.controller.nodes import LEAVING_GRACE_MS, REGISTRY_KEY
from impl.controller.routes import reported, route_epochs
from impl.metadata.image import Image
from impl.metadata.log import replay
from impl.sim.conformance.links import Links, batch_name
from impl.sim.conformance.takeovers import NEVER
from impl.sim.event_log import AppendedBatch, Event, ExecutedRequest
from impl.zone.encodings import ChannelOffset

STEPS = {"send_batch", "admit_batches", "refuse_batches", "finish_batches", "learn_epochs"}


class RouteEvent(msgspec.Struct, frozen=True):
    """A change, at an event of the run.

    ``source``: the process; "" for the controller. ``node``: of the process, or the one that the change is about.
    """

    index: int
    kind: str
    source: str
    node: int
    values: dict[str, Any]


def route_events(events: list[Event]) -> list[RouteEvent]:
    """The changes in the order of their effects."""
    # In the order of the starts.
    nodes = {name: subject["node"] for _, name, kind, subject in events if kind == "start"}
    found = [RouteEvent(0, "exists", "", node, {}) for node in sorted(set(nodes.values()))]
    collector = _Collector(nodes)
    for index, event in enumerate(events):
        found += collector.see(index, event)
    # The batch that uploads a link may also close its stream.
    return sorted([*found, *collector.of_links()], key=lambda each: (each.index, each.kind != "upload"))


class _Collector:
    def __init__(self, nodes: dict[str, int]) -> None:
        self._nodes, self._image, self._links = nodes, Image(), Links(nodes)
        self._opening: dict[int, bool] = {}
        self._left: dict[int, int] = {}
        """When each node in controlled shutdown has begun it, as far as the leading controller knows (ND-30)."""
        self._started = {name: number for number, name in enumerate(nodes)}
        """By process: its place in the order of the starts."""
        self._serving: dict[int, int] = {}
        """By node: the place of the newest process that serves."""
        self._cause: tuple[int, str, str] | None = None
        """The time, controller and sender of the newest request: the cause of batches that follow at once."""

    def see(self, index: int, event: Event) -> Iterator[RouteEvent]:
        """The changes of one event, except those of links."""
        now, name, _, subject = event
        match subject:
            case {"term": _}:
                self._left.clear()  # A new leader has heard of nobody.
            case ExecutedRequest():
                self._cause = now, name, subject.sender
            case AppendedBatch(lost=False):
                is_caused = self._cause is not None and self._cause[:2] == (now, name)
                sender = self._cause[2] if self._cause is not None and is_caused else ""
                yield from self._write(index, now, sender, subject)
            case wire.Request(_, _, wire.RegisterNode(node)) if self._nodes.get(name) == node:
                # It has recovered the WAL of the process before it. One that was overtaken by its successor is refused.
                if self._started[name] > self._serving.get(node, -1):
                    self._serving[node] = self._started[name]
                    yield RouteEvent(index, "begin", name, node, {})
            case StepEvent(action, values) if action in STEPS:
                yield RouteEvent(index, action, name, self._nodes[name], _named(values))
        if name in self._nodes:
            self._links.see(index, event, self._image)

    def _write(self, index: int, now: int, sender: str, written: AppendedBatch) -> Iterator[RouteEvent]:
        before, states = route_epochs(self._image), dict(self._image.brokers)
        reports = {node: reported(self._image, node) for node in self._opening}
        replay((written.batch,), self._image)
        self._links.write(index, self._image)
        for node, state in self._image.brokers.items():
            if state == "shutting_down" != states.get(node):
                self._left[node] = now
            elif state == "active":
                self._left.pop(node, None)
        for node in sorted(set(self._nodes.values())):
            is_opening = _has_opening(self._image, node)
            if is_opening != self._opening.get(node, False):
                kind = "opening" if is_opening else "closed"
                yield RouteEvent(index, kind, "", node, {"sender": sender})
            self._opening[node] = is_opening
            report = reported(self._image, node)
            if report is not None and report != reports.get(node):
                yield RouteEvent(index, "report", "", node, {"epoch": report, "sender": sender})
        after = route_epochs(self._image)
        if after != before:
            values = {"committed": after.committed, "fenced": after.fenced, "current": after.current}
            # The controller does not wait for these.
            free = [node for node in self._opening if not self._opening[node] and self._may_be_skipped(node, now)]
            yield RouteEvent(index, "record", "", -1, {**values, "free": free})

    def _may_be_skipped(self, node: int, now: int) -> bool:
        if f"{REGISTRY_KEY}{node}" not in self._image.kv:
            return True
        # Later heartbeats of a node that leaves prolong the grace, and are not looked at.
        is_leaving = node in self._left and now - self._left[node] < LEAVING_GRACE_MS
        return self._image.brokers.get(node) == "fenced" and not is_leaving

    def of_links(self) -> Iterator[RouteEvent]:
        """The changes of links, after the last event."""
        for link in self._links.all():
            if link.counts:
                steps = {"link": link.durable, "ack": link.acked, "upload": link.uploaded, "trim": link.trimmed}
                for kind, index in steps.items():
                    if index < NEVER:
                        yield RouteEvent(index, kind, "", link.node, {"batch": link.batch})


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a step, with the names of its batches."""
    found = dict(values)
    if "at" in found:
        found["batch"] = batch_name(ChannelOffset.decode(found.pop("at")))
    if "batches" in found:
        found["batches"] = [batch_name(ChannelOffset.decode(each)) for each in found["batches"]]
    return found


def _has_opening(image: Image, node: int) -> bool:
    """ND-04. Whether a stream is OPENED on the node, or the node has an active entry."""
    entries = image.entries.get(node, {})
    return bool(image.opened_on.get(node)) or any(image.active_entry(node, each) is not None for each in entries)
